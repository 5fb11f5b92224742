"""Streams through Spark itself: random workloads in random micro-batches, late events, changing workloads, metrics."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.spark.stream.stream_cases import (
    END_TYPE,
    in_milliseconds,
    keyed,
    matches_by_query,
    planned,
    without_values,
)
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, out_of_order, random_events, to_table
from tests.support.strategies import Sample, random_workload

from stretto import Schema, StrettoError, Workload, optimize, oracle
from stretto.oracle.detections import Event
from stretto.plan.dag import Plan
from stretto.plan.spread.spreads import TOO_LITTLE, ByKey, ByTime, Whole
from stretto.plan.spread.stream_slices import Slices, StreamSpread
from stretto.spark import detect
from stretto.spark.errors import StrettoSparkError
from stretto.spark.outputs import late_of, matches_of, rejected_of
from stretto.spark.stream.detect_stream import detect_stream
from stretto.spark.stream.metrics import StreamMetrics, read_metrics
from stretto.spark.stream.stream_spread import stream_spread
from stretto.spark.stream.versions import publish
from stretto.text.parser import option_us

SEED = int(os.environ.get("STRETTO_SEED", "20261102"))
WORKLOADS = 12
EPISODES = 5
PAUSE_US = 60 * 10**6
LATENESS_US = 3000
MANY_OPERATORS = "spark.sql.streaming.statefulOperator.allowMultiple"
START_US = 1_700_000_000 * 10**6


class Files:
    """A folder of Parquet files that Spark takes one by one, in the order in which they were written."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        folder.mkdir()

    def write(self, table: pa.Table) -> None:
        path = self.folder / f"{self.count:05d}.parquet"
        hidden = path.with_name(f".{path.name}")
        column = table["ts"].cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
        pq.write_table(table.set_column(table.column_names.index("ts"), "ts", column), hidden)
        os.utime(hidden, (1_700_000_000 + self.count,) * 2)
        hidden.rename(path)
        self.count += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        schema = spark.read.parquet(str(self.folder)).schema
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.folder))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "events")


def run_to_end(found: DataFrame, checkpoint: Path, out: Path) -> tuple[DataFrame, list[StreamMetrics]]:
    """All rows that a stream gives for what there is, and the metrics of its batches."""
    writer = found.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.format("parquet").start(str(out))
    query.awaitTermination()
    progress = [metrics for one in query.recentProgress if (metrics := read_metrics(one)) is not None]
    return found.sparkSession.read.schema(found.schema).parquet(str(out)), progress


# ---- random workloads ------------------------------------------------------------------------------------------


def many_queries(seed: int, *, by_key: bool) -> Sample:
    """The queries of several random workloads under names of their own."""
    texts: list[str] = []
    tried = seed
    while len(texts) < WORKLOADS:
        sample = random_workload(Random(tried))
        sample = replace(sample, text=sample.text.replace("EVENTS", "us"))  # episodes must not meet
        sample = in_milliseconds(keyed(sample) if by_key else sample)
        tried += 1
        if planned(sample) is None:
            continue
        renamed = re.sub(r"\b(q\d|[Ss]el\d)\b", rf"w{len(texts)}_\1", sample.text)
        texts.append(renamed)
    return Sample("\n".join(texts), SCHEMA, ())


def far_apart(rng: Random) -> Iterator[list[Event]]:
    """Streams of events with pauses between that no window reaches over."""
    number = 0
    for episode in range(EPISODES):
        events = random_events(rng, most=11)
        base = min((event.ts for event in events), default=0)
        start = START_US + episode * PAUSE_US
        yield [replace(e, id=e.id + number, ts=start + (e.ts - base) * 1000) for e in events]
        number += len(events)


def spread_by(name: str, plan: Plan) -> StreamSpread:
    if name == "time":
        narrow = Slices.of(plan)
        return replace(narrow, width_us=narrow.before_us + narrow.after_us, targets=3)
    return ByKey(("k",), 4) if name == "key" else Whole()


@pytest.mark.parametrize("name", ["whole", "key", "time"])
def test_streams_find_what_the_oracle_finds(spark, files: Files, tmp_path: Path, name: str) -> None:
    by_key = name == "key"
    rng = Random(SEED + by_key)
    sample = many_queries(SEED + 400 * by_key, by_key=by_key)
    found_plan = planned(sample)
    assert found_plan is not None
    plan, queries = found_plan
    stretches = list(far_apart(rng))
    events = [event for stretch in stretches for event in stretch]
    arriving = out_of_order(rng, sorted(events, key=lambda event: event.ts), LATENESS_US)
    cuts = sorted(rng.sample(range(1, len(arriving)), 5))
    for start, end in zip([0, *cuts], [*cuts, len(arriving)], strict=True):
        files.write(to_table(arriving[start:end]))
    files.write(to_table([Event(-1, START_US + 1000 * PAUSE_US, END_TYPE, {})]))

    spread = spread_by(name, plan)
    stream = detect_stream(plan, files.stream(spark), spread=spread, lateness_us=3000)
    written, progress = run_to_end(stream, tmp_path / "checkpoint", tmp_path / "out")
    rows = written.toArrow().to_pylist()
    results = matches_by_query(rows)
    for query in queries:
        expected = [match for stretch in stretches for match in oracle.matches(query, stretch)]
        assert_same_matches(
            results.get(query.name, []), without_values(expected), f"{query.name} of\n{sample}"
        )
    assert sum(metrics.matches for metrics in progress) == len(rows) > 100
    assert sum(metrics.events for metrics in progress) == len(events) + 1
    assert sum(metrics.late for metrics in progress) == 0


# ---- one small stream ------------------------------------------------------------------------------------------

PAIRS = "QUERY pairs PATTERN SEQ(A a, B b) WITHIN 10 SECONDS RETURN a.x AS x;"
ADDED = PAIRS + "QUERY added PATTERN SEQ(C c, B b) WITHIN 10 SECONDS;"
COLUMNS = pa.schema(
    [("ts", pa.timestamp("us")), ("type", pa.string()), ("x", pa.float64()), ("tags", pa.list_(pa.string()))]
)


def seconds(*events: tuple[float | None, str | None]) -> pa.Table:
    """Events as (seconds, type), without ids."""
    ts = [None if at is None else START_US + round(at * 10**6) for at, _ in events]
    types = [kind for _, kind in events]
    columns = [pa.array(ts, pa.timestamp("us")), pa.array(types, pa.string())]
    columns += [pa.array([1.5] * len(events)), pa.array([["t"]] * len(events), pa.list_(pa.string()))]
    return pa.Table.from_arrays(columns, schema=COLUMNS)


def plan_of(text: str):
    return optimize(Workload.parse(text), Schema.of(COLUMNS), "none")


def numbered(table: pa.Table, first: int) -> pa.Table:
    return table.append_column("id", pa.array(range(first, first + table.num_rows), pa.int64()))


@pytest.mark.parametrize("spread", [Whole(), Slices(11 * 10**6, 0, 10 * 10**6, 3)], ids=["whole", "by time"])
def test_late_rejected_and_changed_workloads(
    spark, files: Files, tmp_path: Path, spread: StreamSpread
) -> None:
    versions = tmp_path / "versions"
    publish(versions, Workload.parse(PAIRS), plan_of(PAIRS))
    files.write(numbered(seconds((1, "A"), (2, "C"), (20, "A")), 0))
    files.write(numbered(seconds((19, "B"), (15, "B"), (21, "B"), (None, "A"), (22, None)), 3))

    def stream() -> DataFrame:
        source = files.stream(spark)
        return detect_stream(
            plan_of(PAIRS), source, spread=spread, lateness_us=2_000_000, outputs="all", versions=versions
        )

    checkpoint = tmp_path / "checkpoint"
    found, progress = run_to_end(stream(), checkpoint, tmp_path / "out")
    assert [row["events"] for row in matches_of(found).toArrow().to_pylist()] == []
    late = late_of(found).toArrow().to_pylist()
    assert [(row["ts"].timestamp(), row["type"], row["tags"]) for row in late] == [
        (START_US / 10**6 + 15, "B", ["t"])
    ]
    assert sorted(row["reason"] for row in rejected_of(found).toArrow().to_pylist()) == [
        "ts is null",
        "type is null",
    ]
    assert (sum(m.late for m in progress), sum(m.rejected for m in progress)) == (1, 2)
    assert {metrics.versions for metrics in progress if metrics.targets} == {(1,)}
    assert found.count() == 3

    publish(versions, Workload.parse(ADDED), plan_of(ADDED))
    files.write(numbered(seconds((23, "C"), (24, "B"), (100, "C")), 8))
    found, progress = run_to_end(stream(), checkpoint, tmp_path / "out")
    results = matches_by_query(matches_of(found).toArrow().to_pylist())
    counts = {name: len(of) for name, of in results.items()}
    assert counts == {"pairs": 2, "added": 1}
    reports = [metrics for metrics in progress if metrics.targets]
    assert {metrics.versions for metrics in reports} == {(2,)}
    assert sum((Counter(metrics.per_query) for metrics in reports), Counter()) == counts
    assert all(metrics.per_operator and metrics.state_rows for metrics in reports[:1])
    assert reports[-1].watermark_us is not None


def test_slices_do_not_go_by_a_watermark_that_another_one_holds_back(
    spark, files: Files, tmp_path: Path
) -> None:
    for number, at in enumerate((10, 30, 50)):
        files.write(numbered(seconds((at, "A")), number))
    other = files.stream(spark).selectExpr("*", "ts AS other").withWatermark("other", "1 hour")
    found = detect(plan_of(PAIRS), other, spread="time")
    spark.conf.set(MANY_OPERATORS, "false")  # else Spark refuses a second watermark itself
    try:
        with pytest.raises(StreamingQueryException, match="several watermarks cannot be spread by time"):
            run_to_end(found, tmp_path / "checkpoint", tmp_path / "out")
    finally:
        spark.conf.unset(MANY_OPERATORS)


# ---- what is refused -------------------------------------------------------------------------------------------


def test_a_wrong_call_says_what_is_wrong(spark, files: Files) -> None:
    files.write(seconds((1, "A")))
    source, plan = files.stream(spark), plan_of(PAIRS)
    with pytest.raises(StrettoSparkError, match="slices that end are for a batch"):
        detect(plan, source, spread=ByTime(()))
    with pytest.raises(StrettoSparkError, match="no column of ids: spread by time"):
        detect(plan, source, spread="time")
    with pytest.raises(StrettoSparkError, match="a slice is for a stream that is spread by `time`"):
        detect(plan, source, slice="10 seconds")
    with pytest.raises(StrettoSparkError, match="slices of 5 SECONDS are narrower than the 10 SECONDS"):
        detect(plan, source, spread="time", slice="5 seconds")
    with pytest.raises(StrettoSparkError, match="does not fit the stream"):
        detect_stream(plan, source, spread=ByKey(("x",), 2))
    with pytest.raises(StrettoSparkError, match="no column `ts`; they have: type"):
        detect_stream(plan, source.drop("ts"))
    with pytest.raises(StrettoSparkError, match="column `ts` holds string"):
        detect_stream(plan, source.withColumn("ts", source.ts.cast("string")))


@pytest.mark.parametrize(
    ("text", "us"), [("0", 0), ("0 seconds", 0), ("10 minutes", 600 * 10**6), ("5ms", 5000)]
)
def test_a_lateness_is_a_duration(text: str, us: int) -> None:
    assert option_us(text, "lateness") == us


@pytest.mark.parametrize("text", ["soon", "-5 seconds", ""])
def test_other_latenesses_and_slices_are_refused(text: str) -> None:
    with pytest.raises(StrettoError, match="lateness"):
        option_us(text, "lateness")
    with pytest.raises(StrettoError, match="slice"):
        option_us(text, "slice", positive=True)


TIED = "QUERY q PATTERN SEQ(A a, B b) WHERE [x] WITHIN 10 SECONDS;"


def test_queries_about_single_events_name_no_key(tmp_path: Path) -> None:
    single = plan_of("QUERY one PATTERN A a WHERE a.x > 0 WITHIN 1 s;")
    assert stream_spread(single, "auto", tmp_path) == Whole()
    assert stream_spread(plan_of(TIED), "auto", tmp_path) == Whole()
    with pytest.raises(StrettoSparkError, match="all queries are about single events, and none names a key"):
        stream_spread(single, "key")


def test_the_spread_of_a_checkpoint_stays(tmp_path: Path) -> None:
    by_key = stream_spread(plan_of(TIED), "auto", tmp_path)
    assert isinstance(by_key, ByKey)
    assert stream_spread(plan_of(TIED), "key", tmp_path) == by_key
    with pytest.raises(StrettoSparkError, match="does not fit the stream"):
        stream_spread(plan_of(PAIRS), "auto", tmp_path)
    with pytest.raises(StrettoSparkError, match="by key so far, not by whole"):
        stream_spread(plan_of(TIED), "whole", tmp_path)
    assert stream_spread(plan_of(PAIRS)) == Whole()
    assert stream_spread(plan_of(PAIRS), "auto", tmp_path / "other") == Whole()
    assert stream_spread(plan_of(TIED), "auto", tmp_path / "other") == Whole()
    for name in ("key", "moon"):
        with pytest.raises(StrettoSparkError, match="spread by"):
            stream_spread(plan_of(PAIRS), name)


def test_the_slices_of_a_checkpoint_stay(tmp_path: Path) -> None:
    wide = stream_spread(plan_of(PAIRS), "time", tmp_path, width_us=15 * 10**6)
    assert wide == Slices(15 * 10**6, 0, 10**7)
    assert stream_spread(plan_of(PAIRS), "time", tmp_path) == wide
    assert stream_spread(plan_of(TIED), "auto", tmp_path) == wide
    with pytest.raises(StrettoSparkError, match=r"15 SECONDS wide so far, not 20 SECONDS .another spread"):
        stream_spread(plan_of(PAIRS), "time", tmp_path, width_us=20 * 10**6)
    with pytest.raises(StrettoSparkError, match="by time so far, not by key"):
        stream_spread(plan_of(TIED), "key", tmp_path)
    with pytest.raises(StrettoSparkError, match=TOO_LITTLE):
        stream_spread(plan_of(PAIRS.replace("10 SEC", "11 SEC")), "auto", tmp_path)
    with pytest.raises(StrettoSparkError, match="query `pairs` has a window in EVENTS"):
        stream_spread(plan_of(PAIRS.replace("10 SECONDS", "10 EVENTS")), "time")
