"""Units for the operators of a plan, and what the model expects of each.

Objectives: `max`, the greatest load of a unit, where all operators run at the same time (DecoPa); `stages`, the sum
over stages of the greatest load in each, where stages run one after another and every stage has all units (Spark).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

from stretto.errors import StrettoError
from stretto.memo.prices import Prices
from stretto.plan.dag import Plan
from stretto.plan.placement.heavy import HeavyEvent
from stretto.plan.placement.placement import ALONE, Grid, Placement, stages
from stretto.plan.placement.refusals import refuse_units
from stretto.plan.placement.rivals import as_rivals
from stretto.plan.placement.work import OperatorWork, grids, works_of
from stretto.records import dataclass
from stretto.solve.units.allocation import Allocation
from stretto.solve.units.loads import Capacity, capacity_of
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats

Objective = Literal["max", "stages"]


@dataclass(frozen=True, slots=True)
class PlacedPlan:
    """A plan with units, and for each operator that has some its stage and the work of one unit.

    `packed`: operators that are so light that they share one unit. `share`: of the stream, that each unit sees.
    `whole`: the work of each operator, not divided.
    """

    plan: Plan
    stage: tuple[int, ...]
    work: Mapping[int, OperatorWork]
    packed: frozenset[int]
    capacity: Capacity
    objective: Objective
    units: int
    whole: Mapping[int, OperatorWork]
    share: float = 1.0

    @property
    def grids(self) -> tuple[Grid, ...]:
        assert self.plan.placement is not None
        return self.plan.placement.grids

    def load(self, number: int) -> float:
        """The load of each unit of an operator."""
        return self.work[number].load(self.capacity)[0]

    @property
    def bottleneck(self) -> int | None:
        """The operator whose units have most to do; None: nothing brings rows together."""
        return max(self.work, key=self.load, default=None)

    @property
    def speed(self) -> float:
        """The replay speed c: seconds of stream that are replayed in a second."""
        if self.objective == "max":
            together = sum(map(self.load, self.packed))
            return 1.0 / max([self.share * together, *(self.share * self.load(n) for n in self.work), 1e-300])
        slowest: dict[int, float] = {}
        for number in self.work:
            slowest[self.stage[number]] = max(slowest.get(self.stage[number], 0.0), self.load(number))
        return 1.0 / max(sum(slowest.values()), 1e-300)


def place(
    plan: Plan,
    stats: Stats,
    units: int,
    prices: Prices,
    *,
    capacity: Capacity | None = None,
    objective: Objective = "max",
    state_bytes: float | None = None,
    works: Mapping[int, OperatorWork] | None = None,
    allocation: Allocation = "best",
    heavy: Mapping[int, tuple[HeavyEvent, ...]] | None = None,
) -> PlacedPlan:
    """The plan on so many units, by the best allocation there is for it, or by a rival's.

    `works`: what its operators have to do, where that was measured; else it is estimated. `heavy`: shared events that
    were seen in many rows. `state_bytes`: what a unit can keep. StrettoError says why units would change the results,
    or that the state of an operator does not fit.
    """
    refuse_units(plan)
    if units < 1:
        raise StrettoError(f"a plan needs at least one unit, not {units}")
    works = works_of(plan, Estimator(stats), prices) if works is None else works
    works = {number: replace(work, heavy=(heavy or {}).get(number, ())) for number, work in works.items()}
    placing = _Placing(plan, works, capacity or capacity_of(prices), state_bytes)
    stage = tuple(stages(plan.ops))
    if allocation != "best":
        chosen, packed = as_rivals(plan, works, units, allocation)
    elif objective == "max":
        chosen, packed = placing.packed(units)
    else:
        chosen, packed = {}, frozenset()
        for level in sorted({stage[number] for number in works}):
            chosen |= placing.allocated([n for n in works if stage[n] == level], units)
    given = tuple(chosen.get(number, ALONE) for number in range(len(plan.ops)))
    placing.check(chosen)
    return PlacedPlan(
        replace(plan, placement=Placement(given)),
        stage,
        {number: works[number].of_unit(chosen[number]) for number in works},
        packed,
        placing.capacity,
        objective,
        units,
        works,
        min(1.0, 2.0 / units) if allocation == "slices" else 1.0,
    )


class _Placing:
    """Grids for the operators of one plan."""

    def __init__(
        self, plan: Plan, works: Mapping[int, OperatorWork], capacity: Capacity, state_bytes: float | None
    ) -> None:
        self._plan, self._works, self.capacity, self._state_bytes = plan, works, capacity, state_bytes
        self.best = cache(self._best)

    def load(self, number: int, grid: Grid) -> float:
        """The load of each unit; what does not fit its memory is beyond any load."""
        own = self._works[number].of_unit(grid)
        return own.load(self.capacity)[0] + self._beyond(sum(own.bytes))

    def _beyond(self, state: float) -> float:
        """What is added to the load of a unit that cannot keep so much."""
        fits = self._state_bytes is None or state <= self._state_bytes
        return 0.0 if fits or self._state_bytes is None else 1e9 * state / self._state_bytes

    def _best(self, number: int, units: int) -> Grid:
        """The grid of at most so many units with the least load, of these the smallest."""
        works = self._works[number]
        found = grids(self._plan.ops, number, units, works.heavy)
        # Of grids with one load the smallest, and of those the one with the fewest copies.
        return min(found, key=lambda g: (self.load(number, g), g.units, sum(works.of_unit(g).rows)))

    def allocated(self, numbers: Sequence[int], units: int) -> dict[int, Grid]:
        """Units for some operators, one more to the most loaded as long as it helps; with too few, one each.

        That is exact: a load depends on the operator's own units alone and never rises with them.
        """
        given = dict.fromkeys(numbers, 1)
        for _ in range(units - len(given)):
            most = max(numbers, key=lambda n: self.load(n, self.best(n, given[n])), default=None)
            if most is None:
                break
            given[most] += 1
        return {number: self.best(number, own) for number, own in given.items()}

    def packed(self, units: int) -> tuple[dict[int, Grid], frozenset[int]]:
        """The same, with the lightest operators on one unit together: as many of them as makes the rest fastest."""
        by_load = sorted(self._works, key=lambda number: self.load(number, ALONE))
        found: list[tuple[float, int, dict[int, Grid]]] = []
        for count in range(len(by_load) + 1):
            light, heavy = by_load[:count], by_load[count:]
            if count == 1 or len(heavy) + bool(light) > units:
                continue
            given = self.allocated(heavy, units - bool(light))
            together = sum(self.load(number, ALONE) for number in light)
            together += self._beyond(sum(sum(self._works[number].bytes) for number in light))
            slowest = max([together, *(self.load(number, grid) for number, grid in given.items())])
            found.append((slowest, count, given | dict.fromkeys(light, ALONE)))
        _, count, given = min(found, key=lambda one: one[:2])
        return given, frozenset(by_load[:count])

    def check(self, chosen: Mapping[int, Grid]) -> None:
        for number, grid in chosen.items():
            held = sum(self._works[number].of_unit(grid).bytes)
            if self._state_bytes is not None and held > self._state_bytes:
                raise StrettoError(
                    f"operator n{number} would keep {held:,.0f} bytes on each of its {grid.units} units, more than"
                    f" {self._state_bytes:,.0f}: give more units or more memory"
                )
