"""Matches and totals of a stream, micro-batch by micro-batch, exactly once.

    events -> watermark -> packed per target -> stateful operator -> observed -> unpacked

Events are late by the greatest time that was seen in earlier micro-batches. The state is the window of raw events, and
what goes out follows from it, the batch and the watermark alone: a batch that is run again gives the same rows, and
Spark's own protocol of checkpoints and sinks makes of that exactly once.
"""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import DateType, IntegralType, TimestampNTZType, TimestampType

from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.spreads import read_attributes
from stretto.plan.spread.staged import Staged
from stretto.plan.spread.stream_slices import StreamSpread
from stretto.schema import Special, sources_of
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.outputs import everything, own_types, results_of
from stretto.spark.packed import FAR, LATE, MARK, MATCHES, PACKED, REJECTED, TRENDS, Batches, pack
from stretto.spark.plans import Asked
from stretto.spark.setup.session import STATE_STORE, memory_of_tasks
from stretto.spark.stream.metrics import observed
from stretto.spark.stream.processor import MatchProcessor, Settings, delay_ms, target_keys
from stretto.spark.stream.staged_stream import partitions_of, through_stages
from stretto.spark.stream.stream_spread import require_ids, stream_spread
from stretto.spark.stream.unit_processor import UnitSettings
from stretto.spark.stream.versions import Version, read_versions
from stretto.spark.typed import described
from stretto.spark.unit_rows import UnitsOfPlan
from stretto.spark.user_functions import with_functions
from stretto.values.times import END_OF_TIME

AHEAD_US: Final = 86_400_000_000
"""A day: how far ahead of the clock an event may be. A time written in another zone is never so far off."""
MOST_US: Final = END_OF_TIME // 2
PARTITIONS: Final = "spark.sql.shuffle.partitions"
PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"


def detect_stream(
    plan: Plan,
    events: DataFrame,
    *,
    spread: StreamSpread | None = None,
    special: Special | None = None,
    lateness_us: int = 0,
    ahead_us: int | None = AHEAD_US,
    outputs: Asked = "matches",
    versions: str | Path | None = None,
    memory_bytes: int | None = None,
    max_matches: int | None = None,
) -> DataFrame:
    """The matches, or the totals of trends, of a streaming DataFrame, as a streaming DataFrame.

    `ahead_us`: how far ahead of the clock an event may be, past which it is rejected and moves no watermark; None: any.
    `versions`: a folder of workload versions, which the stream follows; the plan should be that of the last one. With
    `outputs="all"` both come, and late and rejected events too: see `matches_of`, `trends_of`, `late_of` and
    `rejected_of`. `max_matches`: the stream fails when a micro-batch finds more matches of a query at a target or unit.
    """
    spark = events.sparkSession
    plan, special = with_functions(plan), special or plan.schema.special
    spread = spread or stream_spread(plan)
    _require(plan, events, spread, special)
    require_ids(plan, spread, ids=special.id in events.columns, follows=versions is not None)
    if spark.conf.get(PROVIDER, "") != STATE_STORE:
        # Spark's own default has no room for more than one value per key.
        spark.conf.set(PROVIDER, STATE_STORE)
    # Staged units are those of one plan, so they follow no versions.
    follows = versions is not None and not isinstance(spread, Staged)
    number = 0 if follows else number_of(plan)
    kinds = frozenset({LATE, REJECTED}) if outputs == "all" else frozenset[str]()
    # Every value costs on its way to Python: those that no query can ask for and nobody wants to see stay behind.
    wanted = None if follows or outputs == "all" else read_attributes(plan, spread)
    needed = _columns(with_watermark(events, special, lateness_us, ahead_us), special, wanted)
    stream = uuid4().hex
    memory = memory_of_tasks(spark, spread.targets, memory_bytes)
    if isinstance(spread, Staged):
        units = UnitsOfPlan(plan, spread)
        spark.conf.set(PARTITIONS, str(partitions_of(units)))
        of_units = UnitSettings(units, special, number, kinds, memory, stream, max_matches)
        found = through_stages(needed, of_units, ahead_us)
    else:
        version = Version(number, _text(plan), plan)
        settings = Settings(
            version, spread, special, lateness_us, ahead_us, follows, kinds, memory, stream, max_matches
        )
        found = _on_targets(needed, settings, versions)
    seen = observed(found, spread.targets)
    own = own_types(events.schema, special)
    if outputs == "all":
        return described(everything(seen, events.schema, own), plan)
    return described(results_of(seen, TRENDS if outputs == "trends" else MATCHES, own), plan)


def _on_targets(events: DataFrame, settings: Settings, versions: str | Path | None) -> DataFrame:
    """Every target runs the whole plan, in one stateful operator."""
    spark, spread, special = events.sparkSession, settings.spread, settings.special

    def packing(batches: Batches) -> Iterator[pa.RecordBatch]:
        with at_work("packing events", ()):
            yield from pack(batches, spread, special)

    packed = events.mapInArrow(packing, PACKED)
    if versions is not None:
        packed = packed.unionByName(read_versions(spark, versions, spread.targets))
    if isinstance(spread, ByCell):  # as few cells as there are cores: none should wait for another
        spark.conf.set(PARTITIONS, str(spread.targets))
        keys = F.array([F.lit(key) for key in target_keys(spread)])
        packed = packed.withColumn("target", keys[F.col("target")])
    return packed.groupBy("target").transformWithState(
        MatchProcessor(settings), PACKED, "append", "eventTime"
    )


# ---- the way in ----------------------------------------------------------------------------------------------


def _columns(events: DataFrame, special: Special, wanted: frozenset[str] | None) -> DataFrame:
    """The columns of events that are looked at: all but the watermark's own, or those of the attributes wanted."""
    own = (special.ts, special.type, special.id, FAR)
    read = None if wanted is None else sources_of(wanted, events.columns)
    names = [
        name for name in events.columns if name != MARK and (read is None or name in read or name in own)
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


def number_of(plan: Plan) -> int:
    """A number for a plan that came with no version: the same for the same queries, and no version's."""
    digest = blake2b(_text(plan).encode(), digest_size=7).digest()
    return -1 - int.from_bytes(digest, "big")


def _text(plan: Plan) -> str:
    if plan.workload is not None:
        return plan.workload.to_text()
    return repr(plan.ops) + ("" if plan.trends is None else repr(plan.trends.queries))


def with_watermark(events: DataFrame, special: Special, late_us: int, ahead_us: int | None) -> DataFrame:
    """The events with Spark's watermark, on the column MARK, and FAR, which says what is too far ahead (None: nothing).

    Neither those events move the watermark nor those whose time is out of range. The clock is that of the micro-batch,
    which stands in Spark's log: a micro-batch that is run again judges as it did.
    """
    time = _as_timestamp(events, special)
    in_range = time < F.timestamp_micros(F.lit(END_OF_TIME))
    far = F.lit(False)
    if ahead_us is not None:
        now_us = F.unix_micros(F.current_timestamp())
        far = time > F.timestamp_micros(now_us + F.lit(min(ahead_us, MOST_US)))
    marked = events.withColumns({MARK: F.when(in_range & ~far, time), FAR: in_range & far})
    return marked.withWatermark(MARK, f"{delay_ms(late_us)} milliseconds")


def _as_timestamp(events: DataFrame, special: Special) -> Column:
    """The time as TIMESTAMP; null where it is beyond all of those."""
    kind, column = events.schema[special.ts].dataType, F.col(f"`{special.ts}`")
    if isinstance(kind, TimestampType):
        return column
    if isinstance(kind, IntegralType):
        return F.timestamp_micros(column)
    # As if in UTC, whatever the zone of the session: the engine counts so too.
    plain = column.try_cast("timestamp_ntz") if isinstance(kind, DateType) else column
    return F.expr("TIMESTAMP'1970-01-01 00:00:00Z'") + (plain - F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'"))
