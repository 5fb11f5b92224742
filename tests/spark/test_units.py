"""Units on Spark: a dozen random workloads as a DataFrame, as files and as a stream, in cells and on staged units.

STRETTO_SEED says from which seed on workloads are drawn.
"""

import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
from tests.spark.batch.test_dataframe import expected_rows, found_rows
from tests.spark.stream.stream_cases import (
    END_TYPE,
    in_milliseconds,
    matches_by_query,
    planned,
    without_values,
)
from tests.spark.stream.test_detect_stream import (
    LATENESS_US,
    PAUSE_US,
    START_US,
    Files,
    far_apart,
    run_to_end,
)
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, TYPES, out_of_order, random_events, to_table
from tests.support.strategies import Sample, random_workload

import stretto.spark
from stretto import oracle
from stretto.errors import StrettoError
from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.staged import staged_for
from stretto.spark.batch.find_in_files import detect_files
from stretto.spark.hash_partitions import keys_apart, partitions_for, spark_hash
from stretto.spark.stream.detect_stream import PARTITIONS, detect_stream

SEED = int(os.environ.get("STRETTO_SEED", "20261118"))
WORKLOADS = 12
ANCHOR = "A"


@cache
def workloads() -> str:
    """The queries of a dozen random workloads in which A can be divided, under names of their own."""
    texts: list[str] = []
    seed = SEED
    while len(texts) < WORKLOADS:
        sample = random_workload(Random(seed))
        seed += 1
        sample = in_milliseconds(replace(sample, text=sample.text.replace("EVENTS", "us")))
        found = planned(sample)
        if found is None or ByCell(((ANCHOR, 2),)).check(found[0]) is not None:
            continue
        if not re.search(rf"\b{ANCHOR}\b", sample.text) and sum(" A " in text for text in texts) < 3:
            continue
        texts.append(re.sub(r"\b(q\d|[Ss]el\d)\b", rf"w{len(texts)}_\1", sample.text))
    return "\n".join(texts)


@cache
def cell_plan() -> Plan:
    found = planned(Sample(workloads(), SCHEMA, ()))
    assert found is not None
    return found[0]


@cache
def short_plan() -> Plan:
    """A dozen random queries of few operators each: every further stage is a job of its own for Spark."""
    texts: list[str] = []
    seed = SEED
    while len(texts) < WORKLOADS:
        sample = random_workload(Random(seed))
        seed += 1
        text = sample.text.split(";")[0].replace("EVENTS", "us") + ";"
        found = planned(in_milliseconds(replace(sample, text=text)))
        try:
            units = None if found is None else staged_for(found[0], 2)
        except StrettoError:
            continue
        if units is not None and units.last_stage <= 2 and units.targets <= 4:
            text = in_milliseconds(replace(sample, text=text)).text
            texts.append(re.sub(r"\b(q\d|[Ss]el\d)\b", rf"w{len(texts)}_\1", text))
    found = planned(Sample("\n".join(texts), SCHEMA, ()))
    assert found is not None
    return found[0]


def cells(parts: int) -> ByCell:
    return ByCell(((ANCHOR, parts),))


def test_a_batch_in_cells(spark, tmp_path: Path) -> None:
    events = random_events(Random(SEED), TYPES, most=40)
    events = [replace(event, ts=event.ts * 1000) for event in events]
    table = to_table(events)
    expected = expected_rows(cell_plan(), events)
    assert sum(map(len, expected.values())) > 30
    folder = Files(tmp_path / "events")
    for start in range(0, table.num_rows, 15):
        folder.write(table.slice(start, 15))
    df = spark.createDataFrame(table)
    runs = {
        "1 cell": stretto.spark.detect(cell_plan(), df, spread=cells(1)),
        "2 cells": stretto.spark.detect(cell_plan(), df, spread=cells(2)),
        "7 cells of files": detect_files(cell_plan(), str(folder.folder), spark=spark, spread=cells(7)),
    }
    for about, found in runs.items():
        rows = found_rows(found)
        for name, matches in expected.items():
            assert_same_matches(rows.get(name, []), matches, about=f"{name}: {about}\n{workloads()}")


def test_a_batch_on_staged_units(spark, tmp_path: Path) -> None:
    events = [replace(event, ts=event.ts * 1000) for event in random_events(Random(SEED), TYPES, most=40)]
    table = to_table(events)
    one, two, three, seven = (staged_for(short_plan(), units) for units in (1, 2, 3, 7))
    assert two.last_stage == 2
    expected = expected_rows(short_plan(), events)
    assert sum(map(len, expected.values())) > 15
    folder = Files(tmp_path / "events")
    for start in range(0, table.num_rows, 15):
        folder.write(table.slice(start, 15))
    df = spark.createDataFrame(table)
    runs = {
        "1 unit": stretto.spark.detect(short_plan(), df, spread=one),
        "3 units": stretto.spark.detect(short_plan(), df, spread=three),
        "2 units, files": detect_files(short_plan(), str(folder.folder), spark=spark, spread=two),
        "7 units, files": detect_files(short_plan(), str(folder.folder), spark=spark, spread=seven),
    }
    for about, found in runs.items():
        rows = found_rows(found)
        for name, matches in expected.items():
            assert_same_matches(rows.get(name, []), matches, about=f"{name}: {about}")


@pytest.mark.parametrize("staged", [False, True], ids=["cells", "staged"])
def test_a_stream_by_units(spark, tmp_path: Path, *, staged: bool) -> None:
    """The same events twice: in other micro-batches, on other numbers of units, the same matches.

    Staged units are in as many partitions as the stream asks for, then in few, where they share the store of a task.
    """
    plan = short_plan() if staged else cell_plan()
    rng = Random(SEED)
    stretches = list(far_apart(rng))
    events = [event for stretch in stretches for event in stretch]
    arriving = out_of_order(rng, sorted(events, key=lambda event: event.ts), LATENESS_US)
    for units, batches, partitions in ((2, 2, None), (3, 3, 5)) if staged else ((3, 2, None), (7, 3, None)):
        folder = tmp_path / f"{units} units"
        folder.mkdir()
        files = Files(folder / "events")
        cuts = sorted(rng.sample(range(1, len(arriving)), batches - 1))
        for start, end in zip([0, *cuts], [*cuts, len(arriving)], strict=True):
            files.write(to_table(arriving[start:end]))
        # Of a type that no query reads: units without events hear of it by the watermark alone.
        files.write(to_table([Event(-1, START_US + 1000 * PAUSE_US, END_TYPE, {})]))
        spread = staged_for(plan, units) if staged else cells(units)
        stream = detect_stream(plan, files.stream(spark), spread=spread, lateness_us=LATENESS_US)
        if partitions is not None:
            spark.conf.set(PARTITIONS, str(partitions))
        written, progress = run_to_end(stream, folder / "checkpoint", folder / "out")
        rows = written.toArrow().to_pylist()
        results = matches_by_query(rows)
        assert plan.workload is not None
        for query in plan.workload.bind(plan.schema).detections:
            expected = [match for stretch in stretches for match in oracle.matches(query, stretch)]
            about = f"{query.name} on {units} units of\n{plan.workload.to_text()}"
            assert_same_matches(results.get(query.name, []), without_values(expected), about)
        assert sum(metrics.matches for metrics in progress) == len(rows) > 15
        assert sum(metrics.events for metrics in progress) == len(events) + 1


def test_asked_for_by_name(spark) -> None:
    pairs = optimize(Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 9 us;"), SCHEMA, "none")
    events = random_events(Random(3), TYPES, most=40)
    found = found_rows(
        stretto.spark.detect(pairs, spark.createDataFrame(to_table(events)), spread="units", units=3)
    )
    assert_same_matches(found.get("q", []), expected_rows(pairs, events)["q"])
    df = spark.createDataFrame(to_table(events))
    with pytest.raises(StrettoError, match="a number of units is for spread `units`"):
        stretto.spark.detect(pairs, df, spread="whole", units=3)
    with pytest.raises(StrettoError, match="cannot spread by units: STRICT looks at neighbouring events"):
        stretto.spark.detect("QUERY q PATTERN SEQ(A a, B b) WITHIN 9 us SELECT STRICT;", df, spread="units")


def test_a_query_without_a_type_to_divide_runs_on_staged_units(spark) -> None:
    twice = optimize(Workload.parse("QUERY q PATTERN SEQ(A a, A b) WITHIN 9 us;"), SCHEMA, "none")
    events = random_events(Random(4), TYPES, most=40)
    df = spark.createDataFrame(to_table(events))
    found = found_rows(stretto.spark.detect(twice, df, spread="units", units=3))
    assert_same_matches(found.get("q", []), expected_rows(twice, events)["q"])


def test_cells_do_not_share_partitions(spark) -> None:
    wanted = [row[0] for row in spark.sql("SELECT hash(CAST(id AS INT)) FROM range(8)").collect()]
    assert [spark_hash(target) for target in range(8)] == wanted
    for count in (1, 2, 3, 4, 7, 8):
        assert len({spark_hash(target) % partitions_for(count) for target in range(count)}) == count
    for count in (1, 2, 3, 7, 8, 20):  # and in streams there is none without a cell
        assert [spark_hash(key) % count for key in keys_apart(count)] == list(range(count))
