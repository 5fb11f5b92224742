"""`stretto.spark.aggregate`: totals of trends from DataFrames, files and streams, and calls that are wrong."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.spark.stream.stream_cases import END_TYPE, in_milliseconds
from tests.spark.stream.test_detect_stream import Files, run_to_end
from tests.spark.stream.trend_cases import assert_totals, expected_totals, grouped
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.strategies import Sample
from tests.support.trend_strategies import random_trends

import stretto.spark
from stretto import Workload, optimize
from stretto.oracle.values import Event
from stretto.plan.spread.spreads import ByTime
from stretto.plan.spread.time_slices import Times
from stretto.spark.batch.find_in_files import detect_files
from stretto.spark.errors import StrettoSparkError

PAIRS = "QUERY pairs PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 us;"
COUNTS = """
QUERY counted PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x GROUP BY k WITHIN 20 us SLIDE 5 us
  RETURN COUNT(*), SUM(b.n), MIN(b.x), AVG(b.n);
QUERY rising PATTERN SEQ(C c, B b+) WHERE b[i].x > b[i-1].x GROUP BY k WITHIN 20 us SLIDE 5 us RETURN COUNT(*);
QUERY plain PATTERN SEQ(A a, B b)+ GROUP BY k, s WITHIN 15 us RETURN COUNT(*), COUNT(b), MAX(a.n) AS most;
"""
START_US = 1_700_000_000 * 10**6


def stream_of_events(seed: int, count: int) -> Sample:
    """Many events, few in each window and group."""
    rng = Random(seed)
    events, at, number = [], START_US, 0
    while len(events) < count:
        for event in random_events(rng, "ABC", most=12):
            at += rng.choice((0, 1, 2, 4, 9))
            events.append(Event(number, at, event.type, event.attributes))
            number += 1
    return Sample(COUNTS, SCHEMA, tuple(events))


@pytest.mark.parametrize("spread", ["key", "time", "whole"])
def test_a_dataframe_has_the_totals_of_the_oracle(spark: SparkSession, spread: str) -> None:
    sample = stream_of_events(1, 150)
    expected = expected_totals(sample)
    assert len(expected) > 100
    df = spark.createDataFrame(to_table(sample.events)).repartition(3)
    found = stretto.spark.aggregate(COUNTS + PAIRS, df, spread=spread, budget=0.2)
    assert found.schema["window_start"].dataType.typeName() == "timestamp"
    assert_totals(found.toArrow(), sample, expected, spread)


def test_matches_and_totals_of_one_workload(spark: SparkSession) -> None:
    sample = stream_of_events(2, 100)
    df = spark.createDataFrame(to_table(sample.events))
    plan = optimize(Workload.parse(PAIRS + COUNTS), SCHEMA, "none")
    alone = optimize(Workload.parse(PAIRS), SCHEMA, "none")
    ids = [
        sorted(row.match_id for row in stretto.spark.detect(one, df, spread="time").collect())
        for one in (plan, alone, PAIRS + COUNTS)
    ]
    assert ids[0] == ids[1] == ids[2] != []
    number = df.selectExpr("unix_micros(ts) AS ts", "type", "k", "s", "n", "x")
    found = stretto.spark.aggregate(plan, number, spread="time")
    assert found.schema["window_end"].dataType.typeName() == "long"
    assert_totals(found.toArrow(), sample, expected_totals(sample), "times as numbers")


def test_files_have_the_totals_of_the_oracle(spark: SparkSession, tmp_path: Path) -> None:
    sample = stream_of_events(3, 120)
    table = to_table(sample.events, ids=False)
    for i in range(2):
        pq.write_table(table.slice(60 * i, 60), tmp_path / f"{i}.parquet", row_group_size=25)
    plan = optimize(Workload.parse(COUNTS + PAIRS), SCHEMA, "none")
    times = Times.of([(event.ts, event.ts, 1) for event in sample.events])
    for spread in (ByTime.of(plan, times, 5), "key", "whole"):
        found = detect_files(plan, str(tmp_path), spark=spark, spread=spread, outputs="trends")
        assert found.schema["window_start"].dataType.typeName() == "timestamp_ntz"
        assert_totals(found.toArrow(), sample, expected_totals(sample), str(spread))


# ---- streams -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_key", [False, True], ids=["whole", "by key"])
def test_a_stream_has_the_totals_of_the_oracle(spark: SparkSession, tmp_path: Path, by_key: bool) -> None:
    rng = Random(11 + by_key)
    sample = in_milliseconds(random_trends(rng, queries=3))
    while len(expected_totals(sample)) < 8:
        sample = in_milliseconds(random_trends(rng, queries=3))
    sample = grouped(sample) if by_key else sample
    base = START_US - min(event.ts for event in sample.events) // 1000 * 1000
    events = sorted(
        (Event(e.id, e.ts + base, e.type, e.attributes) for e in sample.events), key=lambda e: e.ts
    )
    sample = Sample(sample.text, sample.schema, tuple(events))
    files = Files(tmp_path / "events")
    cuts = sorted(rng.sample(range(1, len(events)), min(3, len(events) - 1)))
    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        files.write(to_table(events[start:end]))
    files.write(to_table([Event(-1, START_US + 10**9, END_TYPE, {})]))
    found = stretto.spark.aggregate(
        sample.text, files.stream(spark), spread="key" if by_key else "whole", lateness="0 seconds"
    )
    written, progress = run_to_end(found, tmp_path / "checkpoint", tmp_path / "out")
    expected = expected_totals(sample)
    assert_totals(written.toArrow(), sample, expected, "by key" if by_key else "whole")
    assert sum(metrics.totals for metrics in progress) == len(expected)


def test_all_outputs_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    sample = stream_of_events(4, 60)
    files = Files(tmp_path / "events")
    files.write(to_table(sample.events[:30]))
    files.write(to_table(sample.events[30:]))
    files.write(to_table([Event(-1, START_US + 10**9, END_TYPE, {}), Event(-2, START_US, "A", {})]))
    files.write(to_table([Event(-3, START_US, "A", {})]))
    found = stretto.spark.detect(
        PAIRS + COUNTS, files.stream(spark), outputs="all", versions=tmp_path / "state" / "workloads"
    )
    written, progress = run_to_end(found, tmp_path / "checkpoint", tmp_path / "out")
    expected = expected_totals(sample)
    assert_totals(stretto.spark.trends_of(written).toArrow(), sample, expected, "all outputs")
    matches = stretto.spark.matches_of(written)
    assert matches.columns == [
        "query",
        "match_id",
        "start",
        "end",
        "detected",
        "events",
        "member",
        "returned",
    ]
    assert matches.count() == sum(metrics.matches for metrics in progress) > 0
    assert {row.id for row in stretto.spark.late_of(written).collect()} == {-2, -3}
    assert sum(metrics.totals for metrics in progress) == len(expected)


# ---- what is refused ---------------------------------------------------------------------------------------------


@pytest.fixture(params=["batch", "stream"])
def events(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Any:
    columns = "ts timestamp, type string, k bigint, s string, n bigint, x double"
    if request.param == "stream":
        return spark.readStream.schema(columns).parquet(str(tmp_path))
    return spark.createDataFrame([], columns)


def test_what_a_workload_does_not_have_cannot_be_asked_for(events: Any) -> None:
    for workload in (COUNTS, optimize(Workload.parse(COUNTS), SCHEMA, "none")):
        with pytest.raises(
            StrettoSparkError, match=r"nothing but trend queries.*aggregate gives their totals"
        ):
            stretto.spark.detect(workload, events)
    for workload in (PAIRS, optimize(Workload.parse(PAIRS), SCHEMA, "none")):
        with pytest.raises(StrettoSparkError, match="the workload has no trend query"):
            stretto.spark.aggregate(workload, events)
    with pytest.raises(stretto.StrettoError, match="by key"):
        stretto.spark.aggregate("QUERY q PATTERN A a+ WITHIN 5 us RETURN COUNT(*);", events, spread="key")


def test_a_lateness_is_for_streams(spark: SparkSession) -> None:
    events = spark.createDataFrame(pa.table({"ts": pa.array([1], pa.timestamp("us")), "type": ["A"]}))
    with pytest.raises(StrettoSparkError, match="`lateness`: for a streaming DataFrame"):
        stretto.spark.aggregate(COUNTS, events, lateness="1 second")
