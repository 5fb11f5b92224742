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
from stretto.papers.mcep.multitree import multitree
from stretto.papers.mcep.simulated_annealing import anneal
from stretto.solve.common.budget import Budget


class Orders:
    """Orders of a memo's patterns, merged where they begin alike."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo
        self.plans = patterns_of(memo, RATES, OrderPlans).plans
        sizes = {core: plans.parts.size for core, plans in self.plans.items()}
        self.merged = multitree(next(iter(self.plans.values())).trees, sizes)

    def put(self, query: int, types: str) -> None:
        plans = self.plans[core_of_query(self.memo, query)]
        self.merged.put(plans.parts.number, plans.in_order(slots_of(plans.parts, self.memo, types)))

    def path(self, query: int) -> tuple[int, ...]:
        """The states of a pattern, from the first to its final one."""
        return self.merged.trees.inner[self.merged.chosen[core_of_query(self.memo, query)]]


def test_equal_prefixes_are_one_state() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("ABCE"))
    orders = Orders(memo)
    orders.put(0, "ABCD")
    orders.put(1, "ABCE")
    assert sorted(orders.merged.count.values()) == [1, 1, 2, 2]
    one, other = (orders.path(query) for query in (0, 1))
    assert one[:2] == other[:2]
    assert one[2] != other[2]


def test_a_final_state_may_be_inside() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("AB"))
    orders = Orders(memo)
    orders.put(0, "ABC")
    orders.put(1, "AB")
    assert sorted(orders.merged.count.values()) == [1, 2]


def test_other_orders_share_nothing() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"))
    orders = Orders(memo)
    orders.put(0, "BCA")
    orders.put(1, "BAD")
    assert set(orders.merged.count.values()) == {1}


def test_an_order_can_be_replaced() -> None:
    memo = memo_of_patterns(seq("ABC"), seq("ABD"))
    orders = Orders(memo)
    orders.put(0, "ABC")
    cost = orders.merged.cost
    orders.put(0, "CBA")
    orders.put(0, "ABC")
    assert orders.merged.cost == pytest.approx(cost)
    core = core_of_query(memo, 0)
    assert orders.merged.chosen[core] == orders.plans[core].in_order((0, 1, 2))


def test_every_plan_is_an_order() -> None:
    memo = random_patterns(4, count=10)
    found = anneal(memo, paper_cost(RATES), Budget(1e9), planner=OrderPlans, steps=1500)
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
