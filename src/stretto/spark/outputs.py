"""What comes out of a job: packed rows become DataFrames of matches, totals, late and rejected events."""

from collections.abc import Iterator
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import DataType, StringType, StructField, StructType

from stretto.schema import Special
from stretto.spark.errors import StrettoSparkError, clear_failures
from stretto.spark.packed import (
    LATE,
    MATCHES,
    REJECTED,
    RESULTS,
    TRENDS,
    Batches,
    OwnTypes,
    as_schema,
    from_payload,
    payloads,
    result_arrow,
    unpack,
)
from stretto.spark.typed import typed_matches_of, typed_trends_of
from stretto.values.strings import valid_texts


def result_schema(kind: str, own: OwnTypes) -> StructType:
    """The columns of matches or of totals, with times and ids of the events' own types, as Spark names them."""
    return from_arrow_schema(result_arrow(kind, own), prefer_timestamp_ntz=True)


Outputs = Literal["matches", "all"]
EVENT, REASON, KIND = "event", "reason", "kind"


def arrow_time(ts: DataType) -> pa.DataType:
    """The Arrow type in which Spark takes times of a type."""
    return to_arrow_schema(StructType([StructField("ts", ts)]), timezone="UTC").field(0).type


def own_types(events: StructType, special: Special) -> OwnTypes:
    """What the results of events with these columns take over from them."""
    texts = special.id in events.names and isinstance(events[special.id].dataType, StringType)
    return OwnTypes(arrow_time(events[special.ts].dataType), texts)


def results_of(packed: DataFrame, kind: str, own: OwnTypes) -> DataFrame:
    def unpacking(batches: Batches) -> Iterator[pa.RecordBatch]:
        return unpack(batches, kind, own)

    kept = packed.where(F.col("kind") == kind).select("kind", "payload")
    return kept.mapInArrow(unpacking, result_schema(kind, own))


def everything(packed: DataFrame, events: StructType, own: OwnTypes) -> DataFrame:
    """Matches, totals, late and rejected events in one DataFrame, told apart by `kind`.

    It has the columns of totals whether or not there are trend queries: a later version of the workload may have some.
    """
    event = StructType([StructField(field.name, field.dataType) for field in events.fields])
    results = {field.name: field for kind in RESULTS for field in result_schema(kind, own).fields}
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


def matches_of(found: DataFrame, query: str | None = None) -> DataFrame:
    """The matches among all outputs; of one query, if it is named, as a table of its own.

    That has `match_id`, a column for each variable (an id, or a list of ids), `start`, `end`, `detected`, and the
    RETURN columns with their types. Those of a version that a stream takes later are as at its start.
    """
    with clear_failures():
        rows = _of_kind(found, MATCHES)
        return rows if query is None else typed_matches_of(rows, query)


def trends_of(found: DataFrame, query: str | None = None) -> DataFrame:
    """The totals of trends among all outputs; of one query, if it is named, as a table of its own.

    That has a row for each window and group: `window_start`, `window_end`, a column for each GROUP BY attribute and for
    each aggregate.
    """
    with clear_failures():
        rows = _of_kind(found, TRENDS)
        return rows if query is None else typed_trends_of(rows, query)


def _of_kind(found: DataFrame, kind: str) -> DataFrame:
    """Those of a kind among all outputs; of a DataFrame that has no others, all."""
    columns = getattr(found, "columns", ())
    missing = [name for name in RESULTS[kind].names if name not in columns]
    if missing:
        raise StrettoSparkError(
            f"these are no {kind} that stretto.spark.detect or aggregate gave: they have no column `{missing[0]}`"
        )
    mine = found.where(F.col(KIND) == kind) if KIND in found.columns else found
    return mine.select(*RESULTS[kind].names)


def late_of(everything: DataFrame) -> DataFrame:
    """The late events among all outputs, as they came."""
    return _set_apart_of(everything, LATE).select(f"{EVENT}.*")


def rejected_of(everything: DataFrame) -> DataFrame:
    """The rejected events among all outputs, as they came, with the reason."""
    return _set_apart_of(everything, REJECTED).select(f"{EVENT}.*", REASON)


def _set_apart_of(everything: DataFrame, kind: str) -> DataFrame:
    if KIND not in getattr(everything, "columns", ()):
        raise StrettoSparkError(
            f'{kind} events are among all outputs alone: those of stretto.spark.detect(.., outputs="all")'
        )
    return everything.where(F.col(KIND) == kind)
