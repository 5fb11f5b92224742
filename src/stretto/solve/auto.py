"""All of it: the best that quick solvers find, then the exact one in the time that is left."""

from collections.abc import Callable
from math import inf
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.solve.baselines import reorder, share
from stretto.solve.budget import Budget
from stretto.solve.exact import exact
from stretto.solve.greedy import greedy
from stretto.solve.solution import Solution

QUICK: Final[tuple[Callable[[Memo, Pricing, Budget], Solution], ...]] = (share, reorder)
"""What no plan of ours may be worse than, however short the time."""
MANY = 5_000
"""Roots beyond which these would take longer than they are worth."""


def auto(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """The cheapest plan found, with the bound that is proven for it."""
    quick = QUICK if len(memo.roots) <= MANY else ()
    plans = [greedy(memo, pricing, budget), *(solve(memo, pricing, Budget(inf)) for solve in quick)]
    return exact(memo, pricing, budget, start=min(plans, key=lambda plan: plan.cost(memo, pricing)))
