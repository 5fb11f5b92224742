"""Numbers of groups by their keys: a hash table with open addressing and linear probing (Knuth, Algorithm L).

Nothing is deleted from a table. A group that nothing is in any more keeps its number until the table is full; then the
table is filled anew with those that live.
"""

import numpy as np
import numpy.typing as npt

from stretto.values.hashing import GOLDEN
from stretto.values.loops import loop
from stretto.values.rows import I64, Bool

Slots = npt.NDArray[np.int32]

USED, FREE = 0, 1
"""Of a table: numbers given so far, and how many of them are on the list of free ones."""


@loop
def mix(mixed: np.uint64, key: int) -> np.uint64:
    """A hash of what was mixed so far and one more key."""
    mixed = (mixed ^ np.uint64(key)) * GOLDEN
    return mixed ^ (mixed >> np.uint64(32))


@loop
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
    adding: bool,
) -> int:
    """Give rows from `start` on the numbers of their groups, -1 to those that are not `inside`; count the members.

    Comes back early, with the row that was reached, when a new group finds no number left. Without `adding`, nothing
    changes, and rows of no known group have -1. All in one loop: a function that is handed arrays counts who holds them
    at every call, which takes ten times as long as what is done here.
    """
    everything = inside.shape[0] == 0
    mask, width = np.uint64(slots.shape[0] - 1), keys.shape[1]
    for row in range(start, keys.shape[0]):
        if not (everything or inside[row]):
            numbers[row] = -1
            continue
        mixed = np.uint64(0)
        for j in range(width):
            mixed = mix(mixed, keys[row, j])
        at = mixed & mask
        group = np.int64(slots[at])
        while group >= 0:
            j = 0
            while j < width and known[group, j] == keys[row, j]:
                j += 1
            if j == width:
                break
            at = (at + np.uint64(1)) & mask
            group = np.int64(slots[at])
        if adding:
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
                for j in range(width):
                    known[group, j] = keys[row, j]
            members[group] += 1
        numbers[row] = group
    return int(keys.shape[0])


@loop
def fill_table(slots: Slots, known: I64, groups: I64) -> None:
    """Put these groups into an empty table; no two have the same keys."""
    mask = np.uint64(slots.shape[0] - 1)
    for i in range(groups.shape[0]):
        mixed = np.uint64(0)
        for j in range(known.shape[1]):
            mixed = mix(mixed, known[groups[i], j])
        at = mixed & mask
        while slots[at] >= 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = groups[i]
