"""Polars: time cut into buckets, an equality join on the bucket, then the filter that buckets only approximate.

Which side of a join is repeated in all buckets that its window touches, how many buckets a window has, and which engine
runs it: the fastest on the first events is taken. Not among them is `join_where`: in memory, three times the events
took eleven times as long on W1, and 200,000 did not fit into 24 GB; streaming, it took two to three times as long as
buckets on those.
"""

from dataclasses import dataclass
from itertools import product

import polars as pl
import pyarrow as pa
from benchmarks.contestants import events
from benchmarks.contestants.answers import Steps, Tables
from benchmarks.contestants.events import TYPES
from benchmarks.contestants.workloads import Query, Shape, Workload

Frames = dict[str, pl.DataFrame]
col = pl.col


@dataclass(frozen=True, slots=True)
class Variant:
    """`repeat`: the side of a join that stands in several buckets; `parts`: buckets per window."""

    repeat: str
    parts: int
    engine: str = "streaming"
    shared: bool = False


def missing(workload: Workload) -> str | None:
    if any(query.shape is Shape.KLEENE for query in workload.queries):
        return "n/a: no plain formulation of subsets"
    return None


def load(table: pa.Table, workload: Workload, variant: Variant, _threads: int) -> Steps:
    """From a table of events to Arrow columns of matches; Polars takes its number of threads from the environment.

    Queries are built and planned while they run, and their frames become Arrow columns, all while the time is measured.
    """

    def run(_plan: None) -> Tables:
        frame = pl.DataFrame(events.plain(table))
        return {name: matches.to_arrow() for name, matches in _run(workload, frame, variant).items()}

    return Steps(lambda: None, run)


def variants(workload: Workload) -> list[Variant]:
    shape = workload.queries[0].shape
    if shape is Shape.KEYED:
        return [
            Variant(r, p, e) for r, p, e in product(("left", "right"), (1, 2), ("streaming", "in-memory"))
        ]
    if len(workload.queries) > 1:
        return [Variant(r, 2, shared=s) for r, s in product(("left", "right"), (False, True))]
    return [Variant(r, p) for r, p in product(("left", "right"), (1, 2, 4))]


def _run(workload: Workload, frame: pl.DataFrame, variant: Variant) -> Frames:
    pairs: dict[str, pl.LazyFrame] = {}
    result: Frames = {}
    for query in workload.queries:
        if query.shape is Shape.AND:
            matches = _conjunction(query, frame, variant)
        else:
            first = pairs.get(query.types[:2])
            if first is None:
                first = _pairs(query, frame, variant)
            if variant.shared and query.types[:2] not in pairs:
                first = first.collect(engine=variant.engine).lazy()
                pairs[query.types[:2]] = first
            matches = _third(query, frame, first, variant)
        result[query.name] = matches.collect(engine=variant.engine)
    return result


def _events(frame: pl.DataFrame, query: Query, number: int) -> pl.LazyFrame:
    """Events of the query's type with that number: id v, time tv, x xv, and k where it is needed."""
    key = ["k"] if query.shape is Shape.KEYED else []
    names = {"id": f"v{number}", "ts": f"t{number}", "x": f"x{number}"}
    chosen = frame.lazy().filter(col("type") == TYPES.index(query.types[number]))
    return chosen.select("id", "ts", "x", *key).rename(names)


def _join(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    query: Query,
    variant: Variant,
    span: tuple[pl.Expr, pl.Expr, int],
) -> pl.LazyFrame:
    """Pairs in reach of each other by buckets: right times from `low` on, over `reach` windows, before the left's.

    `span` is (left's earliest right time, the right's time, reach).
    """
    low, at, reach = span
    width = query.window_us // variant.parts
    first, own = (low // width).cast(pl.Int32), (at // width).cast(pl.Int32)
    steps = range(reach * variant.parts + 1)
    if variant.repeat == "left":
        left = pl.concat([left.with_columns(bucket=first + i) for i in steps])
        right = right.with_columns(bucket=own)
    else:
        left = left.with_columns(bucket=first)
        right = pl.concat([right.with_columns(bucket=own - i) for i in steps])
    return left.join(right, on=["k", "bucket"] if query.shape is Shape.KEYED else ["bucket"])


def _pairs(query: Query, frame: pl.DataFrame, variant: Variant) -> pl.LazyFrame:
    """The first two events of a rising sequence."""
    a, b = _events(frame, query, 0), _events(frame, query, 1)
    joined = _join(a, b, query, variant, (col("t0"), col("t1"), 1))
    in_window = (col("t0") < col("t1")) & (col("t1") <= col("t0") + query.window_us)
    key = ["k"] if query.shape is Shape.KEYED else []
    return joined.filter(in_window & (col("x0") < col("x1"))).select("v0", "v1", "t0", "t1", "x1", *key)


def _third(query: Query, frame: pl.DataFrame, pairs: pl.LazyFrame, variant: Variant) -> pl.LazyFrame:
    """The matches of a rising sequence from the pairs of its first two events."""
    joined = _join(pairs, _events(frame, query, 2), query, variant, (col("t1"), col("t2"), 1))
    in_window = (col("t1") < col("t2")) & (col("t2") <= col("t0") + query.window_us)
    return joined.filter(in_window & (col("x1") < col("x2"))).select("v0", "v1", "v2", start="t0", end="t2")


def _conjunction(query: Query, frame: pl.DataFrame, variant: Variant) -> pl.LazyFrame:
    window = query.window_us
    a, b, c = (_events(frame, query, i) for i in range(3))
    near = _join(a, b, query, variant, (col("t0") - window, col("t1"), 2)).filter(
        ((col("t0") - col("t1")).abs() <= window) & (col("x0") < col("x1"))
    )
    pairs = near.select("v0", "v1", first=pl.min_horizontal("t0", "t1"), last=pl.max_horizontal("t0", "t1"))
    joined = _join(pairs, c, query, variant, (col("last") - window, col("t2"), 2)).filter(
        (col("t2") >= col("last") - window) & (col("t2") <= col("first") + window)
    )
    ends = {"start": pl.min_horizontal("first", "t2"), "end": pl.max_horizontal("last", "t2")}
    return joined.select("v0", "v1", "v2", **ends)
