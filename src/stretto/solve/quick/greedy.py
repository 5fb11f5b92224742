"""Every root takes its cheapest tree given what is computed already; then each again, until nothing gets cheaper."""

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import Problem
from stretto.solve.common.reduction import everything
from stretto.solve.common.routes import Routes
from stretto.solve.common.solution import Solution, one_way_each


def greedy(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """A plan in which no piece alone could be computed cheaper; of the ways that the budget lets price."""
    return Solution(one_way_each(memo, solve_greedy(Problem.of(memo, pricing, budget), budget)))


def solve_greedy(problem: Problem, budget: Budget) -> dict[int, int]:
    """A choice of one way per piece, each where it is cheapest given the others."""
    residue = everything(problem)
    routes = Routes(residue)
    routes.build(routes.roots)
    routes.improve(budget)
    return residue.chosen(routes.places())
