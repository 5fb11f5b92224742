"""`stretto run`: find the matches of a workload in some events."""

from dataclasses import dataclass
from typing import Annotated

import typer

from stretto.cli.console import FAILED, fail, reported
from stretto.cli.options import (
    EVENTS_HELP,
    ColumnNames,
    Master,
    On,
    Out,
    PlanningOptions,
    Quiet,
    RunOn,
    SpreadName,
    WorkloadPath,
    bytes_of,
    lateness_us,
    latest_us,
)
from stretto.cli.records import takes

PROFILED = 1 << 20
"""So many events tell what to plan for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of `stretto run`."""

    workload: WorkloadPath
    events: Annotated[str, typer.Option("--events", metavar="PATH", help=EVENTS_HELP, show_default=False)]
    out: Out = None
    on: RunOn = On.SPARK
    planning: PlanningOptions
    adapt: Annotated[
        bool, typer.Option("--adapt", help="Plan anew, within the budget, when the events change.")
    ] = False
    batch: Annotated[int, typer.Option("--batch", metavar="N", min=1, help="Events per batch.")] = 1 << 17
    lateness: Annotated[
        str | None,
        typer.Option(
            "--lateness",
            metavar="DURATION",
            help="How far behind the greatest time an event may come; if not given, as far as the file needs.",
        ),
    ] = None
    ahead: Annotated[
        str | None,
        typer.Option(
            "--ahead",
            metavar="DURATION",
            help="How far ahead of the clock a time may be, past which the event is rejected; if not given, any.",
        ),
    ] = None
    late: Annotated[
        str | None, typer.Option("--late", metavar="PATH", help="Where events that come too late go.")
    ] = None
    rejected: Annotated[
        str | None, typer.Option("--rejected", metavar="PATH", help="Where bad events go, with the reason.")
    ] = None
    columns: ColumnNames
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="The most memory that events and matches may take, such as 4GiB: with less, steps are smaller.",
        ),
    ] = None
    spread: Annotated[
        SpreadName | None,
        typer.Option(
            "--spread",
            help="How Spark spreads the work: as it costs least, by key, by slices of time, or not at all;"
            " units are not there yet.",
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
        return lateness_us(self.lateness), latest_us(self.ahead)


@takes(RunOptions)
def run(options: RunOptions) -> None:
    """Find every match of a workload's queries in events.

    Without --out the first matches and the counts per query are shown.

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
            "--ahead is for runs with --lateness: without it no event is late, however far another one is ahead"
        )
    if options.on is On.LOCAL:
        if spread is not None or options.master is not None:
            fail(f"{'--spread' if spread is not None else '--master'} is for runs with --on spark")
        return
    if spread is SpreadName.UNITS:
        fail("--spread units is not supported yet; there are: auto, key, time, whole")
    if options.adapt:
        fail(
            "--adapt is for runs with --on local: on Spark every slice of the events is run by the same plan"
        )
    if is_late and spread not in (None, SpreadName.WHOLE):
        fail(
            "--lateness goes by the order of arrival, so that the events cannot be spread; leave --spread out"
        )


def _run_in_process(options: RunOptions) -> None:
    from stretto.cli.inputs import measure, plan_for, read_workload
    from stretto.data.files import open_events

    (allowed, latest), memory = options.limits, options.memory_bytes
    source = open_events(options.events, options.columns.special)
    read = read_workload(options.workload, source.schema)
    optimizer, budget = options.planning.optimizer, options.planning.budget
    known = source.schema if optimizer == "none" else measure(source, PROFILED)
    plan = plan_for(read, known, optimizer, budget)

    from stretto.cli.running import (  # loads the kernels: after what may be wrong
        Outputs,
        RunLimits,
        find,
        trends_of,
    )
    from stretto.engine.adapt import AdaptOptions

    outputs = Outputs(options.out, options.late, options.rejected, trends_of(plan))
    with outputs, reported(FAILED):
        limits = RunLimits(memory, source.disorder_us() if allowed is None else allowed, latest)
        follow = AdaptOptions() if budget is None else AdaptOptions(budget=budget)
        adapt = follow if options.adapt else False
        find(plan, source, outputs, limits, batch=options.batch, quiet=options.quiet, adapt=adapt)
        outputs.close()
        outputs.show()


def _run_on_spark(options: RunOptions) -> None:
    """Find every match on Spark; what can be wrong with the call is found out before Spark starts."""
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
        with outputs, reported(FAILED):
            find_on_spark(spark, prepared, outputs, RunLimits(memory, allowed, latest))
            outputs.close()
            outputs.show()
