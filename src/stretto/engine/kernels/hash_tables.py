"""Rows with equal keys, and ids that come again: hash tables with open addressing and linear probing.

See Knuth, The Art of Computer Programming 3, section 6.4, Algorithm L. Tables are at most half full, so that runs of
slots that are taken stay short; nothing is ever deleted, so the first free slot ends every search.
"""

import numpy as np
import numpy.typing as npt

from stretto.values.hashing import GOLDEN
from stretto.values.loops import loop
from stretto.values.rows import I64


@loop
def first_with_key(keys: npt.NDArray[np.uint64]) -> I64:
    """Per row, the number of the first row with the same key; keys are hashes, so their low bits are spread."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    mask = np.uint64(size - 1)  # the size is a power of two: `& mask` is the remainder
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


EMPTY = np.iinfo(np.int64).min


@loop
def seen_again(ids: I64, before: I64, now: I64, shift: np.uint64) -> npt.NDArray[np.bool_]:
    """Which ids are in one of two hash tables, or come again among them; all are put into `now`. None is EMPTY.

    The tables have one size, a power of two; `shift` leaves as many bits of a hash.
    """
    mask = np.uint64(len(now) - 1)
    again = np.empty(len(ids), np.bool_)
    for i in range(len(ids)):
        start = (np.uint64(ids[i]) * GOLDEN) >> shift
        at = start
        while before[at] != EMPTY and before[at] != ids[i]:
            at = (at + np.uint64(1)) & mask
        again[i] = before[at] == ids[i]
        at = start
        while now[at] != EMPTY and now[at] != ids[i]:
            at = (at + np.uint64(1)) & mask
        again[i] |= now[at] == ids[i]
        now[at] = ids[i]
    return again


def seen_again_reference(ids: I64, known: I64) -> npt.NDArray[np.bool_]:
    """Which ids are among the known ones, or come again."""
    _, first = np.unique(ids, return_index=True)
    again = np.ones(len(ids), np.bool_)
    again[first] = False
    return again | np.isin(ids, known)
