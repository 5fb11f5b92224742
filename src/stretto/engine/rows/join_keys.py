"""Terms as comparisons of int64 keys: what a join can check in its inner loop without knowing the term.

A comparison with one side over the stored rows and the other over the probing rows becomes `stored key <= probing
key`: doubles map to integers in their order, `<` takes one from the bound, `>` turns both sides over.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stretto.engine.operators.protocol import RowShape
from stretto.pattern.comparisons import RANGES, flipped
from stretto.pattern.predicates import Apply, Expr, Ref, Which, columns_of, walk
from stretto.schema import Kind
from stretto.values.evaluate import Events, value
from stretto.values.rows import I64, Bool, Column, Sets
from stretto.values.vector import Vector

LEAST = np.iinfo(np.int64).min
MOST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class KeyTerm:
    """`stored op probing`, each side over its own columns from 0."""

    op: str
    stored: Expr
    probing: Expr
    kind: Kind


@dataclass(frozen=True, slots=True)
class SplitTerms:
    """`at_most`: order comparisons by key; `equal`: equalities by key; `rest`: terms to evaluate on pairs."""

    at_most: tuple[KeyTerm, ...]
    equal: tuple[KeyTerm, ...]
    rest: tuple[Expr, ...]


def split_terms(
    terms: Sequence[Expr], stored: RowShape, probing: RowShape, stored_at: int, probing_at: int
) -> SplitTerms:
    """Sort the terms of a join by how they can be checked."""
    at_most: list[KeyTerm] = []
    equal: list[KeyTerm] = []
    rest: list[Expr] = []
    for term in terms:
        key = _key_term(term, stored, probing, stored_at, probing_at)
        if key is None:
            rest.append(term)
        else:
            (equal if key.op == "=" else at_most).append(key)
    return SplitTerms(tuple(at_most), tuple(equal), tuple(rest))


def _key_term(
    term: Expr, stored: RowShape, probing: RowShape, stored_at: int, probing_at: int
) -> KeyTerm | None:
    if not isinstance(term, Apply) or term.op not in RANGES:
        return None
    left, right = term.arguments
    kind = getattr(left, "kind", Kind.STRING)
    if kind is Kind.STRING and term.op != "=":
        return None
    if _over(right, stored, stored_at) and _over(left, probing, probing_at):
        term = flipped(term)
        left, right = term.arguments
    elif not (_over(left, stored, stored_at) and _over(right, probing, probing_at)):
        return None
    width = stored.width + probing.width
    mine, theirs = range(-stored_at, width), range(-probing_at, width)
    return KeyTerm(term.op, left.moved(mine), right.moved(theirs), kind)


def _over(expr: Expr, shape: RowShape, at: int) -> bool:
    """Whether the expression has one value per row of this side: bound columns of it alone, no quantifier."""
    columns = columns_of(expr)
    if not columns or not all(at <= c < at + shape.width and not shape.optional[c - at] for c in columns):
        return False
    return not any(
        isinstance(node, Ref)
        and (
            node.which in (Which.CURRENT, Which.PREVIOUS)
            or (node.which is Which.EACH and shape.sets[node.column - at])
        )
        for node in walk(expr)
    )


Keys = tuple[I64, Bool | None]
"""Keys of one side of a term, and which rows can satisfy it at all (None: all)."""


def stored_keys(term: KeyTerm, columns: Sequence[Column], n: int, events: Events) -> Keys:
    """The stored side's keys, and which rows can satisfy the term at all."""
    return _stored(term, order_keys(_values(term.stored, columns, n, events), term.kind))


def probing_keys(term: KeyTerm, columns: Sequence[Column], n: int, events: Events) -> Keys:
    """The probing side's keys, so that the term is `stored <= probing` (or `=`), and which rows can satisfy it."""
    return _probing(term, order_keys(_values(term.probing, columns, n, events), term.kind))


def all_stored_keys(
    terms: Sequence[KeyTerm], columns: Sequence[Column], n: int, events: Events
) -> tuple[list[I64], Bool | None]:
    """The stored side's keys of several terms, and which rows can satisfy all; a value of two terms is read once."""
    sides = _once([(term.stored, term.kind) for term in terms], columns, n, events)
    return _all([_stored(term, side) for term, side in zip(terms, sides, strict=True)])


def all_probing_keys(
    terms: Sequence[KeyTerm], columns: Sequence[Column], n: int, events: Events
) -> tuple[list[I64], Bool | None]:
    """The same of the probing side."""
    sides = _once([(term.probing, term.kind) for term in terms], columns, n, events)
    return _all([_probing(term, side) for term, side in zip(terms, sides, strict=True)])


def _once(
    sides: Sequence[tuple[Expr, Kind]], columns: Sequence[Column], n: int, events: Events
) -> list[Keys]:
    """The keys of expressions, each object of them evaluated once."""
    known: dict[int, Keys] = {}
    for expr, kind in sides:
        if id(expr) not in known:
            known[id(expr)] = order_keys(_values(expr, columns, n, events), kind)
    return [known[id(expr)] for expr, _ in sides]


def _all(found: Sequence[Keys]) -> tuple[list[I64], Bool | None]:
    alive: Bool | None = None
    for _, can in found:
        alive = can if alive is None else (alive if can is None else alive & can)
    return [keys for keys, _ in found], alive


def _stored(term: KeyTerm, side: Keys) -> Keys:
    keys, alive = side
    return (~keys if term.op in (">", ">=") else keys), alive


def _probing(term: KeyTerm, side: Keys) -> Keys:
    keys, alive = side
    if term.op in (">", ">="):
        keys = ~keys
    if term.op in ("<", ">"):
        above = keys > LEAST
        if not above.all():
            alive = above if alive is None else alive & above
        keys = keys - 1
    return keys, alive


def _values(expr: Expr, columns: Sequence[Column], n: int, events: Events) -> Vector:
    """One side of a key term, most often just an attribute, in every row; it reads bound columns only."""
    if isinstance(expr, Ref):
        column = columns[expr.column]
        if not isinstance(column, Sets):
            return events.values(expr.attribute, column)
    return value(expr, columns, n, events)


def order_keys(vector: Vector, kind: Kind) -> tuple[I64, Bool | None]:
    """Integers in the order of the values; equal values have equal integers. Nulls and NaN satisfy nothing."""
    if kind is not Kind.FLOAT:
        return vector.data.astype(np.int64, copy=False), vector.valid
    data = vector.data + 0.0  # so that -0.0 and 0.0 are one value
    bits = data.view(np.int64)
    keys = bits ^ ((bits >> 63) & np.int64(MOST))
    numbers = data == data  # noqa: PLR0124 - NaN is the value that differs from itself
    if numbers.all():
        return keys, vector.valid
    return keys, numbers if vector.valid is None else numbers & vector.valid
