"""`stretto run`: find the matches of a workload in some events."""

from typing import Annotated

import typer

from stretto.cli.console import FAILED, fail, reported
from stretto.cli.options import (
    EVENTS_HELP,
    Budget,
    IdName,
    On,
    OptimizerName,
    Out,
    Quiet,
    TsName,
    TypeName,
    WorkloadPath,
    bytes_of,
    lateness_us,
)

PROFILED = 1 << 20
"""So many events tell what to plan for."""


def run(
    workload: WorkloadPath,
    events: Annotated[str, typer.Option("--events", metavar="PATH", help=EVENTS_HELP, show_default=False)],
    out: Out = None,
    on: Annotated[
        On, typer.Option("--on", help="In this process, or on Spark (not supported yet).")
    ] = On.LOCAL,
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
            "--memory", metavar="SIZE", help="The most memory to use, such as 4GiB; past it the run stops."
        ),
    ] = None,
    spread: Annotated[
        str | None,
        typer.Option("--spread", metavar="auto|key|time|units", help="How Spark spreads the work."),
    ] = None,
    master: Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master.")] = None,
    quiet: Quiet = False,
) -> None:
    """Find every match of a workload's queries in events.

    Without --out the first matches and the counts per query are shown.

    Example: stretto run rules.cep --events trades.parquet --out matches.parquet
    """
    if on is On.SPARK or spread is not None or master is not None:
        fail("--on spark, with --spread and --master, is not supported yet; run with --on local")
    with reported():
        from stretto.cli.inputs import measure, plan_for, read_workload
        from stretto.data.files import open_events
        from stretto.schema import Special

        allowed = lateness_us(lateness)
        limit = None if memory is None else bytes_of(memory)
        source = open_events(events, Special(ts, type_name, id_name))
        read = read_workload(workload, source.schema)
        known = source.schema if optimizer == "none" else measure(source, PROFILED)
        plan = plan_for(read, known, optimizer, budget)

        from stretto.cli.running import Outputs, find  # loads the kernels, so after what may be wrong
        from stretto.engine.adapt import AdaptOptions

        with Outputs(out, late, rejected) as outputs, reported(FAILED):
            waits = source.disorder_us() if allowed is None else allowed
            follow = AdaptOptions() if budget is None else AdaptOptions(budget=budget)
            find(
                plan,
                source,
                outputs,
                batch=batch,
                lateness_us=waits,
                memory_bytes=limit,
                quiet=quiet,
                adapt=follow if adapt else False,
            )
            outputs.close()
            outputs.show()
