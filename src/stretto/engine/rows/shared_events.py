"""Joins whose rows share events: the same event on both sides, kept once.

Inside the operator a pair has the columns of both sides, shared ones twice, and an equality of positions between the
copies, which is looked up by hash as any other. Outside it has the left's columns and those that the right adds.
"""

from collections.abc import Sequence
from dataclasses import replace

from stretto.engine.operators.protocol import RowShape
from stretto.pattern.comparisons import equal
from stretto.pattern.order import Order
from stretto.pattern.predicates import POSITION, Ref
from stretto.plan.ops import Join
from stretto.schema import Kind


def with_both_copies(op: Join, left: int, right: int) -> Join:
    """The join with its terms over the columns of both sides, of which there are so many."""
    if not op.same:
        return op
    to = [*range(left), *(left + column for column in op.added(right))]
    shared = [equal(_position(one), _position(left + other)) for one, other in op.same]
    return replace(op, terms=(*(term.moved(to) for term in op.terms), *shared))


def _position(column: int) -> Ref:
    return Ref(column, POSITION, Kind.INT)


def in_one_order(pair: RowShape, left: int, same: Sequence[tuple[int, int]]) -> RowShape:
    """What is known of the order of a pair's events: what is before one copy of an event is before the other too."""
    other = {left + right: one for one, right in same}
    known = Order.closing((other.get(a, a), other.get(b, b)) for a, b in pair.order)
    copies: dict[int, list[int]] = {}
    for column in range(pair.width):
        copies.setdefault(other.get(column, column), []).append(column)
    return replace(pair, order=Order.of((a, b) for i, j in known for a in copies[i] for b in copies[j]))


def without_copies(pair: RowShape, left: int, op: Join) -> RowShape:
    """The shape of the rows that come out."""
    if not op.same:
        return pair
    kept = [*range(left), *(left + column for column in op.added(pair.width - left))]
    place = {column: i for i, column in enumerate(kept)}
    order = Order.of((place[a], place[b]) for a, b in pair.order if a in place and b in place)
    return RowShape(
        tuple(pair.sets[column] for column in kept),
        tuple(pair.optional[column] for column in kept),
        order=order,
    )


def kept_columns(op: Join, inputs: Sequence[RowShape]) -> tuple[list[int], list[int]]:
    """The columns of the left and of the right row that a pair has."""
    return list(range(inputs[0].width)), op.added(inputs[1].width)
