"""Good plans from the use that the cheapest trees make of ways: built by it, then improved by moves.

A way that the trees used nearly always of late is priced low, so that roots meet in it; then every piece is routed
anew at true costs, and shared pieces are opened and closed.
"""

from collections.abc import Collection
from itertools import accumulate, pairwise
from random import Random

import numpy as np

from stretto.solve.common.budget import Budget
from stretto.solve.common.routes import Prices, Routes, State
from stretto.solve.exact.cost_shares import Floats
from stretto.solve.exact.open_close_moves import Opening

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


class Polish:
    """The best plan so far in `best`; a guide tells the use of each way (0..1)."""

    def __init__(self, routes: Routes, random: Random) -> None:
        self.routes, self.random = routes, random
        self.best: State | None = None
        self.guide: Floats = np.zeros(sum(len(costs) for costs in routes.costs))
        self._cost = np.array([cost for costs in routes.costs for cost in costs])
        self._starts = [0, *accumulate(len(costs) for costs in routes.costs)]
        self._opening: Opening | None = None
        self._users: dict[int, list[int]] = {}

    @property
    def cost(self) -> float:
        return float("inf") if self.best is None else self.best[2]

    def keep(self) -> None:
        """Remember the present plan if it is the best."""
        if self.routes.cost < self.cost:
            self.best = self.routes.state()

    def back_to_best(self) -> None:
        """Make the best plan the present one."""
        if self.best is not None:
            self.routes.restore(self.best)

    @property
    def shared(self) -> int:
        """How many pieces several others can read."""
        return len(self._prepared().shared)

    def prices(self, noise: float = 0.0) -> Prices:
        """Costs, lower where the guide says that a way is used."""
        price = self._cost * (1.0 + LEAST_PRICE - self.guide)
        if noise:
            random = np.random.default_rng(self.random.getrandbits(32))
            price *= np.exp(noise * random.standard_normal(len(price)))
        flat = price.tolist()
        return [flat[start:end] for start, end in pairwise(self._starts)]

    def build(self, budget: Budget) -> None:
        """A plan by the guide, improved; roots come in random order."""
        routes = self.routes
        order = routes.roots[:]
        self.random.shuffle(order)
        routes.clear()
        routes.build(order, self.prices())
        routes.improve(budget, self.random)
        self.keep()

    def build_of(self, paid: Collection[tuple[int, int]]) -> None:
        """The cheapest trees of the roots if these ways, by piece of the residue and place, cost nothing more."""
        prices = [
            [0.0 if (piece, place) in paid else cost for place, cost in enumerate(costs)]
            for piece, costs in zip(self.routes.residue.order, self.routes.costs, strict=True)
        ]
        self.routes.clear()
        self.routes.build(self.routes.roots, prices)
        self.keep()

    def open_and_close(self, budget: Budget) -> None:
        """Open and close shared pieces of the present plan until that helps no more."""
        opening = self._prepared()
        while not budget.over:
            before = self.routes.cost
            pieces = opening.shared[:]
            self.random.shuffle(pieces)
            opening.sweep(pieces, budget)
            self.routes.improve(budget, self.random)
            if self.routes.cost >= before * (1 - WORTH_IT):
                break
        self.keep()

    def disturb(self, budget: Budget) -> None:
        """Route a few related roots of the best plan anew, by the guide or not; keep what is no dearer."""
        opening, routes, random = self._prepared(), self.routes, self.random
        if self.best is None or not opening.shared:
            return
        routes.restore(self.best)
        before = routes.cost
        group = self._related(random.choice(GROUPS))
        for root in group:
            routes.release(root)
        routes.build(group, self.prices(random.choice(NOISE)) if random.random() < 0.7 else None)
        pieces = list(dict.fromkeys(under for root in group for under in routes.below(root)))
        for _ in range(3):
            cost = routes.cost
            random.shuffle(pieces)
            for piece in pieces:
                if routes.way[piece] >= 0 and len(routes.costs[piece]) > 1:
                    routes.reroute(piece)
            if routes.cost >= cost:
                break
        if routes.cost < before * NEAR:
            shared = [piece for piece in pieces if len(self._users.get(piece, ())) > 1]
            opening.sweep(random.sample(shared, min(len(shared), TRIED)), budget)
        if routes.cost <= before:
            self.best = routes.state()

    def _related(self, size: int) -> list[int]:
        """Some roots, each of which can share something with another."""
        random = self.random
        users = self._users[random.choice(self._prepared().shared)]
        found = dict.fromkeys(random.sample(users, min(size, len(users))))
        for _ in range(3 * size):
            if len(found) >= size:
                break
            under = random.choice(self.routes.below(random.choice(list(found))))
            found[random.choice(self._users[under])] = None
        return list(found)

    def _prepared(self) -> Opening:
        if self._opening is None:
            self._opening = Opening(self.routes)
            for root in self.routes.roots:
                for under in self.routes.below(root):
                    self._users.setdefault(under, []).append(root)
        return self._opening
