"""Planning keeps its budget: counted in asks of the clock, in priced ways and in calls, never in seconds."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from random import Random
from types import FrameType

import pytest
from tests.exactness.test_engine import RUNNERS
from tests.solve.ticks import Ticks
from tests.support.comparison import assert_same_matches
from tests.support.strategies import Sample, random_workload
from tests.support.variations import sharing_workload

from stretto import oracle
from stretto.errors import QueryError
from stretto.generate.streams import generate
from stretto.generate.workloads import workload as generated
from stretto.memo.memo import WIDE, Memo
from stretto.memo.pricing import Pricing
from stretto.memo.ways import Way
from stretto.pattern.guessed_schema import guess_schema
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import explored, optimize, plannable, planned, recipe_of
from stretto.plan.optimizers import RECIPES
from stretto.solve.common import budget as budgets
from stretto.solve.common.budget import Budget
from stretto.stats.profile import Stats

SEED = 20250611


def typed(count: int) -> str:
    return ", ".join(f"T{i} t{i}" for i in range(count))


def forbidding(count: int) -> str:
    return ", ".join(f"NOT(N{i} n{i})" for i in range(count))


def query(pattern: str, where: str = "") -> Workload:
    return Workload.parse(f"QUERY q PATTERN {pattern} {where} WITHIN 10 SECONDS")


WIDE_QUERIES = {
    "negations": query(f"SEQ(A a, {forbidding(12)}, B b)"),
    "negations apart": query(f"SEQ(A a, {', '.join(f'NOT(N{i} n{i}), B{i} b{i}' for i in range(10))})"),
    "subsets": query(f"ANY({typed(7)})"),
    "sequence": query(f"SEQ({typed(40)})"),
    "conjunction": query(f"AND({typed(40)})", "WHERE t0.x < t1.x AND t1.x = t2.x"),
    "wider than is taken apart": query(f"AND({typed(WIDE + 10)})"),
    "terms": query("SEQ(A a, B b)", f"WHERE {' AND '.join(f'a.x != {i}' for i in range(300))}"),
}


# ---- plans without time are right ------------------------------------------------------------------------------


@pytest.mark.parametrize("asks", [0, 1, 7, 60])
def test_plans_are_exact_whenever_the_budget_ends(asks: int) -> None:
    found = sum(compared(seed, asks) for seed in range(SEED, SEED + 6))
    assert found > 0, "nothing was found to compare"


def compared(seed: int, asks: int) -> int:
    rng = Random(seed)
    sample: Sample = random_workload(rng) if seed % 3 == 0 else sharing_workload(rng)
    workload = Workload.parse(sample.text)
    try:
        queries = workload.bind(sample.schema).detections
        optimize(workload, sample.schema, optimizer="none")
    except QueryError:
        return 0
    expected = {one.name: oracle.matches(one, sample.events) for one in queries}
    for name in RECIPES:
        plan = planned(workload, sample.schema, name, recipe_of(name), Budget(asks, Ticks()))
        found = RUNNERS[0](plan, sample, queries, Random(seed))
        for one in queries:
            about = f"{one.name}, {name}, {asks} asks, seed {seed}\n{sample}\n{plan}"
            assert_same_matches(found[one.name], expected[one.name], about=about)
    return sum(map(len, expected.values()))


# ---- what happens past the budget is little --------------------------------------------------------------------


class Counted:
    """Prices that count how often they are asked for."""

    def __init__(self, pricing: Pricing) -> None:
        self.pricing, self.priced = pricing, 0

    def rows(self, memo: Memo, number: int) -> float:
        return self.pricing.rows(memo, number)

    def cost(self, memo: Memo, number: int, way: Way) -> float:
        self.priced += 1
        return self.pricing.cost(memo, number, way)


def steps(workload: Workload, name: str, asks: int) -> tuple[int, int, Plan]:
    """How often the clock is asked and ways are priced, with a budget that ends after so many asks."""
    recipe, ticks, counted = recipe_of(name), Ticks(), list[Counted]()

    def pricing(stats: Stats) -> Counted:
        counted.append(Counted(recipe.pricing(stats)))
        return counted[-1]

    plan = planned(
        workload, guess_schema(workload), name, replace(recipe, pricing=pricing), Budget(asks, ticks)
    )
    return ticks.asked, sum(one.priced for one in counted), plan


@pytest.mark.parametrize("about", WIDE_QUERIES)
@pytest.mark.parametrize("name", RECIPES)
def test_little_is_done_without_any_time(name: str, about: str) -> None:
    asked, priced, _ = steps(WIDE_QUERIES[about], name, 0)
    assert asked <= 1_500
    assert priced <= 6_000


@pytest.mark.parametrize("name", ["auto", "reorder", "motto", "mcep", "mcep-tabu-prefix", "spass"])
def test_little_is_done_when_the_time_is_up(name: str) -> None:
    for about in ("negations apart", "sequence", "conjunction"):
        asked, priced, _ = steps(WIDE_QUERIES[about], name, 200)
        assert asked <= 200 + 1_500, about
        assert priced <= 200 + 6_000, about


@pytest.mark.parametrize("asks", [0, 50])
@pytest.mark.parametrize("name", RECIPES)
def test_the_same_asks_give_the_same_plan(name: str, asks: int) -> None:
    workload = WIDE_QUERIES["negations apart"]
    one, other = (steps(workload, name, asks)[2] for _ in range(2))
    assert one.ops == other.ops


# ---- what is looked at is bounded by the query -----------------------------------------------------------------


def pieces_of(workload: Workload, name: str) -> int:
    memo, _ = explored(
        plannable(workload.bind(schema := guess_schema(workload))), Stats.assumed(schema), recipe_of(name)
    )
    return len(memo)


def test_negations_are_not_looked_at_in_all_their_subsets() -> None:
    few, many = (pieces_of(query(f"SEQ(A a, {forbidding(count)}, B b)"), "auto") for count in (10, 20))
    assert many <= 2 * few + 20


def test_few_negations_are_looked_at_in_all_their_subsets() -> None:
    assert pieces_of(query(f"SEQ(A a, {forbidding(5)}, B b)"), "auto") >= 2**5


def test_a_wide_core_is_not_taken_apart() -> None:
    for name in RECIPES:
        assert pieces_of(query(f"SEQ({typed(WIDE + 1)})"), name) == WIDE + 2


def calls(work: Callable[[], object]) -> int:
    """How many functions of Python some work calls."""
    found = 0

    def count(_frame: FrameType, event: str, _about: object) -> None:
        nonlocal found
        found += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize(
    "wide",
    [
        lambda count: query(f"SEQ({typed(count)})"),
        lambda count: query(f"AND({typed(count)})"),
        lambda count: query("SEQ(A a, B b)", f"WHERE {' AND '.join(f'a.x != {i}' for i in range(count))}"),
        lambda count: query(
            "SEQ(A a, B b)", f"WHERE {' AND '.join(f'a.x + {i} < b.x' for i in range(count))}"
        ),
        lambda count: query(
            f"SEQ({typed(count)})", f"WHERE {' AND '.join(f't{i}.x < t{i + 1}.x' for i in range(count - 1))}"
        ),
        lambda count: query(f"SEQ({', '.join(f'NOT(N{i} n{i}), B{i} b{i}' for i in range(count))}, A a)"),
    ],
)
@pytest.mark.parametrize("name", ["none", "share", "auto"])
def test_work_grows_with_the_query_and_not_with_its_square(
    name: str, wide: Callable[[int], Workload]
) -> None:
    def work(count: int) -> int:
        workload = wide(count)
        schema = guess_schema(workload)
        recipe = recipe_of(name)
        return calls(lambda: planned(workload, schema, name, recipe, Budget(0, Ticks())).explain())

    work(70)  # imports and what is remembered
    few, many = work(150), work(600)
    assert many <= 7 * few


# ---- however busy the machine is -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["auto", "mcep", "mcep-tabu", "motto", "motto-anneal", "spass", "reorder"])
def test_a_slow_machine_has_the_same_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of searches that the budget ends: the clock of a busy machine runs while they count what they do."""
    workload = Workload.parse(generated("mcep-stocks", 30, 1))
    stats = Stats.of(generate("mcep-stocks", 3_000, 1), workload=workload)
    budget = 0.15
    plans = [_on_a_machine(workload, stats, name, budget, monkeypatch, tick) for tick in (0.0, 2e-6)]
    assert plans[0].ops == plans[1].ops
    if name in ("auto", "mcep"):
        longer = _on_a_machine(workload, stats, name, 20 * budget, monkeypatch, 0.0)
        assert longer.ops != plans[0].ops, "the budget was to end the search"


def _on_a_machine(
    workload: Workload, stats: Stats, name: str, budget: float, monkeypatch: pytest.MonkeyPatch, tick: float
) -> Plan:
    """A plan where the clock is later by a tick each time it is asked."""
    asked = count()
    monkeypatch.setattr(budgets, "thread_time", lambda: tick * next(asked))
    return optimize(workload, stats, name, budget)
