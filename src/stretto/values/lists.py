"""Lists as texts: each element ends with a sign that no element has, so a list is one text, and has one code.

So everything that carries texts carries lists, and what is asked of a list is asked once per distinct list.
"""

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.schema import Kind
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.vector import Vector

_END: Final = "\x1f"
_MARK: Final = "\\"
_NULL: Final = "\\0"
_SWAPPED: Final = np.arange(256, dtype=np.uint8)
_SWAPPED[[ord(_END), ord(_MARK)]] = ord(_MARK), ord(_END)
_ESCAPED: Final = re.compile(r"\\([\\1])")


def list_texts(column: pa.Array, kind: Kind) -> pa.Array:
    """A column of lists as texts; null where the list is."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.large_string())
    assert kind.element is not None
    lists = column.cast(pa.large_list(kind.element.arrow), safe=False)
    flat = pc.list_flatten(lists).cast(pa.large_string())
    flat = pc.replace_substring(pc.replace_substring(flat, _MARK, "\\\\"), _END, "\\1")
    ended = pc.binary_join_element_wise(pc.fill_null(flat, _NULL), pa.scalar("", pa.large_string()), _end())
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False), out=offsets[1:])
    # Elements lie one behind the other in one buffer, so lists are longer stretches of it.
    ends = np.zeros(len(ended) + 1, np.int64)
    np.cumsum(pc.binary_length(ended).to_numpy(zero_copy_only=False), out=ends[1:])
    data = ended.buffers()[2] if len(ended) else pa.py_buffer(b"")
    joined = pa.LargeStringArray.from_buffers(len(lists), pa.py_buffer(ends[offsets]), data)
    return (
        pc.if_else(lists.is_valid(), joined, pa.scalar(None, pa.large_string()))
        if lists.null_count
        else joined
    )


def _end() -> pa.Scalar:
    return pa.scalar(_END, pa.large_string())


def elements_of(text: str, kind: Kind) -> tuple[Any, ...]:
    """The list that a text is."""
    read = {Kind.STRINGS: str, Kind.INTS: int, Kind.FLOATS: float}[kind]
    parts = text.split(_END)[:-1]
    return tuple(None if part == _NULL else read(_plain(part)) for part in parts)


def _plain(part: str) -> str:
    return _ESCAPED.sub(lambda found: _END if found[1] == "1" else _MARK, part) if _MARK in part else part


def lists_of(texts: pa.Array, kind: Kind) -> pa.Array:
    """The lists that a column of texts is; null where the text is. What `list_texts` was given."""
    assert kind.element is not None
    whole = pc.fill_null(texts, "").cast(pa.large_string())
    bounds = np.frombuffer(whole.buffers()[1], np.int64)[whole.offset :][: len(whole) + 1]
    data = np.frombuffer(whole.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
    is_end = data == ord(_END)
    ends = np.flatnonzero(is_end)
    starts = np.append(0, ends - np.arange(len(ends)))  # as if the signs that end elements were not there
    flat = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(starts), pa.py_buffer(data[~is_end]))
    flat = pc.if_else(pc.equal(flat, _NULL), pa.scalar(None, pa.large_string()), flat)
    if kind is Kind.STRINGS:
        flat = _unmarked(flat)
    offsets = np.searchsorted(ends, bounds - bounds[0]).astype(np.int32)
    mask = texts.is_null() if texts.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), flat.cast(kind.element.arrow), mask=mask)


def _unmarked(elements: pa.Array) -> pa.Array:
    """Elements without marks."""
    marked = pc.fill_null(pc.match_substring(elements, _MARK), False)
    if not pc.any(marked).as_py():
        return elements
    # No element holds the sign that ends it: that stands for marks of the text until those that escape are gone.
    own = pc.replace_substring(elements.filter(marked), "\\\\", _END)
    bare = pc.replace_substring(own, "\\1", _MARK)
    data = np.frombuffer(bare.buffers()[2], np.uint8)
    swapped = pa.py_buffer(_SWAPPED[data])
    there = pa.LargeStringArray.from_buffers(len(bare), bare.buffers()[1], swapped, offset=bare.offset)
    return pc.replace_with_mask(elements, marked, there)


def lists_array(codes: I64, valid: Bool | None, kind: Kind, strings: Strings) -> pa.Array:
    """Lists, given by codes, as an Arrow array."""
    distinct, place = np.unique(codes if valid is None else codes[valid], return_inverse=True)
    few = lists_of(strings.texts(distinct), kind)
    if valid is None:
        return few.take(pa.array(place.reshape(-1)))
    index = np.zeros(len(codes), np.int64)
    index[valid] = place.reshape(-1)
    return few.take(pa.array(index, mask=~valid))


def flattened(codes: I64, kind: Kind, strings: Strings) -> tuple[I64, Vector]:
    """The elements of these lists, one after another, and how many each has."""
    lists = lists_of(strings.texts(codes), kind)
    lengths: I64 = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    array = lists.flatten()
    if kind is Kind.STRINGS:
        return lengths, strings.encode(array)
    zero = 0 if kind is Kind.INTS else 0.0
    valid = None if not array.null_count else array.is_valid().to_numpy(zero_copy_only=False)
    return lengths, Vector(pc.fill_null(array, zero).to_numpy(zero_copy_only=False), valid)
