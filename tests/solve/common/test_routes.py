"""Plans as routes: counts and costs stay right through every move, and moves never make a plan dearer."""

from random import Random

import pytest
from tests.solve.random_problems import best_cost, random_problem
from tests.solve.shared_workloads import Shape, problem_of

from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import Problem
from stretto.solve.common.reduction import everything, reduce
from stretto.solve.common.routes import NONE, Routes
from stretto.solve.exact.improve import Polish
from stretto.solve.exact.open_close_moves import Opening


def check(routes: Routes, problem: Problem) -> None:
    """The counts are those of the chosen ways, nothing needless is computed, and the cost is the plan's."""
    residue = routes.residue
    places = routes.places()
    assert set(places) == set(residue.reached(places))
    counts = [int(piece in routes.roots) for piece in range(len(routes.way))]
    for piece, way in enumerate(routes.way):
        for part in routes.inputs[piece][way] if way != NONE else ():
            counts[part] += 1
    assert routes.count == counts
    assert routes.cost + residue.constant == pytest.approx(problem.cost(residue.chosen(places)))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_moves_keep_count(seed: int, whole: bool) -> None:
    random = Random(seed)
    problem = random_problem(random, pieces=12, roots=4)
    residue = everything(problem) if whole else reduce(problem)
    routes = Routes(residue)
    routes.build(routes.roots)
    check(routes, problem)
    opening = Opening(routes)
    for _ in range(40):
        before = routes.cost
        if residue.order:
            opening.sweep([random.randrange(len(residue.order))], Budget(20))
            check(routes, problem)
            piece = random.randrange(len(residue.order))
            if routes.way[piece] >= 0:
                routes.reroute(piece)
        check(routes, problem)
        assert routes.cost <= before + 1e-9
    assert routes.cost + residue.constant >= best_cost(problem) - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_polishing_keeps_the_best(seed: int) -> None:
    problem = random_problem(Random(seed), pieces=12, roots=4)
    routes = Routes(everything(problem))
    polish = Polish(routes, Random(seed))
    polish.build(Budget(20))
    for _ in range(10):
        before = polish.cost
        polish.disturb(Budget(20))
        polish.open_and_close(Budget(20))
        assert best_cost(problem) - 1e-9 <= polish.cost <= before
        polish.back_to_best()
        check(routes, problem)


def test_following_a_plan() -> None:
    problem = problem_of(Shape(12, 8, window_s=0.1))
    routes = Routes(everything(problem))
    routes.build(routes.roots)
    places, cost = routes.places(), routes.cost
    routes.clear()
    routes.follow(places)
    assert routes.cost == pytest.approx(cost)
    assert routes.places() == places
    routes.follow({})
    check(routes, problem)


def test_opening_finds_what_no_root_would_pay_alone() -> None:
    """Each root alone pays 4; together they pay 5 for piece 0 and nothing more."""
    problem = Problem((((),), ((), (0,)), ((), (0,))), ((5.0,), (4.0, 0.0), (4.0, 0.0)), (1, 2))
    routes = Routes(everything(problem))
    routes.build(routes.roots)
    routes.improve(Budget(1))
    assert routes.cost == 8.0
    assert Opening(routes).open(routes.residue.order.index(0))
    assert routes.cost == 5.0
