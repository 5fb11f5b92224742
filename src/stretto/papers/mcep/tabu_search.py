"""Tabu search (Glover, ORSA Journal on Computing 1, 1989) over plans for many patterns.

Source: MCEP, App. B: each step looks at L = 100 random neighbours and goes to the cheapest that was not visited
before; the last 10,000 visited plans are remembered.
"""

from collections import deque
from functools import partial
from math import inf
from random import Random

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.papers.mcep.local_plans import TreePlans
from stretto.papers.mcep.local_search import Planner, search
from stretto.papers.mcep.neighbourhoods import EDGE
from stretto.papers.mcep.walk import Walk
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution

NEIGHBOURS = 100
CAPACITY = 10_000


class Visited:
    """The last visited plans, by a hash that changes with the trees that change."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._queue: deque[int] = deque()
        self._held: set[int] = set()

    def add(self, plan: int) -> None:
        if plan in self._held:
            return
        self._held.add(plan)
        self._queue.append(plan)
        if len(self._queue) > self._capacity:
            self._held.discard(self._queue.popleft())

    def __contains__(self, plan: int) -> bool:
        return plan in self._held

    def __len__(self) -> int:
        return len(self._held)


def tabu(
    memo: Memo,
    pricing: Pricing,
    budget: Budget,
    *,
    planner: Planner = TreePlans,
    most: int = EDGE,
    seed: int = 0,
    steps: int | None = None,
) -> Solution:
    """The best plan found in the budget, or among so many neighbours per component; never worse than the start."""
    return search(memo, pricing, budget, partial(roam, steps=steps), planner=planner, most=most, seed=seed)


def roam(
    walk: Walk,
    random: Random,  # noqa: ARG001 - the moves draw from it
    budget: Budget,
    *,
    steps: int | None = None,
    neighbours: int = NEIGHBOURS,
) -> None:
    """Tabu search until the time or the steps are over or no hope is left; a step is one neighbour looked at."""
    last = inf if steps is None else walk.steps + steps
    visited = Visited()
    plan = 0
    for change in walk.multitree.chosen.items():
        plan ^= hash(change)
    visited.add(plan)
    while walk.steps < last and not budget.over and not walk.hopeless:
        cheapest: tuple[float, int, list[tuple[int, int]]] | None = None
        for _ in range(neighbours):
            if walk.steps >= last or budget.over:
                break
            difference = walk.step()
            there = plan ^ walk.turn()
            if (cheapest is None or difference < cheapest[0]) and there not in visited:
                cheapest = difference, there, walk.changes()
            walk.back()
        if cheapest is None:
            continue
        _, plan, changes = cheapest
        visited.add(plan)
        walk.put(changes)
