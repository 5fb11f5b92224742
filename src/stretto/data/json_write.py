"""Columns as JSON texts, a whole array at a time."""

import json
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.values.texts import time_texts, value_texts

# Those that JSON does not allow as they are, and others that a terminal obeys: lines also go to standard output.
_UNSAFE = r"[\x00-\x1f\x{7f}-\x{9f}]"


def json_lines(batch: pa.RecordBatch, raw: Collection[str] = ()) -> Any:
    """One JSON object per row, as an array of texts; columns in `raw` hold JSON already."""
    if not batch.num_columns:
        return pa.array(["{}"] * batch.num_rows, pa.string())
    pieces: list[Any] = []
    for i, name in enumerate(batch.schema.names):
        pieces += [
            ("{" if i == 0 else ", ") + json.dumps(name) + ": ",
            _value_texts(batch.column(i), name in raw),
        ]
    return pc.binary_join_element_wise(*pieces, "}", "")


def _value_texts(values: Any, is_json: bool) -> Any:
    if not is_json:
        return json_texts(values)
    odd = pc.fill_null(pc.match_substring_regex(values, _UNSAFE), False)
    if pc.any(odd).as_py():
        safe = [json.dumps(json.loads(text)) for text in values.filter(odd).to_pylist()]
        values = pc.replace_with_mask(values, odd, pa.array(safe, pa.string()))
    return pc.fill_null(values, "null")


def json_texts(values: Any) -> Any:
    """Every value as JSON: times as ISO texts, a map as an object; null where a double is not a number."""
    return pc.fill_null(_texts(values), "null")


def _texts(values: Any) -> Any:
    types, kind = pa.types, values.type
    if types.is_dictionary(kind):
        return _texts(values.dictionary).take(values.indices)
    if types.is_null(kind):
        return pa.nulls(len(values), pa.string())
    if types.is_map(kind):
        return _joined(values, _entries(values.keys, values.items), "{", "}")
    if types.is_list(kind) or types.is_large_list(kind):
        return _joined(values, json_texts(values.values), "[", "]")
    if types.is_struct(kind):
        return pc.if_else(values.is_valid(), json_lines(_fields(values)), None)
    if types.is_boolean(kind) or types.is_integer(kind):
        return values.cast(pa.string())
    if types.is_floating(kind):
        return double_texts(pc.if_else(pc.is_finite(values), values, None))
    if types.is_duration(kind):
        return values.cast(pa.duration("us")).cast(pa.int64()).cast(pa.string())
    if types.is_timestamp(kind):
        return _quoted(pc.replace_substring(time_texts(values), " ", "T"))
    return _quoted(escaped(value_texts(values)))


def _fields(values: Any) -> pa.RecordBatch:
    names = [field.name for field in values.type]
    return pa.RecordBatch.from_arrays(values.flatten(), names)


def double_texts(values: Any) -> Any:
    """Doubles as texts that still show that they are doubles: 1.0, not 1."""
    texts = values.cast(pa.float64()).cast(pa.string())
    whole = pc.match_substring_regex(texts, r"^-?\d+$")
    return pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)


def escaped(texts: Any) -> Any:
    """Texts as they stand between the quotes of a JSON string."""
    safe = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    odd = pc.match_substring_regex(texts, _UNSAFE)
    if not pc.any(odd).as_py():
        return safe
    rows = pc.indices_nonzero(pc.fill_null(odd, False))
    written = [json.dumps(text)[1:-1] for text in texts.take(rows).to_pylist()]
    return pc.replace_with_mask(safe, pc.fill_null(odd, False), pa.array(written, pa.string()))


def _quoted(texts: Any) -> Any:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _entries(keys: Any, items: Any) -> Any:
    return pc.binary_join_element_wise(_quoted(escaped(keys)), ": ", json_texts(items), "")


def _joined(values: Any, parts: Any, left: str, right: str) -> Any:
    """Per list, its parts with commas between; `parts` are the texts of all its child values."""
    offsets = pa.array(values.offsets.to_numpy(zero_copy_only=False).astype(np.int32))
    lists = pa.ListArray.from_arrays(offsets, parts, mask=values.is_null() if values.null_count else None)
    return pc.binary_join_element_wise(left, pc.binary_join(lists, ", "), right, "")
