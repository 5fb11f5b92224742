"""Greedy plans: valid, shared where that pays at once, quick for very many queries."""

from random import Random

import pytest
from tests.solve.random_problems import best_cost, random_problem
from tests.solve.shared_workloads import DrawnPricing, Shape, memo_of

from stretto.memo.memo import Memo
from stretto.papers.mcep.baselines import reorder
from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import Problem
from stretto.solve.common.working_plan import solve_greedy


@pytest.mark.parametrize("seconds", [0.0, 5.0])
@pytest.mark.parametrize("seed", range(40))
def test_between_the_best_plan_and_the_roots_alone(seed: int, seconds: float) -> None:
    problem = random_problem(Random(seed))
    cost = problem.cost(solve_greedy(problem, Budget(seconds)))
    assert best_cost(problem) - 1e-9 <= cost <= sum(max(costs) for costs in problem.costs) + 1e-9


@pytest.mark.parametrize("dense", [False, True])
def test_no_worse_than_every_query_alone(dense: bool) -> None:
    memo, pricing = memo_of(Shape(30, 10, window_s=0.1, dense=dense)), DrawnPricing()
    alone = reorder(memo, pricing, Budget(5))
    problem = Problem.of(memo, pricing)
    assert problem.cost(solve_greedy(problem, Budget(5))) <= alone.cost(memo, pricing)


def test_what_is_computed_is_read_for_nothing() -> None:
    """The second root could do for 2 what costs it 1 once the first has computed piece 0."""
    problem = Problem((((),), ((0,),), ((), (0,))), ((9.0,), (1.0,), (2.0, 1.0)), (1, 2))
    assert problem.cost(solve_greedy(problem, Budget(1))) == 11.0


def test_no_queries() -> None:
    assert solve_greedy(Problem.of(Memo(), DrawnPricing()), Budget(1)) == {}
    assert solve_greedy(Problem((), (), ()), Budget(1)) == {}


def test_the_same_plan_twice() -> None:
    memo = memo_of(Shape(30, 10, window_s=0.1))
    problem = Problem.of(memo, DrawnPricing())
    assert solve_greedy(problem, Budget(5)) == solve_greedy(problem, Budget(5))
