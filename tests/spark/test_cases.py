"""The cases of tests/cases on Spark, all of them in one job: as a batch, and as a stream with late events."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.stream.test_detect_stream import Files, run_to_end
from tests.support.cases import load_cases
from tests.support.comparison import assert_same_matches
from tests.support.joined_cases import LATENESS_US, by_case, in_arrivals, in_time, placed, workload_text
from tests.support.random_events import ATTRIBUTES, to_table

from stretto.oracle.detections import Match
from stretto.schema import Schema
from stretto.spark import detect
from stretto.stats.profile import Stats

CASES = placed(load_cases())
SCHEMA = Schema(ATTRIBUTES)
Found = Mapping[str, Mapping[str, Sequence[Match]]]


def matches_in(df: DataFrame) -> dict[str, list[Match]]:
    """The rows of a DataFrame of matches, by query."""
    table = df.toArrow()
    times = [table.column(name).cast(pa.int64()).to_pylist() for name in ("start", "end", "detected")]
    rest = [table.column(name).to_pylist() for name in ("query", "events", "returned")]
    found: dict[str, list[Match]] = {}
    for start, end, detected, query, events, returned in zip(*times, *rest, strict=True):
        bound = {name: tuple(ids) for name, ids in events}
        found.setdefault(query, []).append(Match(start, end, detected, bound, json.loads(returned or "{}")))
    return found


def in_json(match: Match) -> Match:
    """What is returned as JSON has it, where NaN is null."""
    values = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in match.returned.items()
    }
    return replace(match, returned=values)


def assert_all(found: Found) -> None:
    """Every case finds what it names; the first that does not is shown, and all of them are named."""
    wrong: dict[str, AssertionError] = {}
    for case in load_cases():
        try:
            for name, expected in case.matches.items():
                assert_same_matches(found[case.title][name], map(in_json, expected), about=case.text)
        except AssertionError as error:
            wrong[case.title] = error
    assert not wrong, f"{len(wrong)} cases: {', '.join(wrong)}\n{next(iter(wrong.values()))}"


# One test each, not one for each case: the processes that share the tests among them would run the job once each.


@pytest.mark.filterwarnings("ignore::stretto.errors.StrettoWarning")  # some cases are meant to look odd
def test_cases_as_a_batch(spark: SparkSession) -> None:
    df = spark.createDataFrame(to_table(in_time(CASES)))
    stats = Stats.assumed(SCHEMA)  # a profile of the events would miss types of which a case has none
    assert_all(by_case(CASES, matches_in(detect(workload_text(CASES), df, stats=stats))))


@pytest.mark.filterwarnings("ignore::stretto.errors.StrettoWarning")  # some cases are meant to look odd
def test_cases_as_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(tmp_path / "events")
    for events in in_arrivals(CASES):
        files.write(to_table(events))
    found = detect(
        workload_text(CASES), files.stream(spark), lateness=f"{LATENESS_US} microseconds", ahead=None
    )
    rows, _ = run_to_end(found, tmp_path / "checkpoint", tmp_path / "found")
    assert_all(by_case(CASES, matches_in(rows)))


def test_a_wrong_match_is_noticed() -> None:
    found = {case.title: {name: [] for name in case.matches} for case in load_cases()}
    with pytest.raises(AssertionError, match=r"\d+ cases: "):
        assert_all(found)
