"""`stretto check`: is a workload right, by itself or for some events?"""

from typing import Annotated

from typer import Exit, Option

from stretto.cli.console import WRONG, reported, tell
from stretto.cli.functions import FunctionFiles
from stretto.cli.options import ColumnNames, SomeEventsPath, WorkloadPath
from stretto.cli.records import takes
from stretto.records import dataclass
from stretto.screen import counted, visible


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The options of `stretto check`."""

    workload: WorkloadPath
    events: SomeEventsPath = None
    strict: Annotated[
        bool,
        Option("--strict", help="Fail where there is a warning: a type that no event has, and the like."),
    ] = False
    columns: ColumnNames
    functions: FunctionFiles = None


@takes(CheckOptions)
def check(options: CheckOptions) -> None:
    """Read a workload and list every mistake; with events, check it against their types and columns too.

    What is no mistake but perhaps not meant is a warning; with --strict it fails.

    Example: stretto check rules.cep --events trades.parquet
    """
    with reported():
        from stretto.cli.inputs import PROFILED, measure, open_told, read_workload, remarks_on, warn_of

        remarks: list[str] = []
        if options.events is None:
            read = read_workload(options.workload)
        else:
            source = open_told(options.events, options.columns.special)
            read = read_workload(options.workload, source.schema)
            remarks = remarks_on(read, measure(source, read, PROFILED))
        warn_of(remarks)
        others = len(read.statements) - len(read)
        more = f", {counted(others, 'definition')}" if others else ""
        against = f" for {visible(options.events)}" if options.events else ""
        found = counted(len(remarks), "warning") if remarks else "no mistake"
        tell(f"{visible(options.workload)}: {counted(len(read), 'query')}{more}, {found}{against}")
        if remarks and options.strict:
            raise Exit(WRONG)
