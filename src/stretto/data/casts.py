"""Casts values to the kinds of the language, a whole array at a time, with a mask of the values that do not fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stretto.schema import Kind
from stretto.values.convert import as_kind, beyond
from stretto.values.time_units import in_unit
from stretto.values.times import EXPANDED, brought_near

Mask = npt.NDArray[np.bool_]
Cast = Callable[[Any], Any]

TIME = Kind.TIME.arrow
TYPES = pa.dictionary(pa.int32(), pa.string())

SHARE = 0.9

# From the strictest on; what every text of a kind looks like, a test that is quicker than the cast.
_LOOKS = {
    Kind.INT: r"^\s*-?\d+\s*$",
    Kind.FLOAT: r"^\s*[-+]?(\d|\.\d|(?i:inf|nan))",
    Kind.BOOL: r"^\s*(?i:true|false|0|1)\s*$",
    Kind.TIME: r"^(\d{4}|[+-]\d{4,6})-\d\d-\d\d",
}

_FINER = r"(:\d\d\.\d{6})\d{1,3}(\D|$)"
"""Digits behind the microsecond, of which the clock of events has none."""
_ZONE = r"\d\d:?\d\d(:?\d\d([.,]\d+)?)?\s?([zZ]|[+-]\d\d(:?\d\d)?)$"

WORDS = {
    Kind.INT: "an integer",
    Kind.FLOAT: "a number",
    Kind.BOOL: "true or false",
    Kind.TIME: "a time",
    Kind.STRING: "a text",
    Kind.DURATION: "a duration",
    Kind.STRINGS: "a list of texts",
    Kind.INTS: "a list of integers",
    Kind.FLOATS: "a list of numbers",
}


def cast_where_possible(values: Any, cast: Cast, limit: int | None = None) -> tuple[Any, Mask] | None:
    """The values after `cast`, null where it refuses them, and a mask of the refused ones.

    Halves the array around what fails, so a batch with few bad values costs a few casts more than a good
    one. None as soon as more than `limit` values are refused.
    """
    refused = np.zeros(len(values), np.bool_)
    pieces: list[Any] = []
    left = len(values) if limit is None else limit
    pending = [(0, len(values))]
    while pending:
        start, stop = pending.pop()
        try:
            pieces.append(cast(values.slice(start, stop - start)))
        except pa.ArrowInvalid:
            if stop - start > 1:
                middle = (start + stop) // 2
                pending += [(middle, stop), (start, middle)]
                continue
            if left == 0:
                return None
            left -= 1
            refused[start] = True
            pieces.append(None)
    return _joined(pieces, cast, values), refused


def _joined(pieces: list[Any], cast: Cast, values: Any) -> Any:
    if len(pieces) == 1 and pieces[0] is not None:
        return pieces[0]
    kind = next((p.type for p in pieces if p is not None), None) or cast(values.slice(0, 0)).type
    return pa.concat_arrays([pa.nulls(1, kind) if p is None else p for p in pieces])


def fit(strings: Any, kind: Kind) -> tuple[Any, Mask]:
    """Texts as values of a kind, null where they do not fit, and a mask of those."""
    found = cast_where_possible(strings, _CASTS[kind])
    assert found is not None
    return found


def kind_of_texts(strings: Any) -> Kind | None:
    """The strictest kind that at least nine in ten of the non-null texts fit; None if there are no texts."""
    texts = strings.drop_null()
    if not len(texts):
        return None
    allowed = int(len(texts) * (1 - SHARE) + 1e-9)
    for kind, looks in _LOOKS.items():
        alike = pc.sum(pc.match_substring_regex(texts, looks)).as_py()
        if len(texts) - alike <= allowed and cast_where_possible(texts, _CASTS[kind], allowed) is not None:
            return kind
    return Kind.STRING


def to_time(values: Any, unit: str | None = None) -> tuple[Any, Mask | None]:
    """Times, dates, texts or integers (in a unit, since 1970) as timestamp[us], UTC, and which are no times.

    A text that is no time becomes null; a time beyond 64 bits becomes the last or the first one that fits.
    """
    if is_text(values.type):
        times, bad = fit(values.cast(pa.string()), Kind.TIME)
        return times, bad if bad.any() else None
    counted = in_unit(values, unit)
    misfit = beyond(values, Kind.INT) if pa.types.is_uint64(values.type) else beyond(counted, Kind.TIME)
    return as_kind(counted, Kind.TIME).view(TIME), misfit


def is_timelike(arrow_type: pa.DataType) -> bool:
    """Whether `to_time` takes values of this type."""
    types = pa.types
    return bool(
        types.is_timestamp(arrow_type)
        or types.is_date(arrow_type)
        or types.is_integer(arrow_type)
        or is_text(arrow_type)
    )


def is_text(arrow_type: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(arrow_type):
        return is_text(arrow_type.value_type)
    return bool(
        types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type)
    )


def to_types(values: Any) -> Any:
    """Event types as dictionary<int32, string>."""
    if values.type == TYPES:
        return values
    if pa.types.is_dictionary(values.type):
        return pa.DictionaryArray.from_arrays(
            values.indices.cast(pa.int32()), values.dictionary.cast(pa.string())
        )
    return values.cast(pa.string()).dictionary_encode()


def _time_of_text(texts: Any) -> Any:
    """ISO 8601 texts, with or without a zone (none: UTC), down to the microsecond."""
    try:
        return texts.cast(TIME)
    except pa.ArrowInvalid:
        pass
    texts = pc.replace_substring_regex(texts, _FINER, r"\1\2")
    is_far = pc.match_substring_regex(texts, EXPANDED)
    if not pc.any(is_far).as_py():
        return _zoned_time(texts)
    near, away = brought_near(pc.if_else(is_far, texts, None))
    far = pc.add_checked(_zoned_time(near).cast(pa.int64()), away).cast(TIME)
    return pc.coalesce(far, _zoned_time(pc.if_else(is_far, None, texts)))


def _zoned_time(texts: Any) -> Any:
    zoned = pc.match_substring_regex(texts, _ZONE)
    if not pc.any(zoned).as_py():
        return texts.cast(TIME)
    utc = pc.if_else(zoned, texts, None).cast(pa.timestamp("us", "UTC"))
    return pc.coalesce(utc.cast(TIME), pc.if_else(zoned, None, texts).cast(TIME))


def _integer(texts: Any) -> Any:
    # Arrow would read 0x1F as 31; such texts are names, not numbers.
    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        raise pa.ArrowInvalid("hexadecimal")
    return _trimmed(texts, pa.int64())


def _trimmed(texts: Any, arrow_type: pa.DataType) -> Any:
    try:
        return texts.cast(arrow_type)
    except pa.ArrowInvalid:
        return pc.utf8_trim_whitespace(texts).cast(arrow_type)


_CASTS: dict[Kind, Cast] = {
    Kind.INT: _integer,
    Kind.FLOAT: lambda texts: _trimmed(texts, pa.float64()),
    Kind.BOOL: lambda texts: _trimmed(texts, pa.bool_()),
    Kind.TIME: _time_of_text,
    Kind.STRING: lambda texts: texts.cast(pa.string()),
}
