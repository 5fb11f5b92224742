import pytest
from tests.papers.mcep.patterns import RATES, joins, memo_of_patterns, paper_cost, random_patterns, seq

from stretto.papers.mcep.local_plans import OrderPlans, TreePlans
from stretto.papers.mcep.local_search import Patterns, Planner
from stretto.papers.mcep.neighbourhoods import EDGE
from stretto.papers.mcep.tabu_search import CAPACITY, NEIGHBOURS, Visited, tabu
from stretto.papers.mcep.walk import Walk
from stretto.solve.common.budget import Budget

FOREVER = Budget(1e9)


@pytest.mark.parametrize("planner", [TreePlans, OrderPlans])
@pytest.mark.parametrize("most", [EDGE, 4])
@pytest.mark.parametrize("seed", range(2))
def test_never_worse_than_the_start(planner: Planner, most: int, seed: int) -> None:
    memo = random_patterns(seed, windows=(10, 20))
    pricing = paper_cost(RATES)
    start = Patterns(memo, pricing, FOREVER, planner).solution().cost(memo, pricing)
    found = tabu(memo, pricing, FOREVER, planner=planner, most=most, seed=seed, steps=1500)
    assert found.cost(memo, pricing) <= start * (1 + 1e-9)


def test_the_same_seed_gives_the_same_plan() -> None:
    shown = []
    for _ in range(2):
        memo = random_patterns(11, count=12)
        shown.append(joins(memo, tabu(memo, paper_cost(RATES), FOREVER, seed=5, steps=800)))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("seconds", [0.0, 1e-3, 0.05])
def test_tiny_budgets_still_give_a_plan(seconds: float) -> None:
    memo = random_patterns(2, count=20)
    assert len(tabu(memo, paper_cost(RATES), Budget(seconds)).roots) == len(memo.roots)


def test_two_patterns_run_out_of_new_plans() -> None:
    memo = memo_of_patterns(seq("AB"), seq("ABC"))
    assert joins(memo, tabu(memo, paper_cost(RATES), FOREVER)).count("AB") == 1


def test_no_plan_is_visited_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []

    def put(walk: Walk, changes: list[tuple[int, int]]) -> None:
        kept(walk, changes)
        plans.append(tuple(sorted(walk.multitree.chosen.items())))

    kept = Walk.put
    monkeypatch.setattr(Walk, "put", put)
    tabu(memo_of_patterns(seq("ABC"), seq("ABD"), seq("BCD")), paper_cost(RATES), FOREVER, steps=3000)
    assert len(plans) > 3
    assert len(set(plans)) == len(plans)


def test_the_list_forgets_the_oldest() -> None:
    visited = Visited(3)
    for plan in (1, 2, 3, 2, 4):
        visited.add(plan)
    assert [plan in visited for plan in (1, 2, 3, 4)] == [False, True, True, True]
    assert len(visited) == 3


def test_the_figures_are_the_papers() -> None:
    assert (NEIGHBOURS, CAPACITY) == (100, 10_000)
