"""`stretto demo`: the main job on generated data, on local Spark, from trades to matches and a page about it."""

from pathlib import Path
from typing import Annotated

from typer import Option

from stretto.atomic import write_text
from stretto.cli.console import FAILED, reported, tell
from stretto.cli.options import Budget, Master, Quiet, Seed
from stretto.cli.records import takes
from stretto.cli.where import need_spark
from stretto.records import dataclass
from stretto.screen import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of `stretto demo`."""

    events: Annotated[int, Option(metavar="N", min=1000, help="How many trades.")] = 1_000_000
    seed: Seed = 0
    out: Annotated[str, Option(metavar="DIR", help="Where trades, patterns, matches and the page go.")] = (
        "out/demo"
    )
    budget: Budget = 5.0
    alone: Annotated[
        float, Option(metavar="SECONDS", min=0, help="How long queries run one by one, to compare.")
    ] = 10.0
    master: Master = None
    quiet: Quiet = False


@takes(DemoOptions)
def demo(options: DemoOptions) -> None:
    """Find a hundred patterns in a day of trades, on Spark, and compare that with running them one by one.

    Example: stretto demo --events 200000
    """
    with reported():
        need_spark()
    with reported(FAILED):
        from stretto.cli.demo.job import Job
        from stretto.cli.demo.page import demo_page
        from stretto.cli.demo.show import show

        out = options.out
        job = Job(Path(out), options.master, quiet=options.quiet)
        told = job.run(options.events, options.seed, options.budget, options.alone)
        page = Path(out) / "report.html"
        write_text(page, demo_page(told))
        show(told)
        tell(f"the page: {page}")
        tell(f"again: stretto run {out}/demo.cep --events {out}/trades")
        tell(f"in all {counted(round(sum(step.seconds for step in told.steps)), 'second')}")
