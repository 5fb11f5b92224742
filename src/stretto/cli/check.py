"""`stretto check`: is a workload right, by itself or for some events?"""

from typing import Annotated

from typer import Exit, Option

from stretto.cli.console import WRONG, fail, reported, tell
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
    stats: Annotated[
        str | None, Option(metavar="PATH", help="A file of statistics, as `stretto stats` writes it.")
    ] = None
    strict: Annotated[
        bool,
        Option("--strict", help="Fail where there is a warning: a type that no event has, and the like."),
    ] = False
    columns: ColumnNames
    functions: FunctionFiles = None


@takes(CheckOptions)
def check(options: CheckOptions) -> None:
    """Read a workload and list every mistake; with events or their statistics, check it against types and columns too.

    What is no mistake but perhaps not meant is a warning; with --strict it fails.

    Example: stretto check rules.cep --events trades.parquet
    """
    if options.events is not None and options.stats is not None:
        fail("--events and --stats both say what events are like; leave one of them out")
    with reported():
        from stretto.cli import inputs

        if options.events is not None:
            source = inputs.open_told(options.events, options.columns.special)
            read = inputs.read_workload(options.workload, source.schema)
            remarks = inputs.remarks_on(read, inputs.measure(source, read, inputs.PROFILED))
        elif options.stats is not None:
            stats = inputs.read_stats(options.stats)
            read = inputs.read_workload(options.workload, stats.schema)
            remarks = inputs.remarks_on(read, stats)
        else:
            read = inputs.read_workload(options.workload)
            remarks = inputs.remarks_on(read, None)
        inputs.warn_of(remarks)
        others = len(read.statements) - len(read)
        more = f", {counted(others, 'definition')}" if others else ""
        known = options.events or options.stats
        against = f" for {visible(known)}" if known else ""
        found = counted(len(remarks), "warning") if remarks else "no mistake"
        tell(f"{visible(options.workload)}: {counted(len(read), 'query')}{more}, {found}{against}")
        if remarks and options.strict:
            raise Exit(WRONG)
