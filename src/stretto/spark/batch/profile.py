"""Statistics of events on Spark: one job counts them all, another fetches a sample to measure terms on.

The sample is made of a few stretches of time, each complete, so that what lies in one window of a sampled event is
there too; rare types get some events of their own besides.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from stretto.errors import EventsError
from stretto.face.given import Given, workload_of
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.spread.spreads import times_of
from stretto.schema import Schema, Special, column_of, sources_of
from stretto.spark.batch.summary import Summary, total
from stretto.spark.errors import at_work, clear_failures
from stretto.spark.frames import frame_of
from stretto.spark.io.columns import arrow_columns
from stretto.spark.packed import EVENTS, PACKED, Packed, from_payload, gathered, packed_rows, to_payload
from stretto.stats.profile import Stats
from stretto.stats.sample import Sample, names_of
from stretto.stats.sampling import LOOSE, check_columns, good, in_order, number_for
from stretto.stats.selectivity import Selectivities
from stretto.values.times import END_OF_TIME, START_OF_TIME, time_text

FEWEST: Final = 20_000
"""So many events are sampled at least, if there are as many."""
MOST: Final = 2_000_000
"""So many events are sampled at most: the driver holds them."""
ENOUGH: Final = 100
"""A type with so many events in the stretches needs none besides."""

Range = tuple[int, int]


def profile(
    workload: Given | None,
    df: Any,
    sample: float = 0.01,
    *,
    special: Special | None = None,
    seed: int = 0,
    summary: Summary | None = None,
    ts_unit: str | None = None,
) -> Stats:
    """The statistics of a batch DataFrame; with a workload the terms of its queries are measured at once.

    `workload` is a Workload, a Plan, text or the Path of a file; `df` may also be an Arrow, pandas or Polars table.

    Events are counted exactly; terms are measured on about this share of them, at least 20,000 and at most 2,000,000.
    `summary`: what counting them told, if that was done before.
    """
    special = special or Special()
    df, read = frame_of(df, special, ts_unit), None if workload is None else workload_of(workload)
    workload = read.workload if isinstance(read, Plan) else read
    arrow = arrow_columns(df)
    check_columns(arrow, special)
    schema = Schema.of(arrow, None, special)
    with clear_failures():
        known = summary or summarize(df, special)
        ranges, rare = wanted_sample(known, sample, seed, workload)
        names = sources_of((special.ts, special.type, *schema.attributes), df.columns)
        ts = df.schema[special.ts].dataType
        inside = _inside(F.col(f"`{special.ts}`"), ts, ranges)
        kept = inside if not rare else inside | F.col(f"`{special.type}`").isin(list(rare))
        rows = df.select([F.col(f"`{name}`") for name in names]).where(kept)

        def sampled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with at_work("sampling events", ()):
                yield from sample_rows(batches, special, ranges, rare)

        found = rows.mapInArrow(sampled, PACKED).toArrow()
    return stats_of(known, found, schema, ranges, seed, workload)


def summarize(df: DataFrame, special: Special) -> Summary:
    """The numbers, types and times of a DataFrame's events, by a job over all of them."""
    check_columns(arrow_columns(df), special)

    def summary_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with at_work("counting events", ()):
            yield pa.record_batch(
                {"summary": pa.array([Summary.of(batches, special).to_json()], pa.string())}
            )

    names = [special.ts, special.type, *([special.id] if special.id in df.columns else [])]
    with clear_failures():
        found = (
            df.select([F.col(f"`{name}`") for name in names])
            .mapInArrow(summary_of, "summary string")
            .collect()
        )
    return total(Summary.from_json(row.summary) for row in found)


def wanted_sample(
    known: Summary, share: float, seed: int, workload: Workload | None = None
) -> tuple[list[Range], tuple[str, ...]]:
    """Ranges of time that hold about a share of the events, and the types that are too rare to be found there.

    With a workload there are fewer and longer ones, where its windows do not fit into them.
    """
    if not isinstance(share, int | float) or not 0.0 < share <= 1.0:
        raise EventsError(f"a sample is a share of the events, more than 0 and at most 1, not {share!r}")
    times = known.times
    size = min(max(share * times.total, FEWEST), MOST)
    if times.total <= size:
        return [(START_OF_TIME, END_OF_TIME)], ()
    random = np.random.default_rng(seed)

    def usual_length(number: int) -> tuple[float, float]:
        ends = times.at(np.arange(number + 1) / number)
        return float(np.median(np.diff(ends))) * size / times.total, size / number

    number = number_for([] if workload is None else workload.windows, usual_length)
    part, length = 1.0 / number, size / times.total / number
    starts = [i * part + random.random() * (part - length) for i in range(number)]
    edges = times.at(np.array([edge for start in starts for edge in (start, start + length)])).tolist()
    ranges = [(low, max(high, low + 1)) for low, high in zip(edges[::2], edges[1::2], strict=True)]
    rare = [name for name, count in known.types.items() if count * size / times.total < ENOUGH]
    return ranges, tuple(sorted(rare))


def _inside(column: Column, ts: DataType, ranges: Sequence[Range]) -> Column:
    """Whether a time lies in one of the ranges, in a form that readers of files understand."""
    if ranges == [(START_OF_TIME, END_OF_TIME)]:
        return F.lit(True)
    return reduce(
        or_, ((column >= _literal(low, ts)) & (column < _literal(high, ts)) for low, high in ranges)
    )


def _literal(us: int, ts: DataType) -> Column:
    if isinstance(ts, TimestampType):
        return F.timestamp_micros(F.lit(us))
    if isinstance(ts, TimestampNTZType):
        return F.expr(f"TIMESTAMP_NTZ '{time_text(us)}'")
    if isinstance(ts, DateType):
        return F.expr(f"DATE '{time_text(us).partition(' ')[0]}'")
    return F.lit(us)


def sample_rows(
    batches: Iterable[pa.RecordBatch], special: Special, ranges: Sequence[Range], rare: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The events in the ranges, and some of each rare type, as packed rows."""
    left = dict.fromkeys(rare, LOOSE)
    for batch in gathered(batches, 1 << 16):
        kept = in_ranges(times_of(batch, special)[0], ranges) >= 0
        for name in [name for name, count in left.items() if count]:
            others = np.flatnonzero(_is_type(batch.column(special.type), name) & ~kept)[: left[name]]
            left[name] -= len(others)
            kept[others] = True
        part = batch.filter(pa.array(kept))
        if part.num_rows:
            yield packed_rows([Packed(0, EVENTS, to_payload(part), part.num_rows)])


def _is_type(column: Any, name: str) -> Any:
    names = names_of(pa.chunked_array([column]))
    return pc.fill_null(pc.equal(names, name), False).to_numpy(zero_copy_only=False)


def in_ranges(ts: Any, ranges: Sequence[Range]) -> Any:
    """The number of the range that each time lies in, -1 for none; ranges follow each other."""
    starts = np.array([low for low, _ in ranges], np.int64)
    stops = np.array([high for _, high in ranges], np.int64)
    at = np.searchsorted(starts, ts, side="right") - 1
    return np.where((at >= 0) & (ts < stops[at]), at, -1)


def stats_of(
    known: Summary,
    found: pa.Table,
    schema: Schema,
    ranges: Sequence[Range],
    seed: int,
    workload: Workload | None,
) -> Stats:
    """Statistics from the counts of all events and packed rows of a sample of them, which may come in any order."""
    times = known.times
    span = times.seconds or 1.0
    rates = {name: known.types[name] / span for name in sorted(known.types)}
    schema = replace(schema, types=frozenset(rates) or None)
    batches = [from_payload(payload) for payload in found.column("payload").to_pylist()]
    terms = Selectivities(_sample(batches, schema, ranges), seed, rates=rates)
    stats = Stats(schema, times.seconds, rates, known.rows, selectivities=terms)
    return stats if workload is None else stats.measured(workload)


def _sample(batches: Sequence[pa.RecordBatch], schema: Schema, ranges: Sequence[Range]) -> Sample | None:
    special = schema.special
    names = list(dict.fromkeys([special.ts, special.type, *schema.attributes]))
    tables = [
        pa.table({name: column_of(batch, name) for name in names}) for batch in batches if batch.num_rows
    ]
    if not tables:
        return None
    table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    table = good(table, special)
    if not table.num_rows:
        return None
    table = in_order(table, special.ts)
    numbers = np.concatenate([in_ranges(times_of(b, special)[0], ranges) for b in table.to_batches()])
    stretches = [table.filter(pa.array(numbers == i)) for i in range(len(ranges))]
    stretches = [stretch for stretch in stretches if stretch.num_rows]
    loose = table.filter(pa.array(numbers < 0))
    if not stretches:
        return None
    whole = ranges[0] == (START_OF_TIME, END_OF_TIME)
    return Sample(stretches, loose if loose.num_rows else None, schema, whole=whole)


def heaviest_of(stats: Stats | None) -> dict[str, float]:
    """The share of the commonest value of every attribute whose values were looked at."""
    found: dict[str, float] = {}
    for (_, attribute), skew in stats.selectivities.skews.items() if stats is not None else ():
        found[attribute] = max(found.get(attribute, 0.0), skew.heaviest)
    return found
