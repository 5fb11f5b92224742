"""Arrow columns as vectors."""

import pyarrow as pa
import pyarrow.compute as pc

from stretto.errors import EventsError
from stretto.schema import Kind
from stretto.values.vector import Vector


def as_kind(column: pa.Array, kind: Kind) -> pa.Array:
    """A column of an attribute in the one Arrow type of its kind."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind is Kind.TIME and pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        nanos = column.cast(pa.int64())
        # Floor, also before the epoch, as a shift of the exact integer.
        whole = pc.divide(pc.subtract(nanos, pc.if_else(pc.less(nanos, 0), 999, 0)), 1000)
        return whole.cast(pa.timestamp("us"))
    if kind is Kind.TIME and pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    # Only an integer beyond 64 bits can be lost here; a double's or a timestamp's rounding is meant.
    try:
        return column.cast(kind.arrow, safe=pa.types.is_integer(column.type) and kind is Kind.INT)
    except pa.ArrowInvalid as error:
        raise EventsError(f"an integer is beyond 64 bits: {error}") from error


def plain(column: pa.Array) -> Vector:
    """An Arrow array of fixed-width values as NumPy data, without a copy where there is no null."""
    types = pa.types
    if types.is_timestamp(column.type) or types.is_duration(column.type):
        column = column.view(pa.int64())
    if not column.null_count:
        return Vector(column.to_numpy(zero_copy_only=False), None)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    zero = (
        pa.scalar(0, pa.int64()).cast(column.type) if not types.is_boolean(column.type) else pa.scalar(False)
    )
    return Vector(pc.fill_null(column, zero).to_numpy(zero_copy_only=False), valid)
