"""Plans as plan: counts and costs stay right through every move, and moves never make a plan dearer."""

from random import Random

import pytest
from tests.solve.random_problems import best_cost, random_problem
from tests.solve.shared_workloads import Shape, problem_of

from stretto.solve.common.budget import Budget
from stretto.solve.common.presolve import everything, presolve
from stretto.solve.common.problem import Problem
from stretto.solve.common.working_plan import NOT_COMPUTED, WorkingPlan
from stretto.solve.exact.lagrangian_heuristic import LagrangianHeuristic
from stretto.solve.exact.open_close_moves import OpenCloseMoves


def check(plan: WorkingPlan, problem: Problem) -> None:
    """The counts are those of the chosen ways, nothing needless is computed, and the cost is the plan's."""
    residue = plan.residue
    places = plan.places()
    assert set(places) == set(residue.reached(places))
    counts = [int(piece in plan.roots) for piece in range(len(plan.way))]
    for piece, way in enumerate(plan.way):
        for part in plan.inputs[piece][way] if way != NOT_COMPUTED else ():
            counts[part] += 1
    assert plan.count == counts
    assert plan.cost + residue.constant == pytest.approx(problem.cost(residue.chosen(places)))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_moves_keep_count(seed: int, whole: bool) -> None:
    random = Random(seed)
    problem = random_problem(random, pieces=12, roots=4)
    residue = everything(problem) if whole else presolve(problem)
    plan = WorkingPlan(residue)
    plan.build(plan.roots)
    check(plan, problem)
    opening = OpenCloseMoves(plan)
    for _ in range(40):
        before = plan.cost
        if residue.order:
            opening.sweep([random.randrange(len(residue.order))], Budget(20))
            check(plan, problem)
            piece = random.randrange(len(residue.order))
            if plan.way[piece] >= 0:
                plan.reroute(piece)
        check(plan, problem)
        assert plan.cost <= before + 1e-9
    assert plan.cost + residue.constant >= best_cost(problem) - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_polishing_keeps_the_best(seed: int) -> None:
    problem = random_problem(Random(seed), pieces=12, roots=4)
    plan = WorkingPlan(everything(problem))
    polish = LagrangianHeuristic(plan, Random(seed))
    polish.build(Budget(20))
    for _ in range(10):
        before = polish.cost
        polish.disturb(Budget(20))
        polish.open_and_close(Budget(20))
        assert best_cost(problem) - 1e-9 <= polish.cost <= before
        polish.back_to_best()
        check(plan, problem)


def test_following_a_plan() -> None:
    problem = problem_of(Shape(12, 8, window_s=0.1))
    plan = WorkingPlan(everything(problem))
    plan.build(plan.roots)
    places, cost = plan.places(), plan.cost
    plan.clear()
    plan.follow(places)
    assert plan.cost == pytest.approx(cost)
    assert plan.places() == places
    plan.follow({})
    check(plan, problem)


def test_opening_finds_what_no_root_would_pay_alone() -> None:
    """Each root alone pays 4; together they pay 5 for piece 0 and nothing more."""
    problem = Problem((((),), ((), (0,)), ((), (0,))), ((5.0,), (4.0, 0.0), (4.0, 0.0)), (1, 2))
    plan = WorkingPlan(everything(problem))
    plan.build(plan.roots)
    plan.improve(Budget(1))
    assert plan.cost == 8.0
    assert OpenCloseMoves(plan).open(plan.residue.order.index(0))
    assert plan.cost == 5.0
