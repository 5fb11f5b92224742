"""`stretto workload`: the papers' query workloads as files."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from stretto.atomic import write_text
from stretto.cli.console import reported, show, told
from stretto.cli.options import Seed
from stretto.cli.records import given, takes
from stretto.records import dataclass

_mcep = partial(Option, rich_help_panel="mcep")
_motto = partial(Option, rich_help_panel="motto")
_muse = partial(Option, rich_help_panel="muse")
_rumor = partial(Option, rich_help_panel="rumor")


@dataclass(frozen=True, slots=True, kw_only=True)
class McepChoices:
    """The options of `mcep-stocks` and `mcep-traffic`; None: as the generator has it."""

    length: Annotated[int | None, _mcep(metavar="N", help="Types per pattern on average (5).")] = None
    types: Annotated[
        int | None, _mcep(metavar="N", help="Types of the stream (300 symbols or 449 points).")
    ] = None
    density: Annotated[
        float | None,
        _mcep(
            metavar="SHARE",
            help="The share of the others with which a pattern has two or more types in common (0.1).",
        ),
    ] = None
    rate_difference: Annotated[
        float | None,
        _mcep(
            metavar="SHARE",
            help="How much rates in a pattern may differ, as a share of the most there is (1).",
        ),
    ] = None
    operator: Annotated[str | None, _mcep(metavar="NAME", help="seq, and, or mixed (mixed).")] = None
    unusual: Annotated[
        float | None, _mcep(metavar="SHARE", help="The share of patterns with a NOT or a Kleene (0.2).")
    ] = None
    matches: Annotated[
        float | None, _mcep(metavar="N", help="The most matches that a pattern should find per second (30).")
    ] = None
    partial: Annotated[
        float | None,
        _mcep(
            metavar="N",
            help="About how many partial matches a pattern has per second, in the order of its text (100000).",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MottoChoices:
    """The options of `motto-stocks` and `motto-datacenter`; None: as the generator has it."""

    ratio: Annotated[
        float | None,
        _motto(
            metavar="SHARE", help="The share of queries in the basic group, types of sharing 1 to 4 (0.5)."
        ),
    ] = None
    level: Annotated[int | None, _motto(metavar="N", help="How deep queries of type 7 are nested (2).")] = (
        None
    )
    window_ratio: Annotated[
        str | None,
        _motto(
            metavar="N:M",
            help="The windows of source and beneficiary in all pairs; else only those of type 5 differ.",
        ),
    ] = None
    disjunctions: Annotated[
        float | None, _motto(metavar="SHARE", help="The share of ANY in queries of type 6 (0.1).")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MuseChoices:
    """The options of `muse-rides` and `muse-stocks`; None: as the generator has it."""

    nested: Annotated[
        float | None,
        _muse(
            metavar="SHARE", help="The share of patterns that repeat a part around the repeated type (0.5)."
        ),
    ] = None
    slide: Annotated[
        str | None, _muse(metavar="DURATION", help="The slide of all windows (the window itself).")
    ] = None
    group: Annotated[
        str | None, _muse(metavar="NAME", help="district or driver, sector or symbol (the first).")
    ] = None
    adjacent: Annotated[
        float | None,
        _muse(
            metavar="SHARE",
            help="The share of queries whose repeated events fall in speed, or rise in price (0).",
        ),
    ] = None
    measures: Annotated[
        float | None, _muse(metavar="SHARE", help="The share of queries that return more than COUNT(*) (0).")
    ] = None
    events_per_window: Annotated[
        int | None, _muse(metavar="N", help="Sets the rate of the stream that the file names.")
    ] = None
    matstates: Annotated[
        float | None,
        _muse(
            metavar="SHARE",
            help="The share of events that make a MatState; sets the rates of types of that stream.",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RumorChoices:
    """The options of `rumor-1`, `rumor-2`, `rumor-3` and `rumor-hybrid`; None: as the generator has it."""

    constants: Annotated[int | None, _rumor(metavar="N", help="Constants are below it (1000).")] = None
    zipf: Annotated[
        float | None, _rumor(metavar="S", help="Of Zipf's law for constants and windows (1.5).")
    ] = None
    distinct: Annotated[
        bool | None, _rumor("--distinct", help="rumor-1: constants are drawn evenly.", show_default=False)
    ] = None
    table: Annotated[
        str | None,
        _rumor(
            metavar="FILE.parquet", help="rumor-1: the queries are rows of this file, beside the workload."
        ),
    ] = None
    iterate: Annotated[
        bool | None,
        _rumor("--iterate", help="rumor-2 and rumor-3: runs of rising values.", show_default=False),
    ] = None
    capacity: Annotated[
        int | None, _rumor(metavar="N", help="rumor-3: how many streams S1, S2, .. (10).")
    ] = None
    separate: Annotated[
        bool | None,
        _rumor("--separate", help="rumor-3: these streams are types of their own.", show_default=False),
    ] = None
    sel: Annotated[
        float | None,
        _rumor(metavar="SHARE", help="rumor-hybrid: the share of readings that start a query (0.01)."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """The options of `stretto workload`; those of another kind than the one asked for are refused.

    The generator knows the defaults; the help of an option names its default in parentheses.
    """

    kind: Annotated[
        str,
        Argument(
            metavar="KIND",
            help="motto-stocks, motto-datacenter, mcep-stocks, mcep-traffic, muse-rides, muse-stocks, rumor-1, rumor-2,"
            " rumor-3 or rumor-hybrid.",
            show_default=False,
        ),
    ]
    queries: Annotated[int, Option(metavar="N", min=1, help="How many queries.", show_default=False)]
    out: Annotated[str, Option(metavar="FILE.cep", help="`-` is standard output.", show_default=False)]
    seed: Seed = 0
    window: Annotated[
        str | None,
        Option(
            metavar="WINDOW",
            help="A duration, in mcep also `1000 EVENTS` (10 SECONDS in motto, 2 SECONDS in mcep, 1 MINUTE in muse;"
            " in rumor the longest: 1000 SECONDS).",
        ),
    ] = None
    mcep: McepChoices
    motto: MottoChoices
    muse: MuseChoices
    rumor: RumorChoices


@takes(WorkloadOptions)
def workload(options: WorkloadOptions) -> None:
    """Write one of the papers' query workloads. Defaults stand in parentheses.

    Example: stretto workload mcep-stocks --queries 100 --out stocks.cep --seed 1
    """
    with reported():
        from stretto.generate.workloads import workload as generated

        window = {} if options.window is None else {"window": options.window}
        chosen = window | given(options.mcep) | given(options.motto) | given(options.muse)
        chosen |= given(options.rumor)
        text = generated(options.kind, options.queries, options.seed, **chosen)
        if options.rumor.table is not None:
            _write_table(options, chosen)
        if options.out == "-":
            show(text)
        else:
            write_text(options.out, text)
        told(options.out, options.queries, "query")


def _write_table(options: WorkloadOptions, chosen: dict[str, Any]) -> None:
    """The rows that stand for the queries of a workload, in a file beside it."""
    from stretto.data.sinks import open_sink
    from stretto.generate.rumor_workload import RumorOptions, constants_table

    rows = constants_table(options.queries, options.seed, RumorOptions(**chosen))
    folder = Path() if options.out == "-" else Path(options.out).parent
    with open_sink(str(folder / chosen["table"]), rows.schema) as sink:
        for batch in rows.to_batches():
            sink.write(batch)
