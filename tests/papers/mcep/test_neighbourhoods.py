from random import Random

import pytest
from tests.papers.mcep.patterns import (
    RATES,
    FromInputs,
    common_parts,
    core_of_query,
    mask_of,
    memo_of_patterns,
    paper_cost,
    random_patterns,
    seq,
    shape_letters,
)

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.papers.mcep.local_plans import OrderPlans, TreePlans
from stretto.papers.mcep.local_search import Patterns, Planner
from stretto.papers.mcep.multitree import MixedWindowMultitree, multitree
from stretto.papers.mcep.neighbourhoods import EDGE, Neighbourhood
from stretto.papers.mcep.walk import Walk
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution

PRICES = [paper_cost, FromInputs]


def walk_of(patterns: Patterns, seed: int, most: int = EDGE) -> Walk:
    found = patterns.multitree()
    random = Random(seed)
    moves = Neighbourhood(patterns.graph, list(patterns.graph), patterns.plans, found, random, most)
    return Walk(found, moves)


def chosen_cost(memo: Memo, pricing: Pricing, solution: Solution) -> float:
    """The cost of computing the cores and their parts."""
    nodes = [node for node in solution.nodes() if memo.is_core(node.piece)]
    return sum(pricing.cost(memo, node.piece, node.way) for node in nodes)


@pytest.mark.parametrize("planner", [TreePlans, OrderPlans])
@pytest.mark.parametrize("most", [EDGE, 2, 4])
@pytest.mark.parametrize("windows", [(10,), (5, 10, 20)])
@pytest.mark.parametrize("price", PRICES)
def test_costs_kept_up_to_date_equal_a_recount(
    planner: Planner, most: int, windows: tuple[int, ...], price
) -> None:
    memo = random_patterns(most, windows=windows)
    pricing = price(RATES)
    patterns = Patterns(memo, pricing, Budget(1e9), planner)
    walk = walk_of(patterns, seed=most, most=most)
    for step in range(60):
        before = dict(walk.multitree.chosen)
        walk.step()
        if step % 3:
            walk.stay()
        else:
            walk.back()
            assert walk.multitree.chosen == before
        fresh = patterns.multitree(walk.multitree.chosen)
        assert walk.multitree.cost == pytest.approx(fresh.cost)
        assert walk.multitree.cost == pytest.approx(
            sum(walk.multitree._price(join) for join in walk.multitree.count)
        )
        assert walk.multitree.count == fresh.count
    patterns.chosen = dict(walk.multitree.chosen)
    assert chosen_cost(memo, pricing, patterns.solution()) == pytest.approx(walk.multitree.cost)


def test_a_walk_finds_back_to_its_best() -> None:
    memo = random_patterns(3, windows=(10, 20))
    patterns = Patterns(memo, paper_cost(RATES), Budget(1e9))
    walk = walk_of(patterns, 1)
    best, cost = dict(walk.multitree.chosen), walk.multitree.cost
    for _ in range(100):
        walk.step()
        walk.stay()
        if walk.multitree.cost < cost * (1 - 1e-12):
            best, cost = dict(walk.multitree.chosen), walk.multitree.cost
    walk.to_best()
    assert walk.multitree.chosen == best
    assert patterns.multitree(best).cost == pytest.approx(walk.best)


def test_every_tree_computes_its_pattern() -> None:
    memo = random_patterns(5)
    patterns = Patterns(memo, paper_cost(RATES), Budget(1e9))
    walk = walk_of(patterns, 2)
    for _ in range(100):
        walk.step()
        walk.stay()
        for core, tree in walk.multitree.chosen.items():
            parts = patterns.plans[core].parts
            assert patterns.trees.shape[tree] == parts[parts.full][0]


def test_a_move_shares_a_part_that_was_not_shared() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("AECF"))
    patterns = Patterns(memo, paper_cost(dict.fromkeys("ABCDEF", 0.1)), Budget(1e9))
    walk = walk_of(patterns, 0)
    shared = set()
    for _ in range(40):
        walk.step()
        shared |= {
            shape_letters(patterns.trees, patterns.trees.shape[join])
            for join in walk.multitree.count
            if walk.multitree.shared(join)
        }
        walk.back()
    assert shared == {"AC"}


def test_a_move_may_keep_what_is_shared_and_may_give_it_up() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("AECF"), seq("GBHD"))
    rare_apart = {"A": 0.1, "B": 9.0, "C": 0.2, "D": 9.0}
    patterns = Patterns(memo, paper_cost(rare_apart), Budget(1e9))
    first, second, third = (core_of_query(memo, i) for i in range(3))
    walk = walk_of(patterns, 3)
    plans = patterns.plans
    for core in (first, third):  # share SEQ(B, D), which neither would choose alone
        mask = mask_of(plans[core].parts, memo, "BD")
        walk.multitree.put(core, plans[core].best(((mask, plans[core].best(within=mask)),)))
    (common,) = common_parts(patterns.graph, first, second)
    seen = set()
    for move in (dict(walk.moves._sharing((first, second), common)) for _ in range(40)):
        shapes = (patterns.trees.shape[join] for join in patterns.trees.inner[move[first]])
        seen.add(tuple(sorted(shape_letters(patterns.trees, shape) for shape in shapes)))
    assert ("ABCD", "AC", "BD") in seen
    assert any("BD" not in tree and "AC" in tree for tree in seen)


def test_vertex_moves_change_up_to_k_patterns() -> None:
    memo = memo_of_patterns(*(seq(f"A{name}C") for name in "BDEFGH"))
    patterns = Patterns(memo, paper_cost({"A": 3.0, "C": 3.0}), Budget(1e9))
    for most, expected in ((EDGE, 2), (4, 4), (8, 6)):
        moves = walk_of(patterns, 1, most).moves
        changed = [len(move) for move in (moves.draw() for _ in range(30))]
        assert max(changed) == expected
        assert all(len({core for core, _ in move}) == len(move) for move in (moves.draw() for _ in range(30)))


def test_edges_and_their_parts_are_drawn_alike_often() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"), seq("ABE"), seq("CDX"))
    patterns = Patterns(memo, paper_cost(RATES), Budget(1e9))
    moves = walk_of(patterns, 7).moves
    drawn = [moves._drawn() for _ in range(600)]
    assert {core for core, _ in drawn} == {core_of_query(memo, i) for i in range(3)}
    assert moves.extent == 6
    counts = [sum(found == choice for found in drawn) for choice in sorted(set(drawn))]
    assert min(counts) > 60


def test_a_shared_join_has_the_widest_window_of_its_patterns() -> None:
    memo = memo_of_patterns(seq("AB"), seq("ABC"), within=[10, 20])
    patterns = Patterns(memo, paper_cost({"A": 0.1, "B": 0.1, "C": 9.0}), Budget(1e9))
    found = patterns.multitree()
    assert isinstance(found, MixedWindowMultitree)
    narrow, wide = (core_of_query(memo, i) for i in (0, 1))
    join = found.chosen[narrow]
    assert found.size(join) == 20_000_000
    assert found.shared(join)
    found.take(wide)
    assert found.size(join) == 10_000_000
    patterns_solution = patterns.solution()
    windows = sorted(
        (memo.pieces[node.piece].window.size, len(memo.pieces[node.piece].slots))
        for node in patterns_solution.nodes()
        if memo.is_core(node.piece)
    )
    assert windows == [(10_000_000, 2), (20_000_000, 2), (20_000_000, 3)]


def test_an_empty_forest_costs_nothing() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"), within=[10, 20])
    patterns = Patterns(memo, paper_cost(RATES), Budget(1e9))
    for sizes in (dict.fromkeys(patterns.plans, 10), {core: core for core in patterns.plans}):
        found = multitree(patterns.trees, sizes)
        for core, tree in patterns.chosen.items():
            found.put(core, tree)
        assert found.cost > 0
        for core in patterns.chosen:
            found.take(core)
        assert found.cost == pytest.approx(0)
        assert not found.count
