"""Arrow columns as vectors."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.schema import Kind
from stretto.values.rows import Bool
from stretto.values.vector import Vector

MOST: Final = int(np.iinfo(np.int64).max)
UNITS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}
DAY_US: Final = 86_400_000_000
DIGITS: Final = 15
"""Decimals of so many digits stay different, and in their order, as doubles."""


def as_kind(column: pa.Array, kind: Kind) -> pa.Array:
    """A column of an attribute in the one Arrow type of its kind.

    Times are floored to the microsecond. A time, duration or integer that does not fit into 64 bits becomes the nearest
    one that does; `beyond` tells which these are.
    """
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind in (Kind.TIME, Kind.DURATION) and not types.is_null(column.type):
        micros = _micros(column)
        return micros if types.is_integer(column.type) else micros.view(kind.arrow)
    if kind is Kind.INT and types.is_uint64(column.type):
        return pc.min_element_wise(column, pa.scalar(MOST, pa.uint64()), skip_nulls=False).cast(pa.int64())
    return column.cast(kind.arrow, safe=False)


def loses_digits(column: pa.Array) -> bool:
    """Return whether a column holds decimals of more digits than doubles tell apart."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if not pa.types.is_decimal(column.type) or column.type.precision <= DIGITS:
        return False
    most = pc.max(pc.abs(column.cast(pa.float64()))).as_py()
    return most is not None and most * 10.0**column.type.scale >= 10.0**DIGITS


def beyond(column: pa.Array, kind: Kind) -> Bool | None:
    """Which values of a column do not fit into the 64 bits of a kind; None if all fit."""
    if kind not in (Kind.INT, Kind.TIME, Kind.DURATION):
        return None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_uint64(column.type):
        found = pc.greater(column, pa.scalar(MOST, pa.uint64()))
    else:
        factor = _factor(column.type)
        if factor == 1:
            return None
        numbers = whole(column)
        found = pc.or_(pc.greater(numbers, MOST // factor), pc.less(numbers, -(MOST // factor)))
    mask: Bool = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return mask if mask.any() else None


def _factor(arrow: pa.DataType) -> int:
    """How many microseconds a unit of this type has; 1 also for a smaller unit, and where it is no time."""
    types = pa.types
    if types.is_timestamp(arrow) or types.is_duration(arrow):
        return UNITS.get(arrow.unit, 1)
    if types.is_date32(arrow):
        return DAY_US
    return 1_000 if types.is_date64(arrow) else 1


def whole(column: pa.Array) -> pa.Array:
    """The integers that a column of times or durations is made of."""
    if pa.types.is_date32(column.type):
        return column.view(pa.int32()).cast(pa.int64())
    return column if pa.types.is_integer(column.type) else column.view(pa.int64())


def _micros(column: pa.Array) -> pa.Array:
    """Microseconds, as integers."""
    if pa.types.is_integer(column.type):
        return as_kind(column, Kind.INT)
    numbers = whole(column)
    if getattr(column.type, "unit", "") == "ns":
        near = pc.divide(numbers, 1_000)  # towards 1970: a time before it may be one too late
        late = pc.less(numbers, pc.multiply(near, 1_000)).cast(pa.int64())
        return pc.subtract(near, late) if pa.types.is_timestamp(column.type) else near
    factor = _factor(column.type)
    if factor == 1:
        return numbers
    most = pa.scalar(MOST // factor)
    held = pc.max_element_wise(
        pc.min_element_wise(numbers, most, skip_nulls=False), pc.negate(most), skip_nulls=False
    )
    return pc.multiply(held, factor)


def plain(column: pa.Array) -> Vector:
    """An Arrow array of fixed-width values as NumPy data, without a copy where there is no null."""
    types = pa.types
    if types.is_timestamp(column.type) or types.is_duration(column.type):
        column = column.view(pa.int64())
    if not column.null_count:
        return Vector(column.to_numpy(zero_copy_only=False), None)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    zero = pa.scalar(0, pa.int64()).cast(column.type)
    return Vector(pc.fill_null(column, zero).to_numpy(zero_copy_only=False), valid)
