"""The best plan: equal to brute force, bounded from below, and there whatever the time."""

import sys
from dataclasses import replace
from random import Random

import pytest
from tests.solve.random_problems import best_cost, random_problem
from tests.solve.shared_workloads import DrawnPricing, Shape, memo_of, problem_of

from stretto.errors import StrettoError
from stretto.memo.memo import Memo
from stretto.papers.mcep.simulated_annealing import anneal
from stretto.solve.common.budget import Budget
from stretto.solve.common.presolve import everything
from stretto.solve.common.problem import Problem
from stretto.solve.common.working_plan import WorkingPlan, solve_greedy
from stretto.solve.exact import binary_program as program
from stretto.solve.exact import bound_and_fix as closing
from stretto.solve.exact.lagrangian_heuristic import LagrangianHeuristic
from stretto.solve.exact.solver import exact, solve_exact

SMALL = Shape(6, 6, length=4, window_s=0.2)


@pytest.mark.parametrize("seed", range(200))
def test_equals_brute_force_on_random_graphs(seed: int) -> None:
    problem = random_problem(Random(seed))
    best = best_cost(problem)
    chosen, bound = solve_exact(problem, Budget(20))
    assert problem.cost(chosen) == pytest.approx(best, rel=1e-8)
    assert bound == pytest.approx(best, rel=1e-8)
    assert bound <= best + 1e-12


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dense", [False, True])
def test_equals_brute_force_on_small_workloads(seed: int, dense: bool) -> None:
    shape = replace(SMALL, patterns=2 + seed % 2, seed=seed, dense=dense)
    problem = problem_of(shape)
    chosen, bound = solve_exact(problem, Budget(20))
    best = best_cost(problem)
    assert problem.cost(chosen) == pytest.approx(best, rel=1e-8)
    assert bound == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_equals_all_plans_of_six_patterns_of_four_types(seed: int) -> None:
    problem = problem_of(replace(SMALL, seed=seed, dense=seed % 2 == 0))
    chosen, bound = solve_exact(problem, Budget(20))
    assert problem.cost(chosen) == pytest.approx(best_by_dynamic_programming(problem), rel=1e-8)
    assert bound == pytest.approx(problem.cost(chosen), rel=1e-8)


def best_by_dynamic_programming(problem: Problem) -> float:
    """The cost of the best plan: root by root, every set of pieces that the roots so far can have computed."""
    reached: dict[frozenset[tuple[int, int]], float] = {frozenset(): 0.0}
    for root in problem.roots:
        found: dict[frozenset[tuple[int, int]], float] = {}
        for made in reached:
            for more in _extensions(problem, made, [root]):
                cost = sum(problem.costs[piece][way] for piece, way in more)
                found[more] = min(cost, found.get(more, cost))
        reached = _undominated(problem, root, found)
    return min(reached.values())


def _extensions(problem, made, pending):
    chosen = dict(made)
    pending = [piece for piece in pending if piece not in chosen]
    if not pending:
        return {made}
    piece, rest = pending[-1], pending[:-1]
    found = set()
    for way, parts in enumerate(problem.inputs[piece]):
        found |= _extensions(problem, made | {(piece, way)}, [*rest, *parts])
    return found


def _undominated(problem, root, found):
    """Of the plans that have the same pieces in common with later roots, the cheapest."""
    later = set()
    pending = list(problem.roots[problem.roots.index(root) + 1 :])
    while pending:
        piece = pending.pop()
        if piece not in later:
            later.add(piece)
            pending.extend(part for parts in problem.inputs[piece] for part in parts)
    best: dict[frozenset[int], frozenset[tuple[int, int]]] = {}
    for made, cost in found.items():
        common = frozenset(piece for piece, _ in made if piece in later)
        if common not in best or cost < found[best[common]]:
            best[common] = made
    return {made: found[made] for made in best.values()}


@pytest.mark.parametrize("small", [program.SMALL, 0], ids=["cp-sat", "scip"])
@pytest.mark.parametrize("seed", range(30))
def test_the_program_decides_what_shares_do_not(
    seed: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "SMALL", small)
    monkeypatch.setattr(closing, "MOST_STEPS", 2)
    monkeypatch.setattr(closing, "FEWEST_STEPS", 2)
    monkeypatch.setattr(closing, "HEURISTIC_PART", 0.0)
    monkeypatch.setattr(closing, "PROGRAM_PART", 1.0)
    problem = random_problem(Random(1000 + seed), pieces=11, ways=4, roots=4)
    chosen, bound = solve_exact(problem, Budget(20))
    assert problem.cost(chosen) == pytest.approx(best_cost(problem), rel=1e-8)
    assert bound == pytest.approx(problem.cost(chosen), rel=1e-6)


@pytest.mark.parametrize("small", [program.SMALL, 0], ids=["cp-sat", "scip"])
@pytest.mark.parametrize("seed", range(30))
def test_the_program_of_a_whole_problem(seed: int, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "SMALL", small)
    problem = random_problem(Random(seed))
    residue = everything(problem)
    polish = LagrangianHeuristic(WorkingPlan(residue), Random(0))
    found = program.solve_program(residue, Budget(20), dict.fromkeys(residue.order, 0), 0.0)
    assert found.paid is not None
    polish.build_of(found.paid)
    assert polish.cost == pytest.approx(best_cost(problem), rel=1e-6)
    assert found.bound == pytest.approx(best_cost(problem), rel=1e-6, abs=1e-6)


def test_without_or_tools_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    residue = everything(random_problem(Random(0)))
    with pytest.raises(StrettoError, match="pip install ortools"):
        program.solve_program(residue, Budget(20), dict.fromkeys(residue.order, 0), 0.0)


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("dense", [False, True])
def test_a_plan_whatever_the_time(seconds: float, dense: bool) -> None:
    problem = problem_of(Shape(40, 10, window_s=0.05, dense=dense))
    chosen, bound = solve_exact(problem, Budget(seconds))
    assert 0.0 <= bound <= problem.cost(chosen)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_never_worse_than_the_start(seed: int, seconds: float) -> None:
    problem = problem_of(Shape(20, 8, window_s=0.05, seed=seed))
    best, _ = solve_exact(problem, Budget(1.0))
    again, bound = solve_exact(problem, Budget(seconds), best)
    assert bound <= problem.cost(again) <= problem.cost(best)


def test_the_same_plan_twice() -> None:
    problem = problem_of(Shape(15, 12, window_s=1.0))
    assert solve_exact(problem, Budget(20)) == solve_exact(problem, Budget(20))


def test_no_queries() -> None:
    assert exact(Memo(), DrawnPricing(), Budget(1)).roots == ()
    assert solve_exact(Problem((), (), ()), Budget(1)) == ({}, 0.0)


def test_a_single_piece() -> None:
    problem = Problem((((), ()),), ((3.0, 2.0),), (0,))
    assert solve_exact(problem, Budget(1)) == ({0: 1}, 2.0)


def test_costs_of_nothing() -> None:
    problem = Problem((((),), ((0,), ())), ((0.0,), (0.0, 0.0)), (1,))
    chosen, bound = solve_exact(problem, Budget(1))
    assert problem.cost(chosen) == bound == 0.0


def test_local_search_as_the_start() -> None:
    """Ways that only the start knows are considered, and its plan is never lost."""
    memo, pricing = memo_of(SMALL), DrawnPricing()
    start = anneal(memo, pricing, Budget(5), steps=200)
    for seconds in (0.0, 5.0):
        found = exact(memo, pricing, Budget(seconds), start)
        assert found.lower_bound is not None
        assert found.lower_bound <= found.cost(memo, pricing) + 1e-6
        assert found.cost(memo, pricing) <= start.cost(memo, pricing) * (1 + 1e-12)


def test_proven_where_output_dominates() -> None:
    memo, pricing = memo_of(Shape(30, 30, window_s=4.0)), DrawnPricing()
    found = exact(memo, pricing, Budget(20))
    assert found.lower_bound == pytest.approx(found.cost(memo, pricing), rel=1e-8)
    problem = Problem.of(memo, pricing)
    assert found.cost(memo, pricing) <= problem.cost(solve_greedy(problem, Budget(5)))
