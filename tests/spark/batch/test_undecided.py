"""Undecided matches of a batch on Spark: the same as in process by every spread, and as a stream that was stopped."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.spark.batch.test_dataframe import found_rows
from tests.spark.batch.test_find_in_files import folder_of
from tests.spark.stream.stream_cases import matches_by_query
from tests.spark.stream.test_detect_stream import Files, run_to_end
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, TYPES, random_events, to_table

import stretto.spark
from stretto import oracle
from stretto.errors import EngineError
from stretto.oracle.detections import Event, Match
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.spreads import ByKey
from stretto.plan.spread.staged import staged_for
from stretto.spark.batch.find_in_files import detect_files

KEYED = """
QUERY lost PATTERN SEQ(A a, NOT(C n)) WHERE [k] WITHIN 9 ms;
QUERY pair PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 ms;
"""
FREE = """
QUERY lost PATTERN SEQ(A a, NOT(C n)) WHERE n.x > a.x WITHIN 9 ms;
QUERY gap PATTERN SEQ(A a, B b, NOT(C n)) WHERE a.x < b.x WITHIN 12 ms;
"""


def events_of(seed: int) -> list[Event]:
    """Events in milliseconds, which is what Spark's watermark counts."""
    return [replace(event, ts=event.ts * 1000) for event in random_events(Random(seed), TYPES, most=60)]


def plan_of(text: str) -> Plan:
    return optimize(Workload.parse(text), SCHEMA, "none")


def decided_of(plan: Plan, events: Sequence[Event], last_us: int | None = None) -> dict[str, list[Match]]:
    last_us = max(event.ts for event in events) if last_us is None else last_us
    queries = plan.workload.bind(SCHEMA).detections
    return {query.name: oracle.matches(query, events, last_us) for query in queries}


def assert_found(found: dict[str, list[Match]], expected: dict[str, list[Match]], about: str) -> None:
    for name, matches in expected.items():
        assert_same_matches(found.get(name, []), matches, about=f"{name}: {about}")


def test_a_batch_drops_what_the_end_of_the_whole_input_leaves_undecided(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = events_of(4)
    df = spark.createDataFrame(to_table(events))
    keyed, free = plan_of(KEYED), plan_of(FREE)
    files = folder_of(tmp_path / "files", to_table(events).sort_by("ts"), (".parquet", ".parquet"))
    texts = folder_of(
        tmp_path / "texts", to_table(events).drop_columns("at").sort_by("ts"), (".csv", ".jsonl")
    )
    detect = stretto.spark.detect
    runs = {
        "by key": (keyed, detect(keyed, df, spread=ByKey(("k",), 5), undecided="drop")),
        "by time": (free, detect(free, df, spread="time", undecided="drop")),
        "whole": (free, detect(free, df, spread="whole", undecided="drop")),
        "cells": (free, detect(free, df, spread=ByCell((("A", 3),)), undecided="drop")),
        "staged units": (free, detect(free, df, spread=staged_for(free, 2), undecided="drop")),
        "files by time": (free, detect_files(free, files, spark=spark, spread="time", undecided="drop")),
        "files by key": (keyed, detect_files(keyed, files, spark=spark, spread="key", undecided="drop")),
        "texts by time": (free, detect_files(free, texts, spark=spark, spread="time", undecided="drop")),
    }
    for about, (plan, found) in runs.items():
        expected = decided_of(plan, events)
        everything = decided_of(plan, events, 1 << 60)
        assert 0 < len(expected["lost"]) < len(everything["lost"])
        assert_found(found_rows(found), expected, about)
    assert_found(found_rows(detect(keyed, df)), decided_of(keyed, events, 1 << 60), "keep")


def test_a_stopped_stream_reports_what_a_batch_with_drop_does(spark: SparkSession, tmp_path: Path) -> None:
    """The stream has run all events before its watermark: here all but one that no query reads."""
    events = events_of(4)
    last = max(event.ts for event in events)
    tick = Event(len(events), last + 1, "Tick", {})
    plan = plan_of(KEYED)
    folder = Files(tmp_path / "events")
    for start in range(0, len(events), 20):
        folder.write(to_table(sorted(events, key=lambda event: event.ts)[start : start + 20]))
    folder.write(to_table([tick]))
    rows, _ = run_to_end(
        stretto.spark.detect(plan, folder.stream(spark), spread="whole", ahead=None),
        tmp_path / "checkpoint",
        tmp_path / "found",
    )
    streamed = matches_by_query(row.asDict() for row in rows.collect())
    df = spark.createDataFrame(to_table([*events, tick]))
    batch = found_rows(stretto.spark.detect(plan, df, spread=ByKey(("k",), 3), undecided="drop"))
    assert any(match.detected > match.end for match in batch["lost"])
    assert_found(streamed, batch, "stream")
    assert len(found_rows(stretto.spark.detect(plan, df))["lost"]) > len(batch["lost"])


def test_the_option_has_two_values(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.table({"ts": pa.array([1], pa.timestamp("us")), "type": ["A"], "id": [0]}))
    with pytest.raises(EngineError, match="undecided= is 'keep' or 'drop', not 'later'"):
        stretto.spark.detect("QUERY q PATTERN A a WITHIN 1 s;", df, undecided="later")
