"""A run on Spark, from event files to the files and tables of what was found."""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from stretto.cli.console import say
from stretto.cli.inputs import parse_workload, plan_for, read_workload, remarks_on, tell_of_ids, warn_of
from stretto.cli.options import PlanningOptions
from stretto.cli.results.running import SHOWN_PER_QUERY, Outputs, RunLimits, as_texts
from stretto.data.files import STDIN, EventFile
from stretto.engine.expected_matches import guarded, too_many
from stretto.engine.results.match_limit import check_counts
from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.spread.choice import choose, describe, rejected
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import Spread
from stretto.records import dataclass
from stretto.schema import Special
from stretto.spark.batch.event_files import EventFiles, open_files, profile_files, survey
from stretto.spark.batch.find_in_files import ASIDE, find
from stretto.spark.batch.summary import Summary
from stretto.spark.batch.targets import ResultForm
from stretto.spark.errors import clear_failures
from stretto.spark.packed import LATE, MATCHES, METRICS, TRENDS, from_payload
from stretto.spark.plans import bound_early
from stretto.spark.setup.session import cores_of, session
from stretto.spark.task_memory import available_cores
from stretto.stats.profile import Stats
from stretto.stats.sampling import SIZE


@contextmanager
def opened(workload: str, events: str, special: Special) -> Iterator[tuple[Workload, EventFiles]]:
    """A workload and the event files of a path; standard input becomes a file for as long as it is read.

    Mistakes in the workload are reported now, before Spark starts. The columns of Parquet files are known for sure,
    so that it is bound to them. Those of other files may turn out otherwise: then it is bound again.
    """
    if events != STDIN:
        files = open_files(events, special)
        if files.unit_told is not None:
            say(files.unit_told)
        if files.in_place:
            tell_of_ids(files.schema, special)
            yield read_workload(workload, files.schema), files
        else:
            yield bound_early(parse_workload(workload), lambda: files.schema), files
        return
    read = read_workload(workload)
    with tempfile.TemporaryDirectory(prefix="stretto-") as folder:
        path = Path(folder, "stdin.jsonl")
        path.write_bytes(sys.stdin.buffer.read())
        yield read, open_files(str(path), special)


def started(master: str | None, *, quiet: bool) -> SparkSession:
    """The session of a command; Spark shows its progress if standard error is a terminal."""
    progress = {"spark.ui.showConsoleProgress": sys.stderr.isatty() and not quiet}
    try:
        return session(master, "stretto", **progress)
    except StrettoError:
        raise
    except Exception as error:
        first = str(error).strip().splitlines()[:1] or [type(error).__name__]
        raise StrettoError(f"Spark could not be started: {first[0]} (--on local needs no Spark)") from error


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan, the surveyed files, and how the work is spread."""

    plan: Plan
    files: EventFiles
    spread: Spread

    def guarded(self, asked: int | None) -> int | None:
        """Return the most matches that a query may have; `asked`: by the user."""
        summary = self.files.summary
        if summary is None:
            return asked
        return guarded(self.plan, summary.rows, summary.seconds, asked)


def prepare(
    workload: Workload,
    files: EventFiles,
    spark: SparkSession,
    planning: PlanningOptions,
    spread: str,
    units: int | None = None,
) -> Prepared:
    """The plan of a workload over files, and how the work is spread."""
    with clear_failures():
        known = survey(spark, files)
        workload.bind(known.schema)  # mistakes are reported before a sample is measured
        stats = None if planning.optimizer == "none" else profile_files(spark, None, known)
        plan = plan_for(workload, known.schema if stats is None else stats, planning)
        warn_of(remarks_on(workload, known.schema if stats is None else stats))
        if known.summary is not None:
            warn_of(too_many(plan, known.summary.rows, known.summary.seconds))
        load = known.load(stats)
        cores = cores_of(spark)
        chosen = choose(plan, load, cores, spread, units)
    say(describe(chosen, load))
    if spread == "auto":
        say(rejected(plan, load, cores, chosen))
    return Prepared(plan, known, chosen)


def find_on_spark(spark: SparkSession, prepared: Prepared, outputs: Outputs, limits: RunLimits) -> None:
    """Run a plan over files, and hand the results to the outputs."""
    plan, files = prepared.plan, prepared.files
    events = files.event_file.select(attributes_of(plan))
    outputs.begin(plan, events, limits.undecided)
    keep = SHOWN_PER_QUERY if outputs.matches is None and outputs.totals is None else None
    form = ResultForm(packed=True, keep=keep)
    bounds = (limits.memory_bytes, limits.lateness_us, limits.latest_us, limits.max_matches)
    packed = find(spark, plan, files, prepared.spread, form, *bounds, undecided=limits.undecided)
    shown: list[pa.RecordBatch] = []
    shown_totals: list[pa.RecordBatch] = []
    totals = 0
    with clear_failures():
        for target, kind, payload in _rows(packed, is_small=keep is not None):
            if kind == METRICS:
                counts = json.loads(payload)
                totals += counts.pop("totals")
                outputs.add_counts(**counts)
                check_counts(outputs.found, limits.max_matches)  # a task knows its own matches only
            elif kind == MATCHES:
                batch = from_payload(payload)
                shown.append(batch) if outputs.matches is None else outputs.matches.write(batch)
            elif kind == TRENDS and keep is None:
                outputs.add_totals([from_payload(payload)])
            elif kind == TRENDS:
                shown_totals.append(from_payload(payload))
            elif kind == LATE:
                outputs.add_late([from_payload(payload)])
            else:
                _reject(from_payload(payload), events, outputs, is_unread=target == ASIDE)
    _show(shown, plan, outputs)
    _show_totals(shown_totals, plan, outputs)
    outputs.total_rows = totals


def _rows(packed: DataFrame, *, is_small: bool) -> Iterator[tuple[int, str, Any]]:
    """Target, kind and payload of every packed row; many of them wait on the executors' disks, not in memory here."""
    chosen = packed.select("target", "kind", "payload")
    if is_small:
        found = chosen.toArrow()
        yield from zip(*(found.column(name).to_pylist() for name in found.column_names), strict=True)
        return
    chosen = chosen.persist(StorageLevel.DISK_ONLY)
    try:
        chosen.count()  # all tasks at once; the rows are then fetched one partition after another
        for row in chosen.toLocalIterator():
            yield row.target, row.kind, row.payload
    finally:
        chosen.unpersist()


def _reject(batch: pa.RecordBatch, events: EventFile, outputs: Outputs, *, is_unread: bool) -> None:
    if is_unread:
        outputs.add_counts(events=batch.num_rows, rejected=batch.num_rows)
        table = pa.Table.from_batches([batch])
    else:
        table = as_texts(batch, events)
    outputs.add_rejected(table.select(events.rejected_schema.names))


def _show(batches: list[pa.RecordBatch], plan: Plan, outputs: Outputs) -> None:
    """Keep the first matches of the first queries to be shown."""
    if not batches:
        return
    table = pa.Table.from_batches(batches)
    for query in plan.names:
        if outputs.first.is_full:
            return
        mine = table.filter(pc.equal(table.column("query"), query)).sort_by("start")
        for batch in mine.slice(0, SHOWN_PER_QUERY).combine_chunks().to_batches():
            outputs.keep(batch)


def _show_totals(batches: list[pa.RecordBatch], plan: Plan, outputs: Outputs) -> None:
    """Offer the totals of the first windows to be shown, those of one aggregate together."""
    if not batches or plan.trends is None:
        return
    table = pa.Table.from_batches(batches).sort_by([("window_start", "ascending"), ("group", "ascending")])
    for query in plan.trends.queries:
        for aggregate in query.aggregates:
            is_mine = pc.and_(
                pc.equal(table.column("query"), query.name), pc.equal(table.column("name"), aggregate.name)
            )
            outputs.add_totals(table.filter(is_mine).combine_chunks().to_batches())


def measured(
    workload: Workload, spark: SparkSession, files: EventFiles, sample: float | None, seed: int
) -> Stats:
    """The statistics of surveyed files, and of the workload's terms."""
    stats = profiled(spark, files, sample, seed)
    warn_of(remarks_on(workload, stats))
    return stats.measured(workload.bind(stats.schema).normal_forms())


def profiled(spark: SparkSession, files: EventFiles, sample: float | None = None, seed: int = 0) -> Stats:
    """The statistics of surveyed files; without a share, as many events are sampled as in process."""
    assert files.summary is not None
    share = min(1.0, SIZE / max(files.summary.rows, 1)) if sample is None else sample
    return profile_files(spark, None, files, share, seed=seed)


def spread_text(
    plan: Plan, source: EventFile, stats: Stats | None, spread: str, units: int | None = None
) -> str:
    """How the work on some files would be spread over the cores of this machine."""
    files = open_files(source.path, source.special)
    if files.times is None or MatchReach.of(plan).after_events or spread in ("auto", "units"):
        files = replace(files, summary=Summary.of(source.select(()).batches(), source.special))
    load = files.load(stats)
    cores = available_cores()
    chosen = choose(plan, load, cores, spread, units)
    if spread != "auto":
        return describe(chosen, load)
    return f"{describe(chosen, load)}\n{rejected(plan, load, cores, chosen)}"
