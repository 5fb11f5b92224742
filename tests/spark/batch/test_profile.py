"""Profiles: exact counts, stretches of time that are complete, and rare types that are not missed."""

import numpy as np
import pyarrow as pa
import pytest

from stretto.errors import EventsError
from stretto.pattern.workload import Workload
from stretto.schema import Special
from stretto.spark.batch.profile import heaviest_of, in_ranges, profile, sample_rows, summarize, wanted_sample
from stretto.spark.batch.summary import Summary, total
from stretto.spark.packed import from_payload
from stretto.stats.profile import Stats
from stretto.values.times import END_OF_TIME, START_OF_TIME

SPECIAL = Special()
ROWS = 200_000
WORKLOAD = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x AND [k] WITHIN 10 ms;")


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """A steady stream of two types, and a third one ten times in all."""
    random = np.random.default_rng(5)
    types = random.choice(np.array(["A", "B"], object), ROWS)
    types[:: ROWS // 10] = "rare"
    return pa.table(
        {
            "ts": pa.array(np.arange(ROWS) * 1000, pa.timestamp("us")),
            "type": types,
            "x": random.random(ROWS),
            "k": random.integers(0, 5, ROWS),
        }
    )


def test_summaries_add_up(events: pa.Table) -> None:
    parts = [Summary.of(events.slice(at, 30_000).to_batches(), SPECIAL) for at in range(0, ROWS, 30_000)]
    known = total(Summary.from_json(part.to_json()) for part in parts)
    assert known.rows == ROWS == known.times.total
    assert known.types["rare"] == 10
    assert (known.first, known.last) == (0, (ROWS - 1) * 1000)


def test_bad_events_are_no_events_in_time() -> None:
    batch = pa.record_batch(
        {
            "ts": pa.array([1, None, 3, 4], pa.timestamp("us")),
            "type": ["A", "B", None, "A"],
            "id": pa.array([1, 2, 3, None], pa.int64()),
        }
    )
    known = Summary.of([batch], SPECIAL)
    assert (known.rows, known.types, known.stretches) == (4, {"A": 2, "B": 1}, ((1, 1, 1),))


def test_the_sample_is_made_of_complete_stretches(events: pa.Table) -> None:
    known = Summary.of(events.to_batches(), SPECIAL)
    ranges, rare = wanted_sample(known, 0.2, seed=1)
    assert rare == ("rare",)
    assert len(ranges) == 8
    rows = [
        row for batch in sample_rows(events.to_batches(), SPECIAL, ranges, rare) for row in batch.to_pylist()
    ]
    sample = pa.Table.from_batches([from_payload(row["payload"]) for row in rows])
    ts = sample["ts"].cast(pa.int64()).to_numpy()
    inside = in_ranges(ts, ranges)
    for number, (low, high) in enumerate(ranges):
        steps = np.diff(ts[inside == number])
        assert (steps == 1000).all()
        assert (high - low) / 1000 == pytest.approx(len(steps), rel=0.01)
    assert sample.num_rows == pytest.approx(0.2 * ROWS, rel=0.02)
    assert (sample["type"].to_numpy(zero_copy_only=False) == "rare").sum() == 10


def test_small_inputs_are_sampled_whole() -> None:
    batch = pa.record_batch({"ts": pa.array([1, 2], pa.timestamp("us")), "type": ["A", "B"]})
    assert wanted_sample(Summary.of([batch], SPECIAL), 0.01, 0) == ([(START_OF_TIME, END_OF_TIME)], ())
    with pytest.raises(EventsError, match="a share of the events"):
        wanted_sample(Summary(), 0.0, 0)


def test_a_profile_is_like_one_in_process(spark, events: pa.Table) -> None:
    df = spark.createDataFrame(events).repartition(3)
    ours = profile(WORKLOAD, df, sample=0.25, seed=2)
    theirs = Stats.of(events, workload=WORKLOAD)
    assert ours.rates == pytest.approx(theirs.rates)
    assert (ours.events, ours.seconds) == (theirs.events, theirs.seconds)
    assert ours.selectivities.known.keys() == theirs.selectivities.known.keys()
    for name, found in ours.selectivities.known.items():
        known = theirs.selectivities.known[name]
        assert abs(found.value - known.value) <= 5 * (found.error + known.error), name
    assert heaviest_of(ours)["k"] == pytest.approx(0.2, abs=0.02)
    assert summarize(df, SPECIAL).types == Summary.of(events.to_batches(), SPECIAL).types


@pytest.mark.parametrize("kind", ["timestamp", "date", "bigint"])
def test_times_of_other_types(spark, events: pa.Table, kind: str) -> None:
    some = events.slice(0, 60_000)
    df = spark.createDataFrame(some)
    if kind == "bigint":
        df = spark.createDataFrame(some.set_column(0, "ts", some["ts"].cast(pa.int64())))
    elif kind == "date":
        days = pa.array(np.arange(60_000) // 6, pa.int32()).cast(pa.date32())
        df = spark.createDataFrame(some.set_column(0, "ts", days))
    else:
        df = spark.createDataFrame(some.set_column(0, "ts", some["ts"].cast(pa.timestamp("us", "UTC"))))
    found = profile(None, df, sample=0.4, ts_unit="us" if kind == "bigint" else None)
    assert found.events == 60_000
    assert 20_000 <= len(found.sample) <= 30_000


def test_nothing_is_known_of_nothing(spark) -> None:
    df = spark.createDataFrame([], "ts timestamp, type string, x double")
    found = profile(WORKLOAD.remove("q"), df)
    assert (found.events, found.rates, found.sample) == (0, {}, None)
    assert heaviest_of(None) == {}
