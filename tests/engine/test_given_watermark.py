"""An engine whose watermark comes from outside finds what the oracle finds, and says what it waits for."""

import pickle
from random import Random

import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import in_batches, out_of_order, to_table
from tests.support.strategies import random_workload

from stretto import Engine, EngineError, Schema, Workload, optimize, oracle
from stretto.errors import QueryError
from stretto.values.times import END_OF_TIME, START_OF_TIME

SEEDS = range(20260101, 20260101 + 60)
ALERT = "QUERY q PATTERN SEQ(A a, NOT(B b)) WITHIN 10 us;"


def plan_of(text):
    return optimize(Workload.parse(text), Schema({}, {"A", "B"}), "none")


def events(*times_and_types):
    ts, types = zip(*times_and_types, strict=True)
    return pa.table({"ts": pa.array(ts, pa.timestamp("us")), "type": pa.array(types)})


def test_any_watermark_gives_the_same_matches():
    found_some = 0
    for seed in SEEDS:
        sample, rng = random_workload(Random(seed)), Random(seed + 1)
        workload = Workload.parse(sample.text)
        try:
            plan = optimize(workload, sample.schema, "none")
        except QueryError:
            continue
        queries = workload.bind(sample.schema).detections
        engine, parts = Engine(plan, watermark="given"), []
        table = to_table(out_of_order(rng, sorted(sample.events, key=lambda e: e.ts), 4))
        left = sorted(table["ts"].cast(pa.int64()).to_pylist())
        for batch in in_batches(rng, table):
            for ts in batch.column("ts").cast(pa.int64()).to_pylist():
                left.remove(ts)
            assert len(engine.push(batch)) == 0
            # Any time up to the earliest event that is still to come.
            parts.append(engine.advance((left[0] if left else engine.until_us) - rng.choice((0, 0, 1, 5))))
            if rng.random() < 0.3:
                engine = pickle.loads(pickle.dumps(engine))
        parts.append(engine.flush())
        assert engine.counts.late == 0
        for query in queries:
            found = [match for part in parts for match in matches_of(part[query.name], query)]
            assert_same_matches(found, oracle.matches(query, sample.events), f"seed {seed}\n{sample}")
            found_some += bool(found)
    assert found_some > len(SEEDS) // 3


def test_events_behind_a_given_watermark_are_late():
    engine = Engine(plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 us;"), watermark="given")
    engine.push(events((5, "A"), (3, "A")))
    assert len(engine.advance(5)) == 0
    engine.push(events((4, "B"), (5, "B"), (6, "B")))
    assert engine.counts.late == 1
    assert [batch.num_rows for batch in engine.take_late()] == [1]
    # Ids count the events as they arrived: 0 is at 5, 1 at 3, 3 and 4 are the B at 5 and 6.
    found = engine.advance(100)["q"].to_pylist()
    assert sorted((match["a"], match["b"]) for match in found) == [(0, 4), (1, 3), (1, 4)]


def test_what_an_engine_waits_for():
    engine = Engine(plan_of(ALERT), watermark="given")
    assert engine.due_us is None
    engine.push(events((7, "A"), (3, "A")))
    assert engine.due_us == 3  # an event
    assert len(engine.advance(8)) == 0
    assert engine.due_us == 13  # a match, certain when 13 has passed
    assert len(engine.advance(13)) == 0
    assert len(engine.advance(14)) == 1
    assert engine.due_us == 17
    assert len(engine.advance(18)) == 1
    assert engine.due_us is None


def test_how_far_back_a_match_to_come_can_look():
    engine = Engine(plan_of(ALERT), watermark="given")
    assert engine.reach_us == START_OF_TIME
    engine.advance(100)
    assert engine.reach_us == 90
    engine.advance(90)  # has passed
    assert (engine.until_us, engine.reach_us) == (100, 90)
    counted = Engine(plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 3 EVENTS;"), watermark="given")
    counted.push(events(*((i, "A") for i in range(10))))
    counted.advance(2)
    assert counted.reach_us == START_OF_TIME
    counted.advance(END_OF_TIME)
    assert counted.reach_us == 7


def test_only_an_engine_with_a_given_watermark_can_be_advanced():
    with pytest.raises(EngineError, match="given"):
        Engine(plan_of(ALERT)).advance(5)
