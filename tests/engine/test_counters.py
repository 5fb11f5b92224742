"""What operators count."""

import numpy as np
import pyarrow as pa

from stretto import Engine, Schema, Workload, optimize, run
from stretto.engine import run as run_module
from stretto.plan.ops import Emit, Join, Scan
from stretto.schema import Kind

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


TRENDS = optimize(
    Workload.parse(
        "QUERY rising PATTERN B b+ WHERE b[i].x > b[i-1].x GROUP BY k WITHIN 300 us RETURN COUNT(*);"
        + "".join(
            f"QUERY q{i} PATTERN SEQ({'AC'[i % 2]} a, B b+) GROUP BY k WITHIN 300 us RETURN COUNT(*);"
            for i in range(8)
        )
    ),
    Schema({"k": Kind.INT, "x": Kind.INT, "s": Kind.STRING}, frozenset("ABC")),
)
"""All but `rising` share B."""
TYPES = np.array(["A"] + ["B"] * 149 + ["C"] + ["B"] * 149)
TREND_EVENTS = pa.table(
    {
        "ts": pa.array(np.arange(N), pa.timestamp("us")),
        "type": TYPES[np.arange(N) % 300],
        "k": np.arange(N) // 900,
        "x": np.arange(N) % 7,
        "s": [f"text {i}" for i in range(N)],
    }
)


def trend_work(step: int, **options):
    engine = Engine(TRENDS, **options)
    for batch in TREND_EVENTS.to_batches(step):
        engine.push(batch)
    engine.flush()
    return engine.trend_work


def test_work_of_trends():
    work = trend_work(N)
    names = [node.stream.type for node in TRENDS.trends.nodes]
    assert dict(zip(names, work.nodes, strict=True)) == {"A": 3, "B": N - 6, "C": 3}
    together, rising = sorted(work.units, key=lambda unit: -unit.events)
    assert (together.events, rising.events) == (N, N - 6)
    assert 6 <= together.matstates <= 9  # one where a window opens, one after what entered
    assert 0 < together.shared <= together.turns
    assert (rising.matstates, rising.shared, rising.turns) == (0, 0, 0)
    assert together.seconds > 0
    assert rising.seconds > 0
    assert Engine(PLAN).trend_work is None


def test_work_of_trends_goes_on_when_the_engine_starts_afresh(monkeypatch):
    whole = trend_work(60)
    monkeypatch.setattr(run_module, "STRINGS_FROM", 0)
    again = trend_work(60)
    assert again.nodes == whole.nodes
    for one, other in zip(again.units, whole.units, strict=True):
        assert (one.events, one.matstates) == (other.events, other.matstates)
