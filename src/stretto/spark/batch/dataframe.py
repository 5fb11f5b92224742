"""Results of a whole DataFrame: events are packed per target, moved, and run through the plan, target by target."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from stretto.face.given import Given
from stretto.pattern.workload import Workload
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.spreads import Spread, read_attributes
from stretto.plan.spread.staged import Staged
from stretto.schema import Special, sources_of
from stretto.spark.batch.profile import heaviest_of, profile, summarize
from stretto.spark.batch.staged_targets import pack_rows, run_stages
from stretto.spark.batch.summary import Summary
from stretto.spark.batch.targets import ResultForm, pack_arriving, run_targets
from stretto.spark.batch.worker import Work
from stretto.spark.errors import at_work, clear_failures
from stretto.spark.outputs import everything
from stretto.spark.packed import PACKED, OwnTypes
from stretto.spark.plans import Asked, Planning, chosen_spread, planned, query_names, schema_of, special_of
from stretto.spark.setup.session import cores_of
from stretto.stats.profile import Stats

DEFAULT: Final = Planning()
PARTITION: Final = 33
"""Bits for the row inside a partition in the ids that are given to events: those of monotonically_increasing_id."""


def detect(
    workload: Given,
    df: DataFrame,
    planning: Planning = DEFAULT,
    spread: str | Spread = "auto",
    special: Special | None = None,
    *,
    cores: int | None = None,
    units: int | None = None,
    asked: Asked = "matches",
) -> DataFrame:
    """All matches, or totals, of a workload or a plan in a batch DataFrame, one row each.

    Where all is asked for, matches, totals and rejected events.

    Without a plan and without `stats` a sample of the events is measured first; `auto` and `time` look at their times.
    Both are jobs of their own, that start at once. Events without an id column get the ids of Spark's
    monotonically_increasing_id: the number of the partition times 2^33, plus the row in it. Events of one time are in
    the order of these numbers.
    """
    special = special or special_of(workload)
    schema = schema_of(df, special)
    with clear_failures():
        cores = cores or cores_of(df.sparkSession)
        summary = cache(lambda: summarize(df, special))

        def measure(read: Workload) -> Stats:
            return profile(read, df, special=special, summary=summary())

        plan = planned(workload, schema, planning, measure, asked)

        def load() -> EventLoad:
            known = summary() if spread in ("auto", "time") else Summary()
            return EventLoad(known.times, heaviest_of(planning.stats), shares=known.shares)

        chosen = chosen_spread(spread, plan, load, cores, units)
        form = ResultForm.of(asked, OwnTypes(ts_type(df, special), plan.text_ids))
        wanted = [special.ts, special.type, *([special.id] if special.id in df.columns else [])]
        read = sources_of(sorted(read_attributes(plan, chosen)), df.columns)
        names = [*wanted, *(name for name in read if name not in wanted)]
        if asked == "all":  # rejected events are given as they came
            names = df.columns
        queries, work = query_names(plan), Work(plan, special)

        def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            arrived = (context.partitionId() if context is not None else 0) << PARTITION
            with at_work("packing events", queries):
                if isinstance(chosen, Staged):
                    yield from pack_rows(batches, work, chosen, form, arrived)
                else:
                    yield from pack_arriving(batches, chosen, special, arrived)

        chunks = df.select([F.col(f"`{name}`") for name in names]).mapInArrow(pack, PACKED)
        if isinstance(chosen, Staged):
            found = run_stages(chunks, work, chosen, form)
        else:
            found = run_targets(chunks, work, chosen, form)
        return everything(found, df.schema, form.own) if asked == "all" else found


def ts_type(df: DataFrame, special: Special) -> Any:
    """The Arrow type of the times of results: that of the events; of dates, timestamps."""
    found = df.schema[special.ts].dataType
    if isinstance(found, TimestampType):
        return pa.timestamp("us", "UTC")
    return pa.timestamp("us") if isinstance(found, TimestampNTZType | DateType) else pa.int64()
