"""Matches and totals into a database, each once: rows are upserted on their key, so a micro-batch may come again.

For `foreachBatch`. A micro-batch that Spark runs again after a failure holds the same matches with the same ids, and
totals of the same windows. Late and rejected events have no key of that kind: theirs is the number of the micro-batch,
whose rows are replaced together.
A micro-batch is written in one transaction, by the process that starts it.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import field
from importlib import import_module
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pa_csv
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from stretto.data.json_write import json_texts
from stretto.records import dataclass
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.io.passwords import hiding, redacted
from stretto.spark.io.postgres_values import held_by_postgres
from stretto.spark.packed import LATE, MATCHES, REJECTED, TRENDS
from stretto.values.texts import time_texts

OTHERS: Final = (LATE, REJECTED)
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
WAIT_S: Final = 60
CONNECT_S: Final = 10
TIME_FORMAT: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
EVENT_TIMES: Final = {"timestampFormat": f"{TIME_FORMAT}XXX", "timestampNTZFormat": TIME_FORMAT}
"""As Spark is to write the times of events and results: with all of their microseconds."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """How a kind of results is kept: its columns, those that no two rows have in common, and their types."""

    key: tuple[str, ...]
    sqlite: Mapping[str, str]
    postgres: Mapping[str, str]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.sqlite)

    def table(self, types: Mapping[str, str]) -> str:
        """The columns and the key as SQL says them."""
        columns = [f'"{name}" {kind}' for name, kind in types.items()]
        return ", ".join([*columns, f"PRIMARY KEY ({_quoted(self.key)})"])

    @property
    def on_conflict(self) -> str:
        """What stands after the rows, so that those that are there already are written over."""
        rest = (name for name in self.columns if name not in self.key)
        taken = ", ".join(f'"{name}" = excluded."{name}"' for name in rest)
        return f"ON CONFLICT ({_quoted(self.key)}) DO UPDATE SET {taken}"


RESULT_TABLES: Final[Mapping[str, ResultTable]] = {
    MATCHES: ResultTable(
        ("match_id",),
        {
            "match_id": "TEXT",
            "query": "TEXT NOT NULL",
            **dict.fromkeys(("start", "end", "detected", "events", "member", "returned"), "TEXT"),
        },
        {
            "match_id": "text",
            "query": "text NOT NULL",
            **dict.fromkeys(("start", "end", "detected"), "timestamp"),
            "events": "jsonb",
            "member": "text",
            "returned": "jsonb",
        },
    ),
    TRENDS: ResultTable(
        ("query", "window_start", "group", "name"),
        {
            **dict.fromkeys(("query", "window_start", "window_end", "group", "name"), "TEXT NOT NULL"),
            "value": "REAL",
            "exact": "TEXT",
            "log2_count": "REAL",
        },
        {
            "query": "text",
            **dict.fromkeys(("window_start", "window_end"), "timestamp"),
            **dict.fromkeys(("group", "name"), "text"),
            "value": "double precision",
            "exact": "numeric",
            "log2_count": "double precision",
        },
    ),
}


@dataclass(frozen=True, slots=True)
class Upsert:
    """Writes the results of a micro-batch; what `foreachBatch` calls.

    `replaced`: in how many rows there was something that the database cannot hold, by micro-batch, where there was any.
    """

    to: str = field(repr=False)
    table: str | None = None
    replaced: dict[int, int] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.table is not None and not NAME.fullmatch(self.table):
            raise StrettoSparkError(f"`{self.table}` is no name of a table: letters, digits and _")
        database_of(self.to)

    def __call__(self, found: DataFrame, batch: int) -> None:
        opened, place = database_of(self.to)
        rows = with_event_texts(found).toArrow()
        step = f"writing a micro-batch to {self.to.partition(':')[0]}"
        with at_work(step, ()), hiding(place), opened(place) as database:
            replaced = self._write(database, rows, batch)
        if replaced:
            self.replaced[batch] = replaced

    def _write(self, database: "Database", rows: pa.Table, batch: int) -> int:
        if "kind" not in rows.column_names:
            kind = MATCHES if "match_id" in rows.column_names else TRENDS
            return _upsert(database, self.table or kind, kind, rows)
        count = _upsert(database, self.table or MATCHES, MATCHES, _of_kind(rows, MATCHES))
        count += _upsert(database, TRENDS, TRENDS, _of_kind(rows, TRENDS))
        apart = ((kind, _of_kind(rows, kind).select(["event", "reason"])) for kind in OTHERS)
        return count + sum(database.replace(kind, batch, others) for kind, others in apart)


def upsert(to: str, table: str | None = None) -> Upsert:
    """What writes the matches of each micro-batch into a table of `sqlite:PATH` or `postgres:URL`, exactly once.

    The table, if not named otherwise `matches`, and `trends` for what `aggregate` gives, is made if it is not there.
    With all outputs totals, late and rejected events go to tables `trends`, `late` and `rejected`.

        found.writeStream.foreachBatch(upsert("sqlite:matches.db")).option("checkpointLocation", ..).start()
    """
    return Upsert(to, table)


def with_event_texts(found: DataFrame) -> DataFrame:
    """All outputs with late and rejected events as texts: JSON, or what stood where an event should."""
    if "event" not in found.columns:
        return found
    event = F.to_json("event", EVENT_TIMES)
    return found.withColumn("event", F.coalesce(event, F.col("text")) if "text" in found.columns else event)


def _upsert(database: "Database", table: str, kind: str, rows: pa.Table) -> int:
    """Results with times in UTC as texts, and maps as JSON; doubles stay as they are."""
    kept = RESULT_TABLES[kind]
    texts = pa.table([_text(rows.column(name)) for name in kept.columns], names=kept.columns)
    return database.upsert(table, kept, texts)


def _of_kind(rows: pa.Table, kind: str) -> pa.Table:
    return rows.filter(pa.compute.equal(rows.column("kind"), kind))


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        plain = column.cast(pa.timestamp("us"))
        return pa.chunked_array([time_texts(chunk) for chunk in plain.chunks], pa.string())
    if pa.types.is_map(column.type):
        return pa.chunked_array([json_texts(chunk) for chunk in column.chunks], pa.string())
    return column if pa.types.is_floating(column.type) else column.cast(pa.string())


# ---- databases -------------------------------------------------------------------------------------------------------

SQLITE_OTHERS: Final = "batch INTEGER, event TEXT, reason TEXT"
ENCODINGS: Final = ("UTF8", "SQL_ASCII")
POSTGRES_OTHERS: Final = "batch bigint, event text, reason text"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


@dataclass(frozen=True, slots=True)
class _Sqlite:
    """One transaction: all of a micro-batch, or nothing."""

    connection: sqlite3.Connection

    def upsert(self, table: str, kept: ResultTable, rows: pa.Table) -> int:
        """Results by their key; those that are there already are written over. In how many something was replaced."""
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({kept.table(kept.sqlite)})")
        values = f"{_quoted(kept.columns)}) VALUES ({', '.join('?' * len(kept.columns))}"
        self.connection.executemany(f"INSERT INTO {table} ({values}) {kept.on_conflict}", _tuples(rows))
        return 0

    def replace(self, table: str, batch: int, rows: pa.Table) -> int:
        """Other rows by the number of their micro-batch; the same number of them."""
        self.connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({SQLITE_OTHERS})")
        self.connection.execute(f"DELETE FROM {table} WHERE batch = ?", (batch,))  # noqa: S608 - ours
        self.connection.executemany(
            f"INSERT INTO {table} (batch, event, reason) VALUES ({int(batch)}, ?, ?)",  # noqa: S608 - ours
            _tuples(rows),
        )
        return 0


def _tuples(rows: pa.Table) -> Iterable[Sequence[Any]]:
    return zip(*(_values(column) for column in rows.columns), strict=True)


def _values(column: pa.ChunkedArray) -> Sequence[Any]:
    """The values; SQLite would take a NaN for a null, so that it gets a text."""
    values: list[Any] = column.to_pylist()
    return ["NaN" if value != value else value for value in values]  # noqa: PLR0124 - a NaN is no equal of its own


@contextmanager
def _in_sqlite(path: str) -> Iterator[_Sqlite]:
    with closing(sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)) as connection, connection:
        # By hand, as otherwise a new table would be there before its rows.
        connection.execute("BEGIN IMMEDIATE")
        yield _Sqlite(connection)


@dataclass(frozen=True, slots=True)
class _Postgres:
    """The same by way of COPY."""

    cursor: Any

    def upsert(self, table: str, kept: ResultTable, rows: pa.Table) -> int:
        self.cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({kept.table(kept.postgres)})")
        if not rows.num_rows:
            return 0
        held, count = held_by_postgres(rows, kept.postgres, kept.key)
        columns = _quoted(kept.columns)
        self.cursor.execute(f"CREATE TEMP TABLE incoming_{table} (LIKE {table}) ON COMMIT DROP")
        self._copy(f"incoming_{table} ({columns})", held)
        self.cursor.execute(
            f"INSERT INTO {table} ({columns}) SELECT DISTINCT ON ({_quoted(kept.key)}) {columns}"  # noqa: S608 - checked
            f" FROM incoming_{table} {kept.on_conflict}"
        )
        return count

    def replace(self, table: str, batch: int, rows: pa.Table) -> int:
        self.cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({POSTGRES_OTHERS})")
        self.cursor.execute(f"DELETE FROM {table} WHERE batch = %s", (batch,))  # noqa: S608 - ours
        held, count = held_by_postgres(rows, dict.fromkeys(rows.column_names, "text"))
        if rows.num_rows:
            numbered = held.append_column("batch", pa.repeat(pa.scalar(batch), rows.num_rows))
            self._copy(f"{table} (event, reason, batch)", numbered)
        return count

    def _copy(self, where: str, rows: pa.Table) -> None:
        """All rows in one go; a null is an empty field, an empty text has quotes."""
        written = pa.BufferOutputStream()
        pa_csv.write_csv(rows, written, pa_csv.WriteOptions(include_header=False))
        with self.cursor.copy(f"COPY {where} FROM STDIN WITH (FORMAT csv)") as copy:
            copy.write(memoryview(written.getvalue()))


@contextmanager
def _in_postgres(url: str) -> Iterator[_Postgres]:
    try:
        psycopg = import_module("psycopg")
    except ImportError:
        raise StrettoSparkError(
            "writing to PostgreSQL needs a driver: pip install 'psycopg[binary]'"
        ) from None
    with psycopg.connect(url, connect_timeout=CONNECT_S) as connection, connection.cursor() as cursor:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in ENCODINGS:
            raise StrettoSparkError(
                f"the database keeps texts as {encoding}, which does not have all signs: make one with ENCODING 'UTF8'"
            )
        yield _Postgres(cursor)


Database = _Sqlite | _Postgres


def database_of(to: str) -> tuple[Callable[[str], AbstractContextManager[Database]], str]:
    """What writes to the database of a spec, and the place in its own words."""
    kind, _, place = to.partition(":")
    if kind == "sqlite" and place:
        return _in_sqlite, place
    if kind in ("postgres", "postgresql") and place:
        return _in_postgres, f"postgresql:{place}" if place.startswith("//") else place
    raise StrettoSparkError(f"`{redacted(to)}` is no database: write sqlite:PATH or postgres:URL")
