"""Rows with equal keys, by an open hash table."""

import numpy as np
import numpy.typing as npt
from numba import njit

from stretto.values.rows import I64


@njit(cache=True, nogil=True)
def first_with_key(keys: npt.NDArray[np.uint64]) -> I64:
    """Per row, the number of the first row with the same key; keys are hashes, so their low bits are spread."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.full(size, -1, np.int64)
    first = np.empty(len(keys), np.int64)
    for row in range(len(keys)):
        at = keys[row] & mask
        while slots[at] >= 0 and keys[slots[at]] != keys[row]:
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            slots[at] = row
        first[row] = slots[at]
    return first


def first_with_key_reference(keys: npt.NDArray[np.uint64]) -> I64:
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    rows: I64 = first[number]
    return rows
