"""Returned values as Arrow columns and as JSON texts."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.schema import LISTS, Kind
from stretto.values.lists import lists_array
from stretto.values.rows import I64
from stretto.values.strings import Strings
from stretto.values.texts import time_texts
from stretto.values.vector import Vector


def arrow_array(vector: Vector, kind: Kind, strings: Strings) -> pa.Array:
    """The values with the Arrow type of their kind."""
    if kind is Kind.STRING:
        return strings.texts(vector.data, vector.valid)
    if kind in LISTS:
        return lists_array(vector.data, vector.valid, kind, strings)
    plain = pa.array(vector.data, mask=None if vector.valid is None else ~vector.valid)
    return plain.view(kind.arrow) if kind in (Kind.TIME, Kind.DURATION) else plain


def json_objects(
    names: Iterable[str], kinds: Iterable[Kind], values: Iterable[Vector], strings: Strings
) -> pa.Array:
    """A JSON object per row, `{"name": value, ..}`, of at least one name.

    Numbers are written so that they read back as the same number, doubles always with a point or an exponent. JSON
    has no NaN and no infinity: they are null. Times are ISO 8601 texts, durations numbers of microseconds.
    """
    named = zip(names, kinds, values, strict=True)
    return json_objects_of({name: json_values(vector, kind, strings) for name, kind, vector in named})


def json_objects_of(texts: Mapping[str, Any]) -> pa.Array:
    """A JSON object per row of values that are JSON already, by name."""
    pieces: list[pa.Array | pa.Scalar] = []
    for name, values in texts.items():
        opening = ", " if pieces else "{"
        pieces += [pa.scalar(f"{opening}{json.dumps(name, ensure_ascii=False)}: "), values]
    return pc.binary_join_element_wise(*pieces, pa.scalar("}"), pa.scalar(""))


def json_array(array: Any, kind: Kind) -> pa.Array:
    """The same as `json_values` of an Arrow array."""
    if kind is Kind.STRING:
        texts = _quoted(array)
    elif kind in LISTS:
        assert kind.element is not None
        elements = array.flatten()
        of_each = _listed_doubles(elements) if kind is Kind.FLOATS else json_array(elements, kind.element)
        texts = json_lists(array, of_each)
    elif kind in (Kind.FLOAT, Kind.TIME):
        texts = (
            _json_times(_vector(array.cast(pa.int64())))
            if kind is Kind.TIME
            else _json_doubles(_vector(array))
        )
    else:
        texts = (array.cast(pa.int64()) if kind is Kind.DURATION else array).cast(pa.string())
    return texts.fill_null("null")


def json_values(vector: Vector, kind: Kind, strings: Strings) -> pa.Array:
    """A JSON value per row."""
    if kind is Kind.STRING:
        texts = _each_once(vector, lambda codes: _quoted(strings.texts(codes)))
    elif kind is Kind.FLOAT:
        texts = _json_doubles(vector)
    elif kind is Kind.TIME:
        texts = _json_times(vector)
    elif kind in LISTS:
        texts = _each_once(vector, lambda codes: json_array(lists_array(codes, None, kind, strings), kind))
    else:
        plain = pa.array(vector.data, mask=None if vector.valid is None else ~vector.valid)
        texts = plain.cast(pa.string())
    return texts.fill_null("null")


def _each_once(vector: Vector, written: Callable[[I64], pa.Array]) -> pa.Array:
    """What is written for codes, of which each is looked at once; null where there is none."""
    codes = vector.data if vector.valid is None else vector.data[vector.valid]
    distinct, place = np.unique(codes, return_inverse=True)
    if vector.valid is None:
        return written(distinct).take(pa.array(place.reshape(-1)))
    index = np.zeros(len(vector), np.int64)
    index[vector.valid] = place.reshape(-1)
    return written(distinct).take(pa.array(index, mask=~vector.valid))


def json_lists(lists: Any, elements: pa.Array) -> pa.Array:
    """JSON arrays where there are lists, of elements that are JSON already, those of all lists one after another."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, elements), ", ")
    return pc.if_else(lists.is_valid(), pc.binary_join_element_wise("[", joined, "]", ""), "null")


def _vector(array: Any) -> Vector:
    """An array of numbers."""
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return Vector(array.fill_null(0).to_numpy(zero_copy_only=False), valid)


def _quoted(texts: Any) -> pa.Array:
    """Texts as JSON has them, null where there is none."""
    marked = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    quoted = pc.binary_join_element_wise('"', marked, '"', "")
    odd = pc.fill_null(pc.match_substring_regex(texts, r"[\x00-\x1f]"), False)
    if not pc.any(odd).as_py():
        return quoted
    distinct = texts.filter(odd).dictionary_encode()
    few = [json.dumps(text, ensure_ascii=False) for text in distinct.dictionary.to_pylist()]
    return pc.replace_with_mask(quoted, odd, pa.array(few, pa.string()).take(distinct.indices))


def _listed_doubles(array: Any) -> pa.Array:
    """Doubles in lists, as Python writes them, which is another way than outside where they are very small or large."""
    vector = _vector(array)
    texts, size = _json_doubles(vector).fill_null("null"), np.abs(vector.data)
    odd = np.isfinite(size) & (size != 0) & ((size < 1e-4) | (size >= 1e10))
    if not odd.any():
        return texts
    distinct, place = np.unique(vector.data[odd], return_inverse=True)
    few = pa.array(list(map(repr, distinct.tolist())), pa.string())
    return pc.replace_with_mask(texts, pa.array(odd), few.take(pa.array(place.reshape(-1))))


def _json_doubles(vector: Vector) -> pa.Array:
    finite = np.isfinite(vector.data)
    shortest = pa.array(vector.data, mask=~finite if vector.valid is None else ~(finite & vector.valid))
    texts = shortest.cast(pa.string())
    whole = np.trunc(vector.data) == vector.data
    if not whole.any():
        return texts
    bare = pc.and_(pa.array(whole), pc.equal(pc.find_substring(texts, "e"), -1))  # digits alone
    return pc.binary_join_element_wise(texts, pc.if_else(bare, ".0", ""), pa.scalar(""))


def _json_times(vector: Vector) -> pa.Array:
    times = pa.array(vector.data, mask=None if vector.valid is None else ~vector.valid)
    iso = pc.replace_substring(time_texts(times.view(pa.timestamp("us"))), " ", "T")
    return pc.binary_join_element_wise(pa.scalar('"'), iso, pa.scalar('"'), pa.scalar(""))
