"""Results of a whole DataFrame: events are packed per target, moved, and run through the plan, target by target."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DateType, StructType, TimestampNTZType, TimestampType

from stretto.errors import EventsError, near
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.targets import Load, Spread, choose, read_attributes
from stretto.plan.spread.time_slices import Times
from stretto.schema import Schema, Special
from stretto.spark.chunks import (
    CHUNK_ROWS,
    EVENTS,
    MATCHES,
    PACKED,
    TRENDS,
    Packed,
    from_payload,
    gathered,
    packed_rows,
    result_arrow,
    span_of,
    to_payload,
)
from stretto.spark.columns import arrow_columns, refuse_ids
from stretto.spark.errors import StrettoSparkError, at_work, clear_failures
from stretto.spark.profile import heaviest_of, profile, summarize
from stretto.spark.requested import Asked, asked_of, query_names
from stretto.spark.session import local_cores
from stretto.spark.tasks import Work, chunks_of, rows_of
from stretto.stats.profile import Stats

PARTITION: Final = 33
"""Bits for the row inside a partition in the ids that are given to events: those of monotonically_increasing_id."""

Found = Callable[[Iterable[pa.Table], tuple[int, int]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Shape:
    """What comes out of a job: matches, or totals of trends, as rows whose times have the type `ts`; or, packed, at
    most `keep` of each query, or aggregate, and target (None: all), rejected events, and counts.
    """

    ts: Any = None
    packed: bool = False
    keep: int | None = None
    kind: str = MATCHES

    @property
    def asked(self) -> Asked:
        if self.packed:
            return "all"
        return "matches" if self.kind == MATCHES else "trends"

    @property
    def schema(self) -> str | StructType:
        return PACKED if self.packed else result_schema(self.kind, self.ts)

    def found(self, work: Work) -> Found:
        """What turns a target's events into the rows that come out."""
        if self.packed:
            return lambda runs, owned: chunks_of(work, runs, owned, self.keep)
        return lambda runs, owned: rows_of(work, runs, owned, self.kind, self.ts)


def detect(
    workload: Workload | str | Plan,
    df: DataFrame,
    *,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread = "auto",
    special: Special | None = None,
    cores: int | None = None,
    asked: Asked = "matches",
) -> DataFrame:
    """All matches, or totals, of a workload or a plan in a batch DataFrame, one row each.

    Where all is asked for, packed rows of matches, totals and rejected events.

    Without a plan and without `stats` a sample of the events is measured first; `auto` and `time` look at their times.
    Both are jobs of their own, that start at once. Events without an id column get the ids of Spark's
    monotonically_increasing_id: the number of the partition times 2^33, plus the row in it. Events of one time are in
    the order of these numbers.
    """
    special = special or (workload.schema.special if isinstance(workload, Plan) else Special())
    schema = schema_of(df, special)
    with clear_failures():
        cores = cores or cores_of(df.sparkSession)
        summary = cache(lambda: summarize(df, special))

        def measured(read: Workload) -> Stats:
            return stats or profile(read, df, special=special, summary=summary())

        plan = planned(workload, schema, optimizer, budget, measured, asked)
        if isinstance(spread, str):
            times = summary().times if spread in ("auto", "time") else Times.of(())
            chosen = choose(plan, Load(times, heaviest_of(stats)), cores, spread)
        else:
            chosen = checked(spread, plan)
        shape = Shape(
            ts_type(df, special), packed=asked == "all", kind=TRENDS if asked == "trends" else MATCHES
        )
        wanted = [special.ts, special.type, *([special.id] if special.id in df.columns else [])]
        names = [*wanted, *sorted(read_attributes(plan, chosen) - set(wanted))]
        if asked == "all":  # rejected events are given as they came
            names = df.columns
        chunks = df.select([F.col(f"`{name}`") for name in names]).mapInArrow(
            _packing(plan, chosen, special), PACKED
        )
        return run_targets(chunks, Work(plan, special), chosen, shape)


def schema_of(df: DataFrame, special: Special) -> Schema:
    """What queries can read of a DataFrame; EventsError where it has no times or types, or ids that do not serve."""
    arrow = arrow_columns(df)
    for name, meaning in ((special.ts, "times"), (special.type, "types")):
        if name not in arrow.names:
            hint = near(name, arrow.names)
            raise EventsError(
                f"the DataFrame has no column `{name}` for the {meaning} of the events"
                + (f", {hint}" if hint else "")
                + f" (columns: {', '.join(arrow.names)})"
            )
    refuse_ids(df.schema, special)
    return Schema.of(arrow, None, special)


def planned(
    workload: Workload | str | Plan,
    schema: Schema,
    optimizer: str,
    budget: float | None,
    measure: Callable[..., Stats],
    asked: Asked = "all",
) -> Plan:
    """The plan itself, or that of a workload over what is measured of the events, if its optimizer wants to know.

    Queries whose results are not asked for are left out.
    """
    read = asked_of(Workload.parse(workload) if isinstance(workload, str) else workload, schema, asked)
    if isinstance(read, Plan):
        return read
    if asked == "all":  # else it was bound to see what is asked for
        read.bind(schema)
    return optimize(read, schema if optimizer == "none" else measure(read), optimizer, budget)


def checked(spread: Spread, plan: Plan) -> Spread:
    """A spread that was given, if it gives the right results."""
    reason = spread.check(plan)
    if reason is not None:
        raise StrettoSparkError(f"this spread would give wrong results: {reason}")
    return spread


def cores_of(spark: SparkSession) -> int:
    """How many tasks run at a time."""
    master = spark.conf.get("spark.master", "") or ""
    found = local_cores(master)
    if found is not None:
        return found
    # A range without a number of partitions has one for each core.
    parts = spark.range(1 << 16).select(F.spark_partition_id().alias("part")).distinct().count()
    return max(1, parts)


def ts_type(df: DataFrame, special: Special) -> Any:
    """The Arrow type of the times of results: that of the events; of dates, timestamps."""
    found = df.schema[special.ts].dataType
    if isinstance(found, TimestampType):
        return pa.timestamp("us", "UTC")
    return pa.timestamp("us") if isinstance(found, TimestampNTZType | DateType) else pa.int64()


def result_schema(kind: str, ts: pa.DataType) -> StructType:
    """The columns of matches or of totals, with times of an Arrow type, as Spark names them."""
    return from_arrow_schema(result_arrow(kind, ts), prefer_timestamp_ntz=True)


# ---- packing -------------------------------------------------------------------------------------------------


def _packing(plan: Plan, spread: Spread, special: Special) -> Callable[..., Iterator[pa.RecordBatch]]:
    queries = query_names(plan)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        arrived = (context.partitionId() if context is not None else 0) << PARTITION
        with at_work("packing events", queries):
            yield from pack_arriving(batches, spread, special, arrived)

    return pack


def pack_arriving(
    batches: Iterator[pa.RecordBatch], spread: Spread, special: Special, arrived: int
) -> Iterator[pa.RecordBatch]:
    """Events as packed rows per target; `version` is the number of a chunk's first event in order of arrival.

    Events without an id get their numbers, counted from `arrived` on.
    """
    for batch in gathered(batches, CHUNK_ROWS):
        numbered = batch
        if special.id not in batch.schema.names:
            numbers = np.arange(arrived, arrived + batch.num_rows, dtype=np.int64)
            numbered = batch.append_column(special.id, pa.array(numbers))
        parts = spread.parts(numbered, special)
        if parts:
            yield packed_rows(_event_row(target, part, arrived, special) for target, part in parts)
        arrived += batch.num_rows


def _event_row(target: int, part: pa.RecordBatch, arrived: int, special: Special) -> Packed:
    return Packed(target, EVENTS, to_payload(part), part.num_rows, arrived, *span_of(part, special))


# ---- running -------------------------------------------------------------------------------------------------


def run_targets(chunks: DataFrame, work: Work, spread: Spread, shape: Shape) -> DataFrame:
    """Packed events, moved to their targets and run there; packed rows of other kinds are passed through, packed."""
    found, queries, is_packed = shape.found(work), query_names(work.plan), shape.packed

    def run(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        target = key[0].as_py()
        with at_work(f"finding matches at target {target} of {spread.targets}", queries):
            held: list[tuple[int, bytes]] = []
            for batch in batches:
                is_event = pc.equal(batch.column("kind"), EVENTS)
                held += _ordered(batch.filter(is_event))
                others = batch.filter(pc.invert(is_event))
                if is_packed and others.num_rows:
                    yield others
            if held:
                yield from found([_table(held)], spread.owned(target))

    return chunks.groupBy("target").applyInArrow(run, shape.schema)


def _ordered(batch: pa.RecordBatch) -> list[tuple[int, bytes]]:
    return list(zip(batch.column("version").to_pylist(), batch.column("payload").to_pylist(), strict=True))


def _table(held: list[tuple[int, bytes]]) -> pa.Table:
    """The events of some chunks in order of arrival."""
    held.sort(key=lambda chunk: chunk[0])
    return pa.Table.from_batches([from_payload(payload) for _, payload in held])
