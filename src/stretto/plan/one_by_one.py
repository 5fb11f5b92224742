"""Estimated cost of a workload without sharing: of `none` as it would run, and of every query by itself.

To plan a hundred thousand queries only to price them would take longer than to run them. Queries of a family differ in
constants, so some of them are priced, and the cost that a few more add is taken for the others too.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from stretto.explain.model import Templates
from stretto.pattern.derived.families import Family
from stretto.pattern.nodes import Query
from stretto.pattern.workload import BoundWorkload
from stretto.records import dataclass

SOME: Final = 8
"""Queries of a group that are priced, and as many again, which show what one more costs."""
Price = Callable[[BoundWorkload], float]
"""The cost of a small workload by `none`, with the families that it holds as templates."""


@dataclass(frozen=True, slots=True)
class _Group:
    """So many queries, of which `some` are priced in any case and `more` tell what one more costs."""

    count: int
    some: tuple[Query, ...]
    more: tuple[Query, ...]


def cost_of_none(bound: BoundWorkload, price: Price) -> float:
    """Return the cost of `none`: queries written one by one are apart, a table's FOR EACH is one template."""
    return _cost(bound, price, [family for family in bound.templates if family.names is not None])


def cost_of_templates(bound: BoundWorkload, price: Price) -> Templates | None:
    """Return what templates alone save; None where no query is in one."""
    if not bound.templates:
        return None
    count = sum(len(family.members) for family in bound.templates)
    return Templates(count, _cost(bound, price, ()), _cost(bound, price, bound.templates))


def _cost(bound: BoundWorkload, price: Price, apart: Sequence[Family]) -> float:
    """Return the cost of the workload with nothing shared; the families in `apart` are query by query."""
    groups = [*map(_of_family, apart), _of_queries(bound.detections)]
    base = tuple(query for group in groups for query in group.some)
    gone = set(map(id, apart))
    templates = tuple(family for family in bound.templates if id(family) not in gone)

    def of(queries: Sequence[Query]) -> float:
        return price(replace(bound, detections=tuple(queries), templates=templates, families=(), queries=()))

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
