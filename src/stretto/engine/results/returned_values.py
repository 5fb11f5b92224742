"""Returned values as Arrow columns and as JSON texts."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.schema import LISTS, Kind
from stretto.values.lists import elements_of, lists_array
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
        encoded = array.dictionary_encode()
        texts = _quoted(encoded.dictionary).take(encoded.indices)
    elif kind in LISTS:
        texts = pa.array([None if one is None else _json_list(one) for one in array.to_pylist()], pa.string())
    elif kind in (Kind.FLOAT, Kind.TIME):
        plain = array.cast(pa.int64()) if kind is Kind.TIME else array
        zero = 0 if kind is Kind.TIME else 0.0
        valid = plain.is_valid().to_numpy(zero_copy_only=False) if plain.null_count else None
        vector = Vector(plain.fill_null(zero).to_numpy(zero_copy_only=False), valid)
        texts = _json_times(vector) if kind is Kind.TIME else _json_doubles(vector)
    else:
        texts = (array.cast(pa.int64()) if kind is Kind.DURATION else array).cast(pa.string())
    return texts.fill_null("null")


def json_values(vector: Vector, kind: Kind, strings: Strings) -> pa.Array:
    """A JSON value per row."""
    if kind is Kind.STRING:
        texts = _json_strings(vector, strings)
    elif kind is Kind.FLOAT:
        texts = _json_doubles(vector)
    elif kind is Kind.TIME:
        texts = _json_times(vector)
    elif kind in LISTS:
        texts = _json_lists(vector, kind, strings)
    else:
        plain = pa.array(vector.data, mask=None if vector.valid is None else ~vector.valid)
        texts = plain.cast(pa.string())
    return texts.fill_null("null")


def _json_strings(vector: Vector, strings: Strings) -> pa.Array:
    """Each distinct text is quoted once."""
    encoded = strings.texts(vector.data, vector.valid).dictionary_encode()
    return _quoted(encoded.dictionary).take(encoded.indices)


def _quoted(texts: Any) -> pa.Array:
    return pa.array([json.dumps(text, ensure_ascii=False) for text in texts.to_pylist()], pa.string())


def _json_lists(vector: Vector, kind: Kind, strings: Strings) -> pa.Array:
    """Each distinct list is written once; NaN and infinities in it are null."""
    codes = vector.data if vector.valid is None else np.where(vector.valid, vector.data, -1)
    distinct, place = np.unique(codes, return_inverse=True)
    texts = [
        None if code < 0 else _json_list(elements_of(strings.text(code), kind)) for code in distinct.tolist()
    ]
    return pa.array(texts, pa.string()).take(pa.array(place.reshape(-1)))


def _json_list(elements: Iterable[float | str | None]) -> str:
    plain = [None if isinstance(one, float) and not math.isfinite(one) else one for one in elements]
    return json.dumps(plain, ensure_ascii=False)


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
