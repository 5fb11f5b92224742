"""Where a stream's events come from: folders, Delta tables, Kafka, sockets and Spark's rate source.

Whatever the source, the times become TIMESTAMP, the types STRING, and text that is no row of the columns is set apart
with a reason. Times without a zone are UTC. Integers as times are since 1970, in a unit that is given, that the first
events tell, or, where there were none, each by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql import types as T  # noqa: N812 - as everybody calls it

from stretto.data.json_text import open_json
from stretto.data.parts import need_special
from stretto.errors import EventsError
from stretto.json_depth import DEEPEST, HALF, HALF_PAIR, TOO_DEEP
from stretto.records import dataclass
from stretto.schema import Schema, Special
from stretto.spark.io.columns import (
    NANOS_AS_LONG,
    columns_of_files,
    columns_of_parts,
    file_pattern,
    form_of_folder,
    guessed,
    nanosecond_columns,
    refuse_ids,
    unit_of,
)
from stretto.spark.io.delta_source import delta_columns, delta_stream
from stretto.spark.io.specs import Spec, kafka_place, socket_place
from stretto.values.convert import MOST
from stretto.values.time_units import FIRST_S, LAST_S, PER_SECOND

UNREADABLE: Final = "_stretto_unreadable"
TEXT: Final = "text"
BATCH_BYTES: Final = str(256 << 20)
"""So much of a backlog of files goes into one micro-batch."""
SAMPLED_LINES: Final = 2_000
RATE_TYPES: Final = ("A", "B", "C", "D", "E")
OFFSET_BITS: Final = 48


@dataclass(frozen=True, slots=True)
class EventSource:
    """A stream's events; `unreadable` holds the `text` of what is no event, with the `reason`.

    `columns`: as they are read; a source that always has the same ones needs none.
    """

    events: DataFrame
    unreadable: DataFrame | None = None
    columns: T.StructType | None = None


def open_source(
    spark: SparkSession,
    spec: Spec,
    special: Special,
    *,
    schema: T.StructType | None = None,
    form: str | None = None,
    guess: Callable[[], Schema] | None = None,
    options: Mapping[str, str] | None = None,
    patient: bool = False,
) -> EventSource:
    """The streaming DataFrame of a source.

    `schema`: the columns, where they are not to be found out. `guess`: what they may be where nothing else tells.
    `form`: the format of files. `options`: Spark's own ones
    for this source. `patient`: wait for the first file of an empty folder.
    """
    extra = dict(options or {})
    if spec.kind == "rate":
        return EventSource(rate_events(spark, int(spec.place), special, extra))
    if spec.kind == "files":
        chosen = form or form_of_folder(Path(spec.place), patient=patient)
        columns = schema or columns_of_files(spark, spec.place, chosen, special)
        source = file_events(spark, spec.place, chosen, columns, special, extra)
    elif spec.kind == "delta":
        columns = schema or delta_columns(spec.place)
        rows = delta_stream(spark, spec.place, columns, extra)
        source = EventSource(_conformed(rows, special, (), unit_of(columns, special)))
    elif spec.kind == "kafka":
        columns = schema or _columns_of_topic(spark, spec, special, guess, extra)
        source = kafka_events(spark, spec.place, columns, special, extra)
    else:
        columns = schema or guessed(guess, special, "a socket")
        source = socket_events(spark, spec.place, columns, special, extra)
    return replace(source, columns=columns)


# ---- files ---------------------------------------------------------------------------------------------------------


def file_events(
    spark: SparkSession,
    folder: str,
    form: str,
    columns: T.StructType,
    special: Special,
    options: Mapping[str, str],
) -> EventSource:
    """The events of a folder's files, as they arrive. Files that appear under their name whole are read whole."""
    if "maxFilesPerTrigger" not in options:
        options = {"maxBytesPerTrigger": BATCH_BYTES, **options}
    chosen = {"pathGlobFilter": file_pattern(form), **_TEXT_OPTIONS.get(form, {}), **options}
    reader = spark.readStream.options(**chosen)
    if form == "parquet":
        fine = nanosecond_columns(columns)
        if fine:
            spark.conf.set(NANOS_AS_LONG, "true")
        return EventSource(
            _conformed(reader.schema(columns).parquet(folder), special, fine, unit_of(columns, special))
        )
    if form == "json":
        lines = reader.text(folder)
        return _from_json(lines.where(F.trim("value", F.lit(_BLANKS)) != ""), columns, special, None, options)
    raw = T.StructType([*_as_texts(columns, special), T.StructField(UNREADABLE, T.StringType())])
    read = reader.schema(raw).option("columnNameOfCorruptRecord", UNREADABLE).csv(folder)
    return _readable(read, special, unit_of(columns, special))


_CSV: Final[Mapping[str, str]] = {
    # A header that does not have the columns in their order is an error, not a source of wrong values.
    "enforceSchema": "false",
    "header": "true",
    "mode": "PERMISSIVE",
    # As `stretto run` reads them: quotes are doubled, and a line may end inside of them; it is no row of its own.
    "escape": '"',
    "multiLine": "true",
    # Nothing is null, and an empty text between quotes is one: it is told apart by a sign that stands in no text.
    "nullValue": "\ufffe",
    # Java's own NaN and Infinity are read too.
    "nanValue": "nan",
    "positiveInf": "inf",
    "negativeInf": "-inf",
}
_TEXT_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "csv": _CSV,
    "tsv": {**_CSV, "sep": "\t"},
}


# ---- Kafka, sockets, rate --------------------------------------------------------------------------------------------


def kafka_events(
    spark: SparkSession, place: str, columns: T.StructType, special: Special, options: Mapping[str, str]
) -> EventSource:
    """The JSON objects of a topic. Without an id column an event's id tells its partition and offset."""
    hosts, topic = kafka_place(place, "--source")
    chosen = {"kafka.bootstrap.servers": hosts, "subscribe": topic, "startingOffsets": "earliest", **options}
    records = spark.readStream.format("kafka").options(**chosen).load()
    place_of = F.shiftleft(F.col("partition").cast("bigint"), OFFSET_BITS).bitwiseOR(F.col("offset"))
    lines = records.select(F.col("value").cast("string").alias("value"), place_of.alias(_PLACE))
    return _from_json(lines, columns, special, F.col(_PLACE))


_PLACE: Final = "_stretto_place"


def socket_events(
    spark: SparkSession, place: str, columns: T.StructType, special: Special, options: Mapping[str, str]
) -> EventSource:
    """The JSON lines that a server sends. For trials: what was sent before a restart is gone."""
    host, port = socket_place(place)
    lines = spark.readStream.format("socket").options(**{"host": host, "port": port, **options}).load()
    return _from_json(lines.where(F.trim("value", F.lit(_BLANKS)) != ""), columns, special, None)


def rate_events(spark: SparkSession, rate: int, special: Special, options: Mapping[str, str]) -> DataFrame:
    """Made-up events, so many per second: types A to E, `key` 0 to 99, `x` from 0 to 100."""
    rows = spark.readStream.format("rate").options(**{"rowsPerSecond": str(rate), **options}).load()
    number = F.col("value")
    chance = F.pmod(F.xxhash64(number), F.lit(1 << 20))
    types = F.array(*map(F.lit, RATE_TYPES))
    return rows.select(
        F.col("timestamp").alias(special.ts),
        F.element_at(types, (F.pmod(chance, F.lit(len(RATE_TYPES))) + 1).cast("int")).alias(special.type),
        number.alias(special.id),
        F.pmod(number, F.lit(100)).alias("key"),
        (F.pmod(F.xxhash64(number, F.lit(1)), F.lit(10_000)) / 100).cast("double").alias("x"),
    )


def _columns_of_topic(
    spark: SparkSession,
    spec: Spec,
    special: Special,
    guess: Callable[[], Schema] | None,
    options: Mapping[str, str],
) -> T.StructType:
    """The columns of the first objects of a topic."""
    hosts, topic = kafka_place(spec.place, "--source")
    own = {name: value for name, value in options.items() if name.startswith("kafka.")}
    chosen = {"kafka.bootstrap.servers": hosts, "subscribe": topic, **own}
    records = spark.read.format("kafka").options(**chosen).load().select("value")
    rows = records.where("value is not null").limit(SAMPLED_LINES).toArrow()
    lines = [bytes(value) for value in rows.column("value").to_pylist()]
    if not lines:
        return guessed(guess, special, f"the topic {topic}, which is empty,")
    part = open_json(f"topic {topic}", partial(BytesIO, b"\n".join(lines)), special)
    return columns_of_parts(f"topic {topic}", [part], special)


# ---- columns as events have them -------------------------------------------------------------------------------------


def _as_texts(columns: T.StructType, special: Special) -> list[T.StructField]:
    """The columns of a text format: times are read as texts first, so that a bad one is rejected with its reason."""
    return [
        T.StructField(
            field.name, T.StringType() if field.name in (special.ts, special.type) else field.dataType
        )
        for field in columns.fields
    ]


def _from_json(
    lines: DataFrame,
    columns: T.StructType,
    special: Special,
    place: Column | None,
    options: Mapping[str, str] | None = None,
) -> EventSource:
    """The objects of JSON texts in the column `value`; `place` is an event's id where they hold none.

    `options`: more of Spark's own ones. Texts that its parser misreads, or takes apart, are not shown to it.
    """
    raw = T.StructType([*_as_texts(columns, special), T.StructField(UNREADABLE, T.StringType())])
    chosen = {"allowSingleQuotes": "false", **(options or {}), "mode": "PERMISSIVE"}
    refused = refusal_of_json(F.col("value"))
    texts = lines.where("value is not null").select("*", refused.alias(_REFUSED))
    # Spark moves filters below what is deterministic, and would parse each text once for every term of theirs.
    is_shown = F.col(_REFUSED).isNull() & (F.rand(0) + 1 > 0)
    text = F.when(is_shown, F.col("value")).otherwise("{}")
    event = F.from_json(text, raw, chosen | {"columnNameOfCorruptRecord": UNREADABLE}).alias("event")
    shown = F.when(F.col(_REFUSED).isNotNull(), F.col("value")).otherwise(F.col(f"event.{UNREADABLE}"))
    fields = [F.col(f"event.`{name}`").alias(name) for name in columns.names]
    if place is not None and special.id not in columns.names:
        texts = texts.withColumn(special.id, place)
        fields.append(named(special.id))
    read = texts.select("*", event).select(*fields, shown.alias(UNREADABLE), _REFUSED)
    return _readable(read, special, unit_of(columns, special))


_REFUSED: Final = "_stretto_refused"
_BLANKS: Final = " \t\r\n\v\f"


def refusal_of_json(text: Column) -> Column:
    """What is wrong with a JSON text that Spark's parser would take or drop; null where it may see the text.

    It drops an empty list, takes other lists apart, reads the first of several values, and replaces bytes that are no
    text. In-process readers refuse all of these, and what is nested too deeply.
    """
    trimmed = F.trim(text, F.lit(_BLANKS))
    # Escapes first: what is left of a string then ends at the next quote. Each pattern runs without recursion.
    bare = F.regexp_replace(F.regexp_replace(text, r"\\.", ""), '"[^"]*"', "")
    more = r"\}\s*[^\s,\]}]"
    many = rf"^(?:[^\[{{]*+[\[{{]){{{DEEPEST + 1}}}"
    halves = F.replace(text, F.lit("\\\\"), F.lit(""))
    return (
        F.when(~F.is_valid_utf8(text), F.lit("not UTF-8 text"))
        .when(~(trimmed.startswith("{") & trimmed.endswith("}")), F.lit("not a JSON object"))
        .when(
            (F.octet_length(text) > 2 * DEEPEST) & text.rlike(many) & (_depth(bare) > DEEPEST),
            F.lit(f"not JSON that can be read: {TOO_DEEP}"),
        )
        .when(text.rlike(more) & bare.rlike(more), F.lit("not JSON: more than one value"))
        .when(text.contains("\\u") & halves.rlike(HALF), F.lit(f"not Unicode text: {HALF_PAIR}"))
    )


def _depth(bare: Column) -> Column:
    """How deeply JSON text without strings is nested."""
    brackets = F.split(F.regexp_replace(bare, r"[^\[\]{}]+", ""), "")
    start = F.struct(F.lit(0).alias("now"), F.lit(0).alias("most"))

    def after(depth: Column, bracket: Column) -> Column:
        now = depth["now"] + F.when(bracket.isin("[", "{"), 1).when(bracket.isin("]", "}"), -1).otherwise(0)
        return F.struct(now.alias("now"), F.greatest(depth["most"], now).alias("most"))

    return F.aggregate(brackets, start, after, lambda depth: depth["most"])


def _readable(raw: DataFrame, special: Special, unit: str | None) -> EventSource:
    """Rows apart that could be read and those that could not, for a reason that may stand beside."""
    _check_columns(raw, special)
    stamp = _time_of_text(named(special.ts), unit)
    columns = [named(name) for name in raw.columns if name not in (UNREADABLE, _REFUSED)]
    misfit = F.lit("no row of these columns")
    if _REFUSED in raw.columns:
        misfit = F.coalesce(_REFUSED, misfit)
    no_time = named(special.ts).isNotNull() & stamp.isNull()
    bad = F.col(UNREADABLE).isNotNull() | no_time
    good = raw.where(~bad).select(*columns).withColumn(special.ts, stamp)
    shown = F.coalesce(F.col(UNREADABLE), F.to_json(F.struct(*columns)))
    reason = F.when(F.col(UNREADABLE).isNotNull(), misfit).otherwise(
        F.concat(F.lit(f"{special.ts} is no time: "), named(special.ts))
    )
    # Bytes that are no UTF-8 pass through Spark, and stop whoever reads them as text.
    valid = (F.make_valid_utf8(shown).alias(TEXT), F.make_valid_utf8(reason).alias("reason"))
    return EventSource(good, raw.where(bad).select(*valid))


def _conformed(
    events: DataFrame, special: Special, nanoseconds: Sequence[str], unit: str | None
) -> DataFrame:
    """Typed columns with the times as TIMESTAMP and the types as STRING."""
    _check_columns(events, special)
    for name in nanoseconds:
        # Down, before 1970 too; `div` goes towards it.
        down = F.expr(
            f"timestamp_micros(`{name}` div 1000 - CASE WHEN `{name}` % 1000 < 0 THEN 1 ELSE 0 END)"
        )
        events = events.withColumn(name, down)
    ts, kind = named(special.ts), events.schema[special.ts].dataType
    if isinstance(kind, T.StringType):
        ts = _time_of_text(ts, unit)
    elif isinstance(kind, T.IntegralType):
        ts = time_of_number(ts, unit)
    elif isinstance(kind, T.DateType):
        ts = _time_of_day(ts)
    elif isinstance(kind, T.TimestampType | T.TimestampNTZType):
        ts = ts.cast("timestamp")
    else:
        raise EventsError(
            f"column `{special.ts}` holds {kind.simpleString()}, not times (name another column with --ts)"
        )
    return events.withColumn(special.ts, ts).withColumn(special.type, named(special.type).cast("string"))


def named(name: str) -> Column:
    """A column by its name, whatever signs are in it."""
    return F.col(f"`{name}`")


def time_of_number(number: Column, unit: str | None) -> Column:
    """An integer as a time; without a unit one of the years 1973 to 2100, in the unit that its size tells."""
    if unit is not None:
        return F.timestamp_micros(_micros(number.cast("bigint"), unit))
    found = F.lit(None).cast("bigint")
    for name, factor in PER_SECOND.items():
        inside = number.between(F.lit(FIRST_S * factor), F.lit(LAST_S * factor - 1))
        found = F.when(inside, _micros(number.cast("bigint"), name)).otherwise(found)
    return F.timestamp_micros(found)


def _micros(number: Column, unit: str) -> Column:
    if unit == "ns":  # down, before 1970 too
        return ((number - F.pmod(number, F.lit(1000))).cast("decimal(20,0)") / 1000).cast("bigint")
    return F.try_multiply(number, F.lit(1_000_000 // PER_SECOND[unit]))


def _time_of_text(text: Column, unit: str | None) -> Column:
    micros = time_of_number(text.try_cast("bigint"), unit)
    return F.when(text.rlike(r"^\s*-?\d+\s*$"), micros).otherwise(text.try_cast("timestamp"))


def _time_of_day(day: Column) -> Column:
    """The beginning of a day; days that no time reaches become times out of range, which are rejected as such."""
    beyond = F.when(day < F.lit(date(1970, 1, 1)), -MOST).otherwise(MOST)
    return F.coalesce(day.try_cast("timestamp"), F.when(day.isNotNull(), F.timestamp_micros(beyond)))


def _check_columns(events: DataFrame, special: Special) -> None:
    need_special(
        "the source", [name for name in events.columns if name not in (UNREADABLE, _REFUSED)], special
    )
    refuse_ids(events.schema, special)
