"""Units for a fixed split: one more to the most loaded sub-query, until none is left."""

from collections.abc import Mapping
from heapq import heapify, heapreplace
from typing import Literal

from stretto.records import dataclass
from stretto.solve.units.loads import Capacity, LoadedGrid
from stretto.solve.units.rates import SubQuery
from stretto.solve.units.splits import Split

Allocation = Literal["best", "proportional", "one each", "together", "slices"]
"""How units are given: the best there is; in proportion to comparisons; one to each operator; one to all of them; or
all operators on every unit, for slices of time in turn.
"""


@dataclass(frozen=True, slots=True)
class Allocated:
    """A split with the units of each sub-query and the load of every unit.

    `bound`: no split and allocation over the same ways replays faster; None: not known.
    """

    split: Split
    grids: Mapping[SubQuery, LoadedGrid]
    bound: float | None = None

    @property
    def speed(self) -> float:
        """The replay speed c: the reciprocal of the greatest load."""
        return 1.0 / self.grids[self.bottleneck].load

    @property
    def bottleneck(self) -> SubQuery:
        return max(self.grids, key=lambda part: self.grids[part].load)

    @property
    def units(self) -> int:
        return sum(grid.units for grid in self.grids.values())


def grid_of(split: Split, part: SubQuery, units: int, capacity: Capacity, *, beyond: bool) -> LoadedGrid:
    """The units of a sub-query; `beyond` the paper any grid, else the larger input is divided."""
    step = split[part].step
    return step.best(units, capacity) if beyond else LoadedGrid(step.load(units, capacity), 1, units, 1)


def allocate(split: Split, units: int, capacity: Capacity, *, beyond: bool = False) -> Allocated | None:
    """The fastest allocation of so many units to a split; None if there are fewer units than sub-queries.

    Greedy is exact: a load depends on the sub-query's own units alone and falls with them, so whatever allocation has a
    smaller maximum gives the most loaded one more units than it has.
    """
    if units < len(split):
        return None
    heap = [(-grid_of(split, part, 1, capacity, beyond=beyond).load, part, 1) for part in split]
    heapify(heap)
    for _ in range(units - len(split)):
        _, part, own = heap[0]
        load = grid_of(split, part, own + 1, capacity, beyond=beyond).load
        heapreplace(heap, (-load, part, own + 1))
    found = {part: grid_of(split, part, own, capacity, beyond=beyond) for _, part, own in heap}
    return Allocated(split, found)
