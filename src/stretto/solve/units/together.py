"""Split and units together: the greatest replay speed for which some split needs no more units than there are.

For a speed every way to make a sub-query needs a number of units, and `fewest` knows whether some split needs no more
in all than there are. Bisection over the speeds that loads can have finds the greatest one: that is proven to be the
best.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest

import numpy as np

from stretto.solve.common.budget import Budget
from stretto.solve.units.allocation import Allocated, allocate
from stretto.solve.units.fewest import NEAR, Fewest, Ways
from stretto.solve.units.loads import Capacity, all_loads
from stretto.solve.units.rates import RatedQuery, SubQuery
from stretto.solve.units.splits import Choice, MadeBy, Part, Split, choices, is_event

PROVABLE = 8
"""Slots up to which all ways are looked at; of longer queries, for each sub-query, the `FEW` with the least load."""
FEW = 12


def ways_of(
    query: RatedQuery,
    units: int,
    capacity: Capacity,
    known: Sequence[Split] = (),
    *,
    beyond: bool,
    roots: Sequence[SubQuery] = (),
) -> Ways[SubQuery]:
    """The sub-queries of a query with the ways to make them; `roots`: what is asked for, if not all of it."""
    of: dict[SubQuery, list[Choice]] = {}
    wanted = tuple(roots) or (query.whole,)
    pending = list(wanted)
    for part in pending:
        if part in of or is_event(part):
            continue
        found = choices(query, part)
        if len(query.rates) > PROVABLE:
            best = nsmallest(FEW, found, key=lambda choice: choice.step.load(1, capacity))
            of[part] = list(dict.fromkeys([*best, *(split[part] for split in known if part in split)]))
        else:
            of[part] = list(found)
        pending.extend(source for choice in of[part] for source in choice.inputs if source not in of)
    ordered = {
        part: of[part] for part in sorted(of, key=lambda p: (p.slots.bit_count(), p.grown.bit_count()))
    }
    steps = [choice.step for own in ordered.values() for choice in own]
    return Ways(wanted, ordered, all_loads(steps, units, capacity, beyond=beyond))


def least_load(
    ways: Ways[Part],
    units: int,
    budget: Budget,
    load_of: Callable[[Mapping[Part, MadeBy[Part]]], float | None],
    known: Sequence[Mapping[Part, MadeBy[Part]]] = (),
) -> tuple[Mapping[Part, MadeBy[Part]], float] | None:
    """The split with the least greatest load, and a load that none is below; None if no split fits so few units.

    `load_of`: the greatest load of a split by its best allocation.
    """
    values, search = ways.values(), Fewest(ways, units)
    # values[low] is too small a load for so few units, or was not decided; values[high] is enough.
    low, high, proven = -1, len(values), 0
    best: Mapping[Part, MadeBy[Part]] | None = None

    def improve(split: Mapping[Part, MadeBy[Part]]) -> None:
        nonlocal best, high
        load = load_of(split)
        place = len(values) if load is None else int(np.searchsorted(values, load * (1 - NEAR)))
        if load is not None and (best is None or place < high):
            best, high = split, place

    for start in (ways.least_work(), *known):
        improve(start)
    while high - low > 1 and not budget.over:
        middle = (low + high) // 2
        found, certain = search.found(float(values[middle]), budget)
        if found is not None:
            improve(found)
            high = min(middle, high)
        else:
            low = middle
            if certain:
                proven = max(proven, middle + 1)
    return None if best is None else (best, float(values[min(proven, high, len(values) - 1)]))


def fastest(
    query: RatedQuery,
    units: int,
    capacity: Capacity,
    budget: Budget,
    *,
    known: Sequence[Split] = (),
    beyond: bool = False,
    roots: Sequence[SubQuery] = (),
) -> Allocated | None:
    """The split and allocation with the greatest replay speed; None if there are too few units for any split.

    `roots`: several queries over the types of one; what they share is made once.

    It is no slower than the best allocation of any of the `known` splits. `bound` is the speed that none exceeds: the
    same one, unless the time was up before it was proven; None for long queries, of which not all ways are looked at.
    """
    if units < 1:
        return None
    ways = ways_of(query, units, capacity, known, beyond=beyond, roots=roots)

    def load_of(split: Split) -> float | None:
        allocated = allocate(split, units, capacity, beyond=beyond)
        return None if allocated is None else 1.0 / allocated.speed

    found = least_load(ways, units, budget, load_of, known)
    if found is None:
        return None
    split, bound = found
    result = allocate(split, units, capacity, beyond=beyond)
    assert result is not None
    proves = len(query.rates) <= PROVABLE
    return replace(result, bound=1.0 / bound if proves else None)
