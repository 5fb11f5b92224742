"""Tabu search (Glover, ORSA Journal on Computing 1, 1989) over plans for many patterns.

Source: MCEP, App. B: each step looks at L = 100 random neighbours and goes to the cheapest that was not visited
before; the last 10,000 visited plans are remembered.
"""

from collections import OrderedDict
from functools import partial
from typing import Final

from stretto.papers.mcep.local_search import search
from stretto.papers.mcep.neighbourhoods import Move
from stretto.papers.mcep.walk import A_MOVE, Walk
from stretto.solve.common.budget import Budget

NEIGHBOURS = 100
CAPACITY = 10_000


class Visited(OrderedDict[int, None]):
    """The last visited plans, by a hash that changes with the trees that change."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        super().__init__()
        self._capacity = capacity

    def add(self, plan: int) -> None:
        self[plan] = None
        if len(self) > self._capacity:
            self.popitem(last=False)


def roam(walk: Walk, budget: Budget, steps: float) -> None:
    """Tabu search until the time or the steps are over or no hope is left; a step is one neighbour looked at."""
    visited = Visited()
    plan = 0
    for change in walk.multitree.chosen.items():
        plan ^= hash(change)
    visited.add(plan)
    while walk.steps < steps and not budget.over and not walk.hopeless:
        cheapest: tuple[float, int, Move] | None = None
        for _ in range(NEIGHBOURS):
            if walk.steps >= steps or budget.over:
                break
            difference = walk.step()
            budget.work(A_MOVE)
            there = plan ^ walk.turn()
            if (cheapest is None or difference < cheapest[0]) and there not in visited:
                cheapest = difference, there, walk.changes()
            walk.back()
        if cheapest is None:
            continue
        _, plan, changes = cheapest
        visited.add(plan)
        walk.put(changes)


tabu: Final = partial(search, roam)
"""`search` by tabu search."""
