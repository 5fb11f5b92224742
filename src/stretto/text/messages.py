"""What the grammar expected, in plain words, and what to write instead of words of other languages."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from stretto.errors import Mistake, near
from stretto.text.tokens import KEYWORDS, RESERVED, SIGNS, Token

# One phrase stands for a whole group of terminals; larger groups come first.
_GROUPS: tuple[tuple[AbstractSet[str], str], ...] = (
    (
        frozenset(
            {"NAME", "LITERAL", "NULL", "DURATION", "TIMESTAMP", "LPAR", "LSQB", "MINUS", "CASE", "NOT"}
        ),
        "an expression",
    ),
    (
        frozenset({"NAME", "LITERAL", "NULL", "DURATION", "TIMESTAMP", "LPAR", "LSQB", "MINUS", "CASE"}),
        "a value",
    ),
    (frozenset({"NAME", "COMBINE", "NEGATE", "KLEENE", "LPAR", "BANG"}), "a pattern"),
    (
        frozenset(
            {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "COMPARE", "IN", "BETWEEN", "IS", "NOT", "TEST"}
        ),
        "an operator",
    ),
    (frozenset({"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}), "an arithmetic operator"),
    (frozenset({"PLUS", "STAR", "QMARK", "REPEAT"}), "a repetition sign"),
    (
        frozenset({"DURATION", "COUNT", "NAME"}),
        "a duration such as `10 SECONDS` or a count such as `100 EVENTS`",
    ),
    (frozenset({"DURATION", "COUNT"}), "a duration such as `10 SECONDS` or a count such as `100 EVENTS`"),
)
_PHRASES = {name: f"`{sign}`" for sign, name in SIGNS.items()} | {
    "NAME": "a name",
    "LITERAL": "a value",
    "COUNT": "a count such as `100 EVENTS`",
    "REPEAT": "`{`",
    "COMBINE": "a pattern",
    "NEGATE": "a pattern",
    "KLEENE": "a pattern",
    "DURATION": "a duration such as `10 SECONDS`",
    "INDEX": "`[i]`",
    "COMPARE": "a comparison",
    "TEST": "`LIKE`",
    "LASTING": "`FOR` and a duration",
    "$END": "",
}
# After a complete part almost anything may follow; the signs that only continue it would drown the rest.
_MINOR = frozenset(
    {"INDEX", "LPAR", "DOT", "VBAR", "AMPERSAND", "PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}
    | {"a repetition sign", "an arithmetic operator"}
)
_FOREIGN = {
    "AMPERSAND": "write `AND` between conditions",
    "VBAR": "write `OR` between conditions",
    "BANG": "write `NOT` before a condition",
}


def expectation(accepted: AbstractSet[str]) -> str:
    """The terminals that could have come next, as "expected ...": in few words."""
    left = set(accepted) - {"$END"}
    found: list[str] = []
    for group, phrase in _GROUPS:
        if group <= left:
            left -= group
            found.append(phrase)
    found += sorted(left)
    telling = [part for part in found if part not in _MINOR] or found
    phrases = [_PHRASES.get(part, f"`{part}`" if part.isupper() else part) for part in telling]
    if not phrases:
        return "expected nothing more here"
    return "expected " + (
        " or ".join(phrases) if len(phrases) < 3 else ", ".join(phrases[:-1]) + f" or {phrases[-1]}"
    )


def unexpected(token: Token, shown: str, accepted: AbstractSet[str], rule: str, habit: str = "") -> Mistake:
    """The mistake of a token that cannot stand where it does; `shown` is its text, `rule` the clause's start rule.

    `habit`: what to write instead of a word or sign of another language.
    """
    if token.type == "END":
        return Mistake("unexpected end of the text", token.span, expectation(accepted))
    message = f"unexpected `{_short(shown)}`"
    return Mistake(message, token.span, habit or _hint(token, accepted, rule) or expectation(accepted))


def _hint(token: Token, accepted: AbstractSet[str], rule: str) -> str:
    """What to write instead, for habits from other languages."""
    if rule == "pattern":
        word = str(token.value).upper() if token.type == "NAME" else ""
        if word in ("AND", "OR"):
            sign = "&" if word == "AND" else "|"
            return f"write `{word}(A a, B b)`" + (f" or `A a {sign} B b`" if word == "AND" else "")
        if token.type == "LBRACE":
            return "a number of repetitions is `{m}`, `{m,}`, `{m,n}` or `{,n}`"
        if "RPAR" in accepted and token.type == "COMMA":
            return "expected `)`: NOT and KL take one pattern"
        return ""
    if rule == "policy":
        return "expected `ANY`, `NEXT`, `LAST` or `STRICT`; what a match gives back stands behind `RETURN`"
    if token.type in _FOREIGN:
        return _FOREIGN[token.type]
    if token.type == "COMPARE" and "AND" in accepted:
        return "comparisons do not chain: write `a < b AND b < c`"
    if token.type == "COMMA" and rule == "condition" and (accepted <= {"$END"} or "OR" in accepted):
        return "write `AND` between conditions"
    if accepted <= {"NULL", "NOT"}:
        return f"{expectation(accepted)}: IS tests for NULL alone, `=` and `!=` compare values"
    if token.type == "LITERAL" and rule == "window" and "DOT" in accepted:
        return "write a number and a unit, as in `WITHIN 5 MINUTES`"
    if token.type in RESERVED - {"AND", "OR", "NOT"} and "NAME" in accepted:
        return f'{expectation(accepted)}; a name spelled like this word takes quotes: "{token.value}"'
    return ""


def nearest_clause(token: Token, clauses: tuple[str, ...]) -> str:
    """The clause keyword that an unexpected word was meant to be, or an empty text."""
    if token.type != "NAME" or token.quoted or token.value.upper() in KEYWORDS or habit_of_word(token, None):
        return ""
    hint = near(token.value.upper(), clauses)
    return next((clause for clause in clauses if f"`{clause}`" in hint), "")


def _short(text: str) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= 40 and line == text else f"{line[:37]}..."


# ---- words and signs of other languages, and what to write instead ----

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
