"""Results of a whole DataFrame: events are packed per target, moved, and run through the plan, target by target."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from stretto.data.typed import match_columns
from stretto.engine.results.undecided import Undecided
from stretto.errors import warn
from stretto.face.given import Given
from stretto.plan.dag import Plan
from stretto.plan.spread.choice import choose
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.spreads import Spread, read_attributes
from stretto.plan.spread.time_slices import Times
from stretto.plan.spread.unseen import PER_CORE, BatchSpread, choose_unseen, slices_of
from stretto.schema import Special, sources_of
from stretto.spark.batch.first_look import FirstLook
from stretto.spark.batch.profile import heaviest_of, summarize
from stretto.spark.batch.staged_targets import packed_for, run_packed
from stretto.spark.batch.summary import Summary
from stretto.spark.batch.targets import ResultForm
from stretto.spark.batch.worker import Work
from stretto.spark.errors import at_work, clear_failures
from stretto.spark.outputs import everything
from stretto.spark.packed import PACKED, OwnTypes
from stretto.spark.plans import Asked, Planning, chosen_spread, planned, query_names, schema_of, special_of
from stretto.spark.setup.session import cores_of, memory_of_tasks
from stretto.spark.typed import described
from stretto.spark.user_functions import with_functions
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
    undecided: Undecided = "keep",
) -> DataFrame:
    """All matches, or totals, of a workload or a plan in a batch DataFrame, one row each.

    Where all is asked for, matches, totals and rejected events.

    Without a plan and without `stats` the first events are looked at, by one job that starts at once. Events without an
    id column get the ids of Spark's monotonically_increasing_id: the number of the partition times 2^33, plus the row
    in it. Events of one time are in the order of these numbers.
    """
    special = special or special_of(workload)
    schema = schema_of(df, special)
    with clear_failures():
        cores = cores or cores_of(df.sparkSession)
        look = cache(lambda: FirstLook.at(df, schema))
        given = isinstance(workload, Plan) or planning.stats is not None  # nothing needs to be looked at
        plan = planned(
            workload,
            schema,
            planning,
            lambda read: look().stats(read),
            asked,
            seen=lambda: planning.stats is not None or planning.optimizer == "none" or look().whole,
        )
        plan = with_functions(plan)
        if asked != "trends" and special.id not in df.columns:
            _tell_of_ids(plan, special)

        if isinstance(spread, str) and units is None:
            seen = None if given or spread != "auto" else look()
            chosen = _spread(spread, plan, partial(summarize, df, special), seen, planning.stats, cores)
        else:
            chosen = chosen_spread(spread, plan, lambda: EventLoad(Times.of(())), cores, units)
        form = ResultForm.of(asked, OwnTypes(ts_type(df, special), plan.text_ids))
        wanted = [special.ts, special.type, *([special.id] if special.id in df.columns else [])]
        read = sources_of(sorted(read_attributes(plan, chosen)), df.columns)
        # Rejected events are given as they came.
        names = df.columns if asked == "all" else [*wanted, *(name for name in read if name not in wanted)]
        memory = memory_of_tasks(df.sparkSession, chosen.targets)
        queries, work = query_names(plan), Work(plan, special, memory, undecided=undecided)

        def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            arrived = (context.partitionId() if context is not None else 0) << PARTITION
            with at_work("packing events", queries):
                yield from packed_for(batches, work, chosen, form, arrived)

        chunks = df.select([F.col(f"`{name}`") for name in names]).mapInArrow(pack, PACKED)
        found = run_packed(chunks, work, chosen, form)
        return described(everything(found, df.schema, form.own) if asked == "all" else found, plan)


def _tell_of_ids(plan: Plan, special: Special) -> None:
    """Warn that ids will say nothing outside of the job, unless matches bring their events along."""
    bare = [
        name
        for name, output in match_columns(plan).items()
        if not any(item.part is not None for item in output.returns)
    ]
    if bare:
        warn(
            f"the DataFrame has no column `{special.id}`: the ids in matches (of {', '.join(bare[:3])}"
            f"{', ..' if len(bare) > 3 else ''}) are numbers of its rows, good for this job alone. Name a column with"
            " special=Special(id=..), or write RETURN * to have the events themselves"
        )


def _spread(
    name: str,
    plan: Plan,
    summary: Callable[[], Summary],
    seen: FirstLook | None,
    stats: Stats | None,
    cores: int,
) -> BatchSpread:
    """The spread of a name. Only slices for windows in EVENTS ask for the times of all events, which is a job."""
    if name == "auto":
        if seen is not None and seen.whole:
            return choose(plan, seen.load, cores)
        return choose_unseen(plan, cores, 0 if stats is None else stats.events)
    slices = slices_of(plan, PER_CORE * cores) if name == "time" else None

    def load() -> EventLoad:
        known = summary() if name == "time" else Summary()
        return EventLoad(known.times, heaviest_of(stats), shares=known.shares)

    return slices or chosen_spread(name, plan, load, cores)


def ts_type(df: DataFrame, special: Special) -> Any:
    """The Arrow type of the times of results: that of the events; of dates, timestamps."""
    found = df.schema[special.ts].dataType
    if isinstance(found, TimestampType):
        return pa.timestamp("us", "UTC")
    return pa.timestamp("us") if isinstance(found, TimestampNTZType | DateType) else pa.int64()
