"""The fewest units with which every part that is needed has no more than a load: a choice of ways in an AND-OR graph.

What several parts read is made once and counted once. Three answers, the cheap ones first: a bound from below that
counts of each way's inputs the dearest alone, which no sharing can undercut; the choice that is best if nothing were
shared, with what it shares counted once; and CP-SAT for what lies between.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic

import numpy as np

from stretto.records import dataclass
from stretto.solve.common.budget import Budget
from stretto.solve.exact.binary_program import loaded, run_cp_sat
from stretto.solve.units.splits import MadeBy, Part
from stretto.values.rows import F64, I64

NEAR = 1e-12
"""Loads that differ by less than this part of them are the same."""


@dataclass(frozen=True)
class Ways(Generic[Part]):
    """Parts with all ways to make them, inputs first; what is read and not among them is an event.

    `loads`: by way, all parts' one after another, the load of each unit on 1, 2, .. units.
    """

    roots: tuple[Part, ...]
    of: Mapping[Part, Sequence[MadeBy[Part]]]
    loads: F64

    def numbered(self) -> dict[Part, range]:
        """The numbers of each part's ways."""
        found, start = {}, 0
        for part, ways in self.of.items():
            found[part] = range(start, start + len(ways))
            start += len(ways)
        return found

    def values(self) -> F64:
        """The loads that there are, ascending, each once; what is done where rows are has none."""
        values = np.unique(self.loads[np.isfinite(self.loads) & (self.loads > 0)])
        kept: F64 = values[np.append(np.diff(values) > values[:-1] * NEAR, True)] if len(values) else values
        return kept

    def reached(self, chosen: Mapping[Part, MadeBy[Part]]) -> dict[Part, MadeBy[Part]]:
        """What the roots need of some ways."""
        found: dict[Part, MadeBy[Part]] = {}
        pending = list(self.roots)
        while pending:
            part = pending.pop()
            if part not in found and part in self.of:
                found[part] = chosen[part]
                pending.extend(chosen[part].inputs)
        return found

    def least_work(self) -> dict[Part, MadeBy[Part]]:
        """The ways with the least sum of loads on one unit each, as if nothing were shared: a plan to begin with."""
        cost: dict[Part, float] = {}
        chosen: dict[Part, MadeBy[Part]] = {}
        for part, numbers in self.numbered().items():
            sums = [
                self.loads[number, 0] + sum(cost.get(source, 0.0) for source in way.inputs)
                for number, way in zip(numbers, self.of[part], strict=True)
            ]
            best = int(np.argmin(sums))
            cost[part], chosen[part] = sums[best], self.of[part][best]
        return self.reached(chosen)


class Fewest(Generic[Part]):
    """Splits of some ways that need no more than so many units."""

    def __init__(self, ways: Ways[Part], units: int) -> None:
        self._ways, self._units = ways, units
        self._numbers = ways.numbered()
        self._places = {part: place for place, part in enumerate(ways.of)}
        most = max([1, *(len(way.inputs) for own in ways.of.values() for way in own)])
        count = ways.loads.shape[0]
        # Places of the inputs of each way; an event has the place behind the last, which needs no units.
        self._inputs: I64 = np.full((count, most), len(self._places), np.int64)
        row = 0
        for own in ways.of.values():
            for way in own:
                for k, source in enumerate(way.inputs):
                    self._inputs[row, k] = self._places.get(source, len(self._places))
                row += 1

    def found(self, load: float, budget: Budget) -> tuple[dict[Part, MadeBy[Part]] | None, bool]:
        """A split that needs no more units for a load; whether that there is none is certain."""
        limit = load * (1 + NEAR)
        needed = np.where(self._ways.loads[:, 0] == 0.0, 0, (self._ways.loads > limit).sum(axis=1) + 1)
        least, tree = self._bounds(needed)
        roots = [self._places[root] for root in self._ways.roots if root in self._places]
        if max((least[root] for root in roots), default=0) > self._units:
            return None, True
        if all(tree[root] <= 1e9 for root in roots):
            split = self._cheapest(needed, tree)
            own = sum(int(needed[number]) for number in split.values())
            if own <= self._units:
                return self._as_ways(split), True
        return self._solved(needed, least, budget)

    def _bounds(self, needed: I64) -> tuple[F64, F64]:
        """For each part units that it needs at least, and that it needs if nothing is shared."""
        least = np.zeros(len(self._places) + 1)
        tree = np.zeros(len(self._places) + 1)
        too_many = self._ways.loads.shape[1]
        for part, numbers in self._numbers.items():
            own = slice(numbers.start, numbers.stop)
            units = np.where(needed[own] > too_many, np.inf, needed[own])
            place = self._places[part]
            least[place] = (units + least[self._inputs[own]].max(axis=1)).min(initial=np.inf)
            tree[place] = (units + tree[self._inputs[own]].sum(axis=1)).min(initial=np.inf)
        return least, tree

    def _cheapest(self, needed: I64, tree: F64) -> dict[Part, int]:
        """The way of each part that is needed if for every part the one is taken that is cheapest alone."""
        chosen: dict[Part, int] = {}
        pending = list(self._ways.roots)
        while pending:
            part = pending.pop()
            if part in chosen or part not in self._places:
                continue
            numbers = self._numbers[part]
            own = slice(numbers.start, numbers.stop)
            chosen[part] = numbers.start + int(np.argmin(needed[own] + tree[self._inputs[own]].sum(axis=1)))
            pending.extend(self._way(part, chosen[part]).inputs)
        return chosen

    def _way(self, part: Part, number: int) -> MadeBy[Part]:
        return self._ways.of[part][number - self._numbers[part].start]

    def _as_ways(self, chosen: Mapping[Part, int]) -> dict[Part, MadeBy[Part]]:
        return self._ways.reached({part: self._way(part, number) for part, number in chosen.items()})

    def _solved(
        self, needed: I64, least: F64, budget: Budget
    ) -> tuple[dict[Part, MadeBy[Part]] | None, bool]:
        """By CP-SAT, over the ways that can be part of such a split."""
        cp_model = loaded("ortools.sat.python.cp_model")
        fits = needed + least[self._inputs].max(axis=1) <= self._units
        model = cp_model.CpModel()
        used = {part: model.new_bool_var("") for part in self._places}
        taken: dict[tuple[Part, int], Any] = {}
        for part, numbers in self._numbers.items():
            own = []
            for number in self._undominated(numbers, needed, fits):
                way = taken[part, number] = model.new_bool_var("")
                own.append(way)
                for below in self._way(part, number).inputs:
                    if below in used:
                        model.add_implication(way, used[below])
            model.add(sum(own) >= used[part])
        for root in self._ways.roots:
            if root in used:
                model.add(used[root] == 1)
        model.add(sum(int(needed[number]) * way for (_, number), way in taken.items()) <= self._units)
        solver = cp_model.CpSolver()
        status = run_cp_sat(solver, model, budget)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None, status == cp_model.INFEASIBLE
        chosen = {part: number for (part, number), way in taken.items() if solver.value(way)}
        return self._as_ways(chosen), True

    def _undominated(self, numbers: range, needed: I64, fits: I64) -> list[int]:
        """Ways that fit, without those that read the same as another, or more, and need no fewer units."""
        kept: list[tuple[frozenset[int], int]] = []
        found: list[int] = []
        event = len(self._places)
        some = [number for number in numbers if fits[number]]
        for number in sorted(some, key=lambda n: (needed[n], (self._inputs[n] != event).sum())):
            read = frozenset(self._inputs[number].tolist()) - {event}
            if not any(other <= read for other, _ in kept):
                kept.append((read, number))
                found.append(number)
        return found
