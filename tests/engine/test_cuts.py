"""Streams that are long for the windows: one step for all of it, and many small ones, find the same.

The oracle judges small streams; here rows are kept, moved, expired and rebuilt thousands of times.
"""

import numpy as np
import pyarrow as pa
import pytest

from stretto import Engine, Schema, Workload, optimize
from stretto.engine.kernels import when_to_compile

QUERIES = {
    "sequence": "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 60 us",
    "keyed": "SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x WITHIN 500 us",
    "two_keys": "SEQ(A a, B b) WHERE [k] AND [s] WITHIN 800 us",
    "unordered": "AND(A a, B b, C c) WHERE a.x < b.x AND c.k = a.k WITHIN 80 us",
    "partly_ordered": "AND(SEQ(A a, B b), C c) WHERE a.x + b.x < c.x WITHIN 50 us",
    "twice": "AND(A a, A b, B c) WHERE a.k = b.k WITHIN 60 us",
    "kleene": "SEQ(A a, B b+, C c) WHERE b.x > a.x WITHIN 40 us",
    "kleene_keyed": "SEQ(A a, B b+) WHERE [k] AND b[i].x > b[i-1].x WITHIN 300 us",
    "group": "SEQ(A a, SEQ(B b, C c)+, D d) WHERE b.x < c.x AND [k] WITHIN 200 us",
    "optional": "SEQ(A a, OR(B b, C c)?, D d) WHERE [k] WITHIN 150 us",
    "absent": "SEQ(A a, NOT(D n), B b) WHERE n.k = a.k WITHIN 90 us",
    "waiting": "SEQ(A a, B b, NOT(D n)) WHERE n.k = a.k AND [s] WITHIN 70 us",
    "anywhere": "AND(A a, B b, NOT(C n)) WHERE n.x > a.x WITHIN 30 us",
    "before": "SEQ(NOT(C n), A a, B b) WHERE n.k = b.k WITHIN 60 us",
    "next": "SEQ(A a, B b+, C c) WHERE [k] AND b[i].x > b[i-1].x WITHIN 400 us SELECT NEXT",
    "strict": "SEQ(A a, B b+, C c) WHERE [k] WITHIN 900 us SELECT STRICT",
    "counted": "SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 30 EVENTS",
    "counted_waiting": "SEQ(A a, NOT(B n)) WHERE n.x > a.x WITHIN 9 EVENTS",
}


def stream(n, seed=5):
    rng = np.random.default_rng(seed)
    ts = np.cumsum(rng.integers(0, 5, n))
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us")),
            "type": pa.array(rng.choice(list("ABCDE"), n)),
            "x": pa.array(rng.random(n), mask=rng.random(n) < 0.02),
            "k": pa.array(rng.integers(0, 12, n), mask=rng.random(n) < 0.02),
            "s": pa.array(rng.choice(["p", "q", "r"], n)),
        }
    )


def rows(parts, query):
    table = pa.concat_tables([part[query] for part in parts])
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("name", sorted(QUERIES))
@pytest.mark.parametrize("compiled", [True, False], ids=["kernels", "twins"])
def test_small_steps_find_what_one_step_finds(name, compiled, monkeypatch):
    events = stream(6000)
    plan = optimize(
        Workload.parse(f"QUERY q PATTERN {QUERIES[name]} RETURN a.x AS x, a.s AS text;"),
        Schema.of(events.schema, set("ABCDE")),
        "none",
    )
    whole = Engine(plan)
    expected = rows([whole.push(events.combine_chunks().to_batches()[0]), whole.flush()], "q")
    assert len(expected) > 20
    monkeypatch.setattr(when_to_compile, "always", compiled)
    small, parts = Engine(plan), []
    for number, batch in enumerate(events.to_batches(37)):
        parts.append(small.push(batch))
        if number % 40 == 39:
            small = Engine.restore(plan, small.snapshot())
    parts.append(small.flush())
    assert rows(parts, "q") == expected
