"""MCEP with sharing of prefixes alone: orders of slots, merged into one tree of states.

Source: MCEP, sec. 3. The cost of a multi-pattern tree is the sum over its states, Cost_ord^multi.
"""

from collections.abc import Mapping, Sequence

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.papers.mcep.local_plans import OrderPlans
from stretto.papers.mcep.multitree import multitree
from stretto.papers.mcep.neighbourhoods import EDGE
from stretto.papers.mcep.simulated_annealing import PAPER, CoolingSchedule, anneal
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution


class MultiPatternTree:
    """Orders of patterns with all of their equal prefixes shared.

    A state is a prefix of at least two slots, kept as the left-deep tree that joins it; states of one slot are scans,
    which every plan shares. Two orders reach one state if they bind the same slots under the same terms one after the
    other; the first two slots may change places. Adding and removing an order of m slots changes m - 1 states at most.
    """

    def __init__(self, plans: Mapping[int, OrderPlans]) -> None:
        self._plans = dict(plans)
        self._orders: dict[int, tuple[int, ...]] = {}
        trees = next(iter(self._plans.values())).trees
        self._multitree = multitree(trees, {pattern: own.parts.size for pattern, own in self._plans.items()})

    def add(self, pattern: int, order: Sequence[int]) -> None:
        """Add a pattern in this order of its slots, or give it this order instead of its own."""
        self._orders[pattern] = tuple(order)
        self._multitree.put(pattern, self._plans[pattern].in_order(order))

    def remove(self, pattern: int) -> None:
        """Remove a pattern; the states that only it reached go with it."""
        del self._orders[pattern]
        self._multitree.take(pattern)

    def order(self, pattern: int) -> tuple[int, ...]:
        """The order of a pattern's slots."""
        return self._orders[pattern]

    @property
    def cost(self) -> float:
        """The cost of all states of two slots or more."""
        return self._multitree.cost

    @property
    def states(self) -> dict[int, int]:
        """The states, as trees, and how many patterns pass through each."""
        return dict(self._multitree.count)

    def window(self, state: int) -> int:
        """The window of a state: the largest among its patterns."""
        return self._multitree.size(state)

    def path(self, pattern: int) -> tuple[int, ...]:
        """The states of a pattern, from the first to its final one."""
        return self._multitree.trees.inner[self._multitree.chosen[pattern]]


def anneal_prefixes(
    memo: Memo,
    pricing: Pricing,
    budget: Budget,
    *,
    most: int = EDGE,
    seed: int = 0,
    steps: int | None = None,
    schedule: CoolingSchedule = PAPER,
) -> Solution:
    """Simulated annealing over multi-pattern trees."""
    return anneal(
        memo, pricing, budget, planner=OrderPlans, most=most, seed=seed, steps=steps, schedule=schedule
    )
