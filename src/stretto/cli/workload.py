"""`stretto workload`: the papers' query workloads as files."""

from dataclasses import dataclass
from typing import Annotated

import typer

from stretto.atomic import write_text
from stretto.cli.console import counted, reported, say, show, tell
from stretto.cli.records import given, takes
from stretto.screen import visible

STDOUT = "-"
MCEP = "mcep"
MOTTO = "motto"
MUSE = "muse"


@dataclass(frozen=True, slots=True, kw_only=True)
class McepChoices:
    """The options of `mcep-stocks` and `mcep-traffic`; None: as the generator has it."""

    length: Annotated[
        int | None,
        typer.Option("--length", metavar="N", help="Types per pattern on average: 5.", rich_help_panel=MCEP),
    ] = None
    types: Annotated[
        int | None,
        typer.Option(
            "--types", metavar="N", help="Types of the stream: 300 symbols, 449 points.", rich_help_panel=MCEP
        ),
    ] = None
    density: Annotated[
        float | None,
        typer.Option(
            "--density",
            metavar="SHARE",
            help="The share of the others with which a pattern has two or more types in common: 0.1.",
            rich_help_panel=MCEP,
        ),
    ] = None
    rate_difference: Annotated[
        float | None,
        typer.Option(
            "--rate-difference",
            metavar="SHARE",
            help="The most by which rates in a pattern may differ, of the most there is: 1.",
            rich_help_panel=MCEP,
        ),
    ] = None
    operator: Annotated[
        str | None,
        typer.Option("--operator", metavar="NAME", help="seq, and, or mixed.", rich_help_panel=MCEP),
    ] = None
    unusual: Annotated[
        float | None,
        typer.Option(
            "--unusual",
            metavar="SHARE",
            help="Of patterns with a NOT or a Kleene: 0.2.",
            rich_help_panel=MCEP,
        ),
    ] = None
    matches: Annotated[
        float | None,
        typer.Option(
            "--matches",
            metavar="N",
            help="The most that a pattern should find per second: 30.",
            rich_help_panel=MCEP,
        ),
    ] = None
    partial: Annotated[
        float | None,
        typer.Option(
            "--partial",
            metavar="N",
            help="Partial matches of a pattern per second, in the order of its text, about: 100000.",
            rich_help_panel=MCEP,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MottoChoices:
    """The options of `motto-stocks` and `motto-datacenter`; None: as the generator has it."""

    ratio: Annotated[
        float | None,
        typer.Option(
            "--ratio",
            metavar="SHARE",
            help="Of queries in the basic group, types of sharing 1 to 4: 0.5.",
            rich_help_panel=MOTTO,
        ),
    ] = None
    level: Annotated[
        int | None,
        typer.Option(
            "--level", metavar="N", help="How deep queries of type 7 are nested: 2.", rich_help_panel=MOTTO
        ),
    ] = None
    window_ratio: Annotated[
        str | None,
        typer.Option(
            "--window-ratio",
            metavar="N:M",
            help="Windows of the source and the beneficiary of all pairs; else those of type 5 differ.",
            rich_help_panel=MOTTO,
        ),
    ] = None
    disjunctions: Annotated[
        float | None,
        typer.Option(
            "--disjunctions", metavar="SHARE", help="Of ANY in queries of type 6: 0.1.", rich_help_panel=MOTTO
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MuseChoices:
    """The options of `muse-rides` and `muse-stocks`; None: as the generator has it."""

    nested: Annotated[
        float | None,
        typer.Option(
            "--nested",
            metavar="SHARE",
            help="Of patterns that repeat a part around the repeated type: 0.5.",
            rich_help_panel=MUSE,
        ),
    ] = None
    slide: Annotated[
        str | None,
        typer.Option(
            "--slide", metavar="DURATION", help="Of all windows; as long as they are.", rich_help_panel=MUSE
        ),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="NAME",
            help="district or driver, sector or symbol; the first one.",
            rich_help_panel=MUSE,
        ),
    ] = None
    adjacent: Annotated[
        float | None,
        typer.Option(
            "--adjacent",
            metavar="SHARE",
            help="Of queries whose repeated events fall in speed, or rise in price: 0.",
            rich_help_panel=MUSE,
        ),
    ] = None
    measures: Annotated[
        float | None,
        typer.Option(
            "--measures",
            metavar="SHARE",
            help="Of queries that return more than COUNT(*): 0.",
            rich_help_panel=MUSE,
        ),
    ] = None
    events_per_window: Annotated[
        int | None,
        typer.Option(
            "--events-per-window",
            metavar="N",
            help="Sets the rate of the stream that the file names.",
            rich_help_panel=MUSE,
        ),
    ] = None
    matstates: Annotated[
        float | None,
        typer.Option(
            "--matstates",
            metavar="SHARE",
            help="Of events at which a MatState is made; sets the rates of types of that stream.",
            rich_help_panel=MUSE,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """The options of `stretto workload`; those of another kind than the one asked for are refused."""

    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="motto-stocks, motto-datacenter, mcep-stocks, mcep-traffic, muse-rides or muse-stocks.",
            show_default=False,
        ),
    ]
    queries: Annotated[
        int, typer.Option("--queries", metavar="N", min=1, help="How many.", show_default=False)
    ]
    out: Annotated[
        str,
        typer.Option("--out", metavar="FILE.cep", help="`-` is standard output.", show_default=False),
    ]
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="The same seed, the same queries.")
    ] = 0
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="WINDOW",
            help="A duration, in mcep also `1000 EVENTS`; 10 SECONDS in motto, 2 SECONDS in mcep, 1 MINUTE in muse.",
        ),
    ] = None
    mcep: McepChoices
    motto: MottoChoices
    muse: MuseChoices


@takes(WorkloadOptions)
def workload(options: WorkloadOptions) -> None:
    """Write one of the papers' query workloads.

    Example: stretto workload mcep-stocks --queries 100 --out stocks.cep --seed 1
    """
    with reported():
        from stretto.generate.workloads import workload as generated

        window = {} if options.window is None else {"window": options.window}
        chosen = window | given(options.mcep) | given(options.motto) | given(options.muse)
        text = generated(options.kind, options.queries, options.seed, **chosen)
        if options.out == STDOUT:
            show(text)
        else:
            write_text(options.out, text)
        (say if options.out == STDOUT else tell)(
            f"{visible(options.out)}: {counted(options.queries, 'query')}"
        )
