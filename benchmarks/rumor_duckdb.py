"""The same answers by DuckDB, on one thread: ASOF joins with the table of queries, and window functions."""

import time
from collections.abc import Callable, Sequence

import duckdb
import pyarrow as pa
from benchmarks.rumor_measure import Cell

LABEL = "duckdb"


def connected(events: pa.Table, **tables: pa.Table) -> duckdb.DuckDBPyConnection:
    """A database on one thread that holds the events and other tables."""
    connection = duckdb.connect()
    connection.execute("SET threads=1; SET enable_progress_bar=false")
    numbers = events.set_column(events.column_names.index("ts"), "ts", events["ts"].cast(pa.int64()))
    kinds = numbers["type"].combine_chunks()
    plain = numbers.set_column(numbers.column_names.index("type"), "type", kinds.cast(pa.string()))
    for name, table in {"events": plain, **tables}.items():
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        connection.unregister("given")
    return connection


SELECTED = """
SELECT count(*) FROM (
  SELECT q.horizon, q.ts AS first_ts, t.ts AS last_ts
  FROM (SELECT s.ts, c3, horizon FROM events s JOIN queries ON s.a0 = c1 WHERE s.type = 'S') q
  ASOF JOIN (SELECT ts, a0 FROM events WHERE type = 'T') t ON q.c3 = t.a0 AND q.ts < t.ts
) WHERE last_ts - first_ts <= horizon"""
"""W1: of each S and each query that it starts, the next T with the query's other constant, within its window."""

EQUAL = """
SELECT count(*) FROM (
  SELECT s.ts AS first_ts, t.ts AS last_ts
  FROM (SELECT ts, a0 FROM events WHERE type = 'S') s
  ASOF JOIN (SELECT ts, a0 FROM events WHERE type = 'T') t ON s.a0 = t.a0 AND s.ts < t.ts
) JOIN queries ON last_ts - first_ts <= horizon"""
"""W2: of each S the next T with its value, for every query whose window it fits into."""


def asof(events: pa.Table, queries: pa.Table, sql: str, repeat: int) -> Cell:
    """How long an ASOF join with the queries takes, and how many rows it gives."""
    horizon = queries["horizon"].cast(pa.int64())
    connection = connected(
        events, queries=queries.set_column(queries.column_names.index("horizon"), "horizon", horizon)
    )
    return _timed(lambda: int(connection.sql(sql).fetchall()[0][0]), events.num_rows, repeat)


def windowed(events: pa.Table, columns: Sequence[str], where: str, repeat: int) -> Cell:
    """How long all window functions of one SELECT take; `where` says how many rows count as outputs."""
    connection = connected(events)
    named = ", ".join(f"{column} AS v{number}" for number, column in enumerate(columns))
    counted = " + ".join(f"count(*) FILTER (v{number} {where})" for number in range(len(columns)))
    sql = f"SELECT {counted} FROM (SELECT {named} FROM events WHERE type = 'S')"
    return _timed(lambda: int(connection.sql(sql).fetchall()[0][0]), events.num_rows, repeat)


def _timed(work: Callable[[], int], events: int, repeat: int) -> Cell:
    times = []
    for _ in range(repeat):
        started = time.process_time()
        rows = work()
        times.append(time.process_time() - started)
    return Cell(LABEL, events, rows, run=min(times))
