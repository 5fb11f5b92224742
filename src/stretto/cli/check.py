"""`stretto check`: is a workload right, by itself or for some events?"""

from typing import Annotated

import typer

from stretto.cli.console import counted, reported, say, tell
from stretto.cli.options import EVENTS_HELP, IdName, TsName, TypeName, WorkloadPath
from stretto.screen import visible


def check(
    workload: WorkloadPath,
    events: Annotated[str | None, typer.Option("--events", metavar="PATH", help=EVENTS_HELP)] = None,
    ts: TsName = "ts",
    type_name: TypeName = "type",
    id_name: IdName = "id",
) -> None:
    """Read a workload and list every mistake; with events, against their types and columns too.

    Example: stretto check rules.cep --events trades.parquet
    """
    with reported():
        from stretto.cli.inputs import read_workload

        schema = None
        if events is not None:
            from stretto.data.files import open_events
            from stretto.schema import Special

            schema = open_events(events, Special(ts, type_name, id_name)).schema
        read = read_workload(workload, schema)
        if schema is not None:
            bound = read.bind(schema)
            if bound.unsupported:
                say("right, but cannot be run yet:")
                for mistake in bound.unsupported:
                    say(mistake.show(read.text, read.file))
        others = len(read.statements) - len(read.queries)
        more = f", {counted(others, 'definition')}" if others else ""
        against = f" for {visible(events)}" if events else ""
        tell(f"{visible(workload)}: {counted(len(read.queries), 'query')}{more}, no mistake{against}")
