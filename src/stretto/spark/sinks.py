"""Where a stream's matches, late and rejected events go: folders, Kafka, the terminal, databases."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from stretto.data.json_write import json_lines
from stretto.spark.errors import StrettoSparkError
from stretto.spark.spec import Spec, kafka_place
from stretto.spark.upsert import COLUMNS, MATCHES, TIMES, upsert

SINKS: Final[Mapping[str, str]] = {
    "files": "files:DIR",
    "kafka": "kafka:HOST/TOPIC",
    "console": "console",
    "sqlite": "sqlite:PATH",
    "postgres": "postgres:URL",
}
FORMATS: Final = ("parquet", "json", "csv")
TIME_FORMAT: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
LOG: Final = "_spark_metadata"


def parse_sink(text: str) -> Spec:
    """The spec of a `--sink`; what is surely wrong with it is said now."""
    spec = Spec.parse(text, SINKS, "--sink")
    if spec.kind == "kafka":
        kafka_place(spec.place, "--sink")
    if spec.kind in ("files", "sqlite"):
        spec = spec.on_this_machine()
    if spec.kind == "sqlite" and not Path(spec.place).parent.is_dir():
        raise StrettoSparkError(f"--sink: there is no folder {Path(spec.place).parent}")
    return spec


def parse_sink_format(text: str) -> str:
    """The format of a `--sink-format`."""
    if text not in FORMATS:
        raise StrettoSparkError(f"--sink-format: `{text}` is none of {', '.join(FORMATS)}")
    return text


def start(
    found: DataFrame,
    spec: Spec,
    checkpoint: str | Path,
    *,
    form: str = "parquet",
    options: Mapping[str, str] | None = None,
    **trigger: Any,
) -> StreamingQuery:
    """Start a stream of all outputs into a sink. `trigger` is Spark's; without one a micro-batch follows the other.

    Folders and databases hold every row exactly once. Kafka takes rows at least once, with the match's id as the key.
    """
    writer = _writer(found, spec, form, dict(options or {}))
    writer = writer.outputMode("append").option("checkpointLocation", str(checkpoint)).queryName("stretto")
    return (writer.trigger(**trigger) if trigger else writer).start()


def _writer(found: DataFrame, spec: Spec, form: str, options: Mapping[str, str]) -> DataStreamWriter:
    match spec.kind:
        case "files":
            writer = file_rows(found, form).writeStream.format(form).partitionBy("kind")
            options = {"path": spec.place, "header": "true", "timestampNTZFormat": TIME_FORMAT, **options}
        case "kafka":
            hosts, topic = kafka_place(spec.place, "--sink")
            writer = kafka_rows(found, topic).writeStream.format("kafka")
            options = {"kafka.bootstrap.servers": hosts, **options}
        case "console":
            return found.writeStream.foreachBatch(print_matches)
        case _:
            return found.writeStream.foreachBatch(upsert(f"{spec.kind}:{spec.place}"))
    for name, value in options.items():
        writer = writer.option(name, value)
    return writer


def file_rows(found: DataFrame, form: str) -> DataFrame:
    """The rows as files hold them: times in UTC without a zone; in CSV a map is a JSON text."""
    rows = found.withColumns({name: F.col(name).cast("timestamp_ntz") for name in TIMES})
    if form != "csv":
        return rows
    return rows.withColumns({name: F.to_json(name) for name in ("events", "event")})


def kafka_rows(found: DataFrame, topic: str) -> DataFrame:
    """A record for each row: matches as JSON to the topic, other events to `topic.late` and `topic.rejected`."""
    rows = file_rows(found, "json")
    is_match = F.col("kind") == MATCHES
    options = {"timestampNTZFormat": TIME_FORMAT}
    match = F.to_json(F.struct(*COLUMNS), options)
    other = F.to_json(F.struct("event", "text", "reason"))
    return rows.select(
        F.when(is_match, F.lit(topic)).otherwise(F.concat(F.lit(f"{topic}."), F.col("kind"))).alias("topic"),
        F.col("match_id").alias("key"),
        F.when(is_match, match).otherwise(other).alias("value"),
    )


def print_matches(found: DataFrame, batch: int) -> None:  # noqa: ARG001 - as Spark calls it
    """The matches of a micro-batch on standard output, a JSON object a line."""
    rows = found.where(F.col("kind") == MATCHES).select(*COLUMNS).toArrow()
    for piece in rows.to_batches():
        sys.stdout.write("".join(f"{line}\n" for line in json_lines(piece).to_pylist()))
    sys.stdout.flush()


def committed_files(folder: str | Path) -> list[Path]:
    """The files of a folder that Spark's file sink has committed.

    A reader that does not know Spark's log sees files of micro-batches that were cut off, too: their rows come again.
    """
    place = Path(folder)
    files: dict[Path, None] = {}
    for entry in _log_entries(place / LOG):
        path = Path(unquote(urlsplit(entry["path"]).path))
        if entry["action"] == "add":
            files[path] = None
        else:
            files.pop(path, None)
    return list(files)


def _log_entries(log: Path) -> Iterator[dict[str, Any]]:
    """What was committed, in order: the last summary and what came after it."""
    numbers = {int(file.name.partition(".")[0]): file for file in log.glob("[0-9]*")}
    wholes = [int(file.name.partition(".")[0]) for file in log.glob("*.compact")]
    first = max(wholes, default=-1)
    named = {**numbers, **({first: log / f"{first}.compact"} if wholes else {})}
    for number in sorted(named):
        if number >= first:
            yield from map(json.loads, named[number].read_text(encoding="utf-8").splitlines()[1:])
