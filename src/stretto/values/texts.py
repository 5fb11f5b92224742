"""Values of any kind as plain texts, a whole array at a time."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.schema import Kind
from stretto.values.convert import as_kind, beyond, plain, whole
from stretto.values.strings import valid_texts
from stretto.values.times import far_texts, is_far


def value_texts(column: pa.Array) -> pa.Array:
    """Every value as a text, null where it is null; bytes that are not UTF-8 are U+FFFD."""
    types = pa.types
    if types.is_dictionary(column.type):
        column = valid_texts(column).dictionary_decode()
    if types.is_timestamp(column.type) or types.is_date(column.type):
        return time_texts(column)
    return valid_texts(column).cast(pa.string())


def time_texts(times: pa.Array) -> pa.Array:
    """Times and dates as ISO 8601: `2024-01-01 09:00:00.000000`, with a Z or an offset where they have a zone.

    Outside the years 0 to 9999 the year has a sign and all its digits, `+12345-01-01 ..`, `-0044-03-15 ..`. A time that
    does not fit into 64 bits of microseconds is a number of its own unit.
    """
    texts = times.cast(pa.string())
    vector = plain(as_kind(times, Kind.TIME))
    far = is_far(vector.data) if vector.valid is None else is_far(vector.data) & vector.valid
    if not far.any():
        return texts
    zone = "Z" if getattr(times.type, "tz", None) else ""
    is_date = pa.types.is_date(times.type)
    written = [f"{text.partition(' ')[0] if is_date else text}{zone}" for text in far_texts(vector.data[far])]
    texts = pc.replace_with_mask(texts, pa.array(far), pa.array(written, pa.string()))
    outside = beyond(times, Kind.TIME)
    if outside is None:
        return texts
    numbers = whole(times).filter(pa.array(outside)).to_pylist()
    unit = {"s": "seconds", "ms": "milliseconds"}.get(getattr(times.type, "unit", ""), "days")
    shown = pa.array([f"{number} {unit} since 1970" for number in numbers], pa.string())
    return pc.replace_with_mask(texts, pa.array(np.asarray(outside)), shown)
