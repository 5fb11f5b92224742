"""Matches in a database: once, however often a micro-batch is written."""

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.io.postgres_server import address

from stretto.errors import StrettoError
from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.upsert import upsert

ALL = (
    "kind string, query string, match_id string, start timestamp, end timestamp, detected timestamp,"
    " events map<string, array<bigint>>, member string, returned string, window_start timestamp, window_end timestamp,"
    " group string, name string, value double, exact string, log2_count double,"
    " event struct<type: string, x: double>, reason string"
)
NINE = datetime.fromisoformat("2024-01-01T09:00:00.000005")


def match(number: int, returned: str | None = None) -> tuple[Any, ...]:
    times = (NINE, NINE, NINE)
    return ("matches", "rise", f"{number:032x}", *times, {"a": [1], "b": [2, 3]}, None, returned, *[None] * 9)


def total(value: float | None, exact: str | None, group: str = "{}") -> tuple[Any, ...]:
    return ("trends", "count", *[None] * 7, NINE, NINE, group, "SUM(a.x)", value, exact, None, None, None)


def other(kind: str, x: float, reason: str | None = None) -> tuple[Any, ...]:
    return (kind, *[None] * 15, ("A", x), reason)


def batch(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(rows, ALL)


def write_twice(spark: SparkSession, to: str) -> None:
    """Two micro-batches, the second again after a failure, with a match that the first had too."""
    write = upsert(to)
    first = [
        match(1, '{"gain": 1}'),
        match(2),
        other("late", 1.0),
        total(1.0, "1"),
        total(0.1, None, '{"k": 2}'),
    ]
    write(batch(spark, *first), 0)
    second = batch(
        spark,
        *(match(2, "{}"), match(3), other("late", 2.0), other("rejected", 3.0, "x is odd")),
        *(total(7.0, "7"), total(float("nan"), None, '{"k": 3}'), total(None, None, '{"k": 4}')),
    )
    write(second, 1)
    write(second, 1)


TIME = "2024-01-01 09:00:00.000005"


def test_sqlite_has_every_row_once(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "found.db"
    write_twice(spark, f"sqlite:{path}")
    with closing(sqlite3.connect(path)) as database:
        found = database.execute("SELECT * FROM matches ORDER BY match_id").fetchall()
        late = database.execute("SELECT * FROM late ORDER BY batch").fetchall()
        rejected = database.execute("SELECT * FROM rejected").fetchall()
        totals = database.execute('SELECT * FROM trends ORDER BY "group"').fetchall()
    assert [row[:5] for row in totals] == [
        ("count", TIME, TIME, group, "SUM(a.x)") for group in ('{"k": 2}', '{"k": 3}', '{"k": 4}', "{}")
    ]
    assert [row[5:] for row in totals] == [
        (0.1, None, None),
        ("NaN", None, None),
        (None, None, None),
        (7.0, "7", None),
    ]
    assert [(int(row[0], 16), row[7]) for row in found] == [(1, '{"gain": 1}'), (2, "{}"), (3, None)]
    assert found[0][1:6] == ("rise", TIME, TIME, TIME, '{"a": [1], "b": [2, 3]}')
    assert late == [(0, '{"type":"A","x":1.0}', None), (1, '{"type":"A","x":2.0}', None)]
    assert rejected == [(1, '{"type":"A","x":3.0}', "x is odd")]


def test_matches_alone_need_no_kind(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "found.db"
    rows = (
        batch(spark, match(1))
        .drop("kind", "event", "reason")
        .select(*("query", "match_id", "start", "end", "detected", "events", "member", "returned"))
    )
    upsert(f"sqlite:{path}", "alerts")(rows, 0)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM alerts").fetchone() == (1,)


def test_totals_alone_have_a_table_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "found.db"
    rows = batch(spark, total(1.0, "1")).select(
        *("query", "window_start", "window_end", "group", "name", "value", "exact", "log2_count")
    )
    for table in (None, "counts"):
        upsert(f"sqlite:{path}", table)(rows, 0)
    with closing(sqlite3.connect(path)) as database:
        for table in ("trends", "counts"):
            assert database.execute(f"SELECT value, exact FROM {table}").fetchall() == [(1.0, "1")]
        assert database.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone() == (2,)


def test_a_batch_is_written_whole_or_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "found.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE rejected (unlike TEXT)")
    with pytest.raises(StrettoError, match="writing a micro-batch to sqlite: OperationalError"):
        upsert(f"sqlite:{path}")(batch(spark, match(1), other("rejected", 1.0, "bad")), 0)
    with closing(sqlite3.connect(path)) as database:
        tables = database.execute("SELECT name FROM sqlite_master").fetchall()
    assert tables == [("rejected",)]


@pytest.mark.parametrize("to", ["oracle:x", "sqlite:", "sqlite"])
def test_other_databases_are_refused(to: str) -> None:
    with pytest.raises(StrettoSparkError, match="sqlite:PATH or postgres:URL"):
        upsert(to)


def test_names_of_tables_are_plain() -> None:
    with pytest.raises(StrettoSparkError, match="no name of a table"):
        upsert("sqlite:x.db", "matches; DROP")


def test_postgres_has_every_row_once(spark: SparkSession, postgres: str) -> None:
    import psycopg

    write_twice(spark, postgres)
    with psycopg.connect(address(postgres)) as database:
        found = database.execute("SELECT * FROM matches ORDER BY match_id").fetchall()
        late = database.execute("SELECT batch, event FROM late ORDER BY batch").fetchall()
        rejected = database.execute("SELECT batch, reason FROM rejected").fetchall()
        totals = database.execute(
            "SELECT value, exact FROM trends WHERE value = value ORDER BY value"
        ).fetchall()
    assert totals[:2] == [(0.1, None), (7.0, 7)]
    assert [int(row[0], 16) for row in found] == [1, 2, 3]
    assert found[0][1:] == ("rise", NINE, NINE, NINE, {"a": [1], "b": [2, 3]}, None, {"gain": 1})
    assert late == [(0, '{"type":"A","x":1.0}'), (1, '{"type":"A","x":2.0}')]
    assert rejected == [(1, "x is odd")]
