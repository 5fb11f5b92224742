"""Estimates over derived streams are counted on the events that these make of the sample."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.planning import optimize
from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.front.stages import Aggregation
from stretto.stats.profile import Stats

COUNT = 40_000
EVENTS = pa.table(
    {
        "ts": pa.array(np.arange(COUNT) * 10_000).cast(pa.timestamp("us")),
        "type": np.random.default_rng(1).choice(["S", "T"], COUNT),
        "k": np.random.default_rng(2).integers(0, 20, COUNT),
        "x": np.random.default_rng(3).random(COUNT) * 100,
    }
)
WORKLOAD = Workload.parse("""
CREATE STREAM smooth AS SELECT k, AVG(x) AS m, STDDEV(x) AS s FROM S WHERE x > 10 GROUP BY k WITHIN 5 SECONDS;
CREATE EVENT High AS SELECT * FROM smooth WHERE m > 60;
CREATE STREAM rise AS PATTERN SEQ(smooth a, smooth b) WHERE [k] AND b.m > a.m + 5 WITHIN 1 SECOND
    RETURN a.k AS k, b.m AS m;
QUERY above PATTERN SEQ(High h, T t) WHERE [k] AND t.x > h.m + h.s WITHIN 1 SECOND;
QUERY after_rise PATTERN SEQ(rise h, T t) WHERE [k] AND t.x > h.m WITHIN 1 SECOND;
""")


@pytest.mark.parametrize("optimizer", ["auto", "none"])
def test_rows_are_what_a_run_counts(optimizer: str) -> None:
    stats = Stats.of(EVENTS)
    plan = optimize(WORKLOAD, stats, optimizer)
    engine = Engine(plan)
    engine.push(EVENTS)
    engine.flush()
    for number, record in enumerate(plan.records):
        assert record.rows is not None
        counted = engine.counters.rows[number]
        assert counted / 1.5 - 20 < record.rows * stats.seconds < 1.5 * counted + 20, plan.pieces[number]


def test_what_makes_the_streams_is_a_part_of_the_cost() -> None:
    plan = optimize(WORKLOAD, Stats.of(EVENTS))
    assert plan.front is not None
    assert plan.estimate is not None
    (smooth,) = (stage for stage in plan.front.stages if isinstance(stage, Aggregation))
    assert smooth.rows == pytest.approx(0.45 * 100, rel=0.05)  # of 100 events per second
    assert smooth.cost is not None
    assert plan.estimate.cost > smooth.cost + plan.records_cost


def test_a_stream_that_cannot_be_made_of_the_sample_is_assumed() -> None:
    from stretto.errors import EngineError
    from stretto.plan import optimize as planning

    def refuse(*_: object) -> list[pa.Table]:
        raise EngineError("out of memory")

    plan = planning.optimize(WORKLOAD, Stats.of(EVENTS), derive=refuse)
    assert plan.estimate is not None
