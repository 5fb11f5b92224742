"""`stretto demo`: the main job on generated data, on local Spark, from trades to matches and a page about it."""

from pathlib import Path
from typing import Annotated

import typer

from stretto.atomic import write_text
from stretto.cli.console import FAILED, counted, reported, tell
from stretto.cli.options import Budget, Quiet


def demo(
    events: Annotated[
        int, typer.Option("--events", metavar="N", min=1000, help="How many trades.")
    ] = 1_000_000,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="The same seed, the same trades.")
    ] = 0,
    out: Annotated[
        str, typer.Option("--out", metavar="DIR", help="Where trades, patterns, matches and the page go.")
    ] = "out/demo",
    budget: Budget = 5.0,
    alone: Annotated[
        float,
        typer.Option(
            "--alone", metavar="SECONDS", min=0, help="The time for running queries one by one, to compare."
        ),
    ] = 15.0,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Spark's master; if not given, all cores here."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Find a hundred patterns in a day of trades, on Spark: shared, explained, and compared with one by one.

    Example: stretto demo --events 200000
    """
    with reported(FAILED):
        from stretto.cli.demo.job import Job
        from stretto.cli.demo.page import demo_page
        from stretto.cli.demo.show import show

        with Job(Path(out), master, quiet=quiet) as job:
            told = job.run(events, seed, budget, alone)
        page = Path(out) / "report.html"
        write_text(page, demo_page(told))
        show(told)
        tell(f"the page: {page}")
        tell(f"again: stretto run {out}/demo.cep --events {out}/trades")
        tell(f"in all {counted(round(sum(step.seconds for step in told.steps)), 'second')}")
