"""Values of events as integers in their order, read and turned into keys in one pass.

Doubles compare as their bits do, once those of negative ones are turned over: the radix-sort key of IEEE 754 numbers
(Terdiman, Radix Sort Revisited, 2000).
"""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64

LEAST = np.iinfo(np.int64).min
MOST = np.iinfo(np.int64).max
INFINITY = 0x7FF << 52
"""The bits of an infinite double; without their sign, those of NaN are more."""


def keys_of_bits(bits: I64) -> I64:
    """The keys of doubles by their bits; there is no NaN, and no negative zero, among them."""
    return bits ^ ((bits >> 63) & np.int64(MOST))


def keys_at_reference(
    bits: I64, base: int, positions: I64, is_float: int, turned: int, less: int
) -> tuple[I64, bool]:
    """Keys of the values at these positions, of which `base` is the first, and whether they all have one.

    `bits`: 64-bit integers, or the bits of doubles. `turned`: in the opposite order. `less`: those that are one less.
    No key: of NaN, or less than the least.
    """
    keys = bits[positions - base]
    good = True
    if is_float:
        good = not ((keys & np.int64(MOST)) > INFINITY).any()
        keys = keys_of_bits(np.where(keys == LEAST, 0, keys))
    keys = ~keys if turned else keys
    if less:
        good &= not (keys == LEAST).any()
        keys = keys - 1
    return keys, bool(good)


@loop
def keys_at(
    bits: I64, base: int, positions: I64, is_float: int, turned: int, less: int
) -> tuple[I64, bool]:  # pragma: no cover - compiled
    """As the reference."""
    keys = np.empty(positions.shape[0], np.int64)
    values = bits[:]
    turn = np.int64(-turned)  # all bits or none
    bad = 0
    for i in range(positions.shape[0]):
        key = values[np.uint64(positions[i] - base)]
        if is_float:
            bad |= (key & MOST) > INFINITY
            key = 0 if key == LEAST else key
            key ^= (key >> 63) & MOST
        key ^= turn
        bad |= less & (key == LEAST)
        keys[i] = key - less
    return keys, bad == 0
