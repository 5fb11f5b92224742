"""`stretto run`: find the matches of a workload in some events."""

from typing import Annotated

import typer

from stretto.cli.console import FAILED, fail, reported
from stretto.cli.options import (
    EVENTS_HELP,
    Budget,
    IdName,
    Master,
    On,
    OptimizerName,
    Out,
    Quiet,
    RunOn,
    SpreadName,
    TsName,
    TypeName,
    WorkloadPath,
    bytes_of,
    lateness_us,
    latest_us,
)

PROFILED = 1 << 20
"""So many events tell what to plan for."""


def run(
    workload: WorkloadPath,
    events: Annotated[str, typer.Option("--events", metavar="PATH", help=EVENTS_HELP, show_default=False)],
    out: Out = None,
    on: RunOn = On.SPARK,
    optimizer: OptimizerName = "auto",
    budget: Budget = None,
    adapt: Annotated[
        bool, typer.Option("--adapt", help="Plan anew, within the budget, when the events change.")
    ] = False,
    batch: Annotated[int, typer.Option("--batch", metavar="N", min=1, help="Events per batch.")] = 1 << 17,
    lateness: Annotated[
        str | None,
        typer.Option(
            "--lateness",
            metavar="DURATION",
            help="How far behind the greatest time an event may come; if not given, as far as the file needs.",
        ),
    ] = None,
    ahead: Annotated[
        str | None,
        typer.Option(
            "--ahead",
            metavar="DURATION",
            help="How far ahead of the clock a time may be, past which the event is rejected; if not given, any.",
        ),
    ] = None,
    late: Annotated[
        str | None, typer.Option("--late", metavar="PATH", help="Where events that come too late go.")
    ] = None,
    rejected: Annotated[
        str | None, typer.Option("--rejected", metavar="PATH", help="Where bad events go, with the reason.")
    ] = None,
    ts: TsName = "ts",
    type_name: TypeName = "type",
    id_name: IdName = "id",
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="The most memory that events and matches may take, such as 4GiB: with less, steps are smaller.",
        ),
    ] = None,
    spread: Annotated[
        SpreadName | None,
        typer.Option(
            "--spread",
            help="How Spark spreads the work: as it costs least, by key, by slices of time, or not at all;"
            " units are not there yet.",
        ),
    ] = None,
    master: Master = None,
    quiet: Quiet = False,
) -> None:
    """Find every match of a workload's queries in events.

    Without --out the first matches and the counts per query are shown.

    Example: stretto run rules.cep --events trades.parquet --out matches.parquet
    """
    if ahead is not None and lateness is None:
        fail(
            "--ahead is for runs with --lateness: without it no event is late, however far another one is ahead"
        )
    if on is On.SPARK:
        _refuse(spread, adapt=adapt, is_late=lateness is not None)
        _run_on_spark(
            workload,
            events,
            (out, late, rejected),
            (optimizer, budget),
            (spread or (SpreadName.AUTO if lateness is None else SpreadName.WHOLE), master),
            (ts, type_name, id_name),
            (memory, lateness, ahead),
            quiet=quiet,
        )
        return
    if spread is not None or master is not None:
        fail(f"{'--spread' if spread is not None else '--master'} is for runs with --on spark")
    with reported():
        from stretto.cli.inputs import measure, plan_for, read_workload
        from stretto.data.files import open_events
        from stretto.schema import Special

        allowed, last = lateness_us(lateness), latest_us(ahead)
        limit = None if memory is None else bytes_of(memory)
        source = open_events(events, Special(ts, type_name, id_name))
        read = read_workload(workload, source.schema)
        known = source.schema if optimizer == "none" else measure(source, PROFILED)
        plan = plan_for(read, known, optimizer, budget)

        from stretto.cli.running import (
            Outputs,
            find,
            trends_of,
        )  # loads the kernels, so after what may be wrong
        from stretto.engine.adapt import AdaptOptions

        with Outputs(out, late, rejected, trends_of(plan)) as outputs, reported(FAILED):
            waits = source.disorder_us() if allowed is None else allowed
            follow = AdaptOptions() if budget is None else AdaptOptions(budget=budget)
            find(
                plan,
                source,
                outputs,
                batch=batch,
                lateness_us=waits,
                latest_us=last,
                memory_bytes=limit,
                quiet=quiet,
                adapt=follow if adapt else False,
            )
            outputs.close()
            outputs.show()


def _refuse(spread: SpreadName | None, *, adapt: bool, is_late: bool) -> None:
    """End with a message where options do not go together."""
    if spread is SpreadName.UNITS:
        fail("--spread units is not supported yet; there are: auto, key, time, whole")
    if adapt:
        fail(
            "--adapt is for runs with --on local: on Spark every slice of the events is run by the same plan"
        )
    if is_late and spread not in (None, SpreadName.WHOLE):
        fail(
            "--lateness goes by the order of arrival, so that the events cannot be spread; leave --spread out"
        )


def _run_on_spark(
    workload: str,
    events: str,
    paths: tuple[str | None, str | None, str | None],
    planning: tuple[str, float | None],
    running: tuple[SpreadName, str | None],
    names: tuple[str, str, str],
    limits: tuple[str | None, str | None, str | None],
    *,
    quiet: bool,
) -> None:
    """Find every match on Spark; what can be wrong with the call is found out before Spark starts."""
    with reported():
        from stretto.cli.inputs import read_workload
        from stretto.plan.optimize import recipe_of

        memory = None if limits[0] is None else bytes_of(limits[0])
        allowed, last = lateness_us(limits[1]), latest_us(limits[2])
        read_workload(workload)
        recipe_of(planning[0])

        from stretto.cli.on_spark import find_on_spark, opened, prepare, started
        from stretto.cli.running import Outputs, trends_of
        from stretto.schema import Special

        with opened(events, Special(*names)) as files:
            spark = started(running[1], quiet=quiet)
            plan, known, spread = prepare(workload, files, spark, *planning, running[0].value)
            with Outputs(*paths, trends_of(plan)) as outputs, reported(FAILED):
                find_on_spark(spark, plan, known, spread, outputs, memory, allowed, last)
                outputs.close()
                outputs.show()
