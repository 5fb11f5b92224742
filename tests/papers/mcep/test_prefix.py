import pytest
from tests.papers.mcep.patterns import (
    RATES,
    core_of_query,
    memo_of_patterns,
    paper_cost,
    patterns_of,
    random_patterns,
    seq,
    slots_of,
)

from stretto.memo.memo import Memo
from stretto.papers.mcep.local_plans import OrderPlans, TreePlans
from stretto.papers.mcep.prefix import MultiPatternTree, anneal_prefixes
from stretto.solve.common.budget import Budget


def tree_of(memo: Memo) -> MultiPatternTree:
    return MultiPatternTree(patterns_of(memo, RATES, OrderPlans).plans)  # type: ignore[arg-type]


def put(tree: MultiPatternTree, memo: Memo, query: int, types: str) -> None:
    core = core_of_query(memo, query)
    tree.add(core, slots_of(tree._plans[core].parts, memo, types))


def test_equal_prefixes_are_one_state() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("ABCE"))
    tree = tree_of(memo)
    put(tree, memo, 0, "ABCD")
    put(tree, memo, 1, "ABCE")
    assert sorted(tree.states.values()) == [1, 1, 2, 2]
    one, other = (tree.path(core_of_query(memo, i)) for i in (0, 1))
    assert one[:2] == other[:2]
    assert one[2] != other[2]


def test_a_final_state_may_be_inside() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("AB"))
    tree = tree_of(memo)
    put(tree, memo, 0, "ABC")
    put(tree, memo, 1, "AB")
    assert sorted(tree.states.values()) == [1, 2]


def test_other_orders_share_nothing() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"))
    tree = tree_of(memo)
    put(tree, memo, 0, "BCA")
    put(tree, memo, 1, "BAD")
    assert set(tree.states.values()) == {1}


def test_an_order_can_be_replaced() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"))
    tree = tree_of(memo)
    put(tree, memo, 0, "ABC")
    cost = tree.cost
    put(tree, memo, 0, "CBA")
    put(tree, memo, 0, "ABC")
    assert tree.cost == pytest.approx(cost)
    assert tree.order(core_of_query(memo, 0)) == (0, 1, 2)


def test_every_plan_is_an_order() -> None:
    memo = random_patterns(4, count=10)
    found = anneal_prefixes(memo, paper_cost(RATES), Budget(1e9), steps=1500)
    for node in found.nodes():
        if memo.is_core(node.piece):
            assert sum(memo.is_core(part.piece) for part in node.inputs) <= 1


def test_trees_are_never_dearer_at_the_start() -> None:
    memo = random_patterns(4, count=10)
    orders, trees = (
        sum(patterns.multitree({core: tree}).cost for core, tree in patterns.chosen.items())
        for patterns in (patterns_of(memo, RATES, planner) for planner in (OrderPlans, TreePlans))
    )
    assert trees <= orders * (1 + 1e-12)
