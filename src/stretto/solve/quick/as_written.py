"""Every query as its text says: the plan that all others are compared with, and the last resort of every solver."""

from collections.abc import Callable

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Way
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution, each_alone, number_of


def none(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:  # noqa: ARG001 - nothing is weighed
    """Every query alone, its slots joined in the order of the text."""
    return one_by_one(memo, lambda core: next(join_left_to_right(core, memo)))


def one_by_one(memo: Memo, way_of: Callable[[int], Way]) -> Solution:
    """Every query alone, its core computed by the way that is given for it."""
    chosen = {core: number_of(memo, core, way_of(core)) for core in memo.cores()}
    return Solution(each_alone(memo, chosen))
