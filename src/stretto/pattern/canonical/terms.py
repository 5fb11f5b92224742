"""Terms in one form, however they were written. Nothing here changes what a term means, for no input.

That rules out much of school algebra: addition is not associative (overflow gives null, doubles round), `-(-x)` is not
x for the smallest integer, and `NOT x < y` is not `x >= y` where a NaN can occur.
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from math import isfinite
from typing import Any, Final

from stretto.pattern.comparisons import FLIPPED, OPPOSITE, equal
from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Negation
from stretto.pattern.predicates import (
    NEIGHBOURS,
    Apply,
    Const,
    Element,
    Expr,
    Param,
    Reduce,
    Ref,
    rewrite,
    walk,
)
from stretto.schema import Kind
from stretto.text.regular_expressions import like_parts

_COMMUTES: Final = frozenset({"+", "*", "least", "greatest"})
_EXACT: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
TRUE: Final = Const(True, Kind.BOOL)
FALSE: Final = Const(False, Kind.BOOL)


@lru_cache(maxsize=1 << 16)
def key(expr: Expr) -> str:
    """A text by which terms are sorted: references by column first, then what is computed, constants last."""
    match expr:
        case Ref(column, attribute, kind, which):
            return f"0{column:04d}.{attribute}.{which}.{kind}"
        case Reduce(function, column, attribute, kind):
            return f"0{column:04d}.{attribute}.~{function}.{kind}"
        case Apply(op, arguments, _):
            return f"1{op}({','.join(key(argument) for argument in arguments)})"
        case Const(value, kind):
            return f"2{kind}:{value!r}"
        case Param(attribute, kind):
            return f"2{kind}:[{attribute}]"
        case Element(kind):
            return f"0element.{kind}"
    raise AssertionError(expr)


@lru_cache(maxsize=1 << 16)
def canonical_term(term: Expr) -> Expr:
    """The one form of a term; it names the same variables, as a term does not apply where one of them is unbound."""
    found = rewrite(term, _rule)
    return found if found == TRUE or _named(found) == _named(term) else term


def canonical_terms(terms: Iterable[Expr]) -> tuple[Expr, ...]:
    """Terms in one form: true ones and duplicates dropped, sorted. None is taken apart: see `separate`."""
    found = {canonical_term(term) for term in terms}
    found.discard(TRUE)
    return tuple(sorted(found - _implied(found), key=key))


def _implied(terms: Iterable[Expr]) -> set[Expr]:
    """Bounds by a constant beside which another one on the same side of the same value leaves less."""
    bounds: dict[tuple[Expr, Kind, bool], list[tuple[Any, bool, Expr]]] = {}
    for term in terms:
        match term:
            case Apply("<" | "<=" | ">" | ">=" as op, (value, Const(limit, kind))) if limit is not None:
                upper = op in ("<", "<=")
                bounds.setdefault((value, kind, upper), []).append((limit, (op in ("<", ">")) != upper, term))
    found: set[Expr] = set()
    for (_, _, upper), several in bounds.items():
        if len(several) > 1 and all(limit == limit for limit, _, _ in several):  # noqa: PLR0124 - NaN
            limits = sorted(several, key=lambda one: one[:2], reverse=not upper)
            found.update(term for _, _, term in limits[1:])
    return found


def canonical_conditions(terms: Iterable[Expr]) -> tuple[Expr, ...]:
    """The same of terms over events that are always there, with AND split: of a stream, of an edge."""
    return canonical_terms(part for term in terms for part in _conjuncts(canonical_term(term)))


def canonical_stream(stream: Stream) -> Stream:
    return Stream(stream.type, canonical_conditions(stream.where)) if stream.where else stream


def canonical_negation(negation: Negation) -> Negation:
    """The one form of a negation: two of a piece forbid the same if their forms are equal."""
    after, before = tuple(sorted(negation.after)), tuple(sorted(negation.before))
    terms = canonical_terms(negation.terms)
    return Negation(canonical_stream(negation.stream), negation.place, after, before, terms)


def _conjuncts(term: Expr) -> Iterable[Expr]:
    return term.children if isinstance(term, Apply) and term.op == "and" else (term,)


def _named(term: Expr) -> frozenset[tuple[int, bool]]:
    """The columns that a term reads, and whether as neighbours, of which there may be none."""
    return frozenset(
        (node.column, isinstance(node, Ref) and node.which in NEIGHBOURS)
        for node in walk(term)
        if isinstance(node, Ref | Reduce)
    )


def _rule(node: Expr) -> Expr | None:
    """One node whose arguments have their one form already."""
    if not isinstance(node, Apply):
        return None
    op, arguments = node.op, node.arguments
    if op in ("and", "or"):
        return _logic(op, arguments)
    if op == "not":
        return _negated(arguments[0])
    if op == "in":
        return _membership(arguments)
    if op == "like":
        return _like(*arguments)
    if op == "to_float" and isinstance(arguments[0], Const) and isinstance(arguments[0].value, int):
        return Const(float(arguments[0].value), Kind.FLOAT)
    if all(isinstance(argument, Const) for argument in arguments):
        folded = _folded(node)
        if folded is not None:
            return folded
    if op in FLIPPED:
        return _compared(op, *arguments)
    if op in _COMMUTES:
        return Apply(op, tuple(sorted(arguments, key=key)), node.kind)
    return None


def _compared(op: str, left: Expr, right: Expr) -> Expr:
    """The smaller side first, which puts a constant last; of equal sides the smaller sign."""
    if (key(right), FLIPPED[op]) < (key(left), op):
        left, right, op = right, left, FLIPPED[op]
    return Apply(op, (left, right), Kind.BOOL)


def _negated(value: Expr) -> Expr | None:
    if isinstance(value, Const):
        return value if value.value is None else Const(not value.value, Kind.BOOL)
    if not isinstance(value, Apply):
        return None
    if value.op == "not":
        return value.arguments[0]
    if value.op in ("and", "or"):  # De Morgan's laws hold for three values too
        parts = (_negated(part) or Apply("not", (part,), Kind.BOOL) for part in value.arguments)
        return _logic("or" if value.op == "and" else "and", parts)
    if value.op in ("=", "!="):
        return _compared(OPPOSITE[value.op], *value.arguments)
    if value.op in OPPOSITE and all(_has_order(argument) for argument in value.arguments):
        return _compared(OPPOSITE[value.op], *value.arguments)
    return None


def _has_order(expr: Expr) -> bool:
    """Whether its values are totally ordered: all but doubles, which may be NaN."""
    assert isinstance(expr, Const | Param | Ref | Reduce | Apply | Element)
    return expr.kind is not Kind.FLOAT


def _logic(op: str, arguments: Iterable[Expr]) -> Expr:
    """AND and OR flattened, sorted, without duplicates and without constants that decide nothing."""
    decides, neutral = (FALSE, TRUE) if op == "and" else (TRUE, FALSE)
    parts: set[Expr] = set()
    for argument in arguments:
        parts.update(argument.children if isinstance(argument, Apply) and argument.op == op else (argument,))
    if decides in parts:
        return decides
    parts.discard(neutral)
    if len(parts) <= 1:
        return parts.pop() if parts else neutral
    return Apply(op, tuple(sorted(parts, key=key)), Kind.BOOL)


def _like(value: Expr, pattern: Expr, *escape: Expr) -> Expr | None:
    """LIKE with nothing but a `%` at an end, or at both, in plainer words."""
    if not isinstance(pattern, Const):
        return None
    sign = "".join(str(one.value) for one in escape if isinstance(one, Const))
    parts = [part for part, _ in groupby(like_parts(str(pattern.value), sign))]
    plain = [part for part in parts if part]
    op = _PLAIN_LIKE.get(tuple("x" if part else part for part in parts))
    if op is None:
        return None
    text = Const(plain[0] if plain else "", Kind.STRING)
    return _compared("=", value, text) if op == "=" else Apply(op, (value, text), Kind.BOOL)


_PLAIN_LIKE: Final[dict[tuple[str | None, ...], str]] = {
    (): "=",
    ("x",): "=",
    ("x", None): "starts_with",
    (None, "x"): "ends_with",
    (None, "x", None): "contains",
}


def _membership(arguments: tuple[Expr, ...]) -> Expr:
    value, options = arguments[0], sorted(set(arguments[1:]), key=key)
    if len(options) == 1:
        return _compared("=", value, options[0])
    return Apply("in", (value, *options), Kind.BOOL)


def _folded(node: Apply) -> Const | None:
    """The value of an operator on constants, where it is certain: finite doubles, integers inside 64 bits."""
    values = [argument.value for argument in node.arguments if isinstance(argument, Const)]
    if None in values or len(values) != 2 or node.op not in _EXACT:
        return None
    result = _EXACT[node.op](*values)
    if isinstance(result, float) and not isfinite(result):
        return None
    if node.kind in (Kind.INT, Kind.TIME, Kind.DURATION) and not -(2**63) <= result < 2**63:
        return None
    return Const(result, node.kind)


def equality_classes(pairs: Sequence[tuple[Ref, Ref]]) -> tuple[tuple[Ref, ...], ...]:
    """What must be equal to what, closed under transitivity; members and classes sorted."""
    if not pairs:
        return ()
    classes = [tuple(sorted(members, key=key)) for members in DisjointSets(pairs).sets()]
    return tuple(sorted(classes, key=lambda members: key(members[0])))


def equality_terms(members: Sequence[Ref]) -> list[Expr]:
    """A class of equal references written one way: each is compared with the first of another column."""
    first = members[0]
    second = next(member for member in members if member.column != first.column)
    return [
        equal(first, member) if member.column != first.column else equal(member, second)
        for member in members[1:]
    ]
