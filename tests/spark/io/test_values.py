"""Wild values through every sink of a stream: written, read back, and equal up to what docs/streaming.md says."""

import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.spark.io.postgres_server import address, new_database
from tests.spark.io.wild_rows import rows
from tests.support.wild_values import DOUBLES, INTEGERS, TEXTS, TIMES, events, iso
from tests.support.wild_values import plain as plain_rows

from stretto.data.sinks import open_sink
from stretto.schema import Special
from stretto.spark import detect
from stretto.spark.io.sinks import (
    committed_files,
    kafka_rows,
    observed_rows,
    parse_sink,
    print_results,
    start,
)
from stretto.spark.io.sources import open_source
from stretto.spark.io.specs import Spec
from stretto.values.texts import time_texts

NUMBERS = {name: number for number, name in enumerate(TEXTS)}
LONG = frozenset({"megabyte"})
Same = Callable[[str], str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wild")
    pq.write_table(rows(), place / "1.parquet")
    return place


@pytest.fixture
def outputs(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream of all outputs with wild values."""
    return spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))


def written(outputs: DataFrame, to: str, tmp_path: Path, form: str = "parquet") -> int:
    """Write all there is; in how many rows something was replaced."""
    counts: dict[int, int] = {}
    query = start(outputs, parse_sink(to), tmp_path / "state", form=form, replaced=counts, availableNow=True)
    query.awaitTermination()
    return sum(counts.values()) + sum(map(observed_rows, query.recentProgress))


# ---- what is expected ------------------------------------------------------------------------------------------


def as_json(value: float | None) -> Any:
    """A double as Spark writes it in JSON."""
    odd = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return odd.get(str(value), value)


def late(ts: Same = iso) -> dict[str, dict[str, Any]]:
    """The late events as JSON, by type."""
    events = {}
    for name, number in NUMBERS.items():
        values = (ts(TIMES[number]) + "Z", name, TEXTS[name], as_json(DOUBLES[number]), INTEGERS[number % 4])
        named = dict(zip(("ts", "type", "s", "x", "n"), values, strict=True))
        events[name] = {key: value for key, value in named.items() if value is not None}
    return events


def returned(name: str, same: Same = str) -> dict[str, Any]:
    return {"v": same(TEXTS[name]), "x": 1e308}


def _object(value: Any) -> Any:
    """In Kafka and on the console an object, elsewhere its text."""
    return json.loads(value if isinstance(value, str) else json.dumps(value), parse_int=float)


def check_matches(
    found: dict[str, dict[str, Any]], time: Callable[[int], Any] = iso, same: Same = str
) -> None:
    assert set(found) == set(NUMBERS)
    for name, row in found.items():
        assert row["start"] == row["end"] == row["detected"] == time(TIMES[NUMBERS[name]])
        assert dict(row["events"]) == {"a": [INTEGERS[NUMBERS[name] % 3]]}
        # A database may write out all digits of 1e308.
        assert _object(row["returned"]) == returned(name, same)


def check_totals(
    found: dict[str, dict[str, Any]],
    time: Callable[[int], Any] = iso,
    number: Callable[[Any], Any] = repr,
    hashed: frozenset[str] = frozenset(),
) -> None:
    for name, row in found.items():
        assert row["window_start"] == time(TIMES[NUMBERS[name]])
        whole = json.dumps(returned(name), ensure_ascii=False)
        digest = {"sha256": sha256(whole.encode()).hexdigest()}
        assert _object(row["group"]) == (digest if name in hashed else returned(name))
        assert number(row["value"]) == number(DOUBLES[NUMBERS[name]])
        assert str(row["exact"]) == str(INTEGERS[NUMBERS[name] % 3])


def by(name: str, found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    assert sorted(row[name] for row in found) == sorted(TEXTS)
    return {row[name]: row for row in found}


# ---- files -----------------------------------------------------------------------------------------------------


def of_kind(place: Path, kind: str, read: Callable[[Path], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    files = [file for file in committed_files(place) if file.parent.name == f"kind={kind}"]
    return [row for file in files for row in read(file)]


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with times as texts, which Python does not have for all of them."""
    columns = [_times(column) if pa.types.is_timestamp(column.type) else column for column in table.columns]
    columns = [column.to_pylist() for column in columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _times(column: pa.ChunkedArray) -> pa.Array:
    return pa.compute.replace_substring(time_texts(column.combine_chunks()), " ", "T")


def parquet(file: Path) -> list[dict[str, Any]]:
    table = pq.ParquetFile(file).read()
    event = table["event"].combine_chunks().flatten()
    return plain(
        table.drop_columns(["event"]).append_column("event_ts", event[0]).append_column("event_s", event[2])
    )


def test_parquet_files(outputs: DataFrame, tmp_path: Path) -> None:
    place = tmp_path / "out"
    assert written(outputs, f"files:{place}", tmp_path) == 0
    check_matches(by("match_id", of_kind(place, "matches", parquet)))
    check_totals(by("name", of_kind(place, "trends", parquet)))
    found = of_kind(place, "late", parquet)
    assert [(row["event_ts"], row["event_s"]) for row in found] == [
        (f"{iso(us)}Z", text) for us, text in zip(TIMES, TEXTS.values(), strict=True)
    ]
    assert [row["text"] for row in of_kind(place, "rejected", parquet)] == list(TEXTS.values())


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().decode().split("\n") if line]


def test_json_files(outputs: DataFrame, tmp_path: Path) -> None:
    place = tmp_path / "out"
    assert written(outputs, f"files:{place}", tmp_path, "json") == 0
    check_matches(by("match_id", of_kind(place, "matches", lines)))
    totals = [{"value": None, **row} for row in of_kind(place, "trends", lines)]
    check_totals(by("name", totals), number=lambda value: repr(as_json(value)))
    assert by("type", [row["event"] for row in of_kind(place, "late", lines)]) == late()
    check_rejected(of_kind(place, "rejected", lines))


def check_rejected(found: list[dict[str, Any]], same: Same = str) -> None:
    assert [row["text"] for row in found] == [same(text) for text in TEXTS.values()]
    assert [row["reason"] for row in found] == [f"because of {same(text)}" for text in TEXTS.values()]


def csv(file: Path) -> list[dict[str, Any]]:
    names = pa_csv.open_csv(io.BytesIO(file.read_bytes())).schema.names
    table = pa_csv.read_csv(
        file,
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return table.to_pylist()


def test_csv_files(outputs: DataFrame, tmp_path: Path) -> None:
    place = tmp_path / "out"
    assert written(outputs, f"files:{place}", tmp_path, "csv") == 0
    matches = [{**row, "events": json.loads(row["events"])} for row in of_kind(place, "matches", csv)]
    check_matches(by("match_id", matches))
    check_totals(
        by("name", of_kind(place, "trends", csv)), number=lambda v: None if v is None else repr(float(v))
    )
    assert by("type", [json.loads(row["event"]) for row in of_kind(place, "late", csv)]) == late()
    check_rejected(of_kind(place, "rejected", csv))


# ---- the terminal and Kafka ------------------------------------------------------------------------------------


def test_the_console_in_any_encoding(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    print_results(spark.read.parquet(str(folder)), 0)
    found = [json.loads(line) for line in raw.getvalue().decode().split("\n") if line]
    check_matches(by("match_id", found[: len(TEXTS)]), lambda us: f"{iso(us)}Z")
    finite = lambda value: repr(value) if value is None or abs(value) < float("inf") else "None"  # noqa: E731
    check_totals(by("name", found[len(TEXTS) :]), lambda us: f"{iso(us)}Z", finite)


def test_records_of_kafka(spark: SparkSession, folder: Path) -> None:
    records = kafka_rows(spark.read.parquet(str(folder)), "found", 1 << 22).toArrow().to_pylist()
    found: dict[str, list[dict[str, Any]]] = {}
    for row in records:
        found.setdefault(row["topic"], []).append(
            {"key": row["key"], "value": None, **json.loads(row["value"])}
        )
    assert [row["key"] for row in found["found"]] == list(TEXTS)
    check_matches(by("match_id", found["found"]))
    check_totals(by("name", found["found.trends"]), number=lambda value: repr(as_json(value)))
    assert by("type", [row["event"] for row in found["found.late"]]) == late()
    check_rejected(found["found.rejected"])


def test_records_that_kafka_would_refuse_leave_out_what_is_large(spark: SparkSession, folder: Path) -> None:
    most = 500_000
    records = kafka_rows(spark.read.parquet(str(folder)), "found", most).toArrow().to_pylist()
    assert len(records) == 4 * len(TEXTS)
    assert all(len(row["value"].encode()) + len((row["key"] or "").encode()) < most for row in records)
    small = {row["topic"]: row for row in records if "left_out" in row["value"]}
    match, total, event, text = (
        json.loads(small.pop(f"found{kind}")["value"]) for kind in ("", ".trends", ".late", ".rejected")
    )
    assert not small
    number = NUMBERS["megabyte"]
    assert match.pop("left_out").startswith("too large for a record: 1000")
    assert match == {
        "query": "q",
        "match_id": "megabyte",
        **dict.fromkeys(("start", "end", "detected"), iso(TIMES[number])),
    }
    check_totals(
        {"megabyte": {"value": None, **total}}, number=lambda value: repr(as_json(value)), hashed=LONG
    )
    assert event["text"].startswith('{"ts":')
    assert (len(event["text"]), text["text"], text["reason"][:20]) == (
        1000,
        "m" * 1000,
        "because of " + "m" * 9,
    )


# ---- databases -------------------------------------------------------------------------------------------------


def test_sqlite(outputs: DataFrame, tmp_path: Path) -> None:
    assert written(outputs, f"sqlite:{tmp_path / 'found.db'}", tmp_path) == 0
    with closing(sqlite3.connect(tmp_path / "found.db")) as database:
        database.row_factory = sqlite3.Row
        ask = partial(table_of, lambda sql: map(dict, database.execute(sql)))
        matches = [{**row, "events": json.loads(row["events"])} for row in ask("matches")]
        check_matches(by("match_id", matches), lambda us: iso(us).replace("T", " "))
        totals = [
            {**row, "value": float("nan") if row["value"] == "NaN" else row["value"]} for row in ask("trends")
        ]
        check_totals(by("name", totals), lambda us: iso(us).replace("T", " "), one_zero)
        assert by("type", [json.loads(row["event"]) for row in ask("late")]) == late()
        check_rejected([{**row, "text": row["event"]} for row in ask("rejected")])


def one_zero(value: float | None) -> str:
    """SQLite has no zero below zero."""
    return "" if value is None else repr(value + 0.0)


def table_of(ask: Callable[[str], Any], name: str, columns: str = "*") -> list[dict[str, Any]]:
    return list(ask(f"SELECT {columns} FROM {name}"))


def without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")


def test_postgres(outputs: DataFrame, tmp_path: Path, postgres: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    # A match, a rejected text, the times before 4714 BC of two matches and two totals, a total's group.
    assert written(outputs, postgres, tmp_path) == 7
    with psycopg.connect(address(postgres), row_factory=psycopg.rows.dict_row) as database:
        ask = partial(table_of, lambda sql: database.execute(sql).fetchall())
        times = ", ".join(f'"{name}"::text AS "{name}"' for name in ("start", "end", "detected"))
        matches = ask("matches", f"match_id, {times}, events, returned::text AS returned")
        check_matches(by("match_id", matches), of_postgres, without_nul)
        totals = ask("trends", 'window_start::text AS window_start, "group", name, value, exact')
        check_totals(by("name", totals), of_postgres, hashed=LONG)
        assert by("type", [json.loads(row["event"]) for row in ask("late")]) == late()
        check_rejected([{**row, "text": row["event"]} for row in ask("rejected")], without_nul)


def of_postgres(us: int) -> str:
    """A time as PostgreSQL shows it."""
    if us < -210_866_803_200_000_000:
        return "-infinity"
    text = iso(us).replace("T", " ").removeprefix("+")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    if us >= TIMES[1]:
        return text
    year, rest = (text[:5], text[5:]) if text[0] == "-" else (text[:4], text[4:])
    return f"{1 - int(year):04d}{rest} BC"


def test_a_poisoned_micro_batch_does_not_stop_a_stream(
    spark: SparkSession, tmp_path: Path, postgres: str
) -> None:
    """The fault as it was found: a NUL in a returned string, and a restart."""
    place = tmp_path / "in"
    place.mkdir()
    wild = rows()
    pq.write_table(wild.filter(pa.compute.equal(wild["match_id"], "nul")), place / "1.parquet")
    outputs = spark.readStream.schema(spark.read.parquet(str(place)).schema).parquet(str(place))
    assert written(outputs, postgres, tmp_path) == 1
    pq.write_table(wild.filter(pa.compute.equal(wild["match_id"], "quotes")), place / "2.parquet")
    assert written(outputs, postgres, tmp_path) == 0


def test_a_database_without_all_signs_is_refused(
    outputs: DataFrame, tmp_path: Path, postgres_place: Path
) -> None:
    latin = new_database(postgres_place, "latin", "LATIN1")
    with pytest.raises(StreamingQueryException, match="keeps texts as LATIN1"):
        written(outputs, latin, tmp_path)


# ---- sources ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_a_stream_reads_what_a_run_reads(spark: SparkSession, tmp_path: Path, ending: str) -> None:
    place = tmp_path / "in"
    place.mkdir()
    table = events()
    with open_sink(place / f"1{ending}", table.schema) as sink:
        for batch in table.to_batches():
            sink.write(batch)
    source = open_source(spark, Spec("files", str(place)), Special())
    found: list[pa.Table] = []
    writer = source.events.writeStream.option("checkpointLocation", str(tmp_path / "state"))
    query = writer.foreachBatch(lambda batch, _: found.append(batch.toArrow())).trigger(availableNow=True)
    query.start().awaitTermination()
    again = pa.concat_tables(found).select(table.column_names).cast(table.schema)
    finite = ending == ".jsonl"
    assert plain_rows(again, finite=finite) == plain_rows(table, finite=finite)


@pytest.mark.parametrize("streams", [False, True])
def test_bytes_that_are_no_text_and_times_that_are_none(
    spark: SparkSession, tmp_path: Path, streams: bool
) -> None:
    """An attribute that a query reads must be a text; one that none reads may hold anything."""
    raw = pa.array([b"ok", b"\xff", b"ok", b"ok", b"ok", b"end"])
    table = pa.table(
        {
            "ts": pa.array([0, 1, 2, 2**63 - 1, -(2**63), 9]).view(pa.timestamp("us", "UTC")),
            "type": ["A", "A", "B", "B", "A", "C"],
            "id": range(6),
            "s": raw.view(pa.string()),
            "unread": pa.array([b"\xed\xa0\x80"] * 6).view(pa.string()),
        }
    )
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "1.parquet")
    events = spark.read.parquet(str(tmp_path / "in"))
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE a.s = b.s WITHIN 1 MINUTE RETURN a.s AS s;"
    found: list[pa.Table] = []
    if streams:
        arriving = spark.readStream.schema(events.schema).parquet(str(tmp_path / "in"))
        everything = detect(text, arriving, outputs="all", spread="whole")
        writer = everything.writeStream.option("checkpointLocation", str(tmp_path / "state"))
        query = writer.foreachBatch(lambda batch, _: found.append(batch.toArrow())).trigger(availableNow=True)
        query.start().awaitTermination()
    else:
        found.append(detect(text, events, outputs="all", optimizer="none").toArrow())
    whole = pa.concat_tables(found)
    whole.validate(full=True)
    kinds = [(row["kind"], row["reason"]) for row in whole.select(["kind", "reason"]).to_pylist()]
    assert sorted(kinds, key=str) == [
        ("matches", None),
        ("rejected", "s is not UTF-8 text"),
        ("rejected", "ts is out of range"),
        ("rejected", "ts is out of range"),
    ]
    assert whole["event"].combine_chunks().field("unread").drop_null().to_pylist() == ["\ufffd" * 3] * 3
