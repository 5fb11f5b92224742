"""`stretto stats`: rates of events and selectivities of a workload's terms."""

from typing import TYPE_CHECKING, Annotated

import typer

from stretto.atomic import write_text
from stretto.cli.console import FAILED, counted, fail, reported, say
from stretto.cli.options import EVENTS_HELP, IdName, Master, On, RunOn, TsName, TypeName, WorkloadPath

if TYPE_CHECKING:
    from stretto.pattern.workload import Workload
    from stretto.schema import Schema, Special
    from stretto.stats.profile import Stats


def stats(
    workload: WorkloadPath,
    events: Annotated[str, typer.Option("--events", metavar="PATH", help=EVENTS_HELP, show_default=False)],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="PATH", help="A JSON file, which `stretto explain --stats` reads."),
    ] = None,
    on: RunOn = On.SPARK,
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
    master: Master = None,
) -> None:
    """Measure how often events come and which share of them satisfies the terms of a workload.

    Without --out the rates and selectivities are shown.

    Example: stretto stats rules.cep --events trades.parquet --out stats.json
    """
    if sample is not None and not 0.0 < sample <= 1.0:
        fail(f"--sample: {sample} is not a fraction (more than 0, at most 1)")
    if on is On.LOCAL and master is not None:
        fail("--master is for --on spark")
    with reported():
        from stretto.schema import Special

        special = Special(ts, type_name, id_name)
        if on is On.SPARK:
            found = _on_spark(workload, events, special, sample, seed, master)
        else:
            found = _in_process(workload, events, special, sample, seed)
        with reported(FAILED):
            if out is None:
                _show(found)
            else:
                write_text(out, found.to_json() + "\n")
            say(_summary(found))


def _in_process(workload: str, events: str, special: "Special", sample: float | None, seed: int) -> "Stats":
    from stretto.data.files import open_events

    source = open_events(events, special)
    pieces = _read(workload, source.schema).bind(source.schema).normal_forms()

    from stretto.stats.profile import Stats  # loads what evaluates terms, so after what may be wrong
    from stretto.stats.sampling import SIZE

    with reported(FAILED):
        rows = source.survey().rows
        size = SIZE if sample is None else max(1, round(sample * rows))
        return Stats.of_batches(source.batches(), source.schema, rows, sample=size, seed=seed).measured(
            pieces
        )


def _on_spark(
    workload: str, events: str, special: "Special", sample: float | None, seed: int, master: str | None
) -> "Stats":
    from stretto.cli.inputs import read_workload

    read_workload(workload)  # what is wrong with it is said before Spark starts

    from stretto.cli.on_spark import measured, opened, started
    from stretto.spark.errors import clear_failures
    from stretto.spark.files import survey
    from stretto.stats.sampling import SIZE

    with opened(events, special) as files, clear_failures():
        spark = started(master, quiet=False)
        known = survey(spark, files)
        read = _read(workload, known.schema)
        with reported(FAILED):
            return measured(read, spark, known, sample, SIZE, seed)


def _read(path: str, schema: "Schema") -> "Workload":
    """The workload; queries that cannot be run yet are named."""
    from stretto.cli.inputs import read_workload

    read = read_workload(path, schema)
    bound = read.bind(schema)
    if bound.unsupported:
        say("left out, as it cannot be run yet:")
        for mistake in bound.unsupported:
            say(mistake.show(read.text, read.file))
    return read


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
