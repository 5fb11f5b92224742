"""Query text as a list of words, numbers, strings and signs, each with its place. No word is judged here."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field
from typing import Any, NamedTuple

from stretto.errors import Mistake, Span
from stretto.records import dataclass


class Token(NamedTuple):
    """A piece of text and its place. The names of the fields are those that lark reads of its own tokens.

    A tuple, and not a dataclass, because a workload of ten thousand queries has half a million of them.
    """

    type: str
    value: Any
    start_pos: int
    line: int
    column: int
    end_line: int
    end_column: int
    end_pos: int

    @property
    def span(self) -> Span:
        return Span(self.line, self.column, self.end_line, self.end_column)

    @property
    def quoted(self) -> bool:
        """Whether a NAME was written in double quotes, so that it is never a keyword or a unit."""
        return len(self.value) != self.end_pos - self.start_pos


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """The tokens up to a `;` or, in the last chunk, up to one of type END; that one is the last token.

    `marks` are the places where a clause or statement may begin; `mistakes` are characters that are no tokens.
    """

    tokens: list[Token] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)


class OpenStringError(Exception):
    """A string is never closed, if strings may hold line ends."""


# Words that are never bare names in an expression, and those that begin a clause. All others (units, EVENTS, BY,
# SEQ, NEXT, ...) are known by their place alone, so they stay free as names.
RESERVED = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "FALSE", "AS"})
QUERY_CLAUSES = (
    "FOR",
    "PATTERN",
    "WHERE",
    "HAVING",
    "WITHIN",
    "SELECT",
    "RETURN",
    "AGGREGATE",
    "KEEP",
    "LIMIT",
    "GROUP",
)
STREAM_CLAUSES = ("SELECT", "FROM", "JOIN", "ON", "WHERE", "GROUP", "WITHIN")
_MARKS = frozenset({"QUERY", "CREATE", *QUERY_CLAUSES, *STREAM_CLAUSES})
KEYWORDS = frozenset({"TIMESTAMP", "SLIDE"}) | RESERVED | _MARKS
_KEYWORD = {word: word for word in KEYWORDS}

SIGNS = {
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ".": "DOT",
    ";": "SEMICOLON", "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "%": "PERCENT", "?": "QMARK",
    "!": "BANG", "&": "AMPERSAND", "|": "VBAR",
}  # fmt: skip
_COMPARE = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SIGN_TOKENS = {sign: (name, sign) for sign, name in SIGNS.items()} | {
    sign: ("COMPARE", meaning) for sign, meaning in _COMPARE.items()
}

# What to write instead of characters of other languages.
_CHARACTER_NOTES = {
    ":": "a variable follows its type, as in `A a`",
    "~": "a regular expression is tested with MATCHES: `a.name MATCHES 'regular expression'`",
    "#": "a comment begins with `--` and ends with its line",
} | dict.fromkeys("‘’“”`´", "strings take straight single quotes, names straight double quotes")

IDENTIFIER = r"[^\W\d]\w*+"
SKIPPED = r"(?>[\s\ufeff]+|--[^\n]*)*+"
_LEXEME = r"""%s(?:
    (%s)
  | ([0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|\.[0-9]++(?:[eE][+-]?[0-9]++)?)
  | (<=|>=|<>|!=|==|[-+*/%%=<>(),.;\[\]{}&|!?])
  | '(%s*+(?:''%s*+)*+)'
  | "(%s*+(?:""%s*+)*+)"
  | (['"][^\n;]*+)
  | (.)
  | \Z
)"""
_WORD, _NUMBER, _SIGN, _STRING, _QUOTED, _OPEN, _OTHER = range(1, 8)
_ACROSS_LINES = re.compile(
    _LEXEME % (SKIPPED, IDENTIFIER, "[^']", "[^']", '[^"]', '[^"]'), re.VERBOSE | re.DOTALL
)
_WITHIN_LINES = re.compile(
    _LEXEME % (SKIPPED, IDENTIFIER, r"[^'\n]", r"[^'\n]", r'[^"\n]', r'[^"\n]'), re.VERBOSE | re.DOTALL
)


def line_starts(text: str) -> list[int]:
    """Where each line of a text begins, and one place behind its end."""
    return [0, *(found.end() for found in re.finditer("\n", text)), len(text) + 1]


def tokenize(
    text: str, *, across_lines: bool = True, start: int = 0, starts: list[int] | None = None
) -> Iterator[TokenChunk]:
    """The tokens of a text, chunk by chunk, so that those of a long text need not live all at once.

    They are those from `start` on, where a statement begins; `starts` are the `line_starts`, if they are known.

    With `across_lines` a string may hold line ends, and one that is never closed raises OpenStringError. The text is
    then read again without, so that the mistake names the string that was left open, and not the last one.
    """
    starts = line_starts(text) if starts is None else starts
    line = bisect_right(starts, start)
    line_start, next_start = starts[line - 1], starts[line]
    last = Token("END", "", 0, 1, 1, 1, 1, 0)
    chunk = TokenChunk()
    tokens, marks = chunk.tokens, chunk.marks
    for found in (_ACROSS_LINES if across_lines else _WITHIN_LINES).finditer(text, start):
        group = found.lastindex
        if group is None:
            continue
        start, end = found.span(group)
        while start >= next_start:
            line += 1
            line_start, next_start = next_start, starts[line]
        column = start - line_start + 1
        value: str = found[group]
        if group == _WORD:
            kind = _KEYWORD.get(value.upper(), "NAME")
        elif group == _SIGN:
            kind, value = _SIGN_TOKENS[value]
        elif group == _NUMBER:
            kind = "NUMBER"
        elif group in (_STRING, _QUOTED):
            last = _quoted(group, value, start - 1, end + 1, starts)
            tokens.append(last)
            if group == _QUOTED and not value:
                chunk.mistakes.append(Mistake("a name cannot be empty", last.span))
            continue
        elif group == _OPEN and across_lines:
            raise OpenStringError
        else:
            last = Token("OPEN", value, start, line, column, line, column + end - start, end)
            chunk.mistakes.append(_unreadable(group, value, last.span))
            if group == _OPEN:
                tokens.append(last)
            continue
        last = Token(kind, value, start, line, column, line, column + end - start, end)
        if kind in _MARKS:
            marks.append(len(tokens))
        tokens.append(last)
        if kind == "SEMICOLON":
            yield chunk
            chunk = TokenChunk()
            tokens, marks = chunk.tokens, chunk.marks
    # What is missing at the end of the text is shown behind its last token.
    end, line, column = last.end_pos, last.end_line, last.end_column
    tokens.append(Token("END", "", end, line, column, line, column + 1, end))
    yield chunk


def is_indexed(tokens: list[Token], at: int) -> bool:
    """Whether `[i].` or `[i-1].` follows, so that even a keyword before it can only be a variable."""
    if tokens[at + 1].type != "LSQB":
        return False
    kinds = " ".join(token.type for token in tokens[at + 2 : at + 7])
    return kinds.startswith(("NAME RSQB DOT", "NAME MINUS NUMBER RSQB DOT"))


def _quoted(group: int, value: str, start: int, end: int, starts: list[int]) -> Token:
    """The token of a string or a quoted name, quotes included."""
    line = bisect_right(starts, start)
    end_line = bisect_right(starts, end - 1)
    place = (start, line, start - starts[line - 1] + 1, end_line, end - starts[end_line - 1] + 1, end)
    if group == _STRING:
        return Token("STRING", value.replace("''", "'"), *place)
    return Token("NAME", value.replace('""', '"') or "?", *place)


def _unreadable(group: int, value: str, span: Span) -> Mistake:
    if group == _OPEN:
        what = "string" if value[0] == "'" else "name"
        return Mistake(f"this {what} is never closed", span, f"expected `{value[0]}` at its end")
    note = _CHARACTER_NOTES.get(value, "")
    shown = value if value.isprintable() else f"U+{ord(value):04X}"
    return Mistake(f"unexpected character `{shown}`", span, note)
