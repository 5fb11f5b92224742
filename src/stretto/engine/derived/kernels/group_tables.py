"""Numbers of groups by their keys: a hash table with open addressing and linear probing (Knuth, Algorithm L).

Nothing is deleted from a table. A group that nothing is in any more keeps its number until the table is full; then the
table is filled anew with those that live.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from stretto.values.hashing import GOLDEN
from stretto.values.rows import I64, Bool

Slots = npt.NDArray[np.int32]

USED, FREE = 0, 1
"""Of a table: numbers given so far, and how many of them are on the list of free ones."""


@njit(cache=True, nogil=True, inline="always")
def slot_of(slots: Slots, known: I64, keys: I64, row: int) -> np.int64:
    """Where the keys of a row are, or would be."""
    mask = np.uint64(slots.shape[0] - 1)
    mixed = np.uint64(0)
    for j in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(keys[row, j])) * GOLDEN
        mixed ^= mixed >> np.uint64(32)
    at = np.int64(mixed & mask)
    while slots[at] >= 0:
        group = slots[at]
        same = True
        for j in range(keys.shape[1]):
            same &= known[group, j] == keys[row, j]
        if same:
            break
        at = (at + 1) & np.int64(mask)
    return at


@njit(cache=True, nogil=True)
def number_rows(
    keys: I64,
    inside: Bool,
    start: int,
    slots: Slots,
    known: I64,
    members: I64,
    free: I64,
    used: I64,
    numbers: I64,
) -> int:
    """Give rows from `start` on the numbers of their groups, -1 to those that are not `inside`; count the members.

    Comes back early, with the row that was reached, when a new group finds no number left.
    """
    everything = inside.shape[0] == 0
    for row in range(start, keys.shape[0]):
        if not (everything or inside[row]):
            numbers[row] = -1
            continue
        at = slot_of(slots, known, keys, row)
        group = np.int64(slots[at])
        if group < 0:
            if used[FREE]:
                used[FREE] -= 1
                group = free[used[FREE]]
            elif used[USED] < known.shape[0]:
                group = used[USED]
                used[USED] += 1
            else:
                return row
            slots[at] = group
            for j in range(keys.shape[1]):
                known[group, j] = keys[row, j]
        members[group] += 1
        numbers[row] = group
    return int(keys.shape[0])


@njit(cache=True, nogil=True)
def fill_table(slots: Slots, known: I64, groups: I64) -> None:
    """Put these groups into an empty table."""
    for i in range(groups.shape[0]):
        slots[slot_of(slots, known, known, groups[i])] = groups[i]


@njit(cache=True, nogil=True)
def find_rows(keys: I64, inside: Bool, slots: Slots, known: I64) -> I64:
    """The numbers of the rows' groups; -1 where there is no such group, or the row is not `inside`."""
    everything = inside.shape[0] == 0
    numbers = np.empty(keys.shape[0], np.int64)
    for row in range(keys.shape[0]):
        numbers[row] = -1
        if everything or inside[row]:
            numbers[row] = slots[slot_of(slots, known, keys, row)]
    return numbers
