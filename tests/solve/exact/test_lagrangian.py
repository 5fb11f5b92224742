"""Shares of costs: never above the best plan, close to it, and right about what better plans do."""

from random import Random

import numpy as np
import pytest
from tests.solve.random_problems import all_choices, best_cost, random_problem
from tests.solve.shared_workloads import Shape, problem_of

from stretto.solve.common.budget import Budget
from stretto.solve.common.presolve import everything, presolve
from stretto.solve.common.problem import Problem
from stretto.solve.exact.components import whole
from stretto.solve.exact.cost_splitting import CostSplitting
from stretto.solve.exact.lagrangian import StepSizes, ascend, most_used
from stretto.solve.exact.reduced_cost_fixing import WarmStart, fix, least_extra, least_loss

STEPS = StepSizes(200)


def shares_of(problem: Problem) -> CostSplitting:
    return CostSplitting(everything(problem))


@pytest.mark.parametrize("seed", range(100))
def test_never_above_the_best_plan(seed: int) -> None:
    problem = random_problem(Random(seed))
    shares = shares_of(problem)
    best = best_cost(problem)
    random = np.random.default_rng(seed)
    for _ in range(5):
        drawn = random.random(len(shares.way)) ** 4
        total = shares.per_way(drawn)
        shares.share = drawn * (shares.cost / total)[shares.way]
        assert shares.bound() <= best * (1 + 1e-12) + 1e-12
    assert ascend(shares, STEPS, Budget(20)).bound <= best * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_never_above_the_best_plan_of_the_residue(seed: int) -> None:
    problem = random_problem(Random(seed), pieces=10, roots=4)
    residue = presolve(problem)
    if residue.roots:
        assert ascend(CostSplitting(residue), STEPS, Budget(20)).bound <= best_cost(problem) * (1 + 1e-12)


def test_a_piece_used_twice_by_one_root_is_paid_once() -> None:
    """Both inputs of the root read piece 0, which costs 10; a tree that counted it twice would cost 20."""
    problem = Problem((((),), ((0,),), ((0,),), ((1, 2),)), ((10.0,), (0.0,), (0.0,), (0.0,)), (3,))
    assert shares_of(problem).bound() == pytest.approx(10.0)


@pytest.mark.parametrize("seed", range(20))
def test_ascent_only_improves(seed: int) -> None:
    shares = shares_of(random_problem(Random(seed)))
    first = shares.bound()
    found = ascend(shares, STEPS, Budget(20))
    assert found.bound >= first
    assert shares.bound() == pytest.approx(found.bound)
    np.testing.assert_allclose(shares.per_way(shares.share), np.where(shares.users > 0, shares.cost, 0.0))


def test_ascent_stops_in_time_and_at_its_goal() -> None:
    shares = shares_of(problem_of(Shape(20, 8, window_s=0.1)))
    first = shares.bound()
    assert ascend(shares, STEPS, Budget(0)).bound == pytest.approx(first)
    assert ascend(shares, STEPS, Budget(20), lambda: 0.0).bound == pytest.approx(first)


def test_tight_where_output_dominates() -> None:
    problem = problem_of(Shape(6, 8, length=4, window_s=4.0))
    shares = shares_of(problem)
    found = ascend(shares, StepSizes(600), Budget(20))
    used = most_used(shares, found.used)
    assert found.bound == pytest.approx(_cost_by_use(problem, used), rel=1e-3)


def _cost_by_use(problem: Problem, used: np.ndarray) -> float:
    """The cost of the plan of the ways that the trees used most."""
    residue = everything(problem)
    chosen: dict[int, int] = {}
    at = 0
    for piece in residue.order:
        count = len(residue.ways[piece])
        chosen[piece] = residue.ways[piece][int(np.argmax(used[at : at + count]))]
        at += count
    return problem.cost(chosen)


@pytest.mark.parametrize("seed", range(40))
def test_slack_is_what_the_cheapest_tree_through_an_arc_costs_more(seed: int) -> None:
    shares = shares_of(random_problem(Random(seed)))
    least = shares.bound()
    slack = shares.slack()
    assert (slack[shares.trees()] <= 1e-9).all()
    price = shares.share if shares.times is None else shares.share / shares.times
    for arc in np.flatnonzero(np.isin(shares.cell, shares.roots)):
        others = (shares.cell == shares.cell[arc]) & (np.arange(len(price)) != arc)
        shares.fill(np.where(others, 1e9, price))
        forced = shares.constant + shares.value[shares.roots].sum()
        assert forced - least == pytest.approx(slack[arc], abs=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_fixed_holds_for_every_better_plan(seed: int) -> None:
    problem = random_problem(Random(seed), pieces=7, roots=2)
    residue = everything(problem)
    shares = CostSplitting(residue)
    ascend(shares, STEPS, Budget(20))
    bound = shares.bound()
    extra, loss = least_extra(shares), least_loss(shares, len(residue.order))
    first = {}
    at = 0
    for piece in residue.order:
        first[piece] = at
        at += len(residue.ways[piece])
    for chosen in all_choices(problem):
        made = problem.reached(chosen)
        cost = problem.cost(chosen) + 1e-9
        assert all(bound + extra[first[p] + residue.ways[p].index(chosen[p])] <= cost for p in made)
        assert all(bound + loss[i] <= cost for i, p in enumerate(residue.order) if p not in made)


@pytest.mark.parametrize("seed", range(60))
def test_fixing_keeps_the_best_plan(seed: int) -> None:
    problem = random_problem(Random(seed))
    best = best_cost(problem)
    residue = everything(problem)
    shares = CostSplitting(residue)
    ascend(shares, STEPS, Budget(20))
    fixing = fix(residue, shares, best + 0.5)
    left = presolve(problem, fixing.kept, fixing.required)
    narrowed = Problem(
        tuple(
            tuple(parts for w, parts in enumerate(ways) if w in fixing.kept.get(p, ()))
            for p, ways in enumerate(problem.inputs)
        ),
        tuple(
            tuple(cost for w, cost in enumerate(costs) if w in fixing.kept.get(p, ()))
            for p, costs in enumerate(problem.costs)
        ),
        (*problem.roots, *fixing.required),
    )
    assert left.constant <= best + 1e-9
    assert best_cost(narrowed) == pytest.approx(best)


def test_shares_are_remembered_by_name() -> None:
    problem = problem_of(Shape(12, 8, window_s=0.1))
    part, residue = whole(problem), everything(problem)
    shares, again = CostSplitting(residue), CostSplitting(residue)
    found = ascend(shares, STEPS, Budget(20))
    WarmStart(part, residue, shares).give(part, residue, again)
    assert again.bound() == pytest.approx(found.bound, rel=1e-4)
