"""`stretto stream`: find the matches of a workload in events as they come, on Spark."""

from typing import Annotated

import typer

from stretto.cli.console import FAILED, fail, reported, say
from stretto.cli.options import (
    Budget,
    IdName,
    OptimizerName,
    TsName,
    TypeName,
    WorkloadPath,
    ahead_us,
    lateness_us,
)


def stream(
    workload: WorkloadPath,
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="SPEC",
            help="files:DIR, kafka:HOST/TOPIC, rate:N or socket:HOST:PORT.",
            show_default=False,
        ),
    ],
    sink: Annotated[
        str,
        typer.Option(
            "--sink",
            metavar="SPEC",
            help="files:DIR, kafka:HOST/TOPIC, console, sqlite:PATH or postgres:URL.",
            show_default=False,
        ),
    ],
    checkpoint: Annotated[
        str,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="Where the state of the stream is kept; the same folder goes on with it.",
            show_default=False,
        ),
    ],
    lateness: Annotated[
        str | None,
        typer.Option(
            "--lateness", metavar="DURATION", help="How far behind the greatest time an event may come."
        ),
    ] = None,
    ahead: Annotated[
        str,
        typer.Option(
            "--ahead",
            metavar="DURATION|any",
            help="How far ahead of the clock an event's time may be; past that it is rejected.",
        ),
    ] = "1 day",
    trigger: Annotated[
        str | None,
        typer.Option(
            "--trigger",
            metavar="DURATION|available-now",
            help="How often a micro-batch starts (if not given: one after the other), or all there is and no more.",
        ),
    ] = None,
    optimizer: OptimizerName = "auto",
    budget: Budget = None,
    stats: Annotated[
        str | None,
        typer.Option("--stats", metavar="PATH", help="What to plan for; `stretto stats` writes it."),
    ] = None,
    spread: Annotated[
        str, typer.Option("--spread", metavar="auto|key|time|whole", help="How the work is spread.")
    ] = "auto",
    width: Annotated[
        str | None,
        typer.Option("--slice", metavar="DURATION", help="How wide the slices of `--spread time` are."),
    ] = None,
    master: Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master.")] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="COLUMNS",
            help="`ts TIMESTAMP, type STRING, ..` or a file of that; if not given, by the first events.",
        ),
    ] = None,
    source_format: Annotated[
        str | None,
        typer.Option(
            "--source-format", metavar="parquet|csv|tsv|json", help="Of files; else by their endings."
        ),
    ] = None,
    sink_format: Annotated[
        str, typer.Option("--sink-format", metavar="parquet|json|csv", help="Of the files that are written.")
    ] = "parquet",
    source_option: Annotated[
        list[str] | None,
        typer.Option("--source-option", metavar="NAME=VALUE", help="Spark's own options of the source."),
    ] = None,
    sink_option: Annotated[
        list[str] | None,
        typer.Option("--sink-option", metavar="NAME=VALUE", help="Spark's own options of the sink."),
    ] = None,
    ts: TsName = "ts",
    type_name: TypeName = "type",
    id_name: IdName = "id",
    quiet: Annotated[bool, typer.Option("--quiet", help="No live table and no lines about batches.")] = False,
) -> None:
    """Find every match of a workload's queries in a stream of events, each exactly once.

    The workload file may change while the stream runs: its next version is picked up by the next micro-batch. A version
    that is wrong is refused with a message, and the stream goes on with the one before. An interrupt stops the stream;
    the same call goes on where it was.

    Example: stretto stream rules.cep --source files:incoming --sink files:matches --checkpoint state
    """
    with reported():
        from stretto.cli.inputs import read_stats, read_workload
        from stretto.cli.stream_options import folder_of, options_of, trigger_of

        read_workload(workload)  # what is wrong without a schema is said before Spark starts
        allowed, rhythm, place = lateness_us(lateness) or 0, trigger_of(trigger), folder_of(checkpoint)
        far = ahead_us(ahead)
        read_options = options_of(source_option, "--source-option")
        write_options = options_of(sink_option, "--sink-option")
        known = None if stats is None else read_stats(stats)

        from stretto.cli.stream_display import follow
        from stretto.schema import Special
        from stretto.spark.io.columns import parse_schema
        from stretto.spark.io.sinks import parse_sink, parse_sink_format
        from stretto.spark.io.specs import parse_source, parse_source_format
        from stretto.spark.stream.job import StreamJob, launch, prepare
        from stretto.spark.stream.stream_spread import slice_us

        job = StreamJob(
            workload=workload,
            source=parse_source(source),
            sink=parse_sink(sink),
            checkpoint=place,
            lateness_us=allowed,
            ahead_us=far,
            trigger=rhythm,
            special=Special(ts, type_name, id_name),
            schema=None if schema is None else parse_schema(schema),
            source_format=parse_source_format(source_format),
            source_options=read_options,
            sink_format=parse_sink_format(sink_format),
            sink_options=write_options,
            optimizer=optimizer,
            budget=budget,
            stats=known,
            spread=spread,
            slice_us=slice_us(width),
            master=master,
        )
        found, publisher = prepare(job, say)
        with reported(FAILED):
            is_current = follow(launch(job, found, publisher), workload, quiet=quiet)
        if not is_current and "availableNow" in rhythm:
            fail(f"{workload} was refused: what there was has been read with the version before")
