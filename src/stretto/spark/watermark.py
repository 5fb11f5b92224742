"""Spark's watermark on the times of events, and the events that are too far ahead of the clock to move it."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import DateType, IntegralType, TimestampType

from stretto.schema import Special
from stretto.spark.chunks import FAR, MARK
from stretto.spark.processor import delay_ms
from stretto.values.times import END_OF_TIME

AHEAD: Final = "1 day"
"""How far ahead of the clock an event may be: more than a time can be off that was written in another zone."""
MOST_US: Final = END_OF_TIME // 2


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
