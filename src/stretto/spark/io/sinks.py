"""Where a stream's matches, totals, late and rejected events go: folders, Kafka, the terminal, databases."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from stretto.data.json_write import json_lines
from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.delta import DeltaSink, deltalake
from stretto.spark.io.specs import Spec, kafka_place
from stretto.spark.io.upsert import EVENT_TIMES, RESULT_TABLES, Upsert
from stretto.spark.packed import MATCHES, REJECTED, RESULTS, TRENDS

SINKS: Final[Mapping[str, str]] = {
    "files": "files:DIR",
    "kafka": "kafka:HOST/TOPIC",
    "console": "console",
    "sqlite": "sqlite:PATH",
    "postgres": "postgres:URL",
    "delta": "delta:DIR",
}
FORMATS: Final = ("parquet", "json", "csv")
OBJECTS: Final = ("returned", "group")
"""Columns of results that hold JSON objects as texts."""
REPLACED: Final = "stretto_replaced"
"""What counts the rows in which something had to be replaced, in Spark's reports."""
MOST_BYTES: Final = 1 << 20
"""A record that is larger is refused by Kafka, if it is not told otherwise."""
REQUEST_SIZE: Final = "kafka.max.request.size"
MARGIN_BYTES: Final = 512
SHOWN: Final = 1_000
"""Characters of what is too large."""
CSV: Final = {
    "header": "true",
    "escape": '"',
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
"""CSV as every reader reads it, with texts as they are."""
LOG: Final = "_spark_metadata"
TIMES: Final = ("start", "end", "detected", "window_start", "window_end")


def parse_sink(text: str) -> Spec:
    """The spec of a `--sink`; what is surely wrong with it is said now."""
    # The word that drivers of PostgreSQL know in an address.
    spec = Spec.parse(re.sub("^postgresql:", "postgres:", text), SINKS, "--sink")
    if spec.kind == "kafka":
        kafka_place(spec.place, "--sink")
    if spec.kind in ("files", "sqlite", "delta"):
        spec = spec.on_this_machine()
    if spec.kind == "delta":
        deltalake()  # a package that is missing is told before Spark starts
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
    replaced: dict[int, int] | None = None,
    **trigger: Any,
) -> StreamingQuery:
    """Start a stream of all outputs into a sink. `trigger` is Spark's; without one a micro-batch follows the other.

    What a sink cannot hold is replaced. Databases count the rows in `replaced`, by micro-batch; `observed_rows` reads
    what the others count.

    Folders and databases hold every row exactly once. Kafka takes rows at least once, with what names the match or the
    total as the key.
    """
    if spec.kind == "delta":
        writer = found.writeStream.foreachBatch(DeltaSink(spec.place, str(checkpoint)))
    else:
        writer = _writer(found, spec, form, dict(options or {}), {} if replaced is None else replaced)
    writer = writer.outputMode("append").option("checkpointLocation", str(checkpoint)).queryName("stretto")
    return (writer.trigger(**trigger) if trigger else writer).start()


def observed_rows(progress: Any, name: str = REPLACED) -> int:
    """How many rows of a micro-batch were counted under a name, by Spark's report on it: those with replacements."""
    row = (progress.observedMetrics or {}).get(name)
    return 0 if row is None else int(row["rows"])


def _writer(
    found: DataFrame, spec: Spec, form: str, options: Mapping[str, str], replaced: dict[int, int]
) -> DataStreamWriter:
    match spec.kind:
        case "files":
            rows = file_rows(found, form)
            if form == "json":
                rows = rows.withColumns({name: _variant(name) for name in OBJECTS})
            writer = rows.writeStream.format(form).partitionBy("kind")
            options = {"path": spec.place, **(CSV if form == "csv" else {}), **EVENT_TIMES, **options}
        case "kafka":
            hosts, topic = kafka_place(spec.place, "--sink")
            most = int(options.get(REQUEST_SIZE, MOST_BYTES))
            writer = kafka_rows(found, topic, most).writeStream.format("kafka")
            options = {"kafka.bootstrap.servers": hosts, **options}
        case "console":
            return found.writeStream.foreachBatch(print_results)
        case _:
            return found.writeStream.foreachBatch(Upsert(f"{spec.kind}:{spec.place}", replaced=replaced))
    return writer.options(**options)


def _variant(name: str) -> Column:
    """A column of JSON texts as values, which are written as they are; what is too large for that stays a text."""
    return F.coalesce(F.try_parse_json(name), F.col(name).cast("variant"))


def file_rows(found: DataFrame, form: str) -> DataFrame:
    """The rows as files hold them: times in UTC without a zone; in CSV a map is a JSON text."""
    rows = found.withColumns({name: F.col(name).cast("timestamp_ntz") for name in TIMES})
    if form != "csv":
        return rows
    return rows.withColumns({name: F.to_json(name, EVENT_TIMES) for name in ("events", "event")})


def kafka_rows(found: DataFrame, topic: str, most: int = MOST_BYTES) -> DataFrame:
    """A record for each row as JSON: matches to the topic, the rest to `topic.trends`, `.late` and `.rejected`.

    The key of a match is its id, that of a total what no other total has in common with it. Records of more than `most`
    bytes leave out what makes them large, and say so.
    """
    rows = file_rows(found, "json")
    key, value = _record(EVERYTHING, F.col("group"))
    whole = rows.withColumns({_KEY: key, _VALUE: value})
    size = F.octet_length(_VALUE).cast("bigint") + F.coalesce(F.octet_length(_KEY), F.lit(0))
    is_large = size > most - MARGIN_BYTES
    why = F.concat(F.lit("too large for a record: "), size, F.lit(" bytes"))
    small_key, small = _record(SMALL, F.to_json(F.struct(F.sha2("group", 256).alias("sha256"))), why)
    place = F.concat(F.lit(f"{topic}."), F.col("kind"))
    return whole.observe(REPLACED, F.count_if(is_large).alias("rows")).select(
        F.when(F.col("kind") == MATCHES, F.lit(topic)).otherwise(place).alias("topic"),
        F.when(is_large, small_key).otherwise(F.col(_KEY)).alias("key"),
        F.when(is_large, small).otherwise(F.col(_VALUE)).alias("value"),
    )


_KEY, _VALUE = "_stretto_key", "_stretto_value"
EVERYTHING: Final[Mapping[str, Sequence[str]]] = {
    MATCHES: RESULT_TABLES[MATCHES].columns,
    TRENDS: RESULT_TABLES[TRENDS].columns,
    REJECTED: ("event", "text", "reason"),
}
SMALL: Final[Mapping[str, Sequence[str]]] = {
    **EVERYTHING,
    MATCHES: [name for name in RESULT_TABLES[MATCHES].columns if name not in ("events", "returned")],
    REJECTED: ("text", "reason"),
}


def _record(
    columns: Mapping[str, Sequence[str]], group: Column, left_out: Column | None = None
) -> tuple[Column, Column]:
    """The key and the value of a record with these columns, and the name of a total's group."""
    is_match, is_total = (F.col("kind") == kind for kind in (MATCHES, TRENDS))
    named = {"group": group.alias("group")}
    if left_out is not None:
        text = F.coalesce(F.col("text"), F.to_json("event", EVENT_TIMES))
        named |= {"text": F.substring(text, 1, SHOWN).alias("text")}
        named |= {"reason": F.substring("reason", 1, SHOWN).alias("reason")}
    more = [] if left_out is None else [left_out.alias("left_out")]

    def as_json(names: Sequence[str], more: Sequence[Column] = ()) -> Column:
        return F.to_json(F.struct(*(named.get(name, F.col(name)) for name in names), *more), EVENT_TIMES)

    def with_objects(names: Sequence[str]) -> Column:
        """The same with the values of columns that hold JSON as they are, and not as texts."""
        text = as_json([name for name in names if name not in OBJECTS], more)
        for name in OBJECTS:
            if name in names:
                value = group if name == "group" else F.col(name)
                text = F.when(
                    value.isNotNull(),
                    F.concat(
                        F.substr(text, F.lit(1), F.length(text) - 1), F.lit(f',"{name}":'), value, F.lit("}")
                    ),
                ).otherwise(text)
        return text

    value = F.when(is_match, with_objects(columns[MATCHES])).when(is_total, with_objects(columns[TRENDS]))
    key = F.when(is_total, as_json(RESULT_TABLES[TRENDS].key)).otherwise(F.col("match_id"))
    return key, value.otherwise(as_json(columns[REJECTED], more))


def print_results(found: DataFrame, batch: int) -> None:  # noqa: ARG001 - as Spark calls it
    """The matches and totals of a micro-batch on standard output, a JSON object a line."""
    columns = dict.fromkeys(name for kind in RESULTS for name in RESULT_TABLES[kind].columns)
    rows = found.where(F.col("kind").isin(*RESULTS)).select("kind", *columns).toArrow()
    for kind in RESULTS:
        mine = rows.filter(pc.equal(rows.column("kind"), kind)).select(RESULT_TABLES[kind].columns)
        for piece in mine.to_batches():
            _print_lines(json_lines(piece, OBJECTS).to_pylist())
    sys.stdout.flush()


def _print_lines(lines: Sequence[str]) -> None:
    """Lines on standard output in UTF-8, as JSON is, whatever else is written there."""
    text = "".join(f"{line}\n" for line in lines)
    raw = getattr(sys.stdout, "buffer", None)
    if raw is None:  # a console that takes texts alone
        sys.stdout.write(text)
        return
    sys.stdout.flush()
    raw.write(text.encode())


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
