"""`stretto run`: find the matches of a workload in some events."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stretto.cli.console import FAILED, fail, reported
from stretto.cli.functions import FunctionFiles
from stretto.cli.options import (
    ColumnNames,
    EndOfInput,
    EventsPath,
    FileLayout,
    Master,
    MaxMatches,
    On,
    PlanningOptions,
    Quiet,
    RunOn,
    SomeOutPath,
    SpreadName,
    Units,
    WorkloadPath,
    bytes_of,
    duration_of,
    latest_us,
)
from stretto.cli.records import takes
from stretto.cli.where import chosen
from stretto.records import dataclass

if TYPE_CHECKING:
    from stretto.cli.results.layout import ResultLayout
    from stretto.engine.results.undecided import Undecided
    from stretto.plan.dag import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `stretto run`."""

    workload: WorkloadPath
    events: EventsPath
    out: SomeOutPath = None
    on: RunOn = On.AUTO
    planning: PlanningOptions
    adapt: Annotated[
        bool, Option("--adapt", help="Plan again, within the budget, when the events change.")
    ] = False
    batch: Annotated[int, Option(metavar="N", min=1, help="Events per batch.")] = 1 << 17
    lateness: Annotated[
        str | None,
        Option(
            metavar="DURATION",
            help="How far an event may be behind the latest time so far. The default is what the file needs.",
        ),
    ] = None
    ahead: Annotated[
        str | None,
        Option(
            metavar="DURATION",
            help="How far ahead of the clock an event's time may be; past that it is rejected. The default is any.",
        ),
    ] = None
    late: Annotated[str | None, Option(metavar="PATH", help="Where events go that come too late.")] = None
    rejected: Annotated[str | None, Option(metavar="PATH", help="Where bad events go, with the reason.")] = (
        None
    )
    columns: ColumnNames
    memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="The most memory for events and matches, such as 4GiB. By default half of what is available. With less"
            " memory, steps are smaller.",
        ),
    ] = None
    max_matches: MaxMatches = None
    spread: Annotated[
        SpreadName | None,
        Option(
            help="How Spark spreads the work: as it costs least, by key, by slices of time, by units that have all"
            " events but for parts of some types, or not at all."
        ),
    ] = None
    units: Units = None
    undecided: Annotated[
        EndOfInput,
        Option(
            help="What is done with matches that wait for a time after the last event, such as those of a NOT that"
            " stands last: keep reports them, drop does not. Their number is said in either case."
        ),
    ] = EndOfInput.KEEP
    functions: FunctionFiles = None
    layout: Annotated[
        FileLayout,
        Option(
            help="rows: one file for all queries. typed: a file for each, NAME.QUERY.EXT, with a column for each"
            " variable, RETURN column and aggregate."
        ),
    ] = FileLayout.ROWS
    master: Master = None
    quiet: Quiet = False

    @property
    def memory_bytes(self) -> int | None:
        return None if self.memory is None else bytes_of(self.memory)

    @property
    def at_the_end(self) -> "Undecided":
        """Return the treatment of undecided matches, `keep` or `drop`."""
        return "drop" if self.undecided is EndOfInput.DROP else "keep"

    @property
    def limits(self) -> tuple[int | None, int]:
        """How late an event may come, and the latest time it may have, in microseconds."""
        return duration_of(self.lateness, "--lateness"), latest_us(self.ahead)


@takes(RunOptions)
def run(options: RunOptions) -> None:
    """Find every match of a workload's queries in events.

    Without --out, the first matches and the counts per query are shown.

    Example: stretto run rules.cep --events trades.parquet --out matches.parquet
    """
    _refuse(options)
    with reported():
        place = chosen(
            options.on, options.events, options.master, spark=options.spread is not None, local=options.adapt
        )
        (_run_on_spark if place is On.SPARK else _run_in_process)(options)


def _refuse(options: RunOptions) -> None:
    """End with a message where options do not go together."""
    is_late, spread = options.lateness is not None, options.spread
    if options.layout is FileLayout.TYPED and options.out in (None, "-"):
        fail("--layout typed writes a file for each query: name one with --out, such as matches.parquet")
    if options.ahead is not None and not is_late:
        fail(
            "--ahead is for runs with --lateness: without it no event is late, however far ahead another one is"
        )
    if options.units is not None and spread is not SpreadName.UNITS:
        fail("--units is for runs with --on spark --spread units")
    if options.adapt and (spread is not None or options.master is not None):
        fail("--adapt is for runs with --on local: on Spark, the same plan runs every slice of the events")
    if options.on is On.LOCAL:
        if spread is not None or options.master is not None:
            fail(f"{'--spread' if spread is not None else '--master'} is for runs with --on spark")
        return
    if options.adapt and options.on is On.SPARK:
        fail("--adapt is for runs with --on local: on Spark, the same plan runs every slice of the events")
    if is_late and spread not in (None, SpreadName.WHOLE):
        fail("--lateness depends on the order of arrival, so the events cannot be spread; leave --spread out")


def _run_in_process(options: RunOptions) -> None:
    if not options.functions:  # theirs may make objects of pandas
        from stretto.cli.quick_arrow import without_pandas

        without_pandas()
    from stretto.cli.inputs import PROFILED, measure, open_told, plan_for, read_workload, remarks_on, warn_of
    from stretto.engine.expected_matches import guarded, too_many

    (allowed, latest), memory = options.limits, options.memory_bytes
    source = open_told(options.events, options.columns.special)
    read = read_workload(options.workload, source.schema)
    budget = options.planning.budget
    known = source.schema if options.planning.optimizer == "none" else measure(source, read, PROFILED)
    warn_of(remarks_on(read, known))
    plan = plan_for(read, known, options.planning)
    survey = source.survey()
    warn_of(too_many(plan, survey.rows, survey.seconds))
    most = guarded(plan, survey.rows, survey.seconds, options.max_matches)

    # These load the kernels: after what may be wrong.
    from stretto.cli.results.running import Outputs, RunLimits, find, trends_of
    from stretto.engine.adapt import AdaptOptions

    outputs = Outputs(options.out, options.late, options.rejected, trends_of(plan), _layout(options, plan))
    with closing(outputs), reported(FAILED):
        lateness = source.disorder_us() if allowed is None else allowed
        limits = RunLimits(memory, lateness, latest, most, options.at_the_end)
        follow = AdaptOptions() if budget is None else AdaptOptions(budget=budget)
        adapt = follow if options.adapt else False
        find(plan, source, outputs, limits, batch=options.batch, quiet=options.quiet, adapt=adapt)
        outputs.finish()
        outputs.show()


def _layout(options: RunOptions, plan: "Plan") -> "ResultLayout":
    from stretto.cli.results.layout import ResultLayout

    return ResultLayout(plan, typed=options.layout is FileLayout.TYPED)


def _run_on_spark(options: RunOptions) -> None:
    """Find every match on Spark. Mistakes in the call are reported before Spark starts."""
    from stretto.plan.optimize import recipe_of

    memory, (allowed, latest) = options.memory_bytes, options.limits
    recipe_of(options.planning.named)
    default = SpreadName.AUTO if options.lateness is None else SpreadName.WHOLE

    from stretto.cli.on_spark import find_on_spark, opened, prepare, started
    from stretto.cli.results.running import Outputs, RunLimits, trends_of

    with opened(options.workload, options.events, options.columns.special) as (read, files):
        spark = started(options.master, quiet=options.quiet)
        spread = (options.spread or default).value
        prepared = prepare(read, files, spark, options.planning, spread, options.units)
        plan = prepared.plan
        outputs = Outputs(
            options.out, options.late, options.rejected, trends_of(plan), _layout(options, plan)
        )
        with closing(outputs), reported(FAILED):
            most = prepared.guarded(options.max_matches)
            limits = RunLimits(memory, allowed, latest, most, options.at_the_end)
            find_on_spark(spark, prepared, outputs, limits)
            outputs.finish()
            outputs.show()
