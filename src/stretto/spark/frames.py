"""What a program hands in as events for Spark, as a DataFrame with times."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T  # noqa: N812 - as everybody calls it

from stretto.errors import EventsError, StrettoError, warn
from stretto.face.given import table_of
from stretto.schema import Special
from stretto.spark.io.sources import named, time_of_number
from stretto.spark.setup.session import session
from stretto.spark.setup.worker_python import other_python
from stretto.values.time_units import LOOKED_AT, PER_SECOND, need_unit


def frame_of(events: Any, special: Special | None = None, ts_unit: str | None = None) -> DataFrame:
    """The events as a DataFrame. Times that are integers, and not microseconds, become timestamps.

    Of a batch a few rows tell the unit, if nobody does: that is a small job. A stream has to be told.
    """
    known = special or Special()
    if not isinstance(events, DataFrame) and not hasattr(events, "sparkSession"):
        return session().createDataFrame(table_of(events, known, ts_unit))
    frame: DataFrame = events
    if told := other_python(frame.sparkSession):
        warn(told)
    unit = ts_unit or known.unit
    if unit is not None and unit not in PER_SECOND:
        raise StrettoError(f"ts_unit is one of {', '.join(PER_SECOND)}, not {unit!r}")
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    if not isinstance(kinds.get(known.ts), T.IntegralType):
        return frame
    if unit is None and frame.isStreaming:
        raise EventsError(
            f"column `{known.ts}` of the stream holds integers: say in which unit, with ts_unit= s, ms, us or ns"
        )
    if unit is None:
        first = frame.select(named(known.ts).cast("bigint").alias("ts")).where("ts is not null")
        found = first.limit(LOOKED_AT).toArrow().column("ts").combine_chunks()
        judged = need_unit(found, known.ts, "the DataFrame")
        unit = "us" if judged is None else judged.unit
        if judged is not None and unit != "us":
            warn(judged.told(known.ts))
    return frame if unit == "us" else frame.withColumn(known.ts, time_of_number(named(known.ts), unit))
