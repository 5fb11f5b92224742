"""Tables that programs hand in, as Arrow tables of types that the engine reads."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from stretto.errors import EventsError

KINDS: Final = "an Arrow table or record batches, a pandas or Polars DataFrame, or a mapping of columns"


def as_table(given: Any) -> pa.Table:
    """An Arrow table of what a program has; EventsError with a sentence where it is no table."""
    if isinstance(given, pa.Table):
        return _without_views(given)
    if is_spark_frame(given):
        raise EventsError(
            "a Spark DataFrame does not come into this process: stretto.spark.detect, aggregate and profile take it"
        )
    try:
        if isinstance(given, pa.RecordBatch | Mapping) or hasattr(given, "__arrow_c_stream__"):
            return _without_views(pa.table(given))
        if hasattr(given, "iloc"):  # pandas without Arrow's interface
            return _without_views(pa.Table.from_pandas(given, preserve_index=False))
        if isinstance(given, Iterable) and not isinstance(given, str | bytes):
            return _without_views(pa.Table.from_batches(list(given)))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise EventsError(f"events are {KINDS}; this {type(given).__name__} is no table: {error}") from error
    raise EventsError(f"events are {KINDS}, not {type(given).__name__}")


def batches_of(events: pa.RecordBatch | pa.Table) -> list[pa.RecordBatch]:
    """Return the record batches of a table; a record batch is handed through as it is."""
    return [events] if isinstance(events, pa.RecordBatch) else as_table(events).to_batches()


def is_spark_frame(given: Any) -> bool:
    """Whether it is a DataFrame of Spark, told without loading Spark."""
    return type(given).__module__.startswith("pyspark.") and hasattr(given, "schema")


def _without_views(table: pa.Table) -> pa.Table:
    """The same table with texts as offsets and bytes: Arrow computes little with its views, which Polars hands out."""
    for number, column in enumerate(table.schema):
        kind, values = column.type, table.column(number)
        if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            plain = [
                pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
                for chunk in values.chunks
            ]
            coded = pa.dictionary(kind.index_type, pa.large_string())
            table = table.set_column(number, column.name, pa.chunked_array(plain, coded))
        elif pa.types.is_string_view(kind):
            table = table.set_column(number, column.name, values.cast(pa.large_string()))
    return table
