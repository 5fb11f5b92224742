"""Ids that come again are counted, however events are cut and read; their matches are all there."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stretto
from stretto.engine.run import Engine
from stretto.engine.stream import repeated_ids
from stretto.engine.stream.repeated_ids import RepeatedIds

FEW = 4
"""Events before that are looked at, in these tests."""


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(repeated_ids, "REACH", FEW)
    monkeypatch.setattr(repeated_ids, "FEW", repeated_ids.FEW)


def is_even(_ids, ts):
    return ts % 2 == 0


def seen_before(ids, i):
    """Whether the event's id is among those of its stretch of FEW before it, or of the stretch before that."""
    return ids[i] in ids[max(i // FEW * FEW - FEW, 0) : i]


@given(st.data(), st.lists(st.integers(-3, 6), max_size=40), st.booleans(), st.sampled_from([0, 1 << 12]))
def test_events_with_an_id_of_those_before_them_are_counted(data, ids, ascend, few):
    repeated_ids.FEW = few  # the loop, or its twin
    ids = sorted(ids) if ascend else ids
    found, at = RepeatedIds(), 0
    found.given, found.counts = True, data.draw(st.sampled_from([None, is_even]))
    while at < len(ids):
        end = at + data.draw(st.integers(1, 9))
        block = np.array(ids[at:end], np.int64)
        found.take(block, np.arange(at, at + len(block)))
        block[:] = 0  # whose memory it was
        at = min(end, len(ids))
        if data.draw(st.booleans()):
            found = pickle.loads(pickle.dumps(found))
            assert found.found == sum(
                seen_before(ids, i) for i in range(at) if found.counts is None or i % 2 == 0
            )
    assert found.found == sum(
        seen_before(ids, i) for i in range(len(ids)) if found.counts is None or i % 2 == 0
    )


@pytest.mark.parametrize("few", [0, 1 << 12])
def test_extreme_ids(few):
    repeated_ids.FEW = few
    found = RepeatedIds()
    found.given = True
    limits = np.iinfo(np.int64)
    found.take(np.array([limits.max, limits.min + 1, 0, limits.max]), np.arange(4))
    found.take(np.array([-1, limits.min + 1]), np.arange(2))
    assert found.found == 2


def events_of(*ids, ts=None):
    times = range(len(ids)) if ts is None else ts
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us")),
            "type": ["A"] * len(ids),
            "id": pa.array(ids, pa.int64()),
        }
    )


def engine_of(**options):
    schema = stretto.Schema.of(pa.schema([("id", pa.int64())]), {"A"})
    text = "QUERY q PATTERN SEQ(A a, A b) WITHIN 9 us;"
    return Engine(stretto.optimize(stretto.Workload.parse(text), schema), **options)


def test_the_matches_of_one_id_are_all_there():
    events = events_of(7, 8, 8)
    found = stretto.run(engine_of().plan, events)
    assert found.repeated_ids == 1
    rows = [row for row in found.to_arrow().to_pylist() if dict(row["events"]) == {"a": [7], "b": [8]}]
    assert [row["end"].microsecond for row in rows] == [1, 2]
    assert len({row["match_id"] for row in rows}) == 1
    assert found.counts() == {"q": 3}


@pytest.mark.parametrize("size", [1, 2, 5])
def test_neither_batches_nor_the_order_of_arrival_matter(size):
    ids, ts = [1, 2, 2, 3, 1, 9, 9, 9], [0, 1, 2, 3, 4, 5, 5, 5]
    expected = sum(seen_before(ids, i) for i in range(len(ids)))
    engine = engine_of(lateness_us=3)
    order = [1, 0, 3, 2, 7, 5, 4, 6]
    events = events_of(*(ids[i] for i in order), ts=[ts[i] for i in order])
    for batch in events.to_batches(max_chunksize=size):
        engine.push(batch)
    engine.flush()
    assert engine.repeats.found == expected == 4


def test_numbers_of_arrival_are_not_looked_at():
    engine = engine_of(lateness_us=9)
    events = events_of(*range(8), ts=[3, 2, 1, 0, 7, 6, 5, 4]).drop_columns("id")
    engine.push(events)
    engine.flush()
    assert engine.repeats.found == 0
    assert not engine.repeats._ids


def test_late_and_bad_events_take_no_part():
    engine = engine_of()
    engine.push(events_of(1, 1, 1, ts=[5, None, 2]))
    engine.push(events_of(2, 2, ts=[6, 6]))
    engine.flush()
    assert engine.counts.late == engine.counts.rejected == 1
    assert engine.repeats.found == 1


def test_a_restored_engine_knows_the_ids_of_its_window():
    engine = engine_of()
    engine.push(events_of(1, 2, 3, ts=[0, 1, 2]))
    engine = Engine.restore(engine.plan, engine.snapshot())
    engine.push(events_of(2, 4, 4, ts=[3, 4, 5]))
    engine.flush()
    assert engine.repeats.found == 2


def test_what_is_counted_may_be_said_late():
    found = RepeatedIds()
    found.given = True
    found.take(np.array([1, 1]), np.arange(2))
    found.counts = is_even
    found.take(np.array([1]), np.arange(2, 3))
    assert found.found == 1
