"""What decides itself: the best plan stays, required pieces are free, dominated ways go."""

from random import Random

import pytest
from tests.solve.random_problems import best_cost, random_problem
from tests.solve.shared_workloads import Shape, problem_of

from stretto.solve.common.presolve import NoPlanError, everything, presolve
from stretto.solve.common.problem import Problem
from stretto.solve.exact.components import components, whole


@pytest.mark.parametrize("seed", range(150))
def test_the_best_plan_stays(seed: int) -> None:
    problem = random_problem(Random(seed))
    residue = presolve(problem)
    parts = components(residue)
    left = residue.constant + sum(best_cost(part.problem) for part in parts)
    assert left == pytest.approx(best_cost(problem))


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_lost_of_everything(seed: int) -> None:
    problem = random_problem(Random(seed))
    residue = everything(problem)
    chosen = dict.fromkeys(residue.order, 0)
    assert residue.cost(chosen) == pytest.approx(problem.cost({}))
    assert problem.cost(residue.chosen(chosen)) == pytest.approx(problem.cost({}))


@pytest.mark.parametrize("seed", range(30))
def test_choices_of_the_residue_are_choices_of_the_problem(seed: int) -> None:
    problem = random_problem(Random(seed))
    residue = presolve(problem)
    places = {piece: len(residue.ways[piece]) - 1 for piece in residue.order}
    assert problem.cost(residue.chosen(places)) == pytest.approx(residue.cost(places))


def test_what_every_way_reads_is_required() -> None:
    """Both roots read piece 0 whichever way; it has one way, so it is settled and read for nothing."""
    ways = ((0, 1), (0,))
    problem = Problem((((),), ((),), ways, ways), ((5.0,), (3.0,), (1.0, 3.0), (1.0, 3.0)), (2, 3))
    residue = presolve(problem)
    assert residue.settled == {0: 0}
    assert residue.inputs[2] == residue.inputs[3] == ((1,), ())


def test_what_one_alone_can_read_is_decided() -> None:
    problem = Problem((((),), ((),), ((0,), (1,))), ((5.0,), (3.0,), (1.0, 2.0)), (2,))
    assert presolve(problem).settled == {1: 0, 2: 1}


def test_a_root_read_by_another_is_free() -> None:
    problem = Problem((((), ()), ((0,), ())), ((5.0, 6.0), (1.0, 2.0)), (0, 1))
    residue = presolve(problem)
    assert residue.settled == {0: 0, 1: 0}
    assert residue.constant == 6.0


def test_a_dominated_way_goes() -> None:
    """Made from scratch, all that the second way reads in addition costs less than the first way costs more."""
    problem = Problem((((),), ((),), ((0,), (1,))), ((1.0,), (2.0,), (9.0, 5.0)), (2,))
    assert presolve(problem).settled[2] == 1


def test_a_way_that_may_share_stays() -> None:
    problem = Problem(
        (((),), ((),), ((0,), (1,)), ((0,), (1,))), ((3.0,), (1.0,), (1.0, 3.5), (1.0, 3.5)), (2, 3)
    )
    assert presolve(problem).ways == {0: (0,), 1: (0,), 2: (0, 1), 3: (0, 1)}


def test_of_equal_ways_the_first_stays() -> None:
    problem = Problem((((),), ((0,), (0,))), ((1.0,), (2.0, 2.0)), (1,))
    assert presolve(problem).settled == {0: 0, 1: 0}


def test_pieces_without_ways_are_not_read() -> None:
    problem = Problem(((), ((0,), ())), ((), (1.0, 9.0)), (1,))
    assert presolve(problem).settled == {1: 1}
    assert everything(problem).ways == {1: (1,)}


def test_no_plan() -> None:
    problem = Problem(((), ((0,),)), ((), (1.0,)), (1,))
    for made in (presolve, everything):
        with pytest.raises(NoPlanError):
            made(problem)
    with pytest.raises(NoPlanError):
        presolve(Problem((((),),), ((1.0,),), (0,)), {0: ()})


def test_kept_ways_and_required_pieces() -> None:
    problem = Problem((((),), ((0,), ())), ((4.0,), (1.0, 2.0)), (1,))
    assert presolve(problem).settled == {1: 1}
    assert presolve(problem, {1: (0,)}).constant == 5.0
    assert presolve(problem, required=(0,)).constant == 5.0


def test_a_piece_that_reads_itself_is_our_mistake() -> None:
    with pytest.raises(AssertionError):
        presolve(Problem((((1,),), ((0,),)), ((1.0,), (1.0,)), (0,)))


def test_parts_share_nothing_and_keep_their_names() -> None:
    problem = problem_of(Shape(20, 40, window_s=0.1))
    residue = presolve(problem)
    parts = components(residue)
    assert len(parts) > 1
    assert sorted(piece for part in parts for piece in part.pieces) == sorted(residue.order)
    for part in parts:
        choice = dict.fromkeys(range(len(part.pieces)), 0)
        assert part.inward(part.outward(choice)) == choice
        outer = whole(problem)
        assert part.within(outer) == part
