"""Tokens as the terminals of the grammar: what a word means is decided by its neighbours, so few words are reserved.

Numbers, durations, times, `[i]` and `{m,n}` become one terminal each, with their value. An impossible value is a
mistake, and parsing continues with another value in its place. Functions here are pure.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

from stretto.errors import Mistake, near
from stretto.text.messages import pattern_word
from stretto.text.tokens import KEYWORDS, QUERY_CLAUSES, RESERVED, Token, is_indexed
from stretto.text.values import UNITS, duration_us, number, timestamp_us

PATTERN_WORDS = {
    "SEQ": ("COMBINE", "SEQ"),
    "AND": ("COMBINE", "AND"),
    "CONJ": ("COMBINE", "AND"),
    "OR": ("COMBINE", "OR"),
    "ANY": ("COMBINE", "ANY"),
    "DISJ": ("COMBINE", "ANY"),
    "NOT": ("NEGATE", "NOT"),
    "NEG": ("NEGATE", "NOT"),
    "KL": ("KLEENE", "KL"),
}
# After one of these a `-` subtracts and `[` cannot begin `[attr]`; after anything else an operand begins.
_OPERAND_ENDS = frozenset({"NAME", "LITERAL", "DURATION", "TIMESTAMP", "NULL", "RPAR", "RSQB", "END"})
_JUDGED = KEYWORDS | {"NAME", "NUMBER", "STRING", "OPEN", "LSQB", "MINUS"}
# Words that are operators where an operand stands before them, and names anywhere else.
TESTS = frozenset({"LIKE", "ILIKE", "MATCHES", "IMATCHES", "CONTAINS"})
_CASE_WORDS = frozenset({"WHEN", "THEN", "ELSE", "END"})
_NO_UNITS = TESTS | _CASE_WORDS | {"ESCAPE"}

Terminals = tuple[list[Token], list[Mistake]]
Reader = Callable[[list[Token]], Terminals]


def as_expression(tokens: list[Token], *, counts: bool = False) -> Terminals:
    """The terminals of an expression. The last token is what follows the clause, and not part of it.

    With `counts`, `100 EVENTS` is a COUNT.
    """
    out: list[Token] = []
    mistakes: list[Mistake] = []
    at, end = 0, len(tokens) - 1
    open_cases = 0
    while at < end:
        token = tokens[at]
        kind = token.type
        if kind not in _JUDGED:
            pass
        elif kind == "NAME":
            token = _operator(token, tokens[at + 1], out, open_cases)
            open_cases += (token.type == "CASE") - (token.type == "END")
        elif kind == "NUMBER":
            at, token = _quantity(tokens, at, end, "", mistakes, counts=counts)
        elif kind == "MINUS":
            if (
                at + 1 < end
                and tokens[at + 1].type == "NUMBER"
                and not (out and out[-1].type in _OPERAND_ENDS)
            ):
                first = token
                at, token = _quantity(tokens, at + 1, end, "-", mistakes, counts=counts)
                token = _joined(token.type, token.value, first, token)
        elif kind == "STRING":
            token = token._replace(type="LITERAL")
        elif kind == "OPEN":
            token = token._replace(type="LITERAL") if token.value[0] == "'" else _as_name(token)
        elif kind == "LSQB":
            if out and out[-1].type == "NAME":
                at, token = _index(tokens, at, end, mistakes)
        else:
            at, token = _keyword(tokens, at, end, mistakes)
        out.append(token)
        at += 1
    return out, mistakes


def _operator(token: Token, following: Token, out: list[Token], open_cases: int) -> Token:
    """A word as LIKE, ESCAPE or a word of CASE where it stands like one; else it is a name."""
    if token.quoted:
        return token
    word = token.value.upper()
    before = out[-1].type if out else ""
    if word == "CASE" and before not in (*_OPERAND_ENDS, "DOT", "AS") and _is_plain(following, "WHEN"):
        return token._replace(type="CASE")
    if open_cases and (before in _OPERAND_ENDS if word in _CASE_WORDS else False):
        return token._replace(type=word)
    if word == "WHEN" and before == "CASE":
        return token._replace(type=word)
    if before == "NOT":
        before = out[-2].type if len(out) > 1 else ""
        return token._replace(type="TEST", value=word) if word in TESTS and before in _OPERAND_ENDS else token
    if before in _OPERAND_ENDS and word in TESTS:
        return token._replace(type="TEST", value=word)
    return token._replace(type=word) if before in _OPERAND_ENDS and word == "ESCAPE" else token


def _is_plain(token: Token, word: str) -> bool:
    return token.type == "NAME" and not token.quoted and token.value.upper() == word


def as_keep(tokens: list[Token]) -> Terminals:
    """The same for KEEP and LIMIT, where PER and FOR stand between expressions."""
    marked: list[Token] = []
    for at, token in enumerate(tokens):
        word = "" if token.type not in ("NAME", "FOR") or token.quoted else token.value.upper()
        if word == "PER" and at == 1:
            marked.append(token._replace(type="PER"))
        elif word == "FOR" and at and at + 1 < len(tokens) and tokens[at + 1].type == "NUMBER":
            marked.append(token._replace(type="LASTING"))
        elif at == 0 and (token.type == "NAME" or token.type in KEYWORDS):
            marked.append(_as_name(token))
        else:
            marked.append(token)
    return as_expression(marked)


def as_window(tokens: list[Token]) -> Terminals:
    """The same for WITHIN, which counts events."""
    return as_expression(tokens, counts=True)


def as_names(tokens: list[Token]) -> Terminals:
    """The same where no expression can stand, so that every word is a name."""
    plain = islice(tokens, len(tokens) - 1)
    return [
        _as_name(token) if token.type in KEYWORDS or token.type == "OPEN" else token for token in plain
    ], []


def as_for_each(tokens: list[Token]) -> Terminals:
    """The same for FOR EACH, where a word KEY before `r.id` introduces the key."""
    names, mistakes = as_names(tokens)
    for at, token in enumerate(names[1:-1], 1):
        column = [other.type for other in names[at + 1 : at + 3]] in (["NAME"], ["NAME", "DOT"])
        if column and token.type == "NAME" and token.value.upper() == "KEY" and not token.quoted:
            names[at] = token._replace(type="KEY")
    return names, mistakes


def as_pattern(tokens: list[Token]) -> Terminals:
    """The terminals of a pattern: a word before `(` combines patterns, any other is a name."""
    out: list[Token] = []
    mistakes: list[Mistake] = []
    at, end = 0, len(tokens) - 1
    while at < end:
        token = tokens[at]
        kind = token.type
        if kind == "NAME" or kind in KEYWORDS:
            if tokens[at + 1].type == "LPAR" and at + 1 < end:
                token = _combining(token, mistakes)
            elif _negates(tokens, at, end):
                forbidden = " ".join(str(other.value) for other in tokens[at + 1 : at + 3])
                mistakes.append(
                    Mistake(f"`{token.value}` takes parentheses", token.span, f"write `NOT({forbidden})`")
                )
                token = token._replace(type="BANG")
            elif kind != "NAME":
                token = _as_name(token)
        elif kind == "LBRACE":
            at, token = _repetition(tokens, at, end, mistakes)
        elif kind == "OPEN":
            token = _as_name(token)
        out.append(token)
        at += 1
    return out, mistakes


def _keyword(tokens: list[Token], at: int, end: int, mistakes: list[Mistake]) -> tuple[int, Token]:
    token, following = tokens[at], tokens[at + 1]
    before = tokens[at - 1].type if at else ""
    if before in ("DOT", "AS") or following.type == "DOT" or is_indexed(tokens, at):
        return at, _as_name(token)
    if token.type in ("TRUE", "FALSE"):
        return at, token._replace(type="LITERAL", value=token.type == "TRUE")
    if token.type == "TIMESTAMP" and following.type == "STRING" and at + 1 < end:
        try:
            us = timestamp_us(following.value)
        except ValueError as error:
            mistakes.append(Mistake(str(error), following.span))
            us = 0
        return at + 1, _joined("TIMESTAMP", us, token, following)
    if token.type in RESERVED or token.type == "SLIDE":
        return at, token
    return at, _as_name(token)


def _quantity(
    tokens: list[Token], at: int, end: int, sign: str, mistakes: list[Mistake], *, counts: bool
) -> tuple[int, Token]:
    """A number, alone or with the unit after it."""
    token, unit = tokens[at], tokens[at + 1]
    plain = unit.type == "NAME" and not unit.quoted and unit.value.upper() not in _NO_UNITS
    if at + 1 >= end or not plain:
        return at, token._replace(type="LITERAL", value=_checked(mistakes, token, number, sign + token.value))
    word = unit.value.upper()
    if counts and word in ("EVENTS", "EVENT"):
        return at + 1, _joined("COUNT", _checked(mistakes, token, number, sign + token.value), token, unit)
    if word not in UNITS:
        hint = near(word, (*UNITS, "EVENTS") if counts else UNITS)
        if not hint and counts and not near(word, QUERY_CLAUSES):
            hint = "known are MICROSECONDS, MILLISECONDS, SECONDS, MINUTES, HOURS, DAYS and EVENTS"
        if not hint:  # not meant as a unit: the grammar says what it expected instead
            return at, token._replace(
                type="LITERAL", value=_checked(mistakes, token, number, sign + token.value)
            )
        mistakes.append(Mistake(f"unknown unit of time `{unit.value}`", unit.span, hint))
        return at + 1, _joined("DURATION", 1, token, unit)
    us = _checked(mistakes, _joined("DURATION", 1, token, unit), duration_us, sign + token.value, word)
    return at + 1, _joined("DURATION", us, token, unit)


def _checked(mistakes: list[Mistake], at: Token, read: Callable[..., Any], *text: str) -> Any:
    """What `read` makes of the text; 1 and a mistake if it raises ValueError."""
    try:
        return read(*text)
    except ValueError as error:
        mistakes.append(Mistake(str(error), at.span))
        return 1


def _index(tokens: list[Token], at: int, end: int, mistakes: list[Mistake]) -> tuple[int, Token]:
    """`[i]` or `[i-1]` after a variable."""
    close = next((k for k in range(at + 1, min(at + 8, end)) if tokens[k].type == "RSQB"), None)
    if close is None:
        return at, tokens[at]
    text = "".join(str(token.value) for token in tokens[at + 1 : close])
    if text not in ("i", "i-1") and tokens[close + 1].type != "DOT":
        return at, tokens[at]
    token = _joined("INDEX", text if text in ("i", "i-1") else "i", tokens[at], tokens[close])
    if text not in ("i", "i-1"):
        note = "only neighbours can be named: `[i]` and `[i-1]`"
        mistakes.append(Mistake(f"unknown position `[{text}]`", token.span, note))
    return close, token


def _negates(tokens: list[Token], at: int, end: int) -> bool:
    """Whether `NOT A a` stands here: NOT before a type and its variable, without the parentheses that it needs."""
    words = [
        token for token in tokens[at : min(at + 3, end)] if token.type == "NAME" or token.type in KEYWORDS
    ]
    return len(words) == 3 and not words[0].quoted and words[0].value.upper() in ("NOT", "NEG")


def _combining(token: Token, mistakes: list[Mistake]) -> Token:
    meaning = None if token.type == "NAME" and token.quoted else PATTERN_WORDS.get(token.value.upper())
    if meaning is None:
        hint = pattern_word(token) or near(token.value.upper(), PATTERN_WORDS)
        hint = hint or "known are SEQ, AND, OR, ANY, NOT and KL; conditions stand in WHERE"
        mistakes.append(Mistake(f"unknown pattern word `{token.value}`", token.span, hint))
        meaning = ("COMBINE", "SEQ")
    return token._replace(type=meaning[0], value=meaning[1])


def _repetition(tokens: list[Token], at: int, end: int, mistakes: list[Mistake]) -> tuple[int, Token]:
    """`{m}`, `{m,}`, `{m,n}` or `{,n}`."""
    close = next((k for k in range(at + 1, min(at + 6, end)) if tokens[k].type == "RBRACE"), None)
    if close is None:
        return at, tokens[at]
    inner = tokens[at + 1 : close]
    bounds, problem = _bounds(inner)
    token = _joined("REPEAT", bounds, tokens[at], tokens[close])
    if problem:
        mistakes.append(Mistake(problem, token.span, "write `{m}`, `{m,}`, `{m,n}` or `{,n}`, as in `{2,5}`"))
    return close, token


def _bounds(inner: list[Token]) -> tuple[tuple[int, int | None], str]:
    """The bounds of a repetition, and what is wrong with them, if anything is."""
    shape = "".join({"NUMBER": "n", "COMMA": ","}.get(token.type, "?") for token in inner)
    if shape not in ("n", "n,", "n,n", ",n"):
        return (1, None), "this is not a number of repetitions"
    try:
        read = [number(token.value) for token in inner if token.type == "NUMBER"]
    except ValueError as error:
        return (1, None), str(error)
    counts = [count for count in read if isinstance(count, int)]
    if len(counts) < len(read):
        return (1, None), "repetitions are counted in whole numbers"
    low = 0 if shape == ",n" else counts[0]
    high = None if shape == "n," else counts[-1]
    if high == 0:
        return (1, None), "at least one repetition must be allowed"
    if high is not None and low > high:
        return (1, None), f"at least {low} and at most {high} repetitions cannot both hold"
    return (low, high), ""


def _as_name(token: Token) -> Token:
    return token._replace(type="NAME")


def _joined(kind: str, value: Any, first: Token, last: Token) -> Token:
    """One token in the place of several."""
    start, line, column = first.start_pos, first.line, first.column
    return Token(kind, value, start, line, column, last.end_line, last.end_column, last.end_pos)
