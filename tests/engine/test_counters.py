"""What operators count."""

import numpy as np
import pyarrow as pa

from stretto import Engine, Schema, Workload, optimize, run
from stretto.engine import run as run_module
from stretto.plan.ops import Emit, Join, Scan

N = 900
EVENTS = pa.table(
    {
        "ts": pa.array(np.arange(N), pa.timestamp("us")),
        "type": pa.array(["A", "B", "C"] * (N // 3)),
        "s": pa.array([f"text {i // 7}" for i in range(N)]),
    }
)
PLAN = optimize(
    Workload.parse("QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.s = c.s WITHIN 8 us;"),
    Schema.of(EVENTS.schema, set("ABC")),
    "none",
)


def numbers(kind):
    return [i for i, op in enumerate(PLAN.ops) if isinstance(op, kind)]


def test_rows_candidates_and_seconds_of_every_operator():
    matches = run(PLAN, EVENTS)
    done = matches.counters
    assert [done.rows[i] for i in numbers(Scan)] == [N // 3] * 3
    assert [done.rows[i] for i in numbers(Emit)] == [len(matches)]
    first, second = numbers(Join)
    assert done.rows[second] == len(matches) > 0
    assert done.candidates[first] == done.rows[first] > done.candidates[second] // 10
    assert all(seconds > 0 for seconds in done.seconds)
    assert done.held[first] > 0


def test_steps_do_not_change_the_rows():
    engine = Engine(PLAN, step=50)
    engine.push(EVENTS)
    engine.flush()
    whole = run(PLAN, EVENTS).counters
    assert engine.counters.rows == whole.rows
    assert engine.counters.candidates == whole.candidates


def test_counters_go_on_when_the_engine_starts_afresh(monkeypatch):
    monkeypatch.setattr(run_module, "STRINGS_FROM", 10)
    engine = Engine(PLAN)
    for batch in EVENTS.to_batches(60):
        engine.push(batch)
    engine.flush()
    whole = run(PLAN, EVENTS).counters
    assert engine.counters.rows == whole.rows
    assert engine.counters.candidates == whole.candidates
