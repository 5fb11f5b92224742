"""Results of event files: tasks read the files themselves, each its own slice of time where the files allow it."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from stretto.engine.results.undecided import Undecided, need_undecided
from stretto.face.given import Given
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import ByTime, Spread, Whole, read_attributes
from stretto.schema import Special
from stretto.spark.batch.event_files import (
    EventFiles,
    SliceRead,
    open_files,
    over_units,
    profile_files,
    runs_of,
    survey,
    unit_batches,
)
from stretto.spark.batch.last_time import LastTime, needs_last_time
from stretto.spark.batch.row_groups import TimeRange
from stretto.spark.batch.staged_targets import packed_for, run_packed
from stretto.spark.batch.targets import ResultForm
from stretto.spark.batch.worker import Share, Work
from stretto.spark.errors import StrettoSparkError, at_work, clear_failures
from stretto.spark.outputs import everything
from stretto.spark.packed import PACKED, REJECTED, OwnTypes, Packed, packed_rows, to_payload
from stretto.spark.plans import Asked, Planning, chosen_spread, planned, query_names, special_of
from stretto.spark.setup.session import cores_of, memory_of_tasks, session
from stretto.spark.typed import described
from stretto.spark.user_functions import with_functions
from stretto.stats.profile import Stats
from stretto.values.times import END_OF_TIME

ASIDE: Final = -1
"""The target of rows that go to none."""


def detect_files(
    workload: Given,
    path: str | EventFiles,
    *,
    spark: SparkSession | None = None,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread = "auto",
    special: Special | None = None,
    outputs: Asked = "matches",
    cores: int | None = None,
    units: int | None = None,
    undecided: Undecided = "keep",
) -> DataFrame:
    """All matches of a workload, or a plan, in the events of files, one row each; ids count the rows of all files.

    `path` is a file or a folder that every worker sees. Tasks read it themselves, so that no event passes through the
    JVM. `spark`: the session of this process, if no other is given. With a plan over Parquet files that say between
    which times their row groups lie, no job is started before the result is asked for.

    `undecided`: `keep` reports matches that wait for a time after the last event of all files, `drop` does not.

    `outputs`: `trends`, the totals of trend queries instead, as of `aggregate`; `all`, both and rejected events, which
    `matches_of`, `trends_of` and `rejected_of` take apart. Rejected events have the columns that were read as texts,
    and `text`, what stood where an event should.
    """
    spark = spark or session()
    with clear_failures():
        files = path if isinstance(path, EventFiles) else open_files(path, special or special_of(workload))
        cores = cores or cores_of(spark)
        if not isinstance(workload, Plan) or files.times is None:
            files = files if files.summary is not None else survey(spark, files)
        how = Planning(optimizer, budget, stats)
        plan = planned(workload, files.schema, how, lambda read: profile_files(spark, read, files), outputs)
        form = ResultForm.of(outputs, OwnTypes(_ts_type(files), plan.text_ids))
        if files.summary is None and MatchReach.of(plan).after_events:
            files = survey(spark, files)  # how many events there are is needed exactly
        chosen = chosen_spread(spread, plan, partial(files.load, stats), cores, units)
        found = find(spark, plan, files, chosen, form, undecided=need_undecided(undecided))
        if outputs != "all":
            return described(found, plan)
        told = files.event_file.select(attributes_of(plan)).rejected_schema
        events = StructType([StructField(name, StringType()) for name in told.names[:-1]])
        return described(everything(found, events, form.own), plan)


def _ts_type(files: EventFiles) -> pa.DataType:
    """The type of the matches' times: with a zone, if those of the first file have one."""
    first = next(iter(files.columns.values())).field(files.special.ts).type
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(first) and first.tz else pa.timestamp("us")


def find(
    spark: SparkSession,
    plan: Plan,
    files: EventFiles,
    spread: Spread,
    form: ResultForm,
    memory_bytes: int | None = None,
    lateness_us: int | None = None,
    latest_us: int = END_OF_TIME - 1,
    max_matches: int | None = None,
    undecided: Undecided = "keep",
) -> DataFrame:
    """The matches of a plan in the events of files, spread in a way that is right for it.

    With a lateness events that come later are left out, which needs all of them in one place; those after `latest_us`
    are rejected. `max_matches`: a task fails when a query has more matches in it. `undecided`: whether matches that
    wait for a time after the last event are reported.
    """
    if lateness_us is not None and not isinstance(spread, Whole):
        raise StrettoSparkError(
            "which events are late is known only where all of them arrive: do not spread them"
        )
    memory = memory_of_tasks(spark, spread.targets, memory_bytes)
    work = Work(with_functions(plan), files.special, memory, lateness_us, latest_us, max_matches, undecided)
    wanted = files.selected(read_attributes(plan, spread))
    if files.in_place and isinstance(spread, ByTime | Whole):
        return _in_place(spark, work, files, spread, form, wanted)
    return run_packed(_packed_units(spark, files, spread, wanted, work, form), work, spread, form)


def _in_place(
    spark: SparkSession,
    work: Work,
    files: EventFiles,
    spread: ByTime | Whole,
    form: ResultForm,
    wanted: pa.Schema,
) -> DataFrame:
    """Every target reads its own events; those with most of them start first."""
    pieces = [_pieces(files, spread, target) for target in range(spread.targets)]
    turns = sorted(range(spread.targets), key=lambda target: -sum(p.unit.rows or 0 for p in pieces[target]))
    found, queries, special = form.found(work), query_names(work.plan), files.special
    arriving = work.lateness_us is not None
    last_us = _last_time(work, files, wanted) if needs_last_time(work.plan, spread) else None

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for turn in batch.column(0).to_pylist():
                target = turns[turn]
                with at_work(f"finding matches at target {target} of {len(turns)}", queries):
                    runs = (_read(run, wanted, special) for run in runs_of(pieces[target], arriving=arriving))
                    yield from found(runs, Share.of(spread, target), last_us)

    return spark.range(0, len(turns), 1, len(turns)).mapInArrow(run, form.schema)


def _last_time(work: Work, files: EventFiles, wanted: pa.Schema) -> int:
    """The time of the last good event: the row groups with the latest times are read, most often just one of them."""
    last = LastTime(work.plan, files.special)
    units = zip(files.units, files.before, strict=True)
    for unit, before in sorted(units, key=lambda one: -(END_OF_TIME if one[0].last is None else one[0].last)):
        if unit.last is not None and unit.last <= last.us:
            break
        for batch in unit_batches(unit, before, wanted, files.special):
            last.see(batch)
    return last.us


def _read(run: Sequence[SliceRead], wanted: pa.Schema, special: Special) -> pa.Table:
    read = (unit_batches(p.unit, p.before, wanted, special, window=p.window) for p in run)
    return pa.Table.from_batches(chain.from_iterable(read), wanted)


def _pieces(files: EventFiles, spread: ByTime | Whole, target: int) -> list[SliceRead]:
    """The row groups that a target reads, in order of arrival."""
    found = []
    for unit, before in zip(files.units, files.before, strict=True):
        if isinstance(spread, Whole):
            found.append(SliceRead(unit, before, None))
            continue
        # A slice reads [start, stop), which is more than [low, high), what it owns: it reports what begins in its own
        # part, and sees all that this may bind or that may forbid it. So every match is reported by one slice.
        part = spread.slices[target]
        # Events without a time are left to one slice, which rejects them.
        if unit.first is None or unit.last is None:
            found.append(SliceRead(unit, before, TimeRange(part.start, part.stop, target == 0)))
            continue
        if unit.last < part.start or part.stop <= unit.first:
            continue
        timeless = part.low <= unit.first < part.high
        is_whole = timeless and part.start <= unit.first and unit.last < part.stop
        found.append(
            SliceRead(unit, before, None if is_whole else TimeRange(part.start, part.stop, timeless))
        )
    return found


def _packed_units(
    spark: SparkSession, files: EventFiles, spread: Spread, wanted: pa.Schema, work: Work, form: ResultForm
) -> DataFrame:
    special, before = files.special, files.before

    def packed(number: int) -> Iterator[pa.RecordBatch]:
        rejected: list[pa.Table] = []
        batches = unit_batches(files.units[number], before[number], wanted, special, rejected)
        yield from packed_for(batches, work, spread, form, before[number])
        for table in rejected:
            for batch in table.to_batches():
                yield packed_rows([Packed(ASIDE, REJECTED, to_payload(batch), batch.num_rows)])

    return over_units(spark, files, packed, PACKED, "reading {}")
