"""A window that one target has no memory for runs on units, each with the same limit; the matches are all there."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.run import Engine
from stretto.engine.units.staged import StagedRun
from stretto.errors import EngineError
from stretto.memo.prices import Prices
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.plan.placement.placing import place
from stretto.stats.profile import Stats

TEXT = """QUERY q PATTERN AND(A a, B b, C c)
WHERE a.x > b.x + 0.7 AND c.x > a.x + 0.28 AND c.x > b.x + 0.99 WITHIN 1 HOUR;"""
LIMIT = 3_000_000


def events() -> pa.Table:
    """Many A and B, few C."""
    random = np.random.default_rng(7)
    count = 4_000
    return pa.table(
        {
            "ts": pa.array(np.arange(count) * 1_000).cast(pa.timestamp("us")),
            "type": random.choice(["A", "B", "C"], count, p=[0.45, 0.45, 0.1]),
            "x": random.random(count),
            "id": np.arange(count),
        }
    )


def fed(run: Engine | StagedRun, table: pa.Table) -> int:
    """How many matches are found in the events, which come in small batches."""
    return sum(len(run.push(batch)["q"]) for batch in table.to_batches(500)) + len(run.flush()["q"])


def test_what_one_target_has_no_memory_for_runs_on_units() -> None:
    table = events()
    stats = Stats.of(table)
    plan = optimize(Workload.parse(TEXT), stats, "none")
    expected = fed(Engine(plan), table)
    assert expected > 0
    with pytest.raises(EngineError, match="out of memory"):
        fed(Engine(plan, memory_bytes=LIMIT), table)
    run = StagedRun(place(plan, stats, 20, Prices()).plan, memory_bytes=LIMIT)
    assert fed(run, table) == expected
    assert max(unit.peak_bytes for unit in run.units.values()) <= LIMIT
