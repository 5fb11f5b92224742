"""`stretto stream`: find the matches of a workload in events as they come, on Spark."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stretto.cli.console import FAILED, fail, reported, say
from stretto.cli.functions import FunctionFiles
from stretto.cli.options import (
    ColumnNames,
    Master,
    PlanningOptions,
    Quiet,
    Units,
    WorkloadPath,
    ahead_us,
    bytes_of,
    duration_of,
)
from stretto.cli.records import takes
from stretto.cli.where import need_spark
from stretto.errors import QueryError, StrettoError
from stretto.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from stretto.spark.stream.job import RunningStream, StreamJob

AVAILABLE_NOW = "available-now"
TRIALS = 5
"""How often a stream is started whose Python processes do not start in time."""
_needed = partial(Option, show_default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCall:
    """The options of `stretto stream`."""

    workload: WorkloadPath
    source: Annotated[
        str,
        _needed(metavar="SPEC", help="files:DIR, delta:DIR, kafka:HOST/TOPIC, rate:N or socket:HOST:PORT."),
    ]
    sink: Annotated[
        str,
        _needed(
            metavar="SPEC",
            help="files:DIR, kafka:HOST/TOPIC, console, sqlite:PATH, postgres:URL or delta:DIR.",
        ),
    ]
    checkpoint: Annotated[
        str, _needed(metavar="DIR", help="Where the stream keeps its state; the same folder continues it.")
    ]
    lateness: Annotated[
        str | None, Option(metavar="DURATION", help="How far an event may be behind the latest time so far.")
    ] = None
    ahead: Annotated[
        str,
        Option(
            metavar="DURATION|any",
            help="How far ahead of the clock an event's time may be; past that it is rejected.",
        ),
    ] = "1 day"
    trigger: Annotated[
        str | None,
        Option(
            metavar="DURATION|available-now",
            help="How often a micro-batch starts, or available-now: read what there is and stop."
            " By default, one follows the other.",
        ),
    ] = None
    planning: PlanningOptions
    stats: Annotated[
        str | None, Option(metavar="PATH", help="What to plan for; `stretto stats` writes it.")
    ] = None
    spread: Annotated[
        str, Option(metavar="auto|key|time|units|whole", help="How Spark spreads the work.")
    ] = "auto"
    width: Annotated[
        str | None, Option("--slice", metavar="DURATION", help="How wide the slices of `--spread time` are.")
    ] = None
    units: Units = None
    memory: Annotated[
        str | None,
        Option(
            metavar="SIZE",
            help="The most memory for events and matches of each target or unit, such as 512MB. By default the targets"
            " that run on a machine at a time share half of what is available there.",
        ),
    ] = None
    max_matches: Annotated[
        int | None,
        Option(
            metavar="N",
            min=0,
            help="Stop when a micro-batch finds more matches of a query at one target or unit. By default any number.",
        ),
    ] = None
    master: Master = None
    schema: Annotated[
        str | None,
        Option(
            metavar="COLUMNS",
            help="`ts TIMESTAMP, type STRING, ..` or a file of that. By default, the first events tell.",
        ),
    ] = None
    source_format: Annotated[
        str | None,
        Option(metavar="parquet|csv|tsv|json", help="The format of source files; by default, their ending."),
    ] = None
    sink_format: Annotated[
        str, Option(metavar="parquet|json|csv", help="The format of the files that are written.")
    ] = "parquet"
    source_option: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Spark's own options of the source.")
    ] = None
    sink_option: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Spark's own options of the sink.")
    ] = None
    columns: ColumnNames
    functions: FunctionFiles = None
    quiet: Quiet = False


@takes(StreamCall)
def stream(options: StreamCall) -> None:
    """Find every match of a workload's queries in a stream of events, each exactly once.

    The workload file may change while the stream runs: the next micro-batch uses the new version. A wrong version is
    refused with a message, and the stream keeps the version before. An interrupt stops the stream; the same call
    continues where it stopped.

    Example: stretto stream rules.cep --source files:incoming --sink files:matches --checkpoint state
    """
    with reported():
        need_spark()
        job = _job(options)

        from stretto.spark.stream.job import launch, prepare

        found, publisher = prepare(job, say)
        with reported(FAILED):
            is_current = _followed(lambda: launch(job, found, publisher), options)
        if not is_current and "availableNow" in job.trigger:
            fail(f"{options.workload} was refused: the events were read with the version before")


def _followed(start: "Callable[[], RunningStream]", options: StreamCall) -> bool:
    """Show a stream until it ends; one whose Python was too slow to start, on a busy machine, is started again."""
    from stretto.cli.stream.display import Board, follow
    from stretto.spark.errors import SlowStartError

    board = Board()
    for trial in range(1, TRIALS + 1):
        try:
            return follow(start(), options.workload, board, quiet=options.quiet)
        except SlowStartError as error:
            if trial == TRIALS:
                raise
            say(f"{error}; trial {trial + 1} of {TRIALS}")
    raise AssertionError("every trial returns or raises")


def _job(options: StreamCall) -> "StreamJob":
    """What the stream shall do. Its workload is bound once its columns are known, or expected."""
    from stretto.cli.inputs import parse_workload, read_stats

    read = parse_workload(options.workload)
    allowed, trigger = duration_of(options.lateness, "--lateness") or 0, _trigger(options.trigger)
    place, far = _folder(options.checkpoint), ahead_us(options.ahead)
    width = duration_of(options.width, "--slice", positive=True)
    of_source = _settings(options.source_option, "--source-option")
    of_sink = _settings(options.sink_option, "--sink-option")
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
        optimizer=options.planning.named,
        budget=options.planning.budget,
        stats=stats,
        spread=options.spread,
        slice_us=width,
        units=options.units,
        memory_bytes=None if options.memory is None else bytes_of(options.memory),
        max_matches=options.max_matches,
        master=options.master,
    )


def _trigger(text: str | None) -> dict[str, Any]:
    """Spark's words for `--trigger`."""
    from stretto.text.parser import parse_duration

    if text is None:
        return {}
    if text.strip().lower() == AVAILABLE_NOW:
        return {"availableNow": True}
    try:
        us = 0 if text.strip() == "0" else parse_duration(text)
    except QueryError:
        us = -1
    if us < 0:
        raise StrettoError(
            f"--trigger: `{text}` is neither a duration (such as `10 seconds`) nor {AVAILABLE_NOW}"
        )
    return {"processingTime": f"{us // 1000} milliseconds"}


def _settings(given: list[str] | None, option: str) -> dict[str, str]:
    """The options of `NAME=VALUE` texts."""
    found: dict[str, str] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise StrettoError(f"{option}: `{text}` should be NAME=VALUE")
        found[name] = value
    return found


def _folder(checkpoint: str) -> Path:
    """The folder of a checkpoint."""
    if "://" in checkpoint:
        from stretto.spark.io.passwords import redacted

        raise StrettoError(
            f"--checkpoint: {redacted(checkpoint)} is an address; name a folder that this machine and all workers see"
        )
    place = Path(checkpoint)
    if place.exists() and not place.is_dir():
        raise StrettoError(f"--checkpoint: {checkpoint} is not a folder")
    return place.absolute()
