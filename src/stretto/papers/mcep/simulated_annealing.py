"""Simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983) over plans for many patterns.

Source: MCEP, App. B: a dearer neighbour is taken with probability exp(-difference / threshold); the threshold
starts as the largest difference among 1,000 neighbours of the start and is multiplied by 0.99 in every step.
"""

from functools import partial
from itertools import chain, cycle
from math import exp, inf
from typing import Final

from stretto.papers.mcep.local_search import search
from stretto.papers.mcep.walk import A_MOVE, Walk
from stretto.records import dataclass
from stretto.solve.common.budget import Budget


@dataclass(frozen=True, slots=True)
class CoolingSchedule:
    """How the threshold falls, and what is done with the time that is left when it has fallen.

    The paper stops by time alone. At 0.99 per step the threshold is nothing after two thousand steps, and what
    follows is iterative improvement. When that has found nothing for as long as every pattern and part has been
    drawn about `patience` times, the walk goes back to its best plan and the threshold up again: to the next of
    `reheats` times its start. Without `reheats` the search ends there.
    """

    alpha: float = 0.99
    probes: int = 1_000
    patience: float = 1.0
    reheats: tuple[float, ...] = (0.1, 0.01, 0.001, 1.0)


PAPER = CoolingSchedule()
COLD = 1e-9
"""Below so much of its start the threshold lets nothing through."""


def cool(walk: Walk, budget: Budget, steps: float, schedule: CoolingSchedule = PAPER) -> None:
    """Anneal until the time or the steps are over, or nothing more is to be hoped for."""
    start = largest_difference(walk, min(schedule.probes, steps), budget)
    if not start:
        return
    for height in chain((1.0,), cycle(schedule.reheats)):
        walk.to_best()
        _one_round(walk, budget, schedule, start * height, steps)
        if walk.steps >= steps or budget.over or walk.hopeless:
            return


anneal: Final = partial(search, cool)
"""`search` by simulated annealing."""


def _one_round(walk: Walk, budget: Budget, schedule: CoolingSchedule, threshold: float, last: float) -> None:
    """Let the threshold fall, then improve until nothing better has been found for long enough."""
    patience = schedule.patience * walk.moves.extent
    cold = threshold * COLD
    lowest, lowest_at = inf, walk.steps
    while walk.steps < last and not budget.over:
        difference = walk.step()
        budget.work(A_MOVE)
        if difference <= 0 or (
            threshold > cold and walk.moves.random.random() < exp(-difference / threshold)
        ):
            walk.stay()
        else:
            walk.back()
        threshold *= schedule.alpha
        if threshold > cold or walk.multitree.cost < lowest:
            lowest, lowest_at = walk.multitree.cost, walk.steps
        elif walk.steps - lowest_at > patience:
            return


def largest_difference(walk: Walk, probes: float, budget: Budget) -> float:
    """The largest difference in cost between the present plan and so many neighbours."""
    largest = 0.0
    for _ in range(int(probes)):
        if budget.over:
            break
        difference = walk.step()
        budget.work(A_MOVE)
        largest = max(largest, abs(difference))
        walk.back()
    return largest
