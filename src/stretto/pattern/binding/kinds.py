"""Kinds of bound expressions: what operators make of them, and what to say where they clash."""

from typing import Final

from stretto.pattern.functions import NUMBERS
from stretto.pattern.predicates import Apply, Const, Element, Expr, Param, Reduce, Ref
from stretto.schema import Kind


def to_float(expr: Expr) -> Expr:
    """The expression as a double; constants are converted at once."""
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return Const(float(expr.value), Kind.FLOAT)
    return expr if kind_of(expr) is Kind.FLOAT else Apply("to_float", (expr,), Kind.FLOAT)


def a(kind: Kind) -> str:
    """A kind with its article."""
    return f"an {kind}" if kind is Kind.INT else f"a {kind}"


def kind_of(expr: Expr) -> Kind:
    """The kind of an expression's values."""
    assert isinstance(expr, Const | Param | Ref | Reduce | Apply | Element)
    return expr.kind


def arithmetic_kind(op: str, left: Kind, right: Kind) -> Kind | None:
    """The kind of `left op right`, or None where it has no meaning."""
    if left in NUMBERS and right in NUMBERS:
        return Kind.FLOAT if op == "/" or Kind.FLOAT in (left, right) else Kind.INT
    return _ARITHMETIC.get((left, op, right))


_ARITHMETIC: Final[dict[tuple[Kind, str, Kind], Kind]] = {
    (Kind.DURATION, "+", Kind.DURATION): Kind.DURATION,
    (Kind.DURATION, "-", Kind.DURATION): Kind.DURATION,
    (Kind.DURATION, "/", Kind.DURATION): Kind.FLOAT,
    (Kind.DURATION, "*", Kind.INT): Kind.DURATION,
    (Kind.INT, "*", Kind.DURATION): Kind.DURATION,
    (Kind.TIME, "+", Kind.DURATION): Kind.TIME,
    (Kind.DURATION, "+", Kind.TIME): Kind.TIME,
    (Kind.TIME, "-", Kind.DURATION): Kind.TIME,
    (Kind.TIME, "-", Kind.TIME): Kind.DURATION,
}


def arithmetic_note(left: Expr, right: Expr) -> str:
    """What to say about an operator between these two."""
    kinds = {kind_of(left), kind_of(right)}
    if kinds & {Kind.DURATION, Kind.TIME} and kinds & NUMBERS:
        return "write a unit with the number, as in `5 SECONDS`"
    if kinds & {Kind.STRING, Kind.BOOL}:
        return "arithmetic is for numbers, times and durations"
    return "times may be subtracted, and durations added to them"


def comparison_note(kinds: set[Kind]) -> str:
    """What to say about a comparison of these kinds."""
    if Kind.DURATION in kinds and kinds & NUMBERS:
        return "write a unit with the number, as in `5 SECONDS`"
    if Kind.TIME in kinds and Kind.STRING in kinds:
        return "write a time as in `TIMESTAMP '2013-10-07 09:30:00'`"
    if Kind.STRING in kinds and kinds & NUMBERS:
        return "strings stand in single quotes, numbers in none"
    return "both sides of a comparison must have one kind"
