"""`stretto demo`: the main job on generated data, from events to matches."""

from time import perf_counter
from typing import Annotated

import typer

from stretto.cli.console import FAILED, counted, reported
from stretto.cli.options import Quiet

SHOWN_OPERATORS = 12


def demo(
    events: Annotated[int, typer.Option("--events", metavar="N", min=0, help="How many events.")] = 500_000,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="The same seed, the same events.")
    ] = 0,
    quiet: Quiet = False,
) -> None:
    """Generate events of a data centre and find the matches of a dozen queries in them.

    Example: stretto demo --events 100000
    """
    with reported(FAILED):
        from stretto.cli.demo_workload import WORKLOAD
        from stretto.cli.inputs import plan_for
        from stretto.cli.running import progress
        from stretto.cli.tables import show_counts
        from stretto.data.streams import generate
        from stretto.engine.run import Engine
        from stretto.pattern.workload import Workload
        from stretto.schema import Schema

        table = generate("datacenter", events, seed=seed, rate=200.0, machines=50)
        workload = Workload.parse(WORKLOAD, "demo.cep")
        plan = plan_for(workload, Schema.of(table.schema), "none")
        typer.echo(f"{counted(events, 'event')} of a data centre, {counted(len(plan.queries), 'query')}\n")
        typer.echo(plan.explain(limit=SHOWN_OPERATORS))

        engine = Engine(plan)
        found = dict.fromkeys(plan.queries, 0)
        start = perf_counter()
        with progress(events, quiet=quiet) as advance:
            for batch in [*table.to_batches(max_chunksize=1 << 16), None]:
                matches = engine.flush() if batch is None else engine.push(batch)
                for query, count in matches.counts().items():
                    found[query] += count
                advance(engine.counts)
        seconds = perf_counter() - start
        show_counts(found)
        speed = events / seconds if seconds else 0.0
        typer.echo(f"{counted(engine.counts.matches, 'match')} in {seconds:.1f} s: {speed:,.0f} events/s")
