"""A user's function that raises rejects the event with what it said, and not the batch."""

import numpy as np
import pyarrow as pa
import pytest

from stretto import Engine, Schema, Workload, optimize, oracle
from stretto.oracle.values import Event
from stretto.pattern import functions
from stretto.pattern.functions import register_function
from stretto.schema import Kind


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr(functions, "_registered", {})

    def inverse(x):
        if (x == 0).any():
            raise ZeroDivisionError("no inverse of 0")
        return 1 / x

    register_function("INVERSE", inverse, [Kind.FLOAT], Kind.FLOAT)


TABLE = pa.table(
    {
        "ts": pa.array([1, 2, 3, 4], pa.timestamp("us")),
        "type": ["A", "A", "B", "A"],
        "x": pa.array([0.5, 0.0, 4.0, None]),
    }
)


def test_the_event_is_rejected_once_and_the_others_are_judged():
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE INVERSE(a.x) > INVERSE(b.x) WITHIN 5 us;"
    text += "QUERY r PATTERN A a WHERE INVERSE(a.x) > 0 WITHIN 5 us;"
    workload = Workload.parse(text)
    plan = optimize(workload, Schema.of(TABLE.schema), "none")
    engine = Engine(plan)
    parts = [engine.push(batch) for batch in TABLE.to_batches(2)]
    parts.append(engine.flush())
    events = [
        Event(i, row["ts"].microsecond, row["type"], {"x": row["x"]})
        for i, row in enumerate(TABLE.to_pylist())
    ]
    for query in workload.bind(plan.schema).detections:
        expected = sorted(str(dict(match.events)) for match in oracle.matches(query, events))
        found = [row for part in parts for row in part[query.name].to_pylist()]
        names = [variable.name for variable in query.variables]
        assert sorted(str({name: (row[name],) for name in names}) for row in found) == expected
    (rejected,) = engine.take_rejected()
    assert rejected["ts"].cast(pa.int64()).to_pylist() == [2]
    assert rejected["reason"].to_pylist() == ["INVERSE: ZeroDivisionError: no inverse of 0"]
    assert engine.counts.rejected == 1


def test_what_was_rejected_is_not_rejected_again_after_a_restart():
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE INVERSE(a.x) > 0 WITHIN 5 us;"
    plan = optimize(Workload.parse(text), Schema.of(TABLE.schema), "none")
    engine = Engine(plan)
    engine.push(TABLE.slice(0, 2))
    assert len(engine.take_rejected()) == 0  # the events of the last time still wait for others of it
    engine.push(TABLE.slice(2, 1))
    assert len(engine.take_rejected()) == 1
    again = Engine.restore(plan, engine.snapshot())
    found = again.push(TABLE.slice(3, 1)) + again.flush()
    assert again.take_rejected() == []
    assert found["q"].num_rows == 1
    assert np.array_equal(found["q"]["a"].to_numpy(), [0])
