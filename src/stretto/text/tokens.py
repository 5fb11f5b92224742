"""Query text as a list of words, numbers, strings and signs, each with its place. No word is judged here."""

import re
from bisect import bisect_right
from typing import Any, NamedTuple

from stretto.errors import Mistake, Span


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


class Tokens(NamedTuple):
    """All tokens of a text, a last one of type END, and the numbers of those where a clause or statement may begin."""

    tokens: list[Token]
    marks: list[int]
    mistakes: list[Mistake]


# Words that are never bare names in an expression, and those that begin a clause. All others (units, EVENTS, BY,
# SEQ, NEXT, ...) are known by their place alone, so they stay free as names.
RESERVED = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "FALSE", "AS"})
QUERY_CLAUSES = ("PATTERN", "WHERE", "WITHIN", "SELECT", "RETURN", "GROUP")
STREAM_CLAUSES = ("SELECT", "FROM", "JOIN", "ON", "WHERE", "GROUP", "WITHIN")
_MARKS = frozenset({"QUERY", "CREATE", "SEMICOLON", *QUERY_CLAUSES, *STREAM_CLAUSES})
KEYWORDS = frozenset({"TIMESTAMP", "SLIDE"}) | RESERVED | (_MARKS - {"SEMICOLON"})
_KEYWORD = {word: word for word in KEYWORDS}

_SIGNS = {
    "(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ".": "DOT",
    ";": "SEMICOLON", "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "%": "PERCENT", "?": "QMARK",
    "!": "BANG", "&": "AMPERSAND", "|": "VBAR",
}  # fmt: skip
_COMPARE = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_SIGN_TOKENS = {sign: (name, sign) for sign, name in _SIGNS.items()} | {
    sign: ("COMPARE", meaning) for sign, meaning in _COMPARE.items()
}

IDENTIFIER = r"[^\W\d]\w*+"
_LEXEME = r"""(?>[\s\ufeff]+|--[^\n]*)*+(?:
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
# A string may hold line ends. Only when that leaves one open are strings read line by line, so that the one which
# was never closed is named, and not the last one of the text.
_ACROSS_LINES = re.compile(_LEXEME % (IDENTIFIER, "[^']", "[^']", '[^"]', '[^"]'), re.VERBOSE | re.DOTALL)
_WITHIN_LINES = re.compile(
    _LEXEME % (IDENTIFIER, r"[^'\n]", r"[^'\n]", r'[^"\n]', r'[^"\n]'), re.VERBOSE | re.DOTALL
)


def tokenize(text: str) -> Tokens:
    """The tokens of a text. What cannot be one is a mistake and left out."""
    found = _scan(text, _ACROSS_LINES)
    return found if found is not None else _scan(text, _WITHIN_LINES) or Tokens([], [], [])


def _scan(text: str, lexemes: re.Pattern[str]) -> Tokens | None:
    """The tokens of a text, or None if a string is left open while strings may hold line ends."""
    tokens: list[Token] = []
    marks: list[int] = []
    mistakes: list[Mistake] = []
    starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text) + 1]
    line, line_start, next_start = 1, 0, starts[1]
    for found in lexemes.finditer(text):
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
            tokens.append(_quoted(group, value, start, end, starts))
            if group == _QUOTED and not value:
                mistakes.append(Mistake("a name cannot be empty", tokens[-1].span))
            continue
        elif group == _OPEN and lexemes is _ACROSS_LINES:
            return None
        else:
            mistakes.append(_unreadable(group, value, Span(line, column, line, column + end - start)))
            if group == _OPEN:
                tokens.append(Token("OPEN", value, start, line, column, line, column + end - start, end))
            continue
        if kind in _MARKS:
            marks.append(len(tokens))
        tokens.append(Token(kind, value, start, line, column, line, column + end - start, end))
    tokens.append(_end(tokens))
    return Tokens(tokens, marks, mistakes)


def _quoted(group: int, value: str, start: int, end: int, starts: list[int]) -> Token:
    """The token of a string or a quoted name, whose quotes stand just outside `start` and `end`."""
    start, end = start - 1, end + 1
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
    note = "strings take straight single quotes, names straight double quotes" if value in "‘’“”`´" else ""
    shown = value if value.isprintable() else f"U+{ord(value):04X}"
    return Mistake(f"unexpected character `{shown}`", span, note)


def _end(tokens: list[Token]) -> Token:
    """What stands after the last token, as the place of mistakes about something missing."""
    if not tokens:
        return Token("END", "", 0, 1, 1, 1, 2, 0)
    last = tokens[-1]
    return Token("END", "", last.end_pos, last.end_line, last.end_column, last.end_line, last.end_column + 1, last.end_pos)
