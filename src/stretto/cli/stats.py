"""`stretto stats`: rates of events and selectivities of a workload's terms."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stretto.cli.console import FAILED, counted, fail, reported, say
from stretto.cli.options import EVENTS_HELP, IdName, On, TsName, TypeName, WorkloadPath

if TYPE_CHECKING:
    from stretto.stats.profile import Stats


def stats(
    workload: WorkloadPath,
    events: Annotated[str, typer.Option("--events", metavar="PATH", help=EVENTS_HELP, show_default=False)],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="PATH", help="A JSON file, which `stretto explain --stats` reads."),
    ] = None,
    on: Annotated[
        On, typer.Option("--on", help="In this process, or on Spark (not supported yet).")
    ] = On.LOCAL,
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample",
            metavar="FRACTION",
            help="The share of events that terms are measured on; if not given, at most 200,000 of them.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="For the choice of events.")] = 0,
    ts: TsName = "ts",
    type_name: TypeName = "type",
    id_name: IdName = "id",
) -> None:
    """Measure how often events come and which share of them satisfies the terms of a workload.

    Without --out the rates and selectivities are shown.

    Example: stretto stats rules.cep --events trades.parquet --out stats.json
    """
    if on is On.SPARK:
        fail("--on spark is not supported yet; run with --on local")
    if sample is not None and not 0.0 < sample <= 1.0:
        fail(f"--sample: {sample} is not a fraction (more than 0, at most 1)")
    with reported():
        from stretto.cli.inputs import read_workload
        from stretto.data.files import open_events
        from stretto.schema import Special

        source = open_events(events, Special(ts, type_name, id_name))
        schema = source.schema
        read = read_workload(workload, schema)
        bound = read.bind(schema)
        if bound.unsupported:
            say("left out, as it cannot be run yet:")
            for mistake in bound.unsupported:
                say(mistake.show(read.text, read.file))
        pieces = bound.normal_forms()

        from stretto.stats.profile import Stats  # loads what evaluates terms, so after what may be wrong
        from stretto.stats.stretches import SIZE

        with reported(FAILED):
            rows = source.survey().rows
            size = SIZE if sample is None else max(1, round(sample * rows))
            found = Stats.of_batches(source.batches(), schema, rows, sample=size, seed=seed).measured(pieces)
            if out is None:
                _show(found)
            else:
                Path(out).write_text(found.to_json() + "\n", encoding="utf-8")
            say(_summary(found))


def _show(found: "Stats") -> None:
    from stretto.cli.tables import show_table

    rates = [[name, f"{rate:.4g}"] for name, rate in found.rates.items()]
    show_table("", [("type", False), ("events per second", True)], rates)
    terms = [
        [term, frame, f"{known.value:.4g}", f"{known.error:.1g}"]
        for (term, frame), known in sorted(found.selectivities.known.items())
    ]
    if terms:
        columns = [("term", False), ("of", False), ("selectivity", True), ("error", True)]
        show_table("", columns, terms)
    skews = [
        [f"{stream}.{attribute}", f"{skew.distinct:,}", f"{skew.sum_of_squares:.2g}", f"{skew.heaviest:.2g}"]
        for (stream, attribute), skew in sorted(found.selectivities.skews.items())
    ]
    if skews:
        columns = [("values", False), ("distinct", True), ("two agree", True), ("heaviest", True)]
        show_table("", columns, skews)


def _summary(found: "Stats") -> str:
    measured = counted(len(found.selectivities.known), "selectivity")
    return f"{counted(found.events, 'event')} in {found.seconds:,.6g} seconds, {measured} measured"
