"""What is known of the order in time of the events that a row binds, and what follows from it for a join."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from stretto.engine.operators.protocol import RowShape
from stretto.pattern.order import mask_of
from stretto.pattern.predicates import Apply, Expr, Ref, Which
from stretto.records import dataclass


def order_of(term: Expr) -> tuple[int, int] | None:
    """The columns (earlier, later) of a term that says just that the one event is strictly before the other."""
    match term:
        case Apply(
            op="<" | ">" as op,
            arguments=(
                Ref(attribute="ts", which=Which.EACH) as one,
                Ref(attribute="ts", which=Which.EACH) as other,
            ),
        ) if one.column != other.column:
            return (one.column, other.column) if op == "<" else (other.column, one.column)
    return None


def ordered(shape: RowShape, terms: Iterable[Expr]) -> RowShape:
    """The shape of those rows that satisfy the terms."""
    found = [pair for term in terms if (pair := certain_order(term, shape))]
    return replace(shape, order=shape.order.with_pairs(found)) if found else shape


def certain_order(term: Expr, shape: RowShape) -> tuple[int, int] | None:
    """As `order_of`, if every row binds one event to both columns: a term over an unbound column does not apply."""
    pair = order_of(term)
    if pair is None or any(shape.sets[c] or shape.optional[c] for c in pair):
        return None
    return pair


def joined(left: RowShape, right: RowShape, terms: Iterable[Expr], *, before: bool) -> RowShape:
    """The shape of pairs; `before`: all left events are strictly earlier than all right ones."""
    at, width = left.width, left.width + right.width
    both = RowShape((*left.sets, *right.sets), (*left.optional, *right.optional))
    bound = mask_of(c for c in range(width) if before and not (both.sets[c] or both.optional[c]))
    order = left.order.followed(at, right.order, bound & (1 << at) - 1, bound >> at)
    return replace(
        both, order=order.with_pairs(pair for term in terms if (pair := certain_order(term, both)))
    )


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """What order terms say of the last event of a stored row, given the row that probes, by the pair's columns.

    It comes after the events of all columns in `after`, and before the latest of what the groups in `before` stand
    for: each for its earliest event. No groups: nothing is known. `settled` are the terms that say no more than that.
    `inside`: no stored row begins before the probing row does.
    """

    after: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]
    settled: tuple[Expr, ...]
    inside: bool


def place_of(pair: RowShape, stored: range, probing: range, terms: Sequence[Expr]) -> StoredPlace:
    """Where the stored rows of a join stand that satisfy its order terms."""
    order = pair.order
    found = [(*columns, term) for term in terms if (columns := certain_order(term, pair))]
    across = [(a, b, term) for a, b, term in found if (a in stored) != (b in stored)]
    last = order.latest(stored)
    groups = [tuple(order.earliest({b for a, b, _ in across if a == c})) for c in last]
    return StoredPlace(
        after=tuple(order.latest({a for a, b, _ in across if b in stored})),
        before=tuple(groups) if all(groups) else (),
        settled=tuple(term for a, b, term in across if len(last) == 1 and last[0] in (a, b)),
        inside=order.never_first(stored, probing),
    )
