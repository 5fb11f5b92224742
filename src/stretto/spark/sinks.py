"""Where a stream's matches, totals, late and rejected events go: folders, Kafka, the terminal, databases."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from stretto.data.json_write import json_lines
from stretto.spark.chunks import MATCHES, RESULTS, TRENDS
from stretto.spark.errors import StrettoSparkError
from stretto.spark.spec import Spec, kafka_place
from stretto.spark.upsert import KEPT, upsert

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
TIMES: Final = ("start", "end", "detected", "window_start", "window_end")


def parse_sink(text: str) -> Spec:
    """The spec of a `--sink`; what is surely wrong with it is said now."""
    # The word that drivers of PostgreSQL know in an address.
    spec = Spec.parse(re.sub("^postgresql:", "postgres:", text), SINKS, "--sink")
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

    Folders and databases hold every row exactly once. Kafka takes rows at least once, with what names the match or the
    total as the key.
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
            return found.writeStream.foreachBatch(print_results)
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
    """A record for each row as JSON: matches to the topic, the rest to `topic.trends`, `.late` and `.rejected`.

    The key of a match is its id, that of a total what no other total has in common with it.
    """
    rows = file_rows(found, "json")
    is_match, is_total = (F.col("kind") == kind for kind in (MATCHES, TRENDS))

    def as_json(*columns: str) -> Column:
        return F.to_json(F.struct(*columns), {"timestampNTZFormat": TIME_FORMAT})

    other = F.to_json(F.struct("event", "text", "reason"))
    value = F.when(is_match, as_json(*KEPT[MATCHES].columns)).when(is_total, as_json(*KEPT[TRENDS].columns))
    return rows.select(
        F.when(is_match, F.lit(topic)).otherwise(F.concat(F.lit(f"{topic}."), F.col("kind"))).alias("topic"),
        F.when(is_total, as_json(*KEPT[TRENDS].key)).otherwise(F.col("match_id")).alias("key"),
        value.otherwise(other).alias("value"),
    )


def print_results(found: DataFrame, batch: int) -> None:  # noqa: ARG001 - as Spark calls it
    """The matches and totals of a micro-batch on standard output, a JSON object a line."""
    columns = dict.fromkeys(name for kind in RESULTS for name in KEPT[kind].columns)
    rows = found.where(F.col("kind").isin(*RESULTS)).select("kind", *columns).toArrow()
    for kind in RESULTS:
        mine = rows.filter(pc.equal(rows.column("kind"), kind)).select(KEPT[kind].columns)
        for piece in mine.to_batches():
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
