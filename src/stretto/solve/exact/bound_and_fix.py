"""Closing the gap between a plan and a bound, part by part.

For a connected part the best shares of costs give a bound and guide the search for plans. Bound and plan together tell
which ways no better plan uses and which pieces all of them compute; what is left is reduced, cut apart and searched
in the same manner. Where that does not get on, the 0-1 program has the rest of the time: branch and bound by a solver.

Invariant: `bound` holds for every plan of the component, not just for those that fixing has left. Fixing takes away
only what no plan cheaper than the best known one does, so what is proven of the rest counts up to that plan's cost.
"""

from collections.abc import Mapping
from math import inf
from random import Random

from stretto.records import dataclass
from stretto.solve.common.budget import Budget
from stretto.solve.common.presolve import KeptWays, NoPlanError, everything, presolve
from stretto.solve.common.working_plan import WorkingPlan
from stretto.solve.exact.binary_program import solve_program
from stretto.solve.exact.components import Component, components
from stretto.solve.exact.cost_splitting import CostSplitting, Floats
from stretto.solve.exact.lagrangian import StepSizes, ascend, most_used
from stretto.solve.exact.lagrangian_heuristic import LagrangianHeuristic
from stretto.solve.exact.reduced_cost_fixing import MARGIN, WarmStart, fix, worth_finding

A_PRESOLVED = 2e-5
"""Seconds that it takes to reduce a part and cut it apart, for each of its ways."""
MOST_STEPS, FEWEST_STEPS = 1500, 100
ASCENT_PART = 0.25
"""Of the time left, what an ascent may take; the plans that it guides take about as much again."""
PLAN_EVERY = 50
FIRST_PLAN = 200
WARM_STEP = 0.03
HEURISTIC_PART = 0.1
SHRUNK = 0.9
"""With no more than so much of its ways left a part is searched again."""
SMALL_PROGRAM, LARGEST_PROGRAM = 2_000, 15_000
"""Arcs up to which the 0-1 program is tried at once, and at all."""
PROGRAM_PART = 0.85
PATIENCE = 200
"""Moves without success after which plans are not disturbed further; each shared piece allows for two more."""
ATTEMPTS = 2
"""How often parts are searched: time that proofs have left over goes to those without one."""
AS_GOOD_AS_PROVEN = 1e-6
FEW_WAYS = 300
"""Ways up to which a part is searched to its end, however little there is to gain: that takes no time."""
ROUNDING = 1e-12
"""The relative error that a sum of shares may have."""


@dataclass(frozen=True, slots=True)
class Solved:
    """The cheapest choice found, its cost, and what no choice costs less than."""

    chosen: dict[int, int]
    cost: float
    bound: float

    def is_proven(self, gain: float) -> bool:
        """Whether it is not worth trying again for so small a part of the cost."""
        return self.bound >= self.cost * (1 - max(gain, AS_GOOD_AS_PROVEN))

    def or_else(self, other: "Solved") -> "Solved":
        """The better of both plans with the better of both bounds."""
        best = self if self.cost <= other.cost else other
        return Solved(best.chosen, best.cost, min(best.cost, max(self.bound, other.bound)))


def solve_component(
    part: Component,
    budget: Budget,
    random: Random,
    start: Mapping[int, int],
    *,
    gain: float = MARGIN,
    kept: KeptWays | None = None,
    required: tuple[int, ...] = (),
    remembered: WarmStart | None = None,
) -> Solved:
    """The best choice for a part if only `kept` ways count and `required` pieces are computed in any case.

    `gain`: the part of the cost for which one searches on, but in parts that have few ways.
    """
    residue = presolve(part.problem, kept, required)
    inner = components(residue)
    budget.work(A_PRESOLVED * sum(map(len, residue.inputs.values())))
    found = {i: Solved(one.inward(start), inf, 0.0) for i, one in enumerate(inner)}
    # Parts share nothing, so their plans, costs and bounds add up, and each has its part of the time by its size.
    for _ in range(ATTEMPTS):
        left = [i for i in found if not found[i].is_proven(_worth(inner[i], gain))]
        sizes = [_ways(inner[i]) for i in left]
        for turn, i in enumerate(left):
            own = budget.share(sizes[turn] / sum(sizes[turn:]))
            one, worth = inner[i].within(part), _worth(inner[i], gain)
            search = _ComponentSearch(one, own, random, found[i].chosen, worth)
            found[i] = search.run(remembered).or_else(found[i])
        if budget.over:
            break
    chosen = dict(residue.settled)
    for i, one in enumerate(inner):
        chosen.update(one.outward(found[i].chosen))
    cost = residue.constant + sum(one.cost for one in found.values())
    return Solved(chosen, cost, residue.constant + sum(one.bound for one in found.values()))


def _ways(part: Component) -> int:
    return sum(map(len, part.problem.inputs))


def _worth(part: Component, gain: float) -> float:
    """The part of the cost for which one searches on in a part."""
    return gain if _ways(part) > FEW_WAYS else MARGIN


class _ComponentSearch:
    """A connected part: plans from above, bounds from below, until they meet, nearly, or time is over."""

    def __init__(
        self, part: Component, budget: Budget, random: Random, start: Mapping[int, int], gain: float
    ) -> None:
        self.part, self.budget, self.random, self.gain = part, budget, random, gain
        self.residue = everything(part.problem)
        self.plan = WorkingPlan(self.residue)
        self.heuristic = LagrangianHeuristic(self.plan, random)
        self.bound = 0.0
        self.plan.build(self.plan.roots)
        self.plan.improve(budget)
        self.heuristic.keep()
        if start:
            self.plan.follow(start)
            self.heuristic.keep()

    @property
    def done(self) -> bool:
        return self.budget.over or self.bound >= self.limit

    @property
    def limit(self) -> float:
        """What a plan must cost less than to be worth finding."""
        return worth_finding(self.heuristic.cost, self.gain)

    def run(self, remembered: WarmStart | None) -> Solved:
        if self.done:
            return self._result()
        shares = CostSplitting(self.residue)
        if remembered is not None:
            remembered.give(self.part, self.residue, shares)
        self._ascend(shares, 1.0 if remembered is None else WARM_STEP)
        if not self.done:
            self.heuristic.build(self.budget)
            self.heuristic.open_and_close(self.budget)
        if not self.done and len(shares.way) > SMALL_PROGRAM:
            self._disturb(self.budget.share(HEURISTIC_PART))
        if not self.done:
            self._narrow(shares)
        return self._result()

    def _ascend(self, shares: CostSplitting, first_step: float) -> None:
        steps = self._steps(shares)
        first_plan = min(FIRST_PLAN, steps // 3)

        def look(step: int, used: Floats) -> None:
            if step >= first_plan and step % PLAN_EVERY == 0:
                self.heuristic.guide = most_used(shares, used)
                self.heuristic.build(self.budget)

        found = ascend(
            shares,
            StepSizes(steps, first_step),
            self.budget,
            lambda: self.limit,
            look,
        )
        self.heuristic.guide = most_used(shares, found.used)
        self._raise_bound(found.bound * (1 - ROUNDING))

    def _steps(self, shares: CostSplitting) -> int:
        """As many steps as fit into a part of the time."""
        return int(
            min(MOST_STEPS, max(FEWEST_STEPS, ASCENT_PART * self.budget.left / (2 * shares.step_seconds)))
        )

    def _disturb(self, budget: Budget) -> None:
        """Moves from the best plan, until they have not helped for long."""
        best, idle = self.heuristic.cost, 0
        while idle < PATIENCE + 2 * self.heuristic.shared and not (self.plan.over(budget) or self.done):
            self.heuristic.disturb(budget)
            idle = idle + 1 if self.heuristic.cost >= best else 0
            best = self.heuristic.cost

    def _narrow(self, shares: CostSplitting) -> None:
        """Search what is left of the part for a better plan; if that is nearly all of it, by the 0-1 program."""
        # Fixing keeps every plan that is better than the best one known. So if the rest has no plan at all, none costs
        # less than `limit`; else what is proven of the rest holds for all plans, up to `limit`.
        fixing = fix(self.residue, shares, self.limit)
        left = sum(map(len, fixing.kept.values()))
        if left > SHRUNK * len(shares.cost) and not fixing.required:
            self._decide(len(shares.way))
            return
        limit = self.limit
        remembered = WarmStart(self.part, self.residue, shares)
        start = self._chosen()
        try:
            found = solve_component(
                self.part,
                self.budget,
                self.random,
                start,
                gain=self.gain,
                kept=fixing.kept,
                required=fixing.required,
                remembered=remembered,
            )
        except NoPlanError:
            self._raise_bound(limit)
            return
        self.plan.follow(found.chosen)
        self.heuristic.keep()
        self._raise_bound(min(found.bound, limit))

    def _decide(self, arcs: int) -> None:
        """The 0-1 program and moves from plan to plan, for the rest of the time."""
        if arcs > LARGEST_PROGRAM:
            self._disturb(self.budget)
            return
        if arcs > SMALL_PROGRAM:
            self._disturb(self.budget.share(1 - PROGRAM_PART))
        if self.done:
            return
        self.heuristic.back_to_best()
        # The solver begins with the best plan as a hint; CP-SAT has the Lagrangian bound as a cut besides.
        found = solve_program(self.residue, self.budget, self.plan.places(), self.bound)
        if found.paid is not None:
            self.heuristic.build_of(found.paid)
        self._raise_bound(found.bound)

    def _raise_bound(self, bound: float) -> None:
        self.bound = max(self.bound, bound)

    def _chosen(self) -> dict[int, int]:
        self.heuristic.back_to_best()
        return self.residue.chosen(self.plan.places())

    def _result(self) -> Solved:
        return Solved(self._chosen(), self.heuristic.cost, min(self.bound, self.heuristic.cost))
