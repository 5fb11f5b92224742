"""`stretto stats`: rates of events and selectivities of a workload's terms."""

from typing import TYPE_CHECKING, Annotated

from typer import Option

from stretto.atomic import write_text
from stretto.cli.console import FAILED, fail, reported, say
from stretto.cli.functions import FunctionFiles
from stretto.cli.options import ColumnNames, EventsPath, Master, On, RunOn, Seed, WorkloadPath
from stretto.cli.records import takes
from stretto.cli.where import chosen
from stretto.records import dataclass
from stretto.screen import counted

if TYPE_CHECKING:
    from stretto.stats.profile import Stats


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions:
    """The options of `stretto stats`."""

    workload: WorkloadPath
    events: EventsPath
    out: Annotated[
        str | None, Option(metavar="PATH", help="A JSON file, which `stretto explain --stats` reads.")
    ] = None
    merge: Annotated[
        list[str] | None,
        Option(
            metavar="PATH",
            help="Statistics of other parts of the same stream, to be put together with these.",
        ),
    ] = None
    on: RunOn = On.AUTO
    sample: Annotated[
        float | None,
        Option(
            metavar="FRACTION",
            help="The share of events on which terms are measured. The default is at most 200,000 events.",
        ),
    ] = None
    seed: Seed = 0
    columns: ColumnNames
    functions: FunctionFiles = None
    master: Master = None


@takes(StatsOptions)
def stats(options: StatsOptions) -> None:
    """Measure how often events come, and what share of them satisfies the terms of a workload.

    Without --out, the rates and selectivities are shown.

    Example: stretto stats rules.cep --events trades.parquet --out stats.json
    """
    if options.sample is not None and not 0.0 < options.sample <= 1.0:
        fail(f"--sample: {options.sample} is not a fraction (more than 0, at most 1)")
    if options.on is On.LOCAL and options.master is not None:
        fail("--master is for --on spark")
    with reported():
        place = chosen(options.on, options.events, options.master)
        found = _on_spark(options) if place is On.SPARK else _in_process(options)
        found = _together(found, options.merge or [])
        with reported(FAILED):
            if options.out is None:
                _show(found)
            else:
                write_text(options.out, found.to_json() + "\n")
            say(_summary(found))


def _together(found: "Stats", paths: list[str]) -> "Stats":
    from stretto.cli.inputs import read_stats

    return found.merged(*map(read_stats, paths))


def _in_process(options: StatsOptions) -> "Stats":
    from stretto.cli.inputs import open_told, read_workload, remarks_on, warn_of

    source = open_told(options.events, options.columns.special)
    read = read_workload(options.workload, source.schema)
    pieces = read.bind(source.schema).normal_forms()

    from stretto.stats.profile import Stats  # loads what evaluates terms, so after what may be wrong
    from stretto.stats.sampling import SIZE, stretches_for

    with reported(FAILED):
        rows = source.survey().rows
        size = SIZE if options.sample is None else max(1, round(options.sample * rows))
        windows = [query.within for query in read.queries]
        number = stretches_for(windows, source.survey().times.usual_length, size)
        found = Stats.of_batches(
            source.batches(), source.schema, rows, sample=size, seed=options.seed, stretches=number
        ).measured(pieces)
        warn_of(remarks_on(read, found))
        return found


def _on_spark(options: StatsOptions) -> "Stats":
    from stretto.cli.on_spark import measured, opened, started
    from stretto.spark.batch.event_files import survey
    from stretto.spark.errors import clear_failures

    with opened(options.workload, options.events, options.columns.special) as (read, files), clear_failures():
        spark = started(options.master, quiet=False)
        known = survey(spark, files)
        with reported(FAILED):
            return measured(read, spark, known, options.sample, options.seed)


def _show(found: "Stats") -> None:
    from stretto.cli.results.tables import show_table

    rates = [[name, f"{rate:.4g}"] for name, rate in found.rates.items()]
    show_table("", ["type", "events per second"], rates)
    terms = [
        [term, frame, f"{known.value:.4g}", f"{known.error:.1g}"]
        for (term, frame), known in sorted(found.selectivities.known.items())
    ]
    if terms:
        show_table("", ["term", "of", "selectivity", "error"], terms, words=2)
    skews = [
        [f"{stream}.{attribute}", f"{skew.distinct:,}", f"{skew.sum_of_squares:.2g}", f"{skew.heaviest:.2g}"]
        for (stream, attribute), skew in sorted(found.selectivities.skews.items())
    ]
    if skews:
        show_table("", ["values", "distinct", "two agree", "heaviest"], skews)


def _summary(found: "Stats") -> str:
    measured = counted(len(found.selectivities.known), "selectivity")
    return f"{counted(found.events, 'event')} in {found.seconds:,.6g} seconds, {measured} measured"
