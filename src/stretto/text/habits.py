"""Words and signs of other languages, and what to write here instead."""

from collections.abc import Sequence
from typing import Final

from stretto.text.tokens import Token

_MATCHING: Final = (
    "write a query: `QUERY q PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 10 MINUTES RETURN a.x`"
)
_FOLLOWING: Final = "write `SEQ(A a, B b)` for A followed by B"
_CONDITIONS: Final = "conditions stand in WHERE, as in `WHERE a.x > 3`"
_COMMENT: Final = "a comment begins with `--` and ends with its line"

# An unexpected word, the word that must follow it for the hint (empty: any), and the hint.
_WORDS: Final[dict[str, tuple[str, str]]] = {
    "ORDER": ("BY", "there is no ORDER BY: sort the result, as matches come in no promised order"),
    "PARTITION": ("BY", "write `[user]` in WHERE: all events of a match then have the same `user`"),
    "MEASURES": ("", "write RETURN, as in `RETURN a.x AS x`"),
    "DEFINE": ("", _CONDITIONS),
    "IF": ("", _CONDITIONS),
    "FILTER": ("", _CONDITIONS),
    "MATCH_RECOGNIZE": ("", _MATCHING),
    "AFTER": ("MATCH", "write `KEEP APART`: no two matches that are reported overlap"),
    "ONE": ("ROW", "leave it out: every match is one row"),
    "WINDOW": ("", "write `WITHIN 10 MINUTES`; totals of patterns have `WITHIN 10 MINUTES SLIDE 1 MINUTE`"),
    "TUMBLING": ("", "write `WITHIN 10 MINUTES`; totals of patterns have `WITHIN 10 MINUTES SLIDE 1 MINUTE`"),
    "INSERT": (
        "INTO",
        "leave it out: `stretto run --out FILE` and `stretto stream --sink` say where matches go",
    ),
    "FOLLOWED": ("", _FOLLOWING),
    "FOLLOWEDBY": ("", _FOLLOWING),
    "THEN": ("", _FOLLOWING),
    "REGEXP": ("", "write MATCHES, as in `a.name MATCHES 'regular expression'`"),
    "REGEX": ("", "write MATCHES, as in `a.name MATCHES 'regular expression'`"),
    "RLIKE": ("", "write MATCHES, as in `a.name MATCHES 'regular expression'`"),
    "UNTIL": ("", "not supported yet; a NOT forbids an event between two steps: `SEQ(A a, NOT(U u), B b)`"),
    "OFFSET": ("", "there is no OFFSET; `LIMIT 10 PER 1 HOUR` bounds what is reported"),
    "EMIT": ("", "write RETURN, as in `RETURN a.x AS x`"),
    "OUTPUT": ("", "write RETURN, as in `RETURN a.x AS x`"),
}
# Words that were read as a name, so that the word behind them is the unexpected one.
_BEFORE: Final = {
    "EVERY": "leave `every` out: a match may begin at every event; SELECT says which matches count",
    "DISTINCT": "leave DISTINCT out; `KEEP FIRST PER a.x FOR 1 HOUR` reports one match for each value",
    "INTERVAL": "write a number and a unit, as in `WITHIN 5 MINUTES`",
    "SEQUENCE": _FOLLOWING,
}
_STATEMENTS: Final = {
    "SELECT": _MATCHING,
    "FROM": _MATCHING,
    "SEQUENCE": _MATCHING,
    "EVERY": _MATCHING,
    "MATCH_RECOGNIZE": _MATCHING,
    "INSERT": _MATCHING,
    "WITH": _MATCHING,
    "SEQ": _MATCHING,
    "BEGIN": _MATCHING,
    "PATTERN": "a query has a name: write `QUERY q PATTERN SEQ(A a, B b) WITHIN 10 MINUTES`",
}


def habit_of_word(token: Token, following: Token | None) -> str:
    """What to write instead of a word that another language has there; empty if it is no such word."""
    wanted, hint = _WORDS.get(_word(token), ("", ""))
    return hint if hint and (not wanted or (following is not None and _word(following) == wanted)) else ""


def habit_at(tokens: Sequence[Token], stuck: Token, rule: str) -> str:
    """What to write instead of the token that a clause is stuck at; `rule`: the start rule of the clause."""
    number = next((i for i, token in enumerate(tokens) if token.start_pos == stuck.start_pos), None)
    if number is None:
        return ""
    token = tokens[number]
    following = tokens[number + 1] if number + 1 < len(tokens) else None
    hint = habit_of_word(token, following)
    # A pattern is stuck one word later: `every A` is read as a type and its variable.
    for before in reversed(tokens[max(number - 1 - (rule == "pattern"), 0) : number]):
        hint = hint or _BEFORE.get(_word(before), "")
    return hint or (_in_pattern(tokens, number) if rule == "pattern" else "")


def habit_of_statement(token: Token) -> str:
    """What to write instead of a statement that begins with a word, or a comment, of another language."""
    return _COMMENT if token.type == "SLASH" else _STATEMENTS.get(_word(token), "")


def pattern_word(token: Token) -> str:
    """What to write instead of a word that stands before `(` in a pattern; empty if other languages have none such."""
    word = _word(token)
    return _BEFORE.get(word, "") or _WORDS.get(word, ("", ""))[1]


def _in_pattern(tokens: Sequence[Token], number: int) -> str:
    """The hint for a sign that stands in patterns of other languages."""
    token, before = tokens[number], tokens[number - 1].type if number else ""
    following = tokens[number + 1] if number + 1 < len(tokens) else None
    if token.type == "MINUS" and following is not None and following.value in (">", ">="):
        return _FOLLOWING
    if token.type in ("COMPARE", "LSQB"):
        return f"{_CONDITIONS}; a variable follows its type, as in `A a`"
    if before == "AS":
        return "leave AS out: a variable follows its type, as in `A a`"
    if token.type == "FOR":
        return "a NOT has no FOR yet: a NOT that stands last holds until the WITHIN has passed"
    doubled = {"VBAR": "write `OR(A a, B b)`", "AMPERSAND": "write `AND(A a, B b)` or `A a & B b`"}
    return doubled.get(token.type, "") if before == token.type else ""


def _word(token: Token) -> str:
    is_name = token.type not in ("STRING", "NUMBER", "END", "OPEN") and isinstance(token.value, str)
    return token.value.upper() if is_name and not (token.type == "NAME" and token.quoted) else ""
