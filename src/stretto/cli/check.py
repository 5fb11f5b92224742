"""`stretto check`: is a workload right, by itself or for some events?"""

from dataclasses import dataclass

from stretto.cli.console import reported, tell
from stretto.cli.options import ColumnNames, SomeEventsPath, WorkloadPath
from stretto.cli.records import takes
from stretto.screen import counted, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The options of `stretto check`."""

    workload: WorkloadPath
    events: SomeEventsPath = None
    columns: ColumnNames


@takes(CheckOptions)
def check(options: CheckOptions) -> None:
    """Read a workload and list every mistake; with events, check it against their types and columns too.

    Example: stretto check rules.cep --events trades.parquet
    """
    with reported():
        from stretto.cli.inputs import read_workload

        schema = None
        if options.events is not None:
            from stretto.data.files import open_events

            schema = open_events(options.events, options.columns.special).schema
        read = read_workload(options.workload, schema)
        others = len(read.statements) - len(read.queries)
        more = f", {counted(others, 'definition')}" if others else ""
        against = f" for {visible(options.events)}" if options.events else ""
        tell(f"{visible(options.workload)}: {counted(len(read), 'query')}{more}, no mistake{against}")
