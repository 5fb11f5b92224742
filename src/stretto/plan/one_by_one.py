"""What queries would cost one by one, where many are planned as one: families, and what goes through channels.

To plan a hundred thousand queries only to price them would take longer than to run them. Members of a family differ in
constants, so some of them are priced, and what a few more add to the cost is taken for the others too.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from stretto.pattern.derived.families import Family
from stretto.pattern.nodes import Query
from stretto.pattern.workload import BoundWorkload
from stretto.records import dataclass

SOME: Final = 8
"""Queries of a group that are priced, and as many again, which show what one more costs."""


@dataclass(frozen=True, slots=True)
class _Group:
    """So many queries, of which `some` are priced in any case and `more` tell what one more costs."""

    count: int
    some: tuple[Query, ...]
    more: tuple[Query, ...]


def cost_one_by_one(bound: BoundWorkload, price: Callable[[BoundWorkload], float]) -> float:
    """The cost of all queries with each computed by itself; `price` is that of a small workload."""
    groups = [*map(_of_family, bound.templates), _of_queries(bound.detections)]
    base = tuple(query for group in groups for query in group.some)

    def of(queries: Sequence[Query]) -> float:
        return price(replace(bound, detections=tuple(queries), templates=(), families=(), queries=()))

    cost = of(base)
    others = 0.0
    for group in groups:
        if group.more:
            each = max(0.0, of((*base, *group.more)) - cost) / len(group.more)
            others += each * (group.count - len(group.some))
    return cost + others


def _of_family(family: Family) -> _Group:
    count = len(family.members)
    picked = sorted({number * count // (2 * SOME) for number in range(min(count, 2 * SOME))})
    return _halves(count, tuple(family.queries(picked)))


def _of_queries(queries: Sequence[Query]) -> _Group:
    """Queries that are no family differ in more than constants, so as many as can be are priced."""
    count, most = len(queries), 8 * SOME
    if count <= most:
        return _Group(count, tuple(queries), ())
    return _halves(count, tuple(queries[number * count // most] for number in range(most)))


def _halves(count: int, picked: tuple[Query, ...]) -> _Group:
    return _Group(count, picked[::2], picked[1::2])
