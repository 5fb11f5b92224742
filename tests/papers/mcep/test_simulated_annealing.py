from dataclasses import replace
from functools import partial
from itertools import pairwise
from random import Random

import pytest
from tests.papers.mcep.patterns import RATES, joins, memo_of_patterns, paper_cost, random_patterns, seq

from stretto.memo.memo import Memo
from stretto.papers.mcep.local_plans import OrderPlans, TreePlans
from stretto.papers.mcep.local_search import Patterns, Planner, search
from stretto.papers.mcep.neighbourhoods import EDGE, Neighbourhood
from stretto.papers.mcep.simulated_annealing import (
    PAPER,
    CoolingSchedule,
    _one_round,
    anneal,
    cool,
    largest_difference,
)
from stretto.papers.mcep.walk import Walk
from stretto.solve.common.budget import Budget

FOREVER = Budget(1e9)


def walk_of(memo: Memo) -> Walk:
    patterns = Patterns(memo, paper_cost(RATES), FOREVER)
    found = patterns.multitree()
    return Walk(found, Neighbourhood(patterns.graph, list(patterns.graph), patterns.plans, found, Random(0)))


@pytest.mark.parametrize("planner", [TreePlans, OrderPlans])
@pytest.mark.parametrize("most", [EDGE, 4, 8])
@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_the_start(planner: Planner, most: int, seed: int) -> None:
    memo = random_patterns(seed, windows=(10, 20))
    pricing = paper_cost(RATES)
    start = Patterns(memo, pricing, FOREVER, planner).solution().cost(memo, pricing)
    found = anneal(memo, pricing, FOREVER, planner=planner, most=most, seed=seed, steps=1500)
    assert found.cost(memo, pricing) <= start * (1 + 1e-9)


def test_the_same_seed_gives_the_same_plan() -> None:
    pricing = paper_cost(RATES)
    costs = []
    shown = []
    for _ in range(2):
        memo = random_patterns(11, count=12)
        found = anneal(memo, pricing, FOREVER, seed=5, steps=800)
        costs.append(found.cost(memo, pricing))
        shown.append(joins(memo, found))
    assert costs[0] == costs[1]
    assert shown[0] == shown[1]


@pytest.mark.parametrize("seconds", [0.0, 1e-3, 0.05])
def test_tiny_budgets_still_give_a_plan(seconds: float) -> None:
    memo = random_patterns(2, count=20)
    found = anneal(memo, paper_cost(RATES), Budget(seconds))
    assert len(found.roots) == len(memo.roots)
    assert [node.piece for node in found.roots] == [root.piece for root in memo.roots]


def test_patterns_with_nothing_in_common_keep_their_best_plans() -> None:
    memo = memo_of_patterns(seq("AB"), seq("CD"))
    assert joins(memo, anneal(memo, paper_cost(RATES), FOREVER, steps=100)) == ["AB", "CD"]


def test_one_pattern() -> None:
    memo = memo_of_patterns(seq("ABC"))
    assert len(joins(memo, anneal(memo, paper_cost(RATES), FOREVER, steps=100))) == 2


def test_a_query_of_one_event() -> None:
    memo = memo_of_patterns("A a", "B b+")
    assert joins(memo, anneal(memo, paper_cost(RATES), FOREVER, steps=100)) == []


def test_the_schedule_is_the_papers() -> None:
    assert (PAPER.alpha, PAPER.probes) == (0.99, 1_000)


def test_the_threshold_starts_with_the_largest_difference() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("AECF"))
    walk = walk_of(memo)
    found = walk.multitree
    before = dict(found.chosen)
    differences = []
    for _ in range(200):
        differences.append(abs(walk.step()))
        walk.back()
    assert largest_difference(walk, 200, FOREVER) == pytest.approx(max(differences))
    assert found.chosen == before


def test_a_threshold_of_nothing_lets_nothing_dearer_through() -> None:
    walk = walk_of(random_patterns(6, count=10))
    costs = []
    for _ in range(200):
        _one_round(walk, FOREVER, PAPER, threshold=0.0, last=walk.steps + 1)
        costs.append(walk.multitree.cost)
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(costs))


def test_a_high_threshold_lets_dearer_plans_through() -> None:
    walk = walk_of(random_patterns(6, count=10))
    start = walk.multitree.cost
    _one_round(walk, FOREVER, PAPER, threshold=1e9, last=walk.steps + 20)
    assert walk.multitree.cost > start


def test_without_reheating_the_search_ends_by_itself() -> None:
    memo = memo_of_patterns(seq("ABCD"), seq("AECF"))
    schedule = replace(CoolingSchedule(), reheats=())
    search(partial(cool, schedule=schedule), memo, paper_cost(RATES), FOREVER)
