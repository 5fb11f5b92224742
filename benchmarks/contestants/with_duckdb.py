"""DuckDB: time cut into buckets, an equality join on the bucket, then the filter that buckets only approximate.

Which side of a join is repeated in all buckets that its window touches, and how many buckets a window has: the fastest
on the first events is taken. Not among them are joins by inequalities alone: under 0.1 million events a second on
30,000 events of W1, where buckets do several million on more. An ASOF join finds one partner where a match needs all.
"""

from dataclasses import dataclass
from itertools import product

import duckdb
import pyarrow as pa
from benchmarks.contestants import events
from benchmarks.contestants.answers import Steps, Tables
from benchmarks.contestants.events import TYPES
from benchmarks.contestants.workloads import Query, Shape, Workload


@dataclass(frozen=True, slots=True)
class Variant:
    """`repeat`: the side of a join that stands in several buckets; `parts`: buckets per window."""

    repeat: str
    parts: int
    shared: bool = False


def missing(_workload: Workload) -> str | None:
    return None


def load(table: pa.Table, workload: Workload, variant: Variant, threads: int) -> Steps:
    """From a table of events to Arrow columns of matches.

    Events are copied into a table of DuckDB's own, which joins faster than an Arrow table; queries are planned while
    they run. Both are part of the measured time.
    """

    def run(_plan: None) -> Tables:
        connection = duckdb.connect()
        connection.execute(f"SET threads = {threads:d}")
        connection.execute("SET preserve_insertion_order = false")
        connection.register("arrow_events", events.plain(table))
        connection.execute("CREATE TABLE events AS SELECT * FROM arrow_events")
        return _run(connection, workload, "events", variant)

    return Steps(lambda: None, run)


def variants(workload: Workload) -> list[Variant]:
    if len(workload.queries) > 1:
        return [Variant(r, p, s) for r, p, s in product(("left", "right"), (1, 2), (False, True))]
    if workload.queries[0].shape is Shape.KLEENE:
        return [Variant("left", 1)]
    return [Variant(r, p) for r, p in product(("left", "right"), (1, 2, 4))]


def _run(connection: duckdb.DuckDBPyConnection, workload: Workload, source: str, variant: Variant) -> Tables:
    result: Tables = {}
    shared: set[str] = set()
    for query in workload.queries:
        pairs = ""
        if variant.shared:
            pairs = f"pairs_{query.types[:2]}"
            if pairs not in shared:
                connection.execute(
                    f"CREATE OR REPLACE TEMP TABLE {pairs} AS {_pairs(query, source, variant)}"
                )
                shared.add(pairs)
        result[query.name] = connection.sql(_sql(query, source, variant, pairs)).to_arrow_table()
    return result


def _sql(query: Query, source: str, variant: Variant, pairs: str) -> str:
    if query.shape is Shape.KLEENE:
        return _kleene(query, source)
    if query.shape is Shape.AND:
        return _conjunction(query, source, variant)
    pairs = pairs or f"({_pairs(query, source, variant)})"
    return _joined(
        query, variant, pairs, _events(query, source, 2), ("l.t1", "r.ts", 1),
        "l.v0, l.v1, r.id AS v2, l.t0 AS start, r.ts AS end",
        f"l.t1 < r.ts AND r.ts <= l.t0 + {query.window_us} AND l.x1 < r.x",
    )  # fmt: skip


def _events(query: Query, source: str, number: int) -> str:
    return f"(SELECT id, ts, x, k FROM {source} WHERE type = {TYPES.index(query.types[number])})"


def _joined(
    query: Query,
    variant: Variant,
    left: str,
    right: str,
    span: tuple[str, str, int],
    columns: str,
    where: str,
) -> str:
    """Pairs of a left and a right row; `span` is (left's earliest right time, the right's time, reach in windows)."""
    low, at, reach = span
    width = query.window_us // variant.parts
    first, own = (f"CAST({time[2:] if time[1] == '.' else time} // {width} AS INTEGER)" for time in (low, at))
    steps = range(reach * variant.parts + 1)
    if variant.repeat == "left":
        first = f"unnest([{', '.join(f'{first} + {i}' for i in steps)}])"
    else:
        own = f"unnest([{', '.join(f'{own} - {i}' for i in steps)}])"
    key = " AND l.k = r.k" if query.shape is Shape.KEYED else ""
    return (
        f"SELECT {columns} FROM (SELECT *, {first} AS bucket FROM {left}) l "
        f"JOIN (SELECT *, {own} AS bucket FROM {right}) r ON l.bucket = r.bucket{key} AND {where}"
    )


def _pairs(query: Query, source: str, variant: Variant) -> str:
    return _joined(
        query, variant, _events(query, source, 0), _events(query, source, 1), ("l.ts", "r.ts", 1),
        "l.id AS v0, r.id AS v1, l.ts AS t0, r.ts AS t1, r.x AS x1, l.k AS k",
        f"l.ts < r.ts AND r.ts <= l.ts + {query.window_us} AND l.x < r.x",
    )  # fmt: skip


def _conjunction(query: Query, source: str, variant: Variant) -> str:
    window = query.window_us
    pairs = _joined(
        query, variant, _events(query, source, 0), _events(query, source, 1), (f"(ts - {window})", "r.ts", 2),
        "l.id AS v0, r.id AS v1, least(l.ts, r.ts) AS first, greatest(l.ts, r.ts) AS last",
        f"abs(l.ts - r.ts) <= {window} AND l.x < r.x",
    )  # fmt: skip
    return _joined(
        query, variant, f"({pairs})", _events(query, source, 2), (f"(last - {window})", "r.ts", 2),
        "l.v0, l.v1, r.id AS v2, least(l.first, r.ts) AS start, greatest(l.last, r.ts) AS end",
        f"r.ts >= l.last - {window} AND r.ts <= l.first + {window}",
    )  # fmt: skip


def _kleene(query: Query, source: str) -> str:
    """Sets grown one event at a time by recursion, then closed by the third event."""
    window = query.window_us
    a, b, c = (_events(query, source, i) for i in range(3))
    return f"""
        WITH RECURSIVE later AS MATERIALIZED (
            SELECT id, ts, unnest([ts // {window}, ts // {window} - 1]) AS bucket FROM {b}
        ), grown AS (
            SELECT a.id AS v0, a.ts AS t0, [b.id] AS v1, b.ts AS t1
            FROM {a} a JOIN later b ON a.ts // {window} = b.bucket AND a.ts < b.ts AND b.ts <= a.ts + {window}
            UNION ALL
            SELECT g.v0, g.t0, list_append(g.v1, b.id), b.ts
            FROM grown g JOIN later b ON g.t1 // {window} = b.bucket AND g.t1 < b.ts AND b.ts <= g.t0 + {window}
        )
        SELECT g.v0, g.v1, c.id AS v2, g.t0 AS start, c.ts AS end
        FROM grown g JOIN (SELECT *, unnest([ts // {window}, ts // {window} - 1]) AS bucket FROM {c}) c
        ON g.t1 // {window} = c.bucket AND g.t1 < c.ts AND c.ts <= g.t0 + {window}"""
