"""Matches into a database, each once: rows are upserted on `match_id`, so a micro-batch may be written again.

For `foreachBatch`. A micro-batch that Spark runs again after a failure holds the same matches with the same ids. Late
and rejected events have no id of that kind: theirs is the number of the micro-batch, whose rows are replaced together.
A micro-batch is written in one transaction, by the process that starts it.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.csv as pa_csv
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from stretto.data.json_write import json_texts
from stretto.spark.errors import StrettoSparkError, at_work

MATCHES: Final = "matches"
OTHERS: Final = ("late", "rejected")
COLUMNS: Final = ("match_id", "query", "start", "end", "detected", "events", "returned")
TIMES: Final = ("start", "end", "detected")
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WAIT_S: Final = 60


class Database(Protocol):
    """One transaction with a database: all of a micro-batch, or nothing."""

    def upsert(self, table: str, rows: pa.Table) -> None:
        """Matches by their id; those that are there already are written over."""

    def replace(self, table: str, batch: int, rows: pa.Table) -> None:
        """Other rows by the number of their micro-batch."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """Writes the matches of a micro-batch; what `foreachBatch` calls."""

    to: str
    table: str = MATCHES

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.table):
            raise StrettoSparkError(f"`{self.table}` is no name of a table: letters, digits and _")
        _kind_of(self.to)

    def __call__(self, found: DataFrame, batch: int) -> None:
        write, place = _kind_of(self.to)
        rows = with_event_texts(found).toArrow()
        with at_work(f"writing a micro-batch to {self.to.partition(':')[0]}", ()):
            write(place, lambda database: self._write(database, rows, batch))

    def _write(self, database: Database, rows: pa.Table, batch: int) -> None:
        matches = _of_kind(rows, MATCHES)
        database.upsert(self.table, _as_texts(matches.select(COLUMNS)))
        if "kind" in rows.column_names:
            for kind in OTHERS:
                database.replace(kind, batch, _of_kind(rows, kind).select(["event", "reason"]))


def upsert(to: str, table: str = MATCHES) -> Upsert:
    """What writes the matches of each micro-batch into a table of `sqlite:PATH` or `postgres:URL`, exactly once.

    The table is made if it is not there. With all outputs the late and rejected events go to tables of these names.

        found.writeStream.foreachBatch(upsert("sqlite:matches.db")).option("checkpointLocation", ..).start()
    """
    return Upsert(to, table)


def with_event_texts(found: DataFrame) -> DataFrame:
    """All outputs with late and rejected events as texts: JSON, or what stood where an event should."""
    if "event" not in found.columns:
        return found
    event = F.to_json("event")
    return found.withColumn("event", F.coalesce(event, F.col("text")) if "text" in found.columns else event)


def _of_kind(rows: pa.Table, kind: str) -> pa.Table:
    if "kind" not in rows.column_names:
        return rows
    return rows.filter(pa.compute.equal(rows.column("kind"), kind))


def _as_texts(rows: pa.Table) -> pa.Table:
    """Matches with times in UTC as texts, and maps as JSON."""
    return pa.table([_text(column) for column in rows.columns], names=rows.column_names)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us")).cast(pa.string())
    if pa.types.is_map(column.type):
        return pa.chunked_array([json_texts(chunk) for chunk in column.chunks], pa.string())
    return column.cast(pa.string())


# ---- databases -------------------------------------------------------------------------------------------------------

Work = Callable[[Database], None]

SQLITE_TABLES: Final = {
    "matches": 'match_id TEXT PRIMARY KEY, query TEXT NOT NULL, start TEXT, "end" TEXT, detected TEXT,'
    " events TEXT, returned TEXT",
    "others": "batch INTEGER, event TEXT, reason TEXT",
}
POSTGRES_TABLES: Final = {
    "matches": 'match_id text PRIMARY KEY, query text NOT NULL, start timestamp, "end" timestamp,'
    " detected timestamp, events jsonb, returned jsonb",
    "others": "batch bigint, event text, reason text",
}


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _take_over() -> str:
    return ", ".join(f'"{name}" = excluded."{name}"' for name in COLUMNS[1:])


@dataclass(frozen=True, slots=True)
class _Sqlite:
    connection: sqlite3.Connection

    def upsert(self, table: str, rows: pa.Table) -> None:
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({SQLITE_TABLES['matches']})")
        values = f"{_quoted(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}"
        self.connection.executemany(
            f"INSERT INTO {table} ({values}) ON CONFLICT (match_id) DO UPDATE SET {_take_over()}",
            _tuples(rows),
        )

    def replace(self, table: str, batch: int, rows: pa.Table) -> None:
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({SQLITE_TABLES['others']})")
        self.connection.execute(f"DELETE FROM {table} WHERE batch = ?", (batch,))  # noqa: S608 - ours
        self.connection.executemany(
            f"INSERT INTO {table} (batch, event, reason) VALUES ({int(batch)}, ?, ?)",  # noqa: S608 - ours
            _tuples(rows),
        )


def _tuples(rows: pa.Table) -> Iterable[Sequence[Any]]:
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def _in_sqlite(path: str, work: Work) -> None:
    with closing(sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)) as connection, connection:
        connection.execute(
            "BEGIN IMMEDIATE"
        )  # by hand, as otherwise a new table would be there before its rows
        work(_Sqlite(connection))


@dataclass(frozen=True, slots=True)
class _Postgres:
    cursor: Any

    def upsert(self, table: str, rows: pa.Table) -> None:
        self.cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({POSTGRES_TABLES['matches']})")
        if not rows.num_rows:
            return
        self.cursor.execute(f"CREATE TEMP TABLE incoming (LIKE {table}) ON COMMIT DROP")
        self._copy(f"incoming ({_quoted(COLUMNS)})", rows)
        self.cursor.execute(
            f"INSERT INTO {table} ({_quoted(COLUMNS)}) SELECT DISTINCT ON (match_id) {_quoted(COLUMNS)}"  # noqa: S608 - checked
            f" FROM incoming ON CONFLICT (match_id) DO UPDATE SET {_take_over()}"
        )

    def replace(self, table: str, batch: int, rows: pa.Table) -> None:
        self.cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({POSTGRES_TABLES['others']})")
        self.cursor.execute(f"DELETE FROM {table} WHERE batch = %s", (batch,))  # noqa: S608 - ours
        if rows.num_rows:
            numbered = rows.append_column("batch", pa.repeat(pa.scalar(batch), rows.num_rows))
            self._copy(f"{table} (event, reason, batch)", numbered)

    def _copy(self, where: str, rows: pa.Table) -> None:
        """All rows in one go; a null is an empty field, an empty text has quotes."""
        written = pa.BufferOutputStream()
        pa_csv.write_csv(rows, written, pa_csv.WriteOptions(include_header=False))
        with self.cursor.copy(f"COPY {where} FROM STDIN WITH (FORMAT csv)") as copy:
            copy.write(memoryview(written.getvalue()))


def _in_postgres(url: str, work: Work) -> None:
    try:
        psycopg = import_module("psycopg")
    except ImportError:
        raise StrettoSparkError(
            "writing to PostgreSQL needs a driver: pip install 'psycopg[binary]'"
        ) from None
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        work(_Postgres(cursor))


def _kind_of(to: str) -> tuple[Callable[[str, Work], None], str]:
    """What writes to the database of a spec, and the place in its own words."""
    kind, _, place = to.partition(":")
    if kind == "sqlite" and place:
        return _in_sqlite, place
    if kind in ("postgres", "postgresql") and place:
        return _in_postgres, f"postgresql:{place}" if place.startswith("//") else place
    raise StrettoSparkError(f"`{to}` is no database: write sqlite:PATH or postgres:URL")
