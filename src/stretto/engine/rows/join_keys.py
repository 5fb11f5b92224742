"""Terms as comparisons of int64 keys: what a join can check in its inner loop without knowing the term.

A comparison with one side over the stored rows and the other over the probing rows becomes `stored key <= probing
key`: doubles map to integers in their order, `<` takes one from the bound, `>` turns both sides over.
"""

from collections.abc import Sequence

import numpy as np

from stretto.engine.kernels.order_keys import LEAST, keys_at, keys_of_bits
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.operators.protocol import RowShape
from stretto.engine.stream.arena import Arena
from stretto.pattern.comparisons import RANGES, flipped
from stretto.pattern.predicates import Apply, Expr, Ref, Which, columns_of, walk
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.evaluate import Events, value
from stretto.values.hashing import GOLDEN
from stretto.values.rows import I64, Bool, Column, Sets
from stretto.values.vector import Vector


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


def all_stored_keys(
    terms: Sequence[KeyTerm], columns: Sequence[Column], n: int, events: Events
) -> tuple[list[I64], Bool | None]:
    """The stored side's keys of several terms, and which rows can satisfy all."""
    return _all([stored_keys(term, columns, n, events) for term in terms])


def all_probing_keys(
    terms: Sequence[KeyTerm], columns: Sequence[Column], n: int, events: Events
) -> tuple[list[I64], Bool | None]:
    """The same of the probing side."""
    return _all([probing_keys(term, columns, n, events) for term in terms])


def _all(found: Sequence[Keys]) -> tuple[list[I64], Bool | None]:
    alive: Bool | None = None
    for _, can in found:
        alive = can if alive is None else (alive if can is None else alive & can)
    return [keys for keys, _ in found], alive


def stored_keys(term: KeyTerm, columns: Sequence[Column], n: int, events: Events) -> Keys:
    """The stored side's keys, and which rows can satisfy the term at all (None: all)."""
    turned = term.op in (">", ">=")
    read = _read_keys(term.stored, term.kind, columns, events, turned=turned, less=False)
    if read is not None:
        return read, None
    keys, alive = order_keys(_values(term.stored, columns, n, events), term.kind)
    return (~keys if turned else keys), alive


def probing_keys(term: KeyTerm, columns: Sequence[Column], n: int, events: Events) -> Keys:
    """The probing side's keys, so that the term is `stored <= probing` (or `=`), and which rows can satisfy it."""
    turned, less = term.op in (">", ">="), term.op in ("<", ">")
    read = _read_keys(term.probing, term.kind, columns, events, turned=turned, less=less)
    if read is not None:
        return read, None
    keys, alive = order_keys(_values(term.probing, columns, n, events), term.kind)
    if turned:
        keys = ~keys
    if less:
        above = keys > LEAST
        if not above.all():
            alive = above if alive is None else alive & above
        keys = keys - 1
    return keys, alive


def _read_keys(
    expr: Expr, kind: Kind, columns: Sequence[Column], events: Events, *, turned: bool, less: bool
) -> I64 | None:
    """The keys of an attribute in one pass, where that can be and every row has one."""
    if not isinstance(expr, Ref) or not isinstance(events, Arena):
        return None
    column, borrowed_bits = columns[expr.column], events.borrowed_bits(expr.attribute)
    if isinstance(column, Sets) or borrowed_bits is None or not is_due(keys_at, len(column)):
        return None
    keys, good = keys_at(borrowed_bits, events.base, column, int(kind is Kind.FLOAT), int(turned), int(less))
    return keys if good else None


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
    keys = keys_of_bits(data.view(np.int64))
    numbers = data == data  # noqa: PLR0124 - NaN is the value that differs from itself
    if numbers.all():
        return keys, vector.valid
    return keys, numbers if vector.valid is None else numbers & vector.valid


def mixed(keys: Sequence[I64]) -> I64:
    """One key from several; of one, that one, so that it stays exact."""
    mixed = keys[0]
    for key in keys[1:]:
        folded = (mixed.view(np.uint64) ^ (mixed.view(np.uint64) >> np.uint64(29))) * GOLDEN
        mixed = (folded + key.view(np.uint64)).view(np.int64)
    return mixed
