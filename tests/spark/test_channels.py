"""Channels, families and random derived streams on Spark, in batches by every spread that takes them and as streams.

STRETTO_ON_SPARK says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.exactness.test_derived_streams import expected_of
from tests.fuzz.derived_trials import REFUSED, sample_of
from tests.spark.stream.test_detect_stream import Files, run_to_end
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.stream_strategies import StreamSample

from stretto.errors import QueryError
from stretto.oracle.detections import Event, Match
from stretto.pattern.derived.families import member_name
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import ByKey
from stretto.spark import detect

RANDOM = int(os.environ.get("STRETTO_ON_SPARK", "1"))
SEED = int(os.environ.get("STRETTO_SEED", "20261117"))
MS = 1000
START, END = 1_700_000_000_000_000, 1_700_000_100_000_000
TEXT = "".join(
    f"""CREATE STREAM s{i} AS SELECT k, AVG(x) AS x FROM A WHERE x >= {i - 1} GROUP BY k WITHIN 4 us;
    QUERY q{i} PATTERN SEQ(s{i} a, B b) WHERE [k] WITHIN {5 + i} us SELECT NEXT;
    QUERY n{i} PATTERN SEQ(A a, B b) WHERE [k] AND a.x > {i - 1} WITHIN {4 + i} us SELECT NEXT;"""
    for i in range(3)
)
TEXT += "QUERY f FOR EACH rows r KEY r.id PATTERN SEQ(A a, C c) WHERE [k] AND a.k = r.k AND c.x > r.low WITHIN 6 us;"
ROWS = {"id": ["one", "two", "three"], "k": [0, 1, 1], "low": [-1.0, 0.5, None]}


def rows_by_query(table: Any) -> dict[str, list[Match]]:
    """Matches by query, those of a family by member."""
    found: dict[str, list[Match]] = {}
    for row in table.to_pylist():
        name = row["query"] if row["member"] is None else member_name(row["query"], row["member"])
        times = [row[one] for one in ("start", "end", "detected")]
        found.setdefault(name, []).append(Match(*times, {key: tuple(ids) for key, ids in row["events"]}, {}))
    return found


def in_micros(df: Any) -> Any:
    table = df.toArrow()
    for name in ("start", "end", "detected"):
        table = table.set_column(table.column_names.index(name), name, table[name].cast("int64"))
    return table


def assert_as_expected(df: Any, sample: StreamSample) -> int:
    found, count = rows_by_query(in_micros(df)), 0
    for name, (_, matches) in expected_of(sample.workload().bind(SCHEMA), sample).items():
        plain = [Match(one.start, one.end, one.detected, one.events, {}) for one in matches]
        assert_same_matches(found.get(name, []), plain, about=f"{name} of {sample}")
        count += len(matches)
    return count


@pytest.mark.parametrize("spread", ["whole", "time", ByKey(("k",), 3)], ids=["whole", "time", "key"])
def test_channels_and_families_in_batches(spark, spread: Any) -> None:
    sample = StreamSample(TEXT, SCHEMA, tuple(random_events(Random(8), ("A", "B", "C"), most=60)), ROWS)
    plan = optimize(sample.workload(), SCHEMA, "rumor")
    assert plan.front is not None
    assert {"c_alpha", "s_sigma"} <= set(plan.front.because.values())
    df = spark.createDataFrame(to_table(sample.events))
    assert assert_as_expected(detect(plan, df, spread=spread), sample) > 20


def as_stream(sample: StreamSample) -> StreamSample:
    """The sample with milliseconds in the place of microseconds, at times that streams may have."""
    events = tuple(Event(one.id, START + one.ts * MS, one.type, one.attributes) for one in sample.events)
    return StreamSample(sample.text.replace(" us", " ms"), SCHEMA, events, sample.rows)


def streamed(spark, sample: StreamSample, optimizer: str, folder: Path) -> Any:
    """What a stream finds of the events in files, after which two events of no query's come much later."""
    files = Files(folder / "events")
    arrived = sorted(sample.events, key=lambda event: event.ts)
    for start, stop in pairwise(dict.fromkeys((0, len(arrived) // 3, len(arrived) // 2, len(arrived)))):
        files.write(to_table(arrived[start:stop]))
    for number in (1, 2):
        files.write(to_table([Event(10**6 + number, END + number * 10**6, "End", {})]))
    found = detect(sample.workload(), files.stream(spark), optimizer=optimizer, lateness="1 second")
    rows, _ = run_to_end(found, folder / "checkpoint", folder / "out")
    return rows


def test_channels_and_families_in_a_stream(spark, tmp_path: Path) -> None:
    events = random_events(Random(8), ("A", "B", "C"), most=60)
    sample = as_stream(StreamSample(TEXT, SCHEMA, tuple(events), ROWS))
    assert assert_as_expected(streamed(spark, sample, "rumor", tmp_path), sample) > 20


@pytest.mark.parametrize("seed", range(SEED, SEED + RANDOM))
def test_random_workloads_in_batches_and_streams(spark, tmp_path: Path, seed: int) -> None:
    sample, optimizer = sample_of(4 * seed + seed % 3), ("auto", "rumor", "none")[seed % 3]
    try:
        plan = optimize(sample.workload(), SCHEMA, optimizer, 0.5)
    except QueryError as refused:
        if any(text in str(refused) for text in REFUSED):
            return
        raise
    assert_as_expected(detect(plan, spark.createDataFrame(to_table(sample.events))), sample)
    moved = as_stream(sample)
    assert_as_expected(streamed(spark, moved, optimizer, tmp_path), moved)
