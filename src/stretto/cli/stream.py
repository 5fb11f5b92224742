"""`stretto stream`: find the matches of a workload in events as they come, on Spark."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from stretto.cli.console import FAILED, fail, reported, say
from stretto.cli.options import ColumnNames, PlanningOptions, WorkloadPath, ahead_us, lateness_us
from stretto.cli.records import takes

if TYPE_CHECKING:
    from stretto.spark.stream.job import StreamJob


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCall:
    """The options of `stretto stream`."""

    workload: WorkloadPath
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="SPEC",
            help="files:DIR, kafka:HOST/TOPIC, rate:N or socket:HOST:PORT.",
            show_default=False,
        ),
    ]
    sink: Annotated[
        str,
        typer.Option(
            "--sink",
            metavar="SPEC",
            help="files:DIR, kafka:HOST/TOPIC, console, sqlite:PATH or postgres:URL.",
            show_default=False,
        ),
    ]
    checkpoint: Annotated[
        str,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="Where the state of the stream is kept; the same folder goes on with it.",
            show_default=False,
        ),
    ]
    lateness: Annotated[
        str | None,
        typer.Option(
            "--lateness", metavar="DURATION", help="How far behind the greatest time an event may come."
        ),
    ] = None
    ahead: Annotated[
        str,
        typer.Option(
            "--ahead",
            metavar="DURATION|any",
            help="How far ahead of the clock an event's time may be; past that it is rejected.",
        ),
    ] = "1 day"
    trigger: Annotated[
        str | None,
        typer.Option(
            "--trigger",
            metavar="DURATION|available-now",
            help="How often a micro-batch starts (if not given: one after the other), or all there is and no more.",
        ),
    ] = None
    planning: PlanningOptions
    stats: Annotated[
        str | None,
        typer.Option("--stats", metavar="PATH", help="What to plan for; `stretto stats` writes it."),
    ] = None
    spread: Annotated[
        str, typer.Option("--spread", metavar="auto|key|time|whole", help="How the work is spread.")
    ] = "auto"
    width: Annotated[
        str | None,
        typer.Option("--slice", metavar="DURATION", help="How wide the slices of `--spread time` are."),
    ] = None
    master: Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master.")] = None
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="COLUMNS",
            help="`ts TIMESTAMP, type STRING, ..` or a file of that; if not given, by the first events.",
        ),
    ] = None
    source_format: Annotated[
        str | None,
        typer.Option(
            "--source-format", metavar="parquet|csv|tsv|json", help="Of files; else by their endings."
        ),
    ] = None
    sink_format: Annotated[
        str, typer.Option("--sink-format", metavar="parquet|json|csv", help="Of the files that are written.")
    ] = "parquet"
    source_option: Annotated[
        list[str] | None,
        typer.Option("--source-option", metavar="NAME=VALUE", help="Spark's own options of the source."),
    ] = None
    sink_option: Annotated[
        list[str] | None,
        typer.Option("--sink-option", metavar="NAME=VALUE", help="Spark's own options of the sink."),
    ] = None
    columns: ColumnNames
    quiet: Annotated[bool, typer.Option("--quiet", help="No live table and no lines about batches.")] = False


@takes(StreamCall)
def stream(options: StreamCall) -> None:
    """Find every match of a workload's queries in a stream of events, each exactly once.

    The workload file may change while the stream runs: its next version is picked up by the next micro-batch. A version
    that is wrong is refused with a message, and the stream goes on with the one before. An interrupt stops the stream;
    the same call goes on where it was.

    Example: stretto stream rules.cep --source files:incoming --sink files:matches --checkpoint state
    """
    with reported():
        job = _job(options)

        from stretto.cli.stream_display import follow
        from stretto.spark.stream.job import launch, prepare

        found, publisher = prepare(job, say)
        with reported(FAILED):
            is_current = follow(launch(job, found, publisher), options.workload, quiet=options.quiet)
        if not is_current and "availableNow" in job.trigger:
            fail(f"{options.workload} was refused: what there was has been read with the version before")


def _job(options: StreamCall) -> "StreamJob":
    """What the stream is to do; its workload is bound once its columns are known, or expected."""
    from stretto.cli.inputs import parse_workload, read_stats
    from stretto.cli.stream_options import folder_of, options_of, slice_us, trigger_of

    read = parse_workload(options.workload)
    allowed, trigger = lateness_us(options.lateness) or 0, trigger_of(options.trigger)
    place, far, width = folder_of(options.checkpoint), ahead_us(options.ahead), slice_us(options.width)
    of_source = options_of(options.source_option, "--source-option")
    of_sink = options_of(options.sink_option, "--sink-option")
    stats = None if options.stats is None else read_stats(options.stats)

    from stretto.spark.io.columns import parse_schema
    from stretto.spark.io.sinks import parse_sink, parse_sink_format
    from stretto.spark.io.specs import parse_source, parse_source_format
    from stretto.spark.stream.job import StreamJob

    return StreamJob(
        workload=read,
        source=parse_source(options.source),
        sink=parse_sink(options.sink),
        checkpoint=place,
        lateness_us=allowed,
        ahead_us=far,
        trigger=trigger,
        special=options.columns.special,
        schema=None if options.schema is None else parse_schema(options.schema),
        source_format=parse_source_format(options.source_format),
        source_options=of_source,
        sink_format=parse_sink_format(options.sink_format),
        sink_options=of_sink,
        optimizer=options.planning.optimizer,
        budget=options.planning.budget,
        stats=stats,
        spread=options.spread,
        slice_us=width,
        master=options.master,
    )
