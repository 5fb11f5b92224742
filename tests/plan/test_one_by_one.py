"""What a plan saves is told against every query by itself, also where many queries are one template or one channel."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize, planned
from stretto.plan.optimizers import RECIPES
from stretto.solve.common.budget import Budget
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
    """That of a plan which really has every query of the text by itself."""
    none = replace(RECIPES["none"], one_by_one=True)
    estimate = planned(workload, Stats.of(EVENTS), "none", none, Budget(1.0)).estimate
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
