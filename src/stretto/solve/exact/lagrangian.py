"""The best shares of costs, by ascent: a lower bound, and a measure of which ways a good plan uses.

Shares move by the exponentiated subgradient: a root whose cheapest tree uses a way, while other roots' trees do not,
comes to bear more of it. The step shrinks geometrically from `first_step` to `last_step`. Lagrangian relaxation with
subgradient ascent is Held and Karp's (Mathematical Programming 1, 1971), the multiplicative step Kivinen and Warmuth's
(Information and Computation 132, 1997).
"""

from collections.abc import Callable

import numpy as np

from stretto.records import dataclass
from stretto.solve.common.budget import Budget
from stretto.solve.exact.cost_splitting import CostSplitting, Floats, Ints

MEMORY = 0.85
"""How much of the direction of earlier steps stays in the next one."""
LONG_MEMORY = 0.97
LEAST = 1e-9
"""The least part of a way's cost that any of its users keeps, so that it can grow again."""


@dataclass(frozen=True, slots=True)
class StepSizes:
    """So many steps, the first and the last of these sizes."""

    steps: int = 1000
    first_step: float = 1.0
    last_step: float = 1e-4

    def size(self, step: int) -> float:
        return float(self.first_step * (self.last_step / self.first_step) ** (step / max(1, self.steps)))


@dataclass(frozen=True, slots=True)
class Ascent:
    """The best bound found, and how often of late each arc was in the trees (0..1)."""

    bound: float
    used: Floats


def ascend(
    shares: CostSplitting,
    schedule: StepSizes,
    budget: Budget,
    goal: Callable[[], float] = lambda: np.inf,
    look: Callable[[int, Floats], None] | None = None,
) -> Ascent:
    """Improve the shares; they end as those of the best bound.

    Stops early if the bound reaches the `goal` or time is over. `look` is shown the arcs' use after each step.
    """
    # A way that one root alone can use has nothing to be shared: only contested arcs move.
    contested = np.flatnonzero(shares.users[shares.way] > 1)
    ways, group = np.unique(shares.way[contested], return_inverse=True)
    cost = shares.cost[ways]
    best, best_share = shares.bound(), shares.share.copy()
    taken = shares.trees()
    used = taken.astype(np.float64)
    recent = used[contested]
    for step in range(schedule.steps if len(ways) else 0):
        if budget.over or best >= goal():
            break
        budget.work(shares.step_seconds)
        # A root whose tree uses a way bids more for it. Shares stay positive by the exponential and add up to the cost
        # again by scaling, so that every step is a valid bound: no projection is needed.
        grown = shares.share[contested] * np.exp(schedule.size(step) * recent) + (LEAST * cost)[group]
        shares.share[contested] = add_up(grown, group, cost)
        bound = shares.bound()
        # Subgradient steps may lose; the best bound is what counts, and its shares are what comes back.
        if bound > best:
            best, best_share = bound, shares.share.copy()
        taken = shares.trees()
        recent = MEMORY * recent + (1 - MEMORY) * taken[contested]
        used = LONG_MEMORY * used + (1 - LONG_MEMORY) * taken
        if look is not None:
            look(step, used)
    shares.share = best_share
    shares.bound()
    return Ascent(best, used)


def add_up(parts: Floats, group: Ints, total: Floats) -> Floats:
    """Parts in the same proportion that add up to each group's total."""
    sums = np.bincount(group, parts, len(total))
    scale = np.divide(total, sums, out=np.zeros_like(total), where=sums > 0)
    return parts * scale[group]


def most_used(shares: CostSplitting, used: Floats) -> Floats:
    """For each way the greatest use that any root makes of it (0..1)."""
    found = np.zeros(len(shares.cost))
    np.maximum.at(found, shares.way, used)
    return found
