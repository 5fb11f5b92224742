"""Comparisons as data: turned around, negated, and the two that plans write themselves."""

from typing import Final

from stretto.pattern.predicates import Apply, Expr, Ref, Which
from stretto.schema import Kind

FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
"""`a < b` is `b > a`."""
OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
"""NOT `a < b` is `a >= b`, where no NaN occurs."""
COMPARISONS: Final = frozenset(FLIPPED)
RANGES: Final = COMPARISONS - {"!="}
"""The comparisons that leave one range of values."""


def equal(left: Expr, right: Expr) -> Expr:
    return Apply("=", (left, right), Kind.BOOL)


def earlier(left: Expr, right: Expr) -> Expr:
    return Apply("<", (left, right), Kind.BOOL)


def flipped(term: Apply) -> Apply:
    """The same comparison with its sides the other way round."""
    left, right = term.arguments
    return Apply(FLIPPED[term.op], (right, left), Kind.BOOL)


def equality(term: Expr) -> tuple[Ref, Ref] | None:
    """The two sides of `a.x = b.y` over plain references to different columns, else None."""
    if isinstance(term, Apply) and term.op == "=":
        left, right = term.arguments
        if (
            isinstance(left, Ref)
            and isinstance(right, Ref)
            and left.column != right.column
            and left.which is right.which is Which.EACH
        ):
            return left, right
    return None
