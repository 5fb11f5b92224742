"""What the grammar expected, in plain words."""

from collections.abc import Set as AbstractSet

from stretto.errors import Mistake, near
from stretto.text.habits import habit_of_word
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
