"""Sources: columns found out or given, times of every kind, and what is no event set apart with its reason."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T  # noqa: N812
from tests.spark.io.test_ddl import DDL

from stretto.data.files import open_events
from stretto.errors import EventsError
from stretto.schema import Kind, Schema, Special
from stretto.spark.checkpoint_notes import write_note
from stretto.spark.errors import StrettoSparkError
from stretto.spark.io import columns
from stretto.spark.io.columns import parse_schema, recall, unit_told, with_unit
from stretto.spark.io.ddl import columns_of_ddl
from stretto.spark.io.sources import EventSource, open_source
from stretto.spark.io.specs import Spec, kafka_place, parse_source
from stretto.spark.packed import MARK
from stretto.spark.plans import schema_of
from stretto.spark.stream.detect_stream import with_watermark

SPECIAL = Special()
NINE = datetime.fromisoformat("2024-01-01T09:00:00")
COLUMNS = "ts TIMESTAMP, type STRING, x DOUBLE"


def arrived(events: DataFrame, name: str, folder: Path) -> list[Row]:
    """All rows that a stream has now."""
    spark = events.sparkSession
    query = (
        events.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder / f"checkpoint-{name}"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return spark.table(name).collect()


def opened(spark: SparkSession, folder: Path, **options: Any) -> EventSource:
    return open_source(spark, Spec("files", str(folder)), SPECIAL, **options)


def folder_with(tmp_path: Path, name: str, text: str) -> Path:
    folder = tmp_path / "in"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder


def test_parquet_of_every_kind_of_time(spark: SparkSession, tmp_path: Path) -> None:
    ns = pa.array([NINE, None], pa.timestamp("ns"))
    table = pa.table(
        {
            "ts": ns,
            "type": ["A", "B"],
            "seen": ns,
            "local": pa.array([NINE, NINE], pa.timestamp("us")),
            "n": pa.array([1, 2], pa.int32()),
            "list": [[1], [2]],
        }
    )
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "1.parquet", version="2.6")
    events = opened(spark, tmp_path / "in").events
    schema = schema_of(events, SPECIAL)
    assert schema.attributes == {"seen": Kind.TIME, "local": Kind.TIME, "n": Kind.INT, "list": Kind.INTS}
    found = arrived(events.select("ts", "type", "seen", "n"), "parquet_times", tmp_path)
    assert [tuple(row) for row in found] == [(NINE, "A", NINE, 1), (None, "B", None, 2)]
    spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")


MOST = 2**63 - 1
DAY = 86_400 * 10**6


@pytest.mark.parametrize(
    ("ts", "us"),
    [
        (pa.array([1, 2**31 - 1, -(2**31), None], pa.int32()).view(pa.date32()), [DAY, MOST, -MOST, None]),
        (
            pa.array([1999, MOST, -MOST - 1, None], pa.timestamp("ns")),
            [1, MOST // 1000, (-MOST - 1) // 1000, None],
        ),
    ],
    ids=["days", "nanoseconds"],
)
def test_times_at_the_limits_of_their_columns_stop_no_stream(
    spark: SparkSession, tmp_path: Path, ts: pa.Array, us: list[int | None]
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": ts, "type": ["A"] * 4}), tmp_path / "in" / "1.parquet", version="2.6")
    events = opened(spark, tmp_path / "in").events.selectExpr("unix_micros(ts) AS us")
    assert [row.us for row in arrived(events, f"source_{len(str(us))}", tmp_path)] == us
    spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")


def test_days_that_no_time_reaches_move_no_watermark(spark: SparkSession, tmp_path: Path) -> None:
    days = pa.array([1, 2**31 - 1, -(2**31), None], pa.int32()).view(pa.date32())
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": days, "type": ["A"] * 4}), tmp_path / "in" / "1.parquet")
    events = spark.readStream.schema("ts date, type string").parquet(str(tmp_path / "in"))
    marked = with_watermark(events, SPECIAL, 0, None).selectExpr(f"unix_micros({MARK}) AS us")
    assert [row.us for row in arrived(marked, "days_alone", tmp_path)] == [DAY, None, None, None]


def test_csv_rows_that_are_none_are_set_apart(spark: SparkSession, tmp_path: Path) -> None:
    lines = ["ts,type,x,k", "2024-01-01T09:00:00,A,1.5,a", "2024-01-01 09:00:00Z,B,,", "never,C,1,c"]
    lines += [
        *["2024-01-01T09:00:00.000001,D,2.5,d"] * 20,
        "2024-01-01T09:00:00,E,many,e",
        "1704099600000000,F,3,f",
    ]
    folder = folder_with(tmp_path, "1.csv", "\n".join(lines) + "\n")
    (folder / "notes.txt").write_text("not an event file")
    source = opened(spark, folder)
    assert schema_of(source.events, SPECIAL).attributes == {"x": Kind.FLOAT, "k": Kind.STRING}
    found = {tuple(row) for row in arrived(source.events, "csv_good", tmp_path)}
    assert found == {
        (NINE, "A", 1.5, "a"),
        (NINE, "B", None, None),
        (NINE.replace(microsecond=1), "D", 2.5, "d"),
        (NINE, "F", 3.0, "f"),
    }
    assert source.unreadable is not None
    bad = {(row.text, row.reason) for row in arrived(source.unreadable, "csv_bad", tmp_path)}
    assert bad == {
        ('{"ts":"never","type":"C","x":1.0,"k":"c"}', "ts is no time: never"),
        ("2024-01-01T09:00:00,E,many,e", "no row of these columns"),
    }


ODD_LINES = [
    *["[]", "3", '"x"', "null", "true", "{}", "", "   ", "\t", "{broken", "// c", '{"a": 1}'],
    '[{"ts": "2024-01-01T09:00:00", "type": "B", "x": 9}]',
    *(
        '{"ts": "2024-01-01T09:00:00", "type": "B", ' + rest
        for rest in (
            *['"x": "many"}', '"x": 1} x', '"x": 1}{}', '"x": 1,}', '"x": true}', '"x": [1]}', '"x": 01}'],
            *[r'"x": 1, "m": "\udc00"}', r'"x": 1, "m": "\ud83d\ude00"}', r'"x": 1, "m": "\\ud800 } x"}'],
            *['"x": 1, "m": "' + "[" * 300 + '"}', '"x": 1, "m": "}{"}', '"x": 1, "m": [{}]}', '"x": NaN}'],
            *['"x": 1, "m": ' + "[" * n + "]" * n + "}" for n in (99, 100, 20_000)],
            *['"x": 1, "m": ' + "[" * 20_000, "'x': 1}"],
        )
    ),
]


def test_json_lines_are_rejected_as_in_process(spark: SparkSession, tmp_path: Path) -> None:
    good = json.dumps({"ts": "2024-01-01T09:00:00", "type": "A", "x": 1.5})
    folder = folder_with(tmp_path, "1.jsonl", "\n".join([*[good] * 60, *ODD_LINES]) + "\n")
    in_process = open_events(folder / "1.jsonl")
    events = sum(batch.num_rows for batch in in_process.batches())
    rejected = sorted(in_process.take_rejected()["text"].to_pylist())
    source = opened(spark, folder)
    assert len(arrived(source.events, "odd_good", tmp_path)) == events
    assert source.unreadable is not None
    assert sorted(row.text for row in arrived(source.unreadable, "odd_bad", tmp_path)) == rejected
    assert len(rejected) == 20


@pytest.mark.parametrize(
    "given", ["{}", '{"type": "struct", "fields": [[]]}', '{"fields":' * 500, "{" * 100_000]
)
def test_json_that_is_no_schema_is_told(given: str) -> None:
    with pytest.raises(
        StrettoSparkError, match=r"no list of columns .*(not the JSON that Spark writes|deep|Expecting)"
    ):
        parse_schema(given)


def test_json_lines_and_columns_that_are_remembered(spark: SparkSession, tmp_path: Path) -> None:
    event = {"ts": "2024-01-01T09:00:00Z", "type": "A", "id": 7, "x": 1, "on": True, "inner": {"a": 1}}
    folder = folder_with(tmp_path, "1.jsonl", json.dumps(event) + "\n{broken\n")
    memory = tmp_path / "state" / "source.json"
    assert recall(memory) is None
    first = opened(spark, folder, schema=recall(memory))
    write_note(memory, first.columns.jsonValue())
    (folder / "1.jsonl").write_text(json.dumps({**event, "x": "text", "more": 1}))
    again = opened(spark, folder, schema=recall(memory))
    expected = {"id": Kind.INT, "x": Kind.INT, "on": Kind.BOOL, "inner.a": Kind.INT}
    assert schema_of(first.events, SPECIAL).attributes == expected
    assert schema_of(again.events, SPECIAL).attributes == expected
    given = opened(spark, folder, schema=parse_schema(COLUMNS))
    assert schema_of(given.events, SPECIAL).attributes == {"x": Kind.FLOAT}


def test_an_empty_folder_needs_columns_or_patience(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(StrettoSparkError, match="no event files yet"):
        opened(spark, folder)
    with pytest.raises(StrettoSparkError, match="no csv files yet"):
        opened(spark, folder, form="csv")
    with pytest.raises(StrettoSparkError, match="is no folder"):
        opened(spark, tmp_path / "nowhere")
    assert opened(spark, folder, form="csv", schema=parse_schema(COLUMNS)).events.isStreaming

    def arrive(_seconds: float) -> None:
        folder_with(tmp_path, "1.csv", "ts,type,y\n2024-01-01,A,1\n")

    monkeypatch.setattr(columns.time, "sleep", arrive)
    assert opened(spark, folder, patient=True).events.columns == ["ts", "type", "y"]


def test_columns_that_do_not_serve_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "1.csv", "ts,type,id\n2024-01-01,A,0.5\n")
    with pytest.raises(EventsError, match="column `id` holds double"):
        opened(spark, folder)
    with pytest.raises(EventsError, match="no column `time` for the times"):
        open_source(
            spark, Spec("files", str(folder)), Special(ts="time"), schema=parse_schema(COLUMNS), form="csv"
        )


def test_parquet_files_that_do_not_serve_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    columns = [
        pa.array([1], pa.timestamp("us")),
        pa.array(["A"]),
        pa.array([1.0]),
        pa.array([2**63], pa.uint64()),
    ]
    file = tmp_path / "1.parquet"

    def refused(names: list[str], message: str) -> None:
        pq.write_table(pa.table(columns, names=names), file)
        with pytest.raises(EventsError, match=message):
            open_source(spark, Spec("files", str(tmp_path)), Special())

    refused(
        ["ts", "type", "x", "id"], r"column `id` holds decimal.20,0.: ids are integers of 64 bits or strings"
    )
    refused(["ts", "type", "x", "x"], r"1\.parquet: column `x` occurs twice")
    refused(["ts", "type", "ts", "x"], r"1\.parquet: column `ts` occurs twice")
    refused(["ts", "type", "x", "X"], r"1\.parquet: Spark takes the columns `x` and `X` for one")
    for damaged in (file.read_bytes()[:-100], b"no Parquet at all", b""):
        file.write_bytes(damaged)
        with pytest.raises(EventsError, match=r"1\.parquet: not a readable Parquet file, or damaged"):
            open_source(spark, Spec("files", str(tmp_path)), Special())


def test_rate(spark: SparkSession) -> None:
    events = open_source(spark, parse_source("rate:5"), Special(ts="at")).events
    assert events.schema.simpleString() == "struct<at:timestamp,type:string,id:bigint,key:bigint,x:double>"


@contextmanager
def server(text: str) -> Iterator[int]:
    """A server that sends a text to whoever calls."""
    with socket.create_server(("localhost", 0)) as listening:

        def serve() -> None:
            caller, _ = listening.accept()
            with caller:
                caller.sendall(text.encode())
                done.wait(60)

        done = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        done.set()
        thread.join()


def test_socket_with_columns_guessed(spark: SparkSession, tmp_path: Path) -> None:
    lines = '{"ts": 1704099600000000, "type": "A", "x": 2}\n[]\n{"ts": "2024-01-01T09:00:00", "type": "B"}\n'
    with server(lines) as port:
        spec = parse_source(f"socket:localhost:{port}")
        with pytest.raises(StrettoSparkError, match="--schema"):
            open_source(spark, spec, SPECIAL)
        source = open_source(spark, spec, SPECIAL, guess=lambda: Schema({"x": Kind.FLOAT}))
        query = (
            source.events.writeStream.format("memory")
            .queryName("socket_good")
            .option("checkpointLocation", str(tmp_path / "c"))
            .start()
        )
        try:
            query.processAllAvailable()
            while spark.table("socket_good").count() < 2:
                query.processAllAvailable()
        finally:
            query.stop()
    assert {tuple(row) for row in spark.table("socket_good").collect()} == {
        (NINE, "A", 2.0),
        (NINE, "B", None),
    }


def test_schemas(spark, tmp_path: Path) -> None:
    expected = T.StructType.fromDDL(COLUMNS)
    assert parse_schema(COLUMNS) == expected
    (tmp_path / "columns").write_text(expected.json())
    assert parse_schema(str(tmp_path / "columns")) == expected
    for text in DDL:
        assert columns_of_ddl(text) == T.StructType.fromDDL(text), text


def test_places_of_brokers() -> None:
    assert kafka_place("one,two:19092/trades", "--source") == ("one:9092,two:19092", "trades")


def test_the_unit_that_the_first_events_tell_is_told() -> None:
    found = parse_schema("ts BIGINT, type STRING")
    assert unit_told(found, SPECIAL) is None
    noted = with_unit(found, SPECIAL, "ms")
    told = "column `ts` holds integers, read as milliseconds since 1970 (--ts-unit says otherwise)"
    assert unit_told(noted, SPECIAL) == told
    assert unit_told(noted, Special(unit="s")) is None
