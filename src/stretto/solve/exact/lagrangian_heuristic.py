"""Good plans from the use that the cheapest trees make of ways: built by it, then improved by moves.

A way that the trees used nearly always of late is priced low, so that roots meet in it; then every piece is routed
anew at true costs, and shared pieces are opened and closed. A Lagrangian heuristic (Beasley, European Journal of
Operational Research 65, 1993) with local search behind it.
"""

from collections.abc import Collection
from itertools import accumulate, pairwise
from random import Random

import numpy as np

from stretto.solve.common.budget import Budget
from stretto.solve.common.working_plan import Prices, State, WorkingPlan
from stretto.solve.exact.cost_splitting import Floats
from stretto.solve.exact.open_close_moves import OpenCloseMoves

LEAST_PRICE = 1e-3
"""The part of its cost at which a way is priced that all trees use."""
NOISE = (0.0, 0.2, 0.5)
GROUPS = (3, 6, 12)
"""How many roots are routed anew together."""
TRIED = 20
"""Shared pieces that are opened or closed after that."""
WORTH_IT = 1e-9
"""The relative gain for which another round is made."""
NEAR = 1.003
"""Up to so much dearer a plan is worth trying that."""


class LagrangianHeuristic:
    """The best plan so far in `best`; a guide tells the use of each way (0..1)."""

    def __init__(self, plan: WorkingPlan, random: Random) -> None:
        self.plan, self.random = plan, random
        self.best: State | None = None
        self.guide: Floats = np.zeros(sum(len(costs) for costs in plan.costs))
        self._cost = np.array([cost for costs in plan.costs for cost in costs])
        self._starts = [0, *accumulate(len(costs) for costs in plan.costs)]
        self._opening: OpenCloseMoves | None = None
        self._users: dict[int, list[int]] = {}

    @property
    def cost(self) -> float:
        return float("inf") if self.best is None else self.best[2]

    def keep(self) -> None:
        """Remember the present plan if it is the best."""
        if self.plan.cost < self.cost:
            self.best = self.plan.state()

    def back_to_best(self) -> None:
        """Make the best plan the present one."""
        if self.best is not None:
            self.plan.restore(self.best)

    @property
    def shared(self) -> int:
        """How many pieces several others can read."""
        return len(self._prepared().shared)

    def prices(self, noise: float = 0.0) -> Prices:
        """Costs, lower where the guide says that a way is used."""
        # A small rest of the price stays, so that of two ways that all trees use the cheaper one is taken.
        price = self._cost * (1.0 + LEAST_PRICE - self.guide)
        if noise:
            random = np.random.default_rng(self.random.getrandbits(32))
            price *= np.exp(noise * random.standard_normal(len(price)))
        flat = price.tolist()
        return [flat[start:end] for start, end in pairwise(self._starts)]

    def build(self, budget: Budget) -> None:
        """A plan by the guide, improved; roots come in random order."""
        plan = self.plan
        order = plan.roots[:]
        self.random.shuffle(order)
        plan.clear()
        plan.build(order, self.prices())
        plan.improve(budget, self.random)
        self.keep()

    def build_of(self, paid: Collection[tuple[int, int]]) -> None:
        """The cheapest trees of the roots if these ways, by piece of the residue and place, cost nothing more."""
        prices = [
            [0.0 if (piece, place) in paid else cost for place, cost in enumerate(costs)]
            for piece, costs in zip(self.plan.residue.order, self.plan.costs, strict=True)
        ]
        self.plan.clear()
        self.plan.build(self.plan.roots, prices)
        self.keep()

    def open_and_close(self, budget: Budget) -> None:
        """Open and close shared pieces of the present plan until that helps no more."""
        opening = self._prepared()
        while not self.plan.over(budget):
            before = self.plan.cost
            pieces = opening.shared[:]
            self.random.shuffle(pieces)
            opening.sweep(pieces, budget)
            self.plan.improve(budget, self.random)
            if self.plan.cost >= before * (1 - WORTH_IT):
                break
        self.keep()

    def disturb(self, budget: Budget) -> None:
        """Route a few related roots of the best plan anew, by the guide or not; keep what is no dearer."""
        opening, plan, random = self._prepared(), self.plan, self.random
        if self.best is None or not opening.shared:
            return
        plan.restore(self.best)
        before = plan.cost
        group = self._related(random.choice(GROUPS))
        for root in group:
            plan.release(root)
        plan.build(group, self.prices(random.choice(NOISE)) if random.random() < 0.7 else None)
        pieces = list(dict.fromkeys(under for root in group for under in plan.below(root)))
        for _ in range(3):
            cost = plan.cost
            random.shuffle(pieces)
            for piece in pieces:
                if plan.way[piece] >= 0 and len(plan.costs[piece]) > 1:
                    plan.reroute(piece)
            if plan.cost >= cost:
                break
        # Opening and closing is dear: only a plan that is nearly as good as the best one is worth it.
        if plan.cost < before * NEAR:
            shared = [piece for piece in pieces if len(self._users.get(piece, ())) > 1]
            opening.sweep(random.sample(shared, min(len(shared), TRIED)), budget)
        # An equally good plan is taken too: it leads on from a plateau.
        if plan.cost <= before:
            self.best = plan.state()

    def _related(self, size: int) -> list[int]:
        """Some roots, each of which can share something with another."""
        random = self.random
        users = self._users[random.choice(self._prepared().shared)]
        found = dict.fromkeys(random.sample(users, min(size, len(users))))
        for _ in range(3 * size):
            if len(found) >= size:
                break
            under = random.choice(self.plan.below(random.choice(list(found))))
            found[random.choice(self._users[under])] = None
        return list(found)

    def _prepared(self) -> OpenCloseMoves:
        if self._opening is None:
            self._opening = OpenCloseMoves(self.plan)
            for root in self.plan.roots:
                for under in self.plan.below(root):
                    self._users.setdefault(under, []).append(root)
        return self._opening
