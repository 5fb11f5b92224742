"""`stretto run`: find the matches of a workload in some events."""

from contextlib import closing
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from stretto.cli.console import FAILED, fail, reported
from stretto.cli.options import (
    ColumnNames,
    EventsPath,
    Master,
    On,
    PlanningOptions,
    Quiet,
    RunOn,
    SomeOutPath,
    SpreadName,
    WorkloadPath,
    bytes_of,
    duration_of,
    latest_us,
)
from stretto.cli.records import takes

PROFILED = 1 << 20
"""How many events are measured to plan for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `stretto run`."""

    workload: WorkloadPath
    events: EventsPath
    out: SomeOutPath = None
    on: RunOn = On.SPARK
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
            help="The most memory for events and matches, such as 4GiB. With less memory, steps are smaller.",
        ),
    ] = None
    spread: Annotated[
        SpreadName | None,
        Option(
            help="How Spark spreads the work: as it costs least, by key, by slices of time, or not at all."
            " Units are not supported yet."
        ),
    ] = None
    master: Master = None
    quiet: Quiet = False

    @property
    def memory_bytes(self) -> int | None:
        return None if self.memory is None else bytes_of(self.memory)

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
        (_run_on_spark if options.on is On.SPARK else _run_in_process)(options)


def _refuse(options: RunOptions) -> None:
    """End with a message where options do not go together."""
    is_late, spread = options.lateness is not None, options.spread
    if options.ahead is not None and not is_late:
        fail(
            "--ahead is for runs with --lateness: without it no event is late, however far ahead another one is"
        )
    if options.on is On.LOCAL:
        if spread is not None or options.master is not None:
            fail(f"{'--spread' if spread is not None else '--master'} is for runs with --on spark")
        return
    if spread is SpreadName.UNITS:
        fail("--spread units is not supported yet; there are: auto, key, time, whole")
    if options.adapt:
        fail("--adapt is for runs with --on local: on Spark, the same plan runs every slice of the events")
    if is_late and spread not in (None, SpreadName.WHOLE):
        fail("--lateness depends on the order of arrival, so the events cannot be spread; leave --spread out")


def _run_in_process(options: RunOptions) -> None:
    from stretto.cli.inputs import measure, plan_for, read_workload
    from stretto.data.files import open_events

    (allowed, latest), memory = options.limits, options.memory_bytes
    source = open_events(options.events, options.columns.special)
    read = read_workload(options.workload, source.schema)
    budget = options.planning.budget
    known = source.schema if options.planning.optimizer == "none" else measure(source, read, PROFILED)
    plan = plan_for(read, known, options.planning)

    # These load the kernels: after what may be wrong.
    from stretto.cli.running import Outputs, RunLimits, find, trends_of
    from stretto.engine.adapt import AdaptOptions

    outputs = Outputs(options.out, options.late, options.rejected, trends_of(plan))
    with closing(outputs), reported(FAILED):
        limits = RunLimits(memory, source.disorder_us() if allowed is None else allowed, latest)
        follow = AdaptOptions() if budget is None else AdaptOptions(budget=budget)
        adapt = follow if options.adapt else False
        find(plan, source, outputs, limits, batch=options.batch, quiet=options.quiet, adapt=adapt)
        outputs.finish()
        outputs.show()


def _run_on_spark(options: RunOptions) -> None:
    """Find every match on Spark. Mistakes in the call are reported before Spark starts."""
    from stretto.plan.optimize import recipe_of

    memory, (allowed, latest) = options.memory_bytes, options.limits
    recipe_of(options.planning.optimizer)
    default = SpreadName.AUTO if options.lateness is None else SpreadName.WHOLE

    from stretto.cli.on_spark import find_on_spark, opened, prepare, started
    from stretto.cli.running import Outputs, RunLimits, trends_of

    with opened(options.workload, options.events, options.columns.special) as (read, files):
        spark = started(options.master, quiet=options.quiet)
        prepared = prepare(read, files, spark, options.planning, (options.spread or default).value)
        outputs = Outputs(options.out, options.late, options.rejected, trends_of(prepared.plan))
        with closing(outputs), reported(FAILED):
            find_on_spark(spark, prepared, outputs, RunLimits(memory, allowed, latest))
            outputs.finish()
            outputs.show()
