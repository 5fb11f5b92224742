"""Event files on Spark: the same matches, ids, counts and rejected rows as in process, whatever the files."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.random_events import SCHEMA, TYPES, random_events, to_table
from tests.support.strategies import Sample, with_ties

import stretto.spark
from stretto import oracle
from stretto.data.files import open_events
from stretto.data.sinks import open_sink
from stretto.engine.whole_table import run
from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import ByKey, ByTime, Whole
from stretto.schema import Special
from stretto.spark.batch.event_files import SliceRead, open_files, runs_of, survey, unit_batches
from stretto.spark.batch.find_in_files import detect_files, find
from stretto.spark.batch.row_groups import ReadUnit, TimeRange, read_group, row_groups
from stretto.spark.batch.targets import ResultForm
from stretto.spark.packed import METRICS, REJECTED, OwnTypes, from_payload

SPECIAL = Special()
TEXT = """
QUERY pair PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 6 us RETURN a.s AS s;
QUERY gap PATTERN SEQ(A a, B b, NOT(C c)) WHERE [k] WITHIN 6 us;
QUERY before PATTERN SEQ(NOT(C c), A a, B b) WITHIN 5 us;
"""
COUNTED = "QUERY counted PATTERN SEQ(A a, B b) WITHIN 6 EVENTS;"
KEYED = "QUERY gap PATTERN SEQ(A a, B b, NOT(C c)) WHERE [k] WITHIN 6 us;"


def plan_of(text: str) -> Plan:
    return optimize(Workload.parse(text), SCHEMA, "none")


def events_of(seed: int, most: int = 90) -> pa.Table:
    """Events without ids, in order but for some ties that are not."""
    table = to_table(random_events(Random(seed), TYPES, most=most), ids=False)
    return table.sort_by("ts")


def folder_of(path: Path, table: pa.Table, endings: tuple[str, ...], group: int = 7) -> str:
    """The rows as files, a part each; Parquet in small row groups."""
    path.mkdir()
    size = -(-table.num_rows // len(endings))
    for i, ending in enumerate(endings):
        part = table.slice(i * size, size)
        place = path / f"part-{i}{ending}"
        if ending == ".parquet":
            pq.write_table(part, place, row_group_size=group)
        else:
            with open_sink(place, part.schema) as sink:
                for batch in part.combine_chunks().to_batches():
                    sink.write(batch)
    return str(path)


def rows_of(table: pa.Table) -> list[tuple]:
    names = ["match_id", "query", "start", "end", "detected", "returned"]
    return sorted(tuple(map(str, row.values())) for row in table.select(names).to_pylist())


def in_process(plan: Plan, path: str) -> list[tuple]:
    """As the command does it: columns that no query reads are no reason to reject an event."""
    return rows_of(run(plan, open_events(path, columns=attributes_of(plan)).batches()).to_arrow())


# ---- without Spark ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_row_groups_know_their_times(tmp_path: Path, unit: str) -> None:
    ts = pa.array([-3_000, 5_000, 7_000, 9_000], pa.timestamp("us")).cast(pa.timestamp(unit))
    table = pa.table({"nested": [{"ts": 1}] * 4, "ts": ts, "type": ["A"] * 4})
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=2)
    groups = row_groups(str(tmp_path / "e.parquet"), SPECIAL)
    assert [(g.rows, g.first, g.last) for g in groups] == [(2, -3000, 5000), (2, 7000, 9000)]


def test_row_groups_that_do_not_know_their_times(tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "type": ["A", "B"]})
    pq.write_table(table, tmp_path / "bare.parquet", write_statistics=False)
    pq.write_table(table, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    for name in ("bare.parquet", "old.parquet"):
        (group,) = row_groups(str(tmp_path / name), SPECIAL)
        assert (group.rows, group.first, group.last) == (2, None, None)
    dates = pa.table({"ts": pa.array([0, 1], pa.date32()), "type": ["A", "B"]})
    pq.write_table(dates, tmp_path / "dates.parquet")
    (group,) = row_groups(str(tmp_path / "dates.parquet"), SPECIAL)
    assert (group.first, group.last) == (0, 86_400_000_000)


def test_row_groups_with_times_out_of_range_do_not_say_when(tmp_path: Path) -> None:
    ts = pa.array([1, 2**62, -(2**62), 4, 5, 6], pa.timestamp("ms"))
    path = str(tmp_path / "e.parquet")
    pq.write_table(pa.table({"ts": ts, "type": ["A"] * 6}), path, row_group_size=2)
    groups = row_groups(path, SPECIAL)
    assert [(g.first, g.last) for g in groups] == [(None, None), (None, None), (5000, 6000)]
    wanted = pa.schema([("ts", pa.timestamp("us")), ("type", pa.dictionary(pa.int32(), pa.string()))])
    for timeless, rows in ((True, [0, 1]), (False, [0])):
        window = TimeRange(0, 3000, timeless)
        assert [r for _, rs in read_group(path, 0, wanted, SPECIAL, window) for r in rs.tolist()] == rows


def test_a_window_of_a_row_group(tmp_path: Path) -> None:
    table = pa.table(
        {"ts": pa.array([1, 9, None, 4, 5], pa.timestamp("us")), "type": list("ABABA"), "n": range(5)}
    )
    path = str(tmp_path / "e.parquet")
    pq.write_table(table, path)
    wanted = pa.schema([("ts", pa.timestamp("us")), ("type", pa.dictionary(pa.int32(), pa.string()))])
    for window, rows in (
        (None, [0, 1, 2, 3, 4]),
        (TimeRange(4, 6, False), [3, 4]),
        (TimeRange(4, 5, True), [2, 3]),
        (TimeRange(20, 30, False), []),
    ):
        found = [row for _, rows in read_group(path, 0, wanted, SPECIAL, window) for row in rows.tolist()]
        assert found == rows
    for batch, _ in read_group(path, 0, wanted, SPECIAL):
        assert batch.schema.names == ["ts", "type"]


def test_units_of_files_have_the_ids_of_the_reader(tmp_path: Path) -> None:
    path = folder_of(tmp_path / "e", events_of(5), (".parquet", ".csv", ".jsonl", ".arrow", ".parquet"))
    files = open_files(path)
    wanted = open_events(path).batch_schema
    before, found = 0, []
    for unit in files.units:
        batches = list(unit_batches(unit, before, wanted, SPECIAL))
        before += sum(batch.num_rows for batch in batches)
        found += batches
    ours = pa.Table.from_batches(found)
    theirs = pa.Table.from_batches(open_events(path).batches())
    assert ours.num_rows == theirs.num_rows
    for name in wanted.names:
        assert str(ours[name].to_pylist()) == str(theirs[name].to_pylist()), name


def test_what_is_known_before_a_survey(tmp_path: Path) -> None:
    parquet = open_files(folder_of(tmp_path / "p", events_of(5), (".parquet", ".parquet")))
    assert parquet.in_place
    assert parquet.times is not None
    assert parquet.times.total == events_of(5).num_rows
    text = open_files(folder_of(tmp_path / "c", events_of(5), (".csv",)))
    assert not text.in_place
    assert text.times is None
    with pytest.raises(StrettoError, match="no such file"):
        open_files(str(tmp_path / "none"))


# ---- on Spark --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "endings", [(".parquet", ".parquet", ".parquet"), (".csv", ".parquet", ".jsonl", ".arrow")]
)
def test_matches_of_files(spark, tmp_path: Path, endings: tuple[str, ...]) -> None:
    path = folder_of(tmp_path / "events", events_of(11), endings)
    plan = plan_of(TEXT)
    expected = in_process(plan, path)
    assert len(expected) > 20
    files = survey(spark, open_files(path))
    ours, theirs = files.event_file, open_events(path)
    assert ours.schema == theirs.schema
    assert ours.batch_schema == theirs.batch_schema
    assert files.summary.rows == theirs.survey().rows
    for spread in (Whole(), ByTime.of(plan, files.times, 2), ByTime.of(plan, files.times, 200)):
        found = find(spark, plan, files, spread, ResultForm(OwnTypes(pa.timestamp("us")))).toArrow()
        assert rows_of(found) == expected, spread
    keyed = plan_of(KEYED)
    found = find(spark, keyed, files, ByKey(("k",), 3), ResultForm(OwnTypes(pa.timestamp("us")))).toArrow()
    assert rows_of(found) == in_process(keyed, path)


@pytest.mark.parametrize("endings", [(".parquet", ".parquet"), (".csv", ".jsonl")])
def test_ties_of_files_go_by_id_however_their_rows_lie(
    spark, tmp_path: Path, endings: tuple[str, ...]
) -> None:
    rng = Random(23)
    text = f"{COUNTED} QUERY run PATTERN SEQ(A a, B b?, C c) WITHIN 9 us SELECT STRICT;"
    sample = with_ties(rng, Sample(text, SCHEMA, random_events(rng, TYPES, most=120)))
    shuffled = list(sample.events)
    rng.shuffle(shuffled)
    plan, path = plan_of(text), folder_of(tmp_path / "events", to_table(shuffled), endings)
    expected = {
        (query.name, tuple(sorted(match.events.items())))
        for query in plan.workload.bind(SCHEMA).detections
        for match in oracle.matches(query, sample.events)
    }
    assert len(expected) > 20
    ours = run(plan, open_events(path).batches()).to_arrow()
    for found in (
        ours,
        *(detect_files(plan, path, spark=spark, spread=s).toArrow() for s in ("whole", "time")),
    ):
        bound = [
            (row["query"], tuple(sorted((name, tuple(ids)) for name, ids in row["events"])))
            for row in found.to_pylist()
        ]
        assert (len(bound), set(bound)) == (len(expected), expected)


def test_a_plan_over_footers_needs_no_survey(spark, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "events", events_of(13), (".parquet", ".parquet"))
    plan = plan_of(TEXT)
    assert rows_of(detect_files(plan, path, spark=spark, spread="time").toArrow()) == in_process(plan, path)
    counted = plan_of(COUNTED)
    found = detect_files(counted, path, spark=spark, spread="time").toArrow()
    assert rows_of(found) == in_process(counted, path)


def test_files_that_overlap_in_time_and_do_not_say_when(spark, tmp_path: Path) -> None:
    table = events_of(17)
    rng = np.random.default_rng(1)
    shuffled = table.take(rng.permutation(table.num_rows))
    folder = tmp_path / "events"
    folder.mkdir()
    half = table.num_rows // 2
    pq.write_table(shuffled.slice(0, half), folder / "a.parquet", write_statistics=False, row_group_size=9)
    pq.write_table(shuffled.slice(half), folder / "b.parquet", row_group_size=9)
    plan = plan_of(TEXT)
    found = detect_files(plan, str(folder), spark=spark, spread="time").toArrow()
    assert rows_of(found) == in_process(plan, str(folder))


def test_a_workload_is_planned_over_files(spark, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "events", events_of(19), (".parquet",))
    found = detect_files(TEXT, path, spark=spark, budget=0.2)
    assert rows_of(found.toArrow()) == in_process(plan_of(TEXT), path)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_all_outputs_of_files(spark, tmp_path: Path, ending: str) -> None:
    text = """
        QUERY pair PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 6 us;
        QUERY runs PATTERN SEQ(A a, B b+) WITHIN 10 us RETURN COUNT(*);
    """
    path = folder_of(tmp_path / "events", events_of(23), (ending, ending))
    plan = plan_of(text)
    bad = Path(path) / f"part-{1 if ending == '.csv' else 2}{ending}"
    if ending == ".csv":
        lines = bad.read_text().splitlines()
        bad.write_text("\n".join([*lines, "soon" + lines[-1][lines[-1].index(",") :], "lost"]) + "\n")
    else:
        times = pa.array([5, None], pa.timestamp("us"))
        pq.write_table(pa.table({"ts": times, "type": [None, "A"], "x": [1.5, 2.5], "k": [1, 2]}), bad)
    everything = stretto.spark.detect_files(plan, path, outputs="all").cache()
    assert rows_of(stretto.spark.matches_of(everything).toArrow()) == in_process(plan, path)
    totals = stretto.spark.trends_of(everything)
    alone = stretto.spark.detect_files(plan, path, spark=spark, outputs="trends")
    assert totals.count() > 3
    assert sorted(map(str, totals.collect())) == sorted(map(str, alone.collect()))
    rejected = stretto.spark.rejected_of(everything)
    assert rejected.columns == ["ts", "type", "x", "text", "reason"]
    found = {(row.ts, row.text): row.reason for row in rejected.collect()}
    everything.unpersist()
    if ending == ".csv":
        line = len(bad.read_text().splitlines())
        assert found == {
            ("soon", None): f"{bad}: line {line - 1}: ts: 'soon' is not a time",
            (
                None,
                "lost",
            ): f"{bad}: line {line}: 1 values, where the header has {len(SCHEMA.attributes) + 2}",
        }
    else:
        assert found == {("1970-01-01 00:00:00.000005", None): "type is null", (None, None): "ts is null"}


def test_counts_and_rejected_rows(spark, tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    table = pa.table(
        {
            "ts": pa.array([1, None, 3, 4, 5, 6, 7, None], pa.timestamp("us")),
            "type": ["A", "A", "B", None, "A", "B", None, "B"],
            "k": [1] * 8,
        }
    )
    pq.write_table(table, folder / "a.parquet", row_group_size=3)
    plan = optimize(Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 2 us;"), SCHEMA, "none")
    files = survey(spark, open_files(str(folder)))
    spread = ByTime.of(plan, files.times, 3)
    assert spread.targets == 3
    packed = find(spark, plan, files, spread, ResultForm(packed=True, keep=1)).toArrow().to_pylist()
    counts = [json.loads(row["payload"]) for row in packed if row["kind"] == METRICS]
    assert sum(count["events"] for count in counts) == 8
    assert sum(count["rejected"] for count in counts) == 4
    assert sum(count["matches"]["q"] for count in counts) == 2
    rejected = [from_payload(row["payload"]) for row in packed if row["kind"] == REJECTED]
    reasons = sorted(reason for batch in rejected for reason in batch.column("reason").to_pylist())
    assert reasons == ["ts is null", "ts is null", "type is null", "type is null"]


@pytest.mark.parametrize("spread", ["time", "whole"])
def test_times_out_of_range_are_rejected_once(spark, tmp_path: Path, spread: str) -> None:
    ts = pa.array([0, 2**62, 1, 2, -(2**62), 3, 2**54, 2**54], pa.timestamp("ms"))
    table = pa.table({"ts": ts, "type": list("AABABBAB"), "k": [1] * 8})
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=2)
    plan = optimize(Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 ms;"), SCHEMA, "none")
    found = detect_files(
        plan, str(tmp_path / "e.parquet"), spark=spark, outputs="all", spread=spread, cores=4
    )
    rows = found.select("kind", "start", "reason").toArrow().to_pylist()
    assert sorted((row["kind"], row["reason"]) for row in rows) == [
        *[("matches", None)] * 2,
        *[("rejected", "ts is out of range")] * 4,
    ]


def test_a_file_that_breaks_in_a_task_is_named(spark, tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(events_of(3), path)
    files = open_files(str(path))
    path.write_bytes(path.read_bytes()[:100] + b"\0" * 1000)
    with pytest.raises(StrettoError, match=r"reading .*e\.parquet"):
        survey(spark, files)


def test_row_groups_that_follow_each_other_are_runs_of_their_own() -> None:
    def pieces(*times: tuple[int | None, int | None]) -> list[SliceRead]:
        return [
            SliceRead(ReadUnit("f", "f", i, 10, first, last), 10 * i, None)
            for i, (first, last) in enumerate(times)
        ]

    def numbers(runs: list[list[SliceRead]]) -> list[list[int | None]]:
        return [[piece.unit.group for piece in run] for run in runs]

    assert numbers(runs_of(pieces((0, 5), (6, 9), (10, 12)))) == [[0], [1], [2]]
    assert numbers(runs_of(pieces((6, 9), (0, 5)))) == [[1], [0]]
    assert numbers(runs_of(pieces((0, 5), (5, 9), (10, 12)))) == [[0, 1], [2]]  # a tie is in one run
    assert numbers(runs_of(pieces((6, 9), (0, 7), (20, 21), (8, 8)))) == [[0, 1, 3], [2]]
    assert numbers(runs_of(pieces((0, 5), (None, None)))) == [[0, 1]]
    assert numbers(runs_of(pieces((6, 9), (0, 5)), arriving=True)) == [[0], [1]]
    assert runs_of([]) == []
