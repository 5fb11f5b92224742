"""What a plan saves is told against every query by itself, also where many queries are one template or one channel."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

EVENTS = pa.table(
    {
        "ts": pa.array(np.arange(4_000) * 10_000).cast(pa.timestamp("us")),
        "type": np.random.default_rng(1).choice(["S", "T"], 4_000),
        "k": np.random.default_rng(2).integers(0, 50, 4_000),
        "x": np.random.default_rng(3).random(4_000),
    }
)
SMOOTHED = "CREATE STREAM smoothed AS SELECT k, AVG(x) AS x FROM S GROUP BY k WITHIN 5 SECONDS;\n"


def alike(count: int) -> Workload:
    queries = (
        f"QUERY q{n} PATTERN SEQ(S a, T b) WHERE a.k = {n % 50} AND b.x > {n / count} WITHIN 1 SECOND;"
        for n in range(count)
    )
    return Workload.parse("\n".join(queries))


def alone(workload: Workload, optimizer: str) -> float:
    estimate = optimize(workload, Stats.of(EVENTS), optimizer=optimizer).estimate
    assert estimate is not None
    return estimate.alone


def cost_of_each(workload: Workload) -> float:
    """The cost of the plan of `none`."""
    estimate = optimize(workload, Stats.of(EVENTS), optimizer="none").estimate
    assert estimate is not None
    return estimate.cost


@pytest.mark.parametrize("optimizer", ["auto", "none", "rumor"])
def test_a_family(optimizer: str) -> None:
    workload = alike(200)
    assert alone(workload, optimizer) == pytest.approx(cost_of_each(workload), rel=0.1)


def test_many_more_members_cost_that_much_more() -> None:
    assert 8 < alone(alike(2_000), "auto") / alone(alike(200), "auto") < 12


@pytest.mark.parametrize("optimizer", ["auto", "rumor"])
def test_queries_over_one_channel(optimizer: str) -> None:
    queries = (
        f"QUERY q{n} PATTERN SEQ(smoothed a, smoothed d+) WHERE [k] AND a.x > 0.{n} WITHIN 20 SECONDS"
        " HAVING d[i].x > d[i-1].x SELECT NEXT;"
        for n in range(1, 7)
    )
    workload = Workload.parse(SMOOTHED + "\n".join(queries))
    estimate = optimize(workload, Stats.of(EVENTS), optimizer=optimizer).estimate
    assert estimate is not None
    assert estimate.cost < estimate.alone
    assert estimate.alone == pytest.approx(cost_of_each(workload))


@pytest.mark.parametrize("count", [63, 64, 200])
def test_none_computes_each_query_of_a_text_by_itself(count: int) -> None:
    """Each query has its scan of T, its join and its emit; equal selections of S, at most 50, are one scan."""
    plan = optimize(alike(count), Stats.of(EVENTS), optimizer="none")
    assert len(plan.ops) == 3 * count + min(count, 50)


@pytest.mark.parametrize("optimizer", ["reorder", "share", "mcep", "motto", "rumor"])
def test_papers_know_no_templates(optimizer: str) -> None:
    plan = optimize(alike(64), Stats.of(EVENTS), optimizer=optimizer, budget=0.1)
    assert len(plan.ops) > 64


def test_a_table_is_one_query_for_none_too() -> None:
    workload = Workload.parse(
        "QUERY q FOR EACH rules r KEY r.id PATTERN SEQ(S a, T b) WHERE a.k = r.k AND b.x > r.x WITHIN 1 SECOND;"
    )
    numbers = range(100)
    rules = pa.table({"id": list(numbers), "k": [n % 50 for n in numbers], "x": [n / 100 for n in numbers]})
    workload = workload.table("rules", rules)
    estimate = optimize(workload, Stats.of(EVENTS), optimizer="none").estimate
    assert estimate is not None
    assert estimate.alone == estimate.cost
    assert estimate.templates is not None
    assert estimate.templates.queries == 100
    assert estimate.templates.apart > 2 * estimate.templates.together
