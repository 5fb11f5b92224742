"""The best plan over a memo, and a proof of how good it is."""

from collections.abc import Mapping
from random import Random

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import Problem
from stretto.solve.common.solution import Solution, as_choice, one_way_each
from stretto.solve.exact.bound_and_fix import solve_component
from stretto.solve.exact.components import whole
from stretto.solve.exact.reduced_cost_fixing import MARGIN

CHOOSING = 0.3
"""The part of the time that is left for choosing, however long it took to price what there is to choose from."""
PRICING = 0.3
"""The part of the time that is left for pricing, however long it took to find the plans to begin with."""
FREE = 10_000
"""Slots of ways that are looked at however short the time."""


def exact(memo: Memo, pricing: Pricing, budget: Budget, start: Solution | None = None) -> Solution:
    """The best plan found in the budget, and a lower bound; no worse than `start`, whose ways the memo then has."""
    chosen = None if start is None else as_choice(memo, start)
    kept = () if chosen is None else (chosen,)
    problem = Problem.of(memo, pricing, budget.at_least(PRICING, FREE), kept)
    found, bound = solve_exact(problem, for_choosing(budget), chosen)
    return Solution(one_way_each(memo, found), bound if problem.priced else None)


def for_choosing(budget: Budget) -> Budget:
    """What is left of a budget when all has been priced, but at least a part of it."""
    return budget.at_least(CHOOSING, FREE)


def solve_exact(
    problem: Problem,
    budget: Budget,
    start: Mapping[int, int] | None = None,
    *,
    seed: int = 0,
    gain: float = MARGIN,
) -> tuple[dict[int, int], float]:
    """A choice of one way per piece, no dearer than `start`, and what no choice costs less than.

    The choice is the best if the bound says so, up to one part in a billion; with less time than that takes it is the
    best that was found. `gain`: what part of the cost is worth searching on for.
    """
    random = Random(seed)  # noqa: S311 - nothing secret
    found = solve_component(whole(problem), budget, random, start or {}, gain=gain)
    chosen, cost = found.chosen, problem.cost(found.chosen)
    if start is not None and problem.cost(start) < cost:
        chosen, cost = dict(start), problem.cost(start)
    return chosen, min(found.bound, cost)
