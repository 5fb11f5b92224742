"""Sinks: rows as files and topics hold them, and which files of a folder count."""

import csv
import json
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from stretto.spark.io.sinks import committed_files, kafka_rows, parse_sink, print_results, start

ALL = (
    "kind string, query string, match_id string, start timestamp, end timestamp, detected timestamp,"
    " events map<string, array<bigint>>, member string, returned string, window_start timestamp, window_end timestamp,"
    " group string, name string, value double, exact string, log2_count double,"
    " event struct<type: string, x: double>, reason string, text string"
)
NINE = datetime.fromisoformat("2024-01-01T09:00:00.000005")
TEN = datetime.fromisoformat("2024-01-01T10:00:00.000005")
TOTAL = {
    "query": "count",
    "window_start": "2024-01-01T09:00:00.000005",
    "window_end": "2024-01-01T10:00:00.000005",
    "group": '{"k": 1}',
    "name": "COUNT(*)",
    "value": 8.0,
    "exact": "8",
    "log2_count": 3.0,
}
KEY = {name: TOTAL[name] for name in ("query", "window_start", "group", "name")}
ROWS = [
    ("matches", "rise", "1", NINE, NINE, NINE, {"a": [1, 2]}, None, '{"gain": 1}', *[None] * 10),
    ("matches", "pair", "2", NINE, NINE, NINE, {"a": [3]}, *[None] * 12),
    ("trends", "count", *[None] * 7, NINE, TEN, '{"k": 1}', "COUNT(*)", 8.0, "8", 3.0, *[None] * 3),
    ("late", *[None] * 15, ("A", 1.0), None, None),
    ("rejected", *[None] * 15, None, "no row of these columns", "{broken"),
]


@pytest.fixture
def outputs(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A stream of all outputs, from a file."""
    spark.createDataFrame(ROWS, ALL).coalesce(1).write.parquet(str(tmp_path / "outputs"))
    return spark.readStream.schema(ALL).parquet(str(tmp_path / "outputs"))


def written(outputs: DataFrame, to: str, tmp_path: Path, form: str = "parquet") -> None:
    checkpoint = tmp_path / f"checkpoint-{form}"
    query = start(outputs, parse_sink(to), checkpoint, form=form, availableNow=True)
    query.awaitTermination()


def by_kind(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for file in committed_files(folder):
        found.setdefault(file.parent.name, []).append(file)
    return found


def test_files_hold_each_kind_apart(outputs: DataFrame, tmp_path: Path) -> None:
    folder = tmp_path / "matches here"
    written(outputs, f"files:{folder}", tmp_path)
    (folder / "kind=matches" / "part-of-a-batch-that-failed.parquet").write_bytes(b"")
    files = by_kind(folder)
    assert set(files) == {"kind=matches", "kind=trends", "kind=late", "kind=rejected"}
    assert pq.ParquetFile(files["kind=trends"][0]).read(list(TOTAL)).to_pylist() == [
        TOTAL | {"window_start": NINE, "window_end": TEN}
    ]
    matches = pq.ParquetFile(files["kind=matches"][0]).read()
    assert str(matches.schema.field("detected").type) == "timestamp[us]"
    assert {row["query"]: (row["start"], row["events"]) for row in matches.to_pylist()} == {
        "rise": (NINE, [("a", [1, 2])]),
        "pair": (NINE, [("a", [3])]),
    }
    assert pq.ParquetFile(files["kind=late"][0]).read(["event"]).to_pylist() == [
        {"event": {"type": "A", "x": 1.0}}
    ]
    assert pq.ParquetFile(files["kind=rejected"][0]).read(["reason", "text"]).to_pylist() == [
        {"reason": "no row of these columns", "text": "{broken"}
    ]


def test_json_and_csv_keep_microseconds(outputs: DataFrame, tmp_path: Path) -> None:
    for form in ("json", "csv"):
        written(outputs, f"files:{tmp_path / form}", tmp_path, form)
    objects = by_kind(tmp_path / "json")["kind=matches"][0].read_text().splitlines()
    assert {json.loads(line)["start"] for line in objects} == {"2024-01-01T09:00:00.000005"}
    lines = by_kind(tmp_path / "csv")["kind=matches"][0].read_text().splitlines()
    assert "2024-01-01T09:00:00.000005" in lines[1]
    assert {json.loads(row["events"])["a"][0] for row in csv.DictReader(lines)} == {1, 3}
    (line,) = by_kind(tmp_path / "json")["kind=trends"][0].read_text().splitlines()
    assert json.loads(line) == TOTAL | {"group": {"k": 1}}
    assert [json.loads(line).get("returned") for line in objects] == [{"gain": 1}, None]


def test_a_summary_of_the_log_counts_for_all_before_it(tmp_path: Path) -> None:
    log = tmp_path / "_spark_metadata"
    log.mkdir()

    def note(name: str, *entries: tuple[str, str]) -> None:
        lines = [json.dumps({"path": f"file:///x/{path}", "action": action}) for path, action in entries]
        (log / name).write_text("\n".join(["v1", *lines]))

    note("8", ("old", "add"))
    note("9.compact", ("old", "add"), ("a%20b", "add"))
    note("10", ("c", "add"))
    note("11", ("old", "delete"))
    assert list(map(str, committed_files(tmp_path))) == ["/x/a b", "/x/c"]


def test_records_for_kafka(spark: SparkSession) -> None:
    rows = kafka_rows(spark.createDataFrame(ROWS, ALL), "found").collect()
    assert [(row.topic, row.key) for row in rows if row.topic != "found.trends"] == [
        ("found", "1"),
        ("found", "2"),
        ("found.late", None),
        ("found.rejected", None),
    ]
    (total,) = (row for row in rows if row.topic == "found.trends")
    shown = TOTAL | {"group": json.loads(TOTAL["group"])}
    assert (json.loads(total.key), json.loads(total.value)) == (KEY, shown)
    assert json.loads(rows[0].value) == {
        "query": "rise",
        "match_id": "1",
        **dict.fromkeys(["start", "end", "detected"], "2024-01-01T09:00:00.000005"),
        "events": {"a": [1, 2]},
        "returned": {"gain": 1},
    }
    assert json.loads(rows[3].value) == {"event": {"type": "A", "x": 1.0}}


def test_the_console_shows_matches_and_totals(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    print_results(spark.createDataFrame(ROWS, ALL), 0)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["query"], line["events"]) for line in lines[:2]] == [
        ("rise", {"a": [1, 2]}),
        ("pair", {"a": [3]}),
    ]
    times = {name: f"{TOTAL[name]}Z" for name in ("window_start", "window_end")}
    assert lines[2:] == [TOTAL | times | {"group": json.loads(TOTAL["group"])}]
