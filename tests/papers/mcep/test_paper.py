"""The examples of MCEP (Kolchinsky and Schuster, SIGMOD 2019), checked by cost.

Costs are W^k times the rates (sec. 3.3, App. C), summed over the states of two events or more: the plans of one
workload do not differ in those of one event.
"""

from functools import partial
from itertools import combinations
from math import prod

import pytest
from tests.papers.mcep.patterns import (
    common_parts,
    core_nodes,
    core_of_query,
    joins,
    letters,
    memo_of_patterns,
    paper_cost,
    patterns_of,
    seq,
    shape_letters,
    slots_of,
)

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.papers.mcep.baselines import reorder, share
from stretto.papers.mcep.local_plans import OrderPlans
from stretto.papers.mcep.multitree import Multitree, multitree
from stretto.papers.mcep.simulated_annealing import anneal
from stretto.papers.mcep.tabu_search import tabu
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution

FOREVER = Budget(1e9)
anneal_prefixes = partial(anneal, planner=OrderPlans)
SEARCHES = [anneal, tabu, anneal_prefixes]


def state_cost(window: float, rates: dict[str, float], types: str) -> float:
    return prod(window * rates[name] for name in types)


def join_cost(memo: Memo, pricing: Pricing, found: Solution) -> float:
    return sum(pricing.cost(memo, node.piece, node.way) for node in core_nodes(memo, found))


def tree_of(memo: Memo, rates: dict[str, float], *orders: str) -> Multitree:
    """The multi-pattern tree of some orders: its states are their prefixes of two events and more."""
    patterns = patterns_of(memo, rates, OrderPlans)
    tree = multitree(patterns.trees, {core: plans.parts.size for core, plans in patterns.plans.items()})
    for query, order in enumerate(orders):
        core = core_of_query(memo, query)
        tree.put(core, patterns.plans[core].in_order(slots_of(patterns.plans[core].parts, memo, order)))
    return tree


def states_of(tree: Multitree) -> list[str]:
    return sorted(shape_letters(tree.trees, tree.trees.shape[state]) for state in tree.count)


# ---- Fig. 3: reordering and sharing together ---------------------------------------------------------------------

FIGURE_3 = {"A": 1.0, "B": 1.05, "C": 1.1, "D": 0.9, "E": 1.05, "F": 0.9}


def figure_3() -> Memo:
    return memo_of_patterns(seq("ABCD"), seq("AECF"), within=1)


def test_figure_3_only_together_they_give_the_cheapest_plan() -> None:
    memo = figure_3()
    pricing = paper_cost(FIGURE_3)
    reordered = join_cost(memo, pricing, reorder(memo, pricing, FOREVER))
    shared = join_cost(memo, pricing, share(memo, pricing, FOREVER))
    together = tree_of(memo, FIGURE_3, "ACDB", "ACFE").cost
    assert together < min(reordered, shared)


@pytest.mark.parametrize("search", SEARCHES)
def test_figure_3_is_found(search) -> None:
    memo = figure_3()
    pricing = paper_cost(FIGURE_3)
    found = search(memo, pricing, FOREVER, steps=2000)
    assert join_cost(memo, pricing, found) <= tree_of(memo, FIGURE_3, "ACDB", "ACFE").cost * (1 + 1e-9)
    assert joins(memo, found).count("AC") == 1


# ---- Fig. 5: three multi-pattern trees and their costs -------------------------------------------------------------

RATES = {"A": 0.2, "B": 0.3, "C": 0.5, "D": 0.7, "E": 0.11}


@pytest.mark.parametrize(
    ("orders", "states"),
    [
        (("ABC", "ABD"), [(20, "AB"), (10, "ABC"), (20, "ABD")]),
        (("BCA", "BAD"), [(10, "BC"), (10, "ABC"), (20, "AB"), (20, "ABD")]),
        (("CBA", "ADB"), [(10, "BC"), (10, "ABC"), (20, "AD"), (20, "ABD")]),
    ],
    ids="abc",
)
def test_figure_5(orders: tuple[str, str], states: list[tuple[int, str]]) -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"), within=[10, 20])
    tree = tree_of(memo, RATES, *orders)
    assert tree.cost == pytest.approx(sum(state_cost(window, RATES, types) for window, types in states))
    trees = tree.trees
    shown = sorted((tree.size(s) // 10**6, shape_letters(trees, trees.shape[s])) for s in tree.count)
    assert shown == sorted(states)


# ---- Fig. 6: adding and removing an order ---------------------------------------------------------------------------


def test_figure_6() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"), seq("ACE"), within=10)
    tree = tree_of(memo, RATES, "ABC", "ABD", "ACE")
    assert states_of(tree) == ["AB", "ABC", "ABD", "AC", "ACE"]
    assert states_of(tree_of(memo, RATES, "ABC", "ABD")) == ["AB", "ABC", "ABD"]
    tree.take(core_of_query(memo, 0))
    assert states_of(tree) == ["AB", "ABD", "AC", "ACE"]
    costs = [state_cost(10, RATES, types) for types in ("AB", "ABD", "AC", "ACE")]
    assert tree.cost == pytest.approx(sum(costs))


# ---- Fig. 7: a multi-pattern graph of six patterns -------------------------------------------------------------------


def test_figure_7() -> None:
    # The drawing is not in the text; these patterns have the properties that its caption names.
    memo = memo_of_patterns(*(seq(t) for t in ("ABC", "ACD", "ACEFG", "EGFH", "IJKL", "JK")))
    found = patterns_of(memo, {})
    cores = [core_of_query(memo, i) for i in range(6)]
    edges = {
        (i, j): sorted(shape_letters(found.trees, s) for s in common_parts(found.graph, cores[i], cores[j]))
        for i, j in combinations(range(6), 2)
        if common_parts(found.graph, cores[i], cores[j])
    }
    assert edges == {
        (0, 1): ["AC"],
        (0, 2): ["AC"],
        (1, 2): ["AC"],
        (2, 3): ["EF", "EG"],
        (4, 5): ["JK"],
    }
    (shape,) = common_parts(found.graph, cores[0], cores[1])
    assert found.graph.patterns(shape) == tuple(cores[:3])
    assert found.graph.components() == [cores[:4], cores[4:]]


# ---- Fig. 9: one pattern shares two parts ----------------------------------------------------------------------------

EVEN = dict.fromkeys("ABCDEFGH", 1.0)


@pytest.mark.parametrize(("search", "cost"), [(anneal, 7), (tabu, 7), (anneal_prefixes, 8)])
def test_figure_9(search, cost: int) -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("AECF"), seq("GBHD"), within=1)
    pricing = paper_cost(EVEN)
    found = search(memo, pricing, FOREVER, steps=2000)
    assert join_cost(memo, pricing, found) == cost
    if cost == 7:
        first = next(node for node in core_nodes(memo, found) if letters(memo, node.piece) == "ABCD")
        assert sorted(letters(memo, part.piece) for part in first.inputs) == ["AC", "BD"]
        assert [joins(memo, found).count(types) for types in ("AC", "BD")] == [1, 1]


# ---- Sec. 4.1: windows ------------------------------------------------------------------------------------------


def test_section_4_1_common_sub_patterns() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("AECD"), within=[10, 20])
    found = patterns_of(memo, {})
    one, other = (core_of_query(memo, i) for i in (0, 1))
    common = {shape_letters(found.trees, shape) for shape in found.graph.vicinity(one)}
    assert common == {"AD", "CD", "AC", "ACD"}
    (largest,) = common_parts(found.graph, one, other)
    assert shape_letters(found.trees, largest) == "ACD"


@pytest.mark.parametrize("search", SEARCHES)
def test_a_shared_part_is_computed_once_at_the_larger_window(search) -> None:
    memo = memo_of_patterns(seq("ACB"), seq("ACE"), within=[10, 20])
    rates = {"A": 0.01, "C": 0.01, "B": 5.0, "E": 5.0}
    found = search(memo, paper_cost(rates), FOREVER, steps=500)
    windows = {
        letters(memo, node.piece): memo.pieces[node.piece].window.size // 10**6
        for node in core_nodes(memo, found)
    }
    assert windows == {"AC": 20, "ACB": 10, "ACE": 20}
    assert joins(memo, found).count("AC") == 1
