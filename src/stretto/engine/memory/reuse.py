"""Memory that is used again, and a debug mode that shows who reads it for too long.

Arrays of rows, sets, vectors and chunks are *owned*: nothing writes to them once they are made, so they may be shared,
kept, and handed to Arrow without a copy. Some buffers are *reused* instead (the arena's columns, the rows of a band,
room that loops write to), as memory that is new to the process costs the most. What is read from these is *borrowed*,
and called so: it is good until the next change of its owner, and whoever keeps it makes a copy.

In debug mode (STRETTO_DEBUG_MEMORY=1) reused buffers move at every change, and what they leave is filled with a
pattern, so that a borrowed array that was kept holds nonsense at once, not only when a buffer happens to be full. And
what leaves an operator is asked whose memory it is.
"""

import os
from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from stretto.values.rows import Column, Rows, Sets

PATTERN = 0xDB
"""What every byte of forgotten memory is; truth values are False."""

debug = os.environ.get("STRETTO_DEBUG_MEMORY", "0") not in ("", "0")

_reused: WeakValueDictionary[int, npt.NDArray[Any]] = WeakValueDictionary()


def room(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A new buffer that will be used again; there is nothing in it."""
    buffer = np.empty(shape, dtype)
    if debug:
        _reused[id(buffer)] = buffer
        forgotten(buffer)
    return buffer


def forgotten(*arrays: npt.NDArray[Any]) -> None:
    """Nobody reads these any more."""
    if debug:
        for array in arrays:
            array[...] = False if array.dtype == np.bool_ else _pattern(array.dtype)


def is_borrowed(array: npt.NDArray[Any]) -> bool:
    """Whether an array lies in a buffer that is used again; only debug mode knows."""
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    return _reused.get(id(root)) is root


def check_rows(parts: Iterable[Rows]) -> None:
    """AssertionError if rows that leave an operator lie in memory that is used again."""
    for rows in parts:
        check_owned(rows.first, rows.last, *rows.columns)


def check_owned(*columns: Column | npt.NDArray[Any] | None) -> None:
    """AssertionError if any of these lies in memory that is used again."""
    for column in columns:
        arrays = (column.offsets, column.values) if isinstance(column, Sets) else (column,)
        borrowed = any(array is not None and is_borrowed(array) for array in arrays)
        assert not borrowed, "an array that is to be kept lies in memory that is used again"


def _pattern(dtype: np.dtype[Any]) -> Any:
    return np.full(dtype.itemsize, PATTERN, np.uint8).view(dtype)[0]
