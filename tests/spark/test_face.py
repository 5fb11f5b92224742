"""`stretto.spark`: one call for batches and streams."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import stretto.spark.calls
from stretto import QueryError, Special, Stats, Workload, optimize, run
from stretto.plan.spread.spreads import ByKey, Whole
from stretto.schema import Kind, Schema
from stretto.spark.errors import StrettoSparkError
from stretto.spark.stream.versions import last_version

KEYED = "QUERY same PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 SECONDS;"
FREE = "QUERY free PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 SECONDS;"
COLUMNS = "at timestamp, what string, k bigint, x double"
SPECIAL = Special("at", "what")


@pytest.fixture
def handed_on(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a stream's operator is given, in place of running it."""
    calls: list[dict[str, Any]] = []

    def detect_stream(plan: Any, events: Any, **options: Any) -> Any:
        calls.append({"plan": plan, **options})
        return events

    monkeypatch.setattr(stretto.spark.calls, "detect_stream", detect_stream)
    return calls


def streaming(spark: SparkSession, folder: Path) -> Any:
    return spark.readStream.schema(COLUMNS).parquet(str(folder))


def test_names_are_functions() -> None:
    names = ("detect", "detect_files", "aggregate", "profile", "session", "upsert")
    for name in (*names, "matches_of", "trends_of", "late_of", "rejected_of"):
        assert callable(getattr(stretto.spark, name)), name
    assert issubclass(stretto.spark.StrettoSparkError, stretto.StrettoError)


def test_a_stream_is_planned_by_its_columns(
    spark: SparkSession, tmp_path: Path, handed_on: list[dict[str, Any]]
) -> None:
    events = streaming(spark, tmp_path)
    stretto.spark.detect(KEYED, events, special=SPECIAL, lateness="3 seconds", outputs="all")
    stretto.spark.detect(Workload.parse(FREE), events, special=SPECIAL)
    keyed, free = handed_on
    assert list(keyed["plan"].queries) == ["same"]
    assert (keyed["special"], keyed["lateness_us"], keyed["outputs"]) == (SPECIAL, 3_000_000, "all")
    assert isinstance(keyed["spread"], ByKey)
    assert free["spread"] == Whole()
    numbered = events.selectExpr("*", "k AS id")
    stretto.spark.detect(FREE, numbered, special=SPECIAL, spread="time", slice="1 minute")
    assert handed_on[-1]["spread"].width_us == 60 * 10**6
    with pytest.raises(QueryError, match="unknown attribute `y`"):
        stretto.spark.detect(KEYED.replace("[k]", "a.y = 1"), events, special=SPECIAL)


def test_a_stream_with_versions_publishes_its_workload(
    spark: SparkSession, tmp_path: Path, handed_on: list[dict[str, Any]]
) -> None:
    events, folder = streaming(spark, tmp_path), tmp_path / "stretto" / "workloads"
    for text in (KEYED, KEYED, KEYED.replace("5", "6")):
        stretto.spark.detect(text, events, special=SPECIAL, versions=folder)
    last = last_version(folder)
    assert last is not None
    assert (last.number, last.plan) == (2, handed_on[-1]["plan"])
    with pytest.raises(StrettoSparkError, match="the workload does not fit the stream"):
        stretto.spark.detect(FREE, events, special=SPECIAL, versions=folder)
    assert last_version(folder) == last


def test_a_plan_is_taken_as_it_is(
    spark: SparkSession, tmp_path: Path, handed_on: list[dict[str, Any]]
) -> None:
    plan = optimize(Workload.parse(KEYED), Schema({"k": Kind.INT}, special=SPECIAL))
    folder = tmp_path / "stretto" / "workloads"
    stretto.spark.detect(plan, streaming(spark, tmp_path), versions=folder)
    assert handed_on[0]["plan"] is plan
    assert handed_on[0]["special"] == SPECIAL
    last = last_version(folder)
    assert last is not None
    assert last.plan == plan


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda df: stretto.spark.detect(FREE, df, special=3), "special= is a stretto.Special"),
        (lambda df: stretto.spark.detect(FREE, df, stats=3), "stats= is what .* gives, not int"),
        (lambda df: stretto.spark.aggregate(FREE, df, budget="2 s"), "budget= is a number of seconds"),
        (lambda df: stretto.spark.profile(FREE, df, sample="x", special=SPECIAL), "a sample is a share"),
        (lambda df: stretto.spark.matches_of(df, "free"), "no matches that .* gave: .* no column `query`"),
        (stretto.spark.trends_of, "no trends that .* gave"),
        (stretto.spark.late_of, "late events are among all outputs alone"),
        (stretto.spark.rejected_of, "rejected events are among all outputs alone"),
    ],
)
def test_a_wrong_kind_gets_a_sentence(spark: SparkSession, call: Any, message: str) -> None:
    with pytest.raises((TypeError, stretto.StrettoError), match=message):
        call(spark.createDataFrame([], COLUMNS))


def test_far_too_many_matches_are_warned_of(spark: SparkSession) -> None:
    events = spark.range(4_000).selectExpr(
        "timestamp_millis(id) AS ts", "elt(id % 2 + 1, 'A', 'B') AS type", "id"
    )
    with pytest.warns(stretto.StrettoWarning, match=r"matches expected of 4,000 events") as said:
        stretto.spark.detect("QUERY q PATTERN SEQ(A a, B b, A c) WITHIN 1 SECOND;", events)
    assert said[0].filename == __file__


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"lateness": "5 seconds"}, "`lateness`"),
        ({"lateness": "5 seconds", "versions": "folder"}, "`lateness`, `versions`"),
        ({"spread": "time", "slice": "1 minute"}, "`slice`"),
    ],
)
def test_what_only_a_stream_can_do_is_refused_of_a_batch(
    spark: SparkSession, options: dict[str, Any], named: str
) -> None:
    events = spark.createDataFrame([], COLUMNS)
    with pytest.raises(StrettoSparkError, match=f"{named}: for a streaming DataFrame"):
        stretto.spark.detect(FREE, events, special=SPECIAL, **options)


def test_statistics_of_a_dataframe_are_those_of_its_events(spark: SparkSession) -> None:
    rows = [
        (f"2026-01-01 00:00:{second:02}", "AB"[second % 2], second, float(second)) for second in range(60)
    ]
    df = spark.createDataFrame(rows, "at string, what string, k bigint, x double")
    df = df.withColumn("at", df["at"].cast("timestamp"))
    found, expected = Stats.of(df, SPECIAL), Stats.of(df.toArrow(), SPECIAL)
    assert (found.events, found.seconds, found.rates) == (60, 59.0, expected.rates)
    matches = run(optimize(Workload.parse(FREE), found), df.toArrow())
    assert matches.counts() == {
        "free": 30 * 3 - 1 - 2
    }  # B one, three and five seconds after A, if not past the end
