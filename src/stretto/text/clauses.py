"""Splits a text into statements, and these into clauses, before any of them is parsed.

So a broken clause does not spoil others, and every clause can report its own mistake.
"""

from collections.abc import Iterator
from itertools import pairwise

from stretto.errors import Mistake
from stretto.records import dataclass
from stretto.text.tokens import KEYWORDS, Token, TokenChunk, is_indexed


@dataclass(frozen=True, slots=True)
class Clause:
    """`tokens` stand behind the keyword; the last of them is what follows the clause, and not part of it.

    The word is empty for what stands before the first clause.
    """

    word: str
    head: Token
    tokens: list[Token]


@dataclass(frozen=True, slots=True)
class StatementDraft:
    """A statement not parsed yet. The last token is what follows it; `marks` are the places of clause keywords."""

    tokens: list[Token]
    marks: list[int]

    def clauses(self, start: int, words: tuple[str, ...]) -> list[Clause]:
        """The clauses from token `start` on, the first one being what stands before any keyword, if anything does."""
        heads = [mark for mark in self.marks if mark >= start and self._begins(mark, start, words)]
        stops = [*heads, len(self.tokens) - 1]
        found: list[Clause] = []
        if stops[0] > start:
            found.append(Clause("", self.tokens[start], self.tokens[start : stops[0] + 1]))
        for head, stop in zip(heads, stops[1:], strict=True):
            first = head + 2 if self.tokens[head].type in SECOND_WORDS else head + 1
            found.append(Clause(self.tokens[head].type, self.tokens[head], self.tokens[first : stop + 1]))
        return found

    def _begins(self, mark: int, start: int, words: tuple[str, ...]) -> bool:
        tokens = self.tokens
        if tokens[mark].type not in words:
            return False
        following = tokens[mark + 1]
        second = SECOND_WORDS.get(tokens[mark].type)
        if second is not None and not is_word(following, second):
            return False
        if mark == start:
            return True
        before = tokens[mark - 1].type
        table = tokens[mark - 2].type == "FOR" and is_word(tokens[mark - 1], "EACH")
        if table and tokens[mark].type in ("LIMIT", "KEEP", "AGGREGATE"):
            return False  # a table may have such a name
        if before in _BEFORE_NAMES or following.type in _AFTER_NAMES or is_indexed(tokens, mark):
            return False
        after = tokens[mark + 2].type if mark + 2 < len(tokens) else "END"
        if tokens[mark].type == "PATTERN" and following.type in ("AND", "OR") and after == "LPAR":
            return True  # `FOR EACH limits r PATTERN AND(A a, B b)`
        if following.type in _WORDS_AFTER_NAMES:
            # An operator says that the keyword is a name, unless it is meant as one itself, as in `RETURN in.x`.
            named = following.type == "IN" and after != "LPAR"
            return named or after in ("DOT", "COMPARE") or is_indexed(tokens, mark + 1)
        return not (before in _BETWEEN_PARTS and is_word(following) and after in _AFTER_VARIABLES)


SECOND_WORDS = {"GROUP": "BY", "FOR": "EACH"}
"""What follows the first word of a clause that has two."""

# A clause keyword is a name where it is a type with its variable, as in `SEQ(A a, Where w)` ...
_BETWEEN_PARTS = frozenset({"COMMA", "AMPERSAND", "VBAR", "BANG"})
_AFTER_VARIABLES = frozenset({"COMMA", "RPAR", "PLUS", "STAR", "QMARK", "LBRACE", "AMPERSAND", "VBAR"})
# ... and so it is after or before one of these, as in `a.select`, `[where]` and `group = 3`.
_BEFORE_NAMES = frozenset({"DOT", "AS", "LPAR", "LSQB"})
_AFTER_NAMES = (_AFTER_VARIABLES - {"STAR"}) | {"DOT", "RSQB", "COMPARE", "SLASH", "PERCENT"}
_WORDS_AFTER_NAMES = frozenset({"IN", "IS", "BETWEEN", "AND", "OR", "AS"})


def is_word(token: Token, word: str = "") -> bool:
    """Whether a token is a name or keyword; with `word`, whether it is this one, unquoted, in any case."""
    if token.type != "NAME" and token.type not in KEYWORDS:
        return False
    return not word or (not token.quoted and token.value.upper() == word)


def drafts(chunk: TokenChunk, mistakes: list[Mistake]) -> Iterator[StatementDraft]:
    """The statements of a chunk: none if it is empty, several if a `;` is missing, which is a mistake."""
    tokens = chunk.tokens
    start = 0
    marks: list[int] = []
    for mark in chunk.marks:
        if mark > start + 1 and _begins_statement(tokens, mark):
            note = f"write `;` before `{tokens[mark].value}`"
            mistakes.append(
                Mistake(
                    "a statement begins here, but the one before it is not ended", tokens[mark].span, note
                )
            )
            # What follows is a word, but none of this statement's: its type keeps it from being read as a name.
            yield StatementDraft([*tokens[start:mark], tokens[mark]._replace(type="STATEMENT")], marks)
            start, marks = mark, []
        else:
            marks.append(mark - start)
    if len(tokens) - 1 > start:
        yield StatementDraft(tokens[start:] if start else tokens, marks)


def _begins_statement(tokens: list[Token], at: int) -> bool:
    """Whether `QUERY name PATTERN|FOR`, `CREATE EVENT|STREAM name AS` or `CREATE TABLE name FROM` stands here.

    No clause can hold these.
    """
    kinds = [token.type for token in tokens[at : at + 4]]
    if kinds[0] == "QUERY":
        each = kinds[2:3] == ["FOR"] and at + 3 < len(tokens) and is_word(tokens[at + 3], "EACH")
        return (kinds[2:3] == ["PATTERN"] or each) and is_word(tokens[at + 1])
    if kinds[0] == "CREATE" and kinds[3:] == ["AS"]:
        return is_word(tokens[at + 1], "EVENT") or is_word(tokens[at + 1], "STREAM")
    return kinds[0] == "CREATE" and kinds[3:] == ["FROM"] and is_word(tokens[at + 1], "TABLE")


def parts_at(tokens: list[Token], sign: str) -> list[list[Token]]:
    """A clause cut at every AND or comma outside brackets, each part with the token that follows it."""
    cuts: list[int] = []
    depth = 0
    between = False
    for at, token in enumerate(tokens[:-1]):
        if token.type in ("LPAR", "LSQB"):
            depth += 1
        elif token.type in ("RPAR", "RSQB"):
            depth -= 1
        elif token.type == "BETWEEN":
            between = True
        elif token.type == sign and depth <= 0:
            if between and sign == "AND":
                between = False
            else:
                cuts.append(at)
    edges = [-1, *cuts, len(tokens) - 1]
    return [tokens[first + 1 : last + 1] for first, last in pairwise(edges)]
