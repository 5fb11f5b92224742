"""Which types to divide, and into how many parts each, for a number of cells."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import prod
from typing import Final

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.ops import Scan
from stretto.plan.placement.cells import ByCell
from stretto.plan.placement.holdings import Holdings, divisible, read_types
from stretto.plan.placement.refusals import why_no_units
from stretto.plan.spread.partition_keys import why_thinned

MOVED: Final = 0.7e-6
"""Seconds of a core, roughly, to move an event to another process. Measured on Spark."""
TRIED: Final = 6
"""Types that are divided together with others: those with most events."""
SHOWN: Final = 3


def cells_for(plan: Plan, units: int) -> ByCell:
    """The cells, so many of them, of which each has least to do; StrettoError says why there are none."""
    if units < 1:
        raise StrettoError(f"a plan needs at least one unit, not {units}")
    reason = why_no_units(plan) or why_thinned(plan)
    if reason is not None:
        raise StrettoError(f"cannot spread by units: {reason}")
    names = divisible(plan)
    if not names:
        raise StrettoError(f"cannot spread by units: {_why_none(plan)}")
    held, rates = Holdings(plan), rates_of(plan)
    names.sort(key=lambda name: (-rates[name], name))
    best = min(_grids(names, units), key=lambda grid: _seconds(plan, held, rates, dict(grid)))
    return ByCell.of(plan, best)


def _why_none(plan: Plan) -> str:
    held = Holdings(plan)
    reasons = {
        name: f"`{name}` in query `{query}`: {reason}"
        for name in sorted(read_types(plan))
        for query in plan.queries
        if (reason := held.why_not_divided(query, name)) is not None
    }
    return "no type can be divided: " + "; ".join(list(reasons.values())[:SHOWN])


def _grids(names: list[str], units: int) -> Iterator[tuple[tuple[str, int], ...]]:
    """One type in so many parts, or two whose parts make as many pairs."""
    for name in names:
        yield ((name, units),)
    for one, other in combinations(names[:TRIED], 2):
        for parts in range(2, units // 2 + 1):
            if units % parts == 0:
                yield (one, parts), (other, units // parts)


def work_share(plan: Plan, cells: ByCell) -> float:
    """The part of a plan's work that falls to each cell."""
    held, parts = Holdings(plan), dict(cells.anchors)
    costs = [record.cost or 0.0 for record in plan.records]
    total = sum(costs)
    if total <= 0.0:
        return 1.0 / cells.targets
    divided = (cost / _parts_of(held.once_in(n), parts) for n, cost in enumerate(costs) if cost)
    return sum(divided) / total


def rates_of(plan: Plan) -> dict[str, float]:
    """Events of each type in a second, as far as the plan knows them; 1 where it does not."""
    found = dict.fromkeys(read_types(plan), 0.0)
    for op, record in zip(plan.ops, plan.records, strict=True):
        if isinstance(op, Scan):
            found[op.stream.type] = max(
                found[op.stream.type], record.rows if record.rows is not None else 1.0
            )
    return found


def _seconds(plan: Plan, held: Holdings, rates: Mapping[str, float], parts: Mapping[str, int]) -> float:
    """What a cell has to do in a second: its part of the operators' work, and taking its events in."""
    taken = sum(rate / parts.get(name, 1) for name, rate in rates.items())
    costs = ((n, record.cost) for n, record in enumerate(plan.records) if record.cost)
    work = sum(cost / _parts_of(held.once_in(n), parts) for n, cost in costs)
    return MOVED * taken + work * 1e-9


def _parts_of(once: frozenset[str], parts: Mapping[str, int]) -> int:
    """Into how many parts the rows of an operator fall that hold one event of these types."""
    return prod(parts.get(name, 1) for name in once)
