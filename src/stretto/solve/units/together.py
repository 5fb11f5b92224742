"""Split and units together: the greatest replay speed for which some split needs no more units than there are.

For a speed every way to make a sub-query needs a number of units; the split with the fewest units in all is a choice of
ways in an AND-OR graph whose shared nodes count once. CP-SAT finds it, and bisection over the speeds that loads can
have finds the greatest one for which it is no more than the units there are: that is proven to be the best.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import pairwise
from typing import Any

from stretto.solve.common.budget import Budget
from stretto.solve.exact.binary_program import loaded
from stretto.solve.units.allocation import Allocated, allocate, grid_of
from stretto.solve.units.loads import Capacity
from stretto.solve.units.rates import RatedQuery, SubQuery
from stretto.solve.units.splits import Choice, Split, choices, is_event

NEAR = 1e-12
"""Loads that differ by less than this part of them are the same."""
PROVABLE = 5
"""Slots up to which all ways are looked at; of longer queries, for each sub-query, the `FEW` with the least load."""
FEW = 12


@dataclass(frozen=True)
class Ways:
    """All sub-queries of some queries with all ways to make them, and what each load is on 1, 2, .. units."""

    roots: tuple[SubQuery, ...]
    of: Mapping[SubQuery, Sequence[Choice]]
    loads: Mapping[tuple[SubQuery, int], Sequence[float]]

    @classmethod
    def of_query(
        cls, query: RatedQuery, units: int, capacity: Capacity, known: Sequence[Split], *, beyond: bool
    ) -> "Ways":
        of: dict[SubQuery, list[Choice]] = {}
        loads: dict[tuple[SubQuery, int], list[float]] = {}
        pending = [query.whole]
        for part in pending:
            if part in of or is_event(part):
                continue
            found = choices(query, part)
            if len(query.rates) > PROVABLE:
                best = nsmallest(FEW, found, key=lambda choice: choice.step.load(1, capacity))
                of[part] = list(dict.fromkeys([*best, *(split[part] for split in known if part in split)]))
            else:
                of[part] = list(found)
            for number, choice in enumerate(of[part]):
                one = {part: choice}
                loads[part, number] = [
                    grid_of(one, part, n, capacity, beyond=beyond).load for n in range(1, units + 1)
                ]
                pending.extend(choice.inputs)
        return cls((query.whole,), of, loads)

    def units_for(self, part: SubQuery, number: int, load: float) -> int | None:
        """The fewest units with which a way's load is no greater; None: none of the numbers is enough."""
        loads = self.loads[part, number]
        found = bisect_left(loads, -load * (1 + NEAR), key=lambda one: -one)
        return found + 1 if found < len(loads) else None

    def least_work(self) -> Split:
        """The split with the least sum of loads on one unit each, as if nothing were shared: a plan to begin with."""
        cost: dict[SubQuery, tuple[float, int]] = {}
        for part in sorted(self.of, key=lambda one: (one.slots.bit_count(), one.grown.bit_count())):
            cost[part] = min(
                (self.loads[part, i][0] + sum(cost[p][0] for p in choice.inputs if p in cost), i)
                for i, choice in enumerate(self.of[part])
            )
        return _reached({part: self.of[part][number] for part, (_, number) in cost.items()}, self.roots)


def fastest(
    query: RatedQuery,
    units: int,
    capacity: Capacity,
    budget: Budget,
    *,
    known: Sequence[Split] = (),
    beyond: bool = False,
) -> Allocated | None:
    """The split and allocation with the greatest replay speed; None if there are too few units for any split.

    It is no slower than the best allocation of any of the `known` splits.

    `bound` is the speed that none exceeds: the same one, unless the time was up before it was proven; None for long
    queries, of which not all ways are looked at.
    """
    if units < 1:
        return None
    ways = Ways.of_query(query, units, capacity, known, beyond=beyond)
    values = sorted({load for loads in ways.loads.values() for load in loads})
    values = [value for value, after in pairwise([*values, float("inf")]) if after > value * (1 + NEAR)]
    # values[low] is too small a load for so few units, or was not decided; values[high] is enough.
    low, high, proven = -1, len(values), 0
    best: Split | None = None
    starts = [allocate(split, units, capacity, beyond=beyond) for split in (ways.least_work(), *known)]
    for start in starts:
        if start is not None and (best is None or bisect_left(values, (1 - NEAR) / start.speed) < high):
            best, high = start.split, bisect_left(values, (1 - NEAR) / start.speed)
    while high - low > 1 and not budget.over:
        middle = (low + high) // 2
        found, certain = _fewest(ways, values[middle], units, budget)
        if found is not None:
            allocated = allocate(found, units, capacity, beyond=beyond)
            assert allocated is not None
            best = found
            high = min(middle, bisect_left(values, (1 - NEAR) / allocated.speed))
        else:
            low = middle
            if certain:
                proven = max(proven, middle + 1)
    if best is None:
        return None
    result = allocate(best, units, capacity, beyond=beyond)
    assert result is not None
    proves = len(query.rates) <= PROVABLE
    return replace(result, bound=1.0 / values[min(proven, high)] if proves else None)


def _fewest(ways: Ways, load: float, units: int, budget: Budget) -> tuple[Split | None, bool]:
    """A split that needs no more units for a load; whether that there is none is certain."""
    cp_model = loaded("ortools.sat.python.cp_model")
    model = cp_model.CpModel()
    used = {part: model.new_bool_var("") for part in ways.of}
    taken: dict[tuple[SubQuery, int], Any] = {}
    cost = []
    for part, found in ways.of.items():
        own = []
        for number, choice in enumerate(found):
            needed = ways.units_for(part, number, load)
            if needed is None:
                continue
            way = taken[part, number] = model.new_bool_var("")
            own.append(way)
            cost.append(needed * way)
            for below in choice.inputs:
                if not is_event(below):
                    model.add_implication(way, used[below])
        model.add(sum(own) >= used[part])
    for root in ways.roots:
        model.add(used[root] == 1)
    model.add(sum(cost) <= units)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(budget.left, 0.01)
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, status == cp_model.INFEASIBLE
    chosen = {part: ways.of[part][number] for (part, number), way in taken.items() if solver.value(way)}
    return _reached(chosen, ways.roots), True


def _reached(chosen: Mapping[SubQuery, Choice], roots: Sequence[SubQuery]) -> Split:
    """What the roots need of the chosen ways."""
    found: dict[SubQuery, Choice] = {}
    pending = list(roots)
    while pending:
        part = pending.pop()
        if part not in found and not is_event(part):
            found[part] = chosen[part]
            pending.extend(chosen[part].inputs)
    return found
