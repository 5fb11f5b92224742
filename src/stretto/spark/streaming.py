"""Matches and totals of a stream, micro-batch by micro-batch, exactly once.

    events -> watermark -> packed per target -> stateful operator -> observed -> unpacked

Events are late by the greatest time that was seen in earlier micro-batches. The state is the window of raw events, and
what goes out follows from it, the batch and the watermark alone: a batch that is run again gives the same rows, and
Spark's own protocol of checkpoints and sinks makes of that exactly once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    DataType,
    DateType,
    IntegralType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from stretto.engine.run import MEMORY_BYTES
from stretto.errors import QueryError
from stretto.plan.dag import Plan
from stretto.plan.spread.partition_keys import key_attributes, of_single_events
from stretto.plan.spread.stream_slices import Slices, StreamSpread
from stretto.plan.spread.targets import ByKey, Whole, read_attributes
from stretto.schema import Special
from stretto.spark.batch import result_schema
from stretto.spark.chunks import (
    FAR,
    LATE,
    MARK,
    MATCHES,
    PACKED,
    REJECTED,
    RESULTS,
    TRENDS,
    as_schema,
    from_payload,
    pack,
    payloads,
    unpack,
)
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.metrics import observed
from stretto.spark.notes import read_note, write_note
from stretto.spark.processor import MatchProcessor, Settings
from stretto.spark.requested import Asked
from stretto.spark.session import STATE_STORE
from stretto.spark.versions import Version, read_versions
from stretto.spark.watermark import AHEAD, with_watermark
from stretto.text.parser import parse_duration
from stretto.text.values import duration_text
from stretto.values.strings import valid_texts

Outputs = Literal["matches", "all"]
Batches = Iterable[pa.RecordBatch]

BUCKETS: Final = 16
"""Key buckets of a stream. A checkpoint is bound to their number, so it depends on nothing."""
PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
SPREAD_FILE: Final = "spread.json"
NAMES: Final = ("auto", "key", "time", "whole")
EVENT, REASON, KIND = "event", "reason", "kind"


def detect_stream(
    plan: Plan,
    events: DataFrame,
    *,
    spread: StreamSpread | None = None,
    special: Special | None = None,
    lateness: str = "0 seconds",
    ahead: str | None = AHEAD,
    outputs: Asked = "matches",
    versions: str | Path | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> DataFrame:
    """The matches, or the totals of trends, of a streaming DataFrame, as a streaming DataFrame.

    `ahead`: how far ahead of the clock an event may be, past which it is rejected and moves no watermark; None: any.
    `versions`: a folder of workload versions, which the stream follows; the plan should be that of the last one. With
    `outputs="all"` both come, and late and rejected events too: see `matches_of`, `trends_of`, `late_of` and
    `rejected_of`.
    """
    spark = events.sparkSession
    special = special or plan.schema.special
    spread = spread or stream_spread(plan)
    _require(plan, events, spread, special)
    _require_ids(plan, spread, ids=special.id in events.columns, follows=versions is not None)
    _use_state_store(spark)
    late_us, far_us = lateness_us(lateness), ahead_us(ahead)
    follows = versions is not None
    settings = Settings(
        version=Version(0 if follows else number_of(plan), _text(plan), plan),
        spread=spread,
        special=special,
        lateness_us=late_us,
        ahead_us=far_us,
        follows=follows,
        kinds=frozenset({LATE, REJECTED}) if outputs == "all" else frozenset(),
        memory_bytes=memory_bytes,
        stream=uuid4().hex,
    )
    # Every value costs on its way to Python: those that no query can ask for and nobody wants to see stay behind.
    wanted = None if follows or outputs == "all" else read_attributes(plan, spread)
    needed = _columns(with_watermark(events, special, late_us, far_us), special, wanted)
    packed = needed.mapInArrow(_packing(spread, special), PACKED)
    if versions is not None:
        packed = packed.unionByName(read_versions(spark, versions, spread.targets))
    found = packed.groupBy("target").transformWithState(
        MatchProcessor(settings), PACKED, "append", "eventTime"
    )
    seen = observed(found, spread.targets)
    if outputs == "all":
        return everything(seen, events.schema, arrow_time(events.schema[special.ts].dataType))
    return _results(seen, TRENDS if outputs == "trends" else MATCHES, events.schema[special.ts].dataType)


# ---- the choice of a spread ----------------------------------------------------------------------------------


def stream_spread(
    plan: Plan,
    name: str = "auto",
    folder: str | Path | None = None,
    *,
    width_us: int | None = None,
    ids: bool = True,
) -> StreamSpread:
    """How a stream's events get to targets: `auto`, by key where all queries allow it, else all to one.

    The state is laid out by it, so it must stay the same for as long as a checkpoint is used: with a folder, it is
    chosen once and noted there. `width_us`: that of slices, where they are asked for; `ids`: whether events have some.
    """
    if name not in NAMES:
        raise StrettoSparkError(f"a stream cannot be spread by `{name}`; there are: {', '.join(NAMES)}")
    if width_us is not None and name != "time":
        raise StrettoSparkError(f"a slice is for a stream that is spread by `time`, not by `{name}`")
    note = None if folder is None else Path(folder) / SPREAD_FILE
    noted = None if note is None else read_note(note, _spread_of)
    spread = noted or _chosen(plan, name, width_us)
    wrong = spread.check(plan)
    if wrong is None and noted is not None:
        wrong = _otherwise(noted, name, width_us)
    if wrong is not None:
        other = "" if noted is None else " (another spread needs another checkpoint)"
        raise StrettoSparkError(f"the workload does not fit the stream: {wrong}{other}")
    _require_ids(plan, spread, ids=ids, follows=folder is not None)
    if note is not None and noted is None:
        write_note(note, {"spread": _name(spread), **asdict(spread)})
    return spread


def _otherwise(noted: StreamSpread, name: str, width_us: int | None) -> str | None:
    """How the spread of a checkpoint differs from what is asked for; None if it does not."""
    if name not in ("auto", _name(noted)):
        return f"its events were spread by {_name(noted)} so far, not by {name}"
    if isinstance(noted, Slices) and width_us not in (None, noted.width_us):
        return f"its slices were {duration_text(noted.width_us)} wide so far, not {duration_text(width_us)}"
    return None


def _chosen(plan: Plan, name: str, width_us: int | None) -> StreamSpread:
    if name == "whole":
        return Whole()
    if name == "time":
        return Slices.of(plan, width_us)
    # A stream's key is for good, so a query must name it: later ones have to be tied by it too.
    attributes = key_attributes(plan)
    if attributes:
        return ByKey(attributes, BUCKETS)
    if name == "key" and of_single_events(plan):
        raise StrettoSparkError(
            "cannot spread by key: all queries are about single events, and none names a key (write `[attr]` in one)"
        )
    if name == "key":
        raise StrettoSparkError("cannot spread by key: no attribute ties all events of every query")
    return Whole()


def _name(spread: StreamSpread) -> str:
    if isinstance(spread, Slices):
        return "time"
    return "key" if isinstance(spread, ByKey) else "whole"


def _spread_of(noted: dict[str, Any]) -> StreamSpread:
    name = noted.pop("spread")
    if name == "whole":
        return Whole()
    if name == "time":
        return Slices(**noted)
    return ByKey(tuple(noted["attributes"]), int(noted["buckets"]))


# ---- the way in ----------------------------------------------------------------------------------------------


def lateness_us(text: str, what: str = "lateness") -> int:
    """The microseconds of a lateness such as `10 seconds`."""
    value = _duration_us(what, text)
    if value < 0:
        raise StrettoSparkError(f"{what} `{text}` is negative")
    return value


def ahead_us(text: str | None) -> int | None:
    """The microseconds of how far ahead an event may be; None: any."""
    return None if text is None else lateness_us(text, "ahead")


def slice_us(text: str | None) -> int | None:
    """The microseconds of the width of a slice such as `10 seconds`, if one is given."""
    if text is None:
        return None
    value = _duration_us("slice", text)
    if value <= 0:
        raise StrettoSparkError(f"a slice of `{text}` has no width")
    return value


def _duration_us(what: str, text: str) -> int:
    try:
        return 0 if text.strip() == "0" else parse_duration(text)
    except QueryError:
        raise StrettoSparkError(
            f"{what} `{text}` is not a duration (write one like `10 seconds` or 500ms)"
        ) from None


def _columns(events: DataFrame, special: Special, wanted: frozenset[str] | None) -> DataFrame:
    """The columns of events that are looked at: all but the watermark's own, or those of the attributes wanted."""
    own = (special.ts, special.type, special.id, FAR)
    names = [
        name for name in events.columns if name != MARK and (wanted is None or name in wanted or name in own)
    ]
    return events.select([F.col(f"`{name}`") for name in names])


def _require(plan: Plan, events: DataFrame, spread: StreamSpread, special: Special) -> None:
    wrong = spread.check(plan)
    if wrong is not None:
        raise StrettoSparkError(f"the workload does not fit the stream: {wrong}")
    kinds = {field.name: field.dataType for field in events.schema.fields}
    for name in (special.ts, special.type):
        if name not in kinds:
            raise StrettoSparkError(f"the events have no column `{name}`; they have: {', '.join(kinds)}")
    timely = TimestampType | TimestampNTZType | DateType | IntegralType
    if not isinstance(kinds[special.ts], timely):
        found = kinds[special.ts].simpleString()
        raise StrettoSparkError(f"column `{special.ts}` holds {found}, not timestamps")


def _require_ids(plan: Plan, spread: StreamSpread, *, ids: bool, follows: bool) -> None:
    """The numbers that a target gives are its own. Totals of trends need none, and a later version may find matches."""
    if isinstance(spread, Slices) and not ids and (plan.queries or follows):
        raise StrettoSparkError(
            "the events have no column of ids: spread by time, an event may go to two targets, "
            "and both must know it by one id"
        )


def _use_state_store(spark: SparkSession) -> None:
    """Spark's own default store has no room for more than one value per key."""
    if spark.conf.get(PROVIDER, "") != STATE_STORE:
        spark.conf.set(PROVIDER, STATE_STORE)


def _packing(spread: StreamSpread, special: Special) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def packing(batches: Batches) -> Iterator[pa.RecordBatch]:
        with at_work("packing events", ()):
            yield from pack(batches, spread, special)

    return packing


def number_of(plan: Plan) -> int:
    """A number for a plan that came with no version: the same for the same queries, and no version's."""
    digest = blake2b(_text(plan).encode(), digest_size=7).digest()
    return -1 - int.from_bytes(digest, "big")


def _text(plan: Plan) -> str:
    if plan.workload is not None:
        return plan.workload.to_text()
    return repr(plan.ops) + ("" if plan.trends is None else repr(plan.trends.queries))


# ---- the way out ---------------------------------------------------------------------------------------------


def arrow_time(ts: DataType) -> pa.DataType:
    """The Arrow type in which Spark takes times of a type."""
    return to_arrow_schema(StructType([StructField("ts", ts)]), timezone="UTC").field(0).type


def _results(packed: DataFrame, kind: str, ts: DataType) -> DataFrame:
    times = arrow_time(ts)

    def unpacking(batches: Batches) -> Iterator[pa.RecordBatch]:
        return unpack(batches, kind, times)

    kept = packed.where(F.col("kind") == kind).select("kind", "payload")
    return kept.mapInArrow(unpacking, result_schema(kind, times))


def everything(packed: DataFrame, events: StructType, times: pa.DataType) -> DataFrame:
    """Matches, totals, late and rejected events in one DataFrame, told apart by `kind`; `times`: the type of times.

    It has the columns of totals whether or not there are trend queries: a later version of the workload may have some.
    """
    event = StructType([StructField(field.name, field.dataType) for field in events.fields])
    results = {field.name: field for kind in RESULTS for field in result_schema(kind, times).fields}
    columns = [
        StructField(KIND, StringType()),
        *results.values(),
        StructField(EVENT, event),
        StructField(REASON, StringType()),
    ]
    schema = StructType(columns)
    arrow = to_arrow_schema(schema, timezone="UTC")
    shape = pa.schema(list(arrow.field(EVENT).type))

    def unpacking(batches: Batches) -> Iterator[pa.RecordBatch]:
        for kind, payload in payloads(batches):
            batch = from_payload(payload)
            yield as_schema(batch if kind in RESULTS else _set_apart(kind, batch, shape), arrow, {KIND: kind})

    kept = packed.where(F.col("kind").isin(*RESULTS, LATE, REJECTED)).select("kind", "payload")
    return kept.mapInArrow(unpacking, schema)


def _set_apart(kind: str, batch: pa.RecordBatch, shape: pa.Schema) -> pa.RecordBatch:
    """Late or rejected events as a column; of rejected ones the last column is the reason."""
    count = batch.num_columns - (kind == REJECTED)
    came = as_schema(batch.select(list(range(count))), shape)
    event = pa.StructArray.from_arrays([valid_texts(column) for column in came.columns], fields=list(shape))
    reason = batch.column(count) if kind == REJECTED else pa.nulls(batch.num_rows, pa.string())
    return pa.RecordBatch.from_arrays([event, reason], names=[EVENT, REASON])


def matches_of(everything: DataFrame) -> DataFrame:
    """The matches among all outputs."""
    return _of_kind(everything, MATCHES)


def trends_of(everything: DataFrame) -> DataFrame:
    """The totals of trends among all outputs."""
    return _of_kind(everything, TRENDS)


def _of_kind(everything: DataFrame, kind: str) -> DataFrame:
    return everything.where(F.col(KIND) == kind).select(*RESULTS[kind].names)


def late_of(everything: DataFrame) -> DataFrame:
    """The late events among all outputs, as they came."""
    return everything.where(F.col(KIND) == LATE).select(f"{EVENT}.*")


def rejected_of(everything: DataFrame) -> DataFrame:
    """The rejected events among all outputs, as they came, with the reason."""
    return everything.where(F.col(KIND) == REJECTED).select(f"{EVENT}.*", REASON)
