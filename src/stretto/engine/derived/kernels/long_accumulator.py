"""Exact sums of many groups: fixed-point numbers in limbs of 32 bits, with carries that wait.

A long accumulator (Kulisch and Miranker, The arithmetic of the digital computer: a new approach, 1986) is wide enough
for every double, so adding is exact, and what was added can be taken away again. A limb is an int64 that holds 32 bits
of the number and as many bits for carries: they are passed on only when the number is read, and never written back, so a
group that all values have left holds zeros. A limb has room for 2^27 values.

Nearly all numbers of a group lie near each other. So a group has a row of a few limbs around its first value: column 0
says which limb of the whole number column 1 is, plus 1 (0: no value yet). A value that does not fit moves its group to a
wide row, which has every limb; column 0 is then the number of the wide row plus 1, negated. A wide row begins with the
limbs that are in use, from column 0 to before column 1; one that is free has the next free one plus 1 in column 0.
"""

import math

import numpy as np
from numba import njit

from stretto.values.rows import I64

MASK = 0xFFFFFFFF
WIDE_HEAD = 2
"""Columns of a wide row before its limbs."""
NO_ROOM = -2
IN_WIDE = -1


@njit(cache=True, nogil=True)
def room_for(limbs: I64, wide: I64, free: I64, group: int, at: int, span: int) -> int:
    """The column of the group's row where limb `at` is, if `span` limbs from there fit; else IN_WIDE.

    A group without values takes its place around `at`. NO_ROOM: a wide row is needed, and none is free.
    """
    width = limbs.shape[1] - 1
    base = limbs[group, 0] - 1
    if base == -1:
        base = max(0, at - (width - span) * 2 // 3)
        limbs[group, 0] = base + 1
    if base < -1:
        row = -base - 2
        wide[row, 0] = min(wide[row, 0], at)
        wide[row, 1] = max(wide[row, 1], at + span)
        return IN_WIDE
    # The last limb stays free of values: it takes the carries.
    if base <= at and at + span < base + width:
        return at - base + 1
    if free[0] == 0:
        return NO_ROOM
    row = free[0] - 1
    free[0] = wide[row, 0]
    limbs[group, 0] = -row - 1
    for j in range(width):
        wide[row, WIDE_HEAD + base + j] = limbs[group, 1 + j]
        limbs[group, 1 + j] = 0
    wide[row, 0] = min(base, at)
    wide[row, 1] = max(base + width, at + span)
    return IN_WIDE


@njit(cache=True, nogil=True)
def forget(limbs: I64, wide: I64, free: I64, group: int) -> None:
    """All values have left the group: its limbs are 0, and its place is free."""
    if limbs[group, 0] < 0:
        row = -limbs[group, 0] - 1
        wide[row, 0] = free[0]
        free[0] = row + 1
    limbs[group, 0] = 0


@njit(cache=True, nogil=True)
def add_half(row: I64, at: int, half: np.uint64, shift: np.uint64, times: int) -> None:
    """Add 32 bits, shifted by less than 32, so many times (-1: take them away)."""
    moved = half << shift
    row[at] += times * np.int64(moved & np.uint64(MASK))
    row[at + 1] += times * np.int64(moved >> np.uint64(32))


@njit(cache=True, nogil=True)
def add_number(row: I64, at: int, number: np.uint64, shift: np.uint64, times: int) -> None:
    """Add a number of 64 bits to three limbs."""
    add_half(row, at, number & np.uint64(MASK), shift, times)
    add_half(row, at + 1, number >> np.uint64(32), shift, times)


@njit(cache=True, nogil=True)
def add_square(row: I64, at: int, number: np.uint64, shift: np.uint64, times: int) -> None:
    """Add the square of a number of 64 bits to five limbs: l^2 + 2hl 2^32 + h^2 2^64."""
    low, high = number & np.uint64(MASK), number >> np.uint64(32)
    add_number(row, at, low * low, shift, times)
    add_number(row, at + 1, low * high, shift, 2 * times)
    add_number(row, at + 2, high * high, shift, times)


@njit(cache=True, nogil=True)
def read_digits(row: I64, start: int, stop: int, digits: I64) -> int:
    """Write the absolute value of limbs start..stop - 1 as digits of 32 bits, one more than limbs; the sign comes back."""
    carry = 0
    count = stop - start
    for j in range(count):
        limb = row[start + j] + carry
        digits[j] = limb & MASK
        carry = limb >> 32
    digits[count] = carry & MASK
    if carry >= 0:
        return 1
    borrow = 1
    for j in range(count + 1):
        digit = (digits[j] ^ MASK) + borrow
        digits[j] = digit & MASK
        borrow = digit >> 32
    return -1


@njit(cache=True, nogil=True)
def read_group(limbs: I64, wide: I64, group: int, digits: I64) -> tuple[int, int, int]:
    """The number of a group: its sign, how many digits, and which limb of the whole number the first one is."""
    base = limbs[group, 0] - 1
    if base == -1:
        return 1, 0, 0
    if base >= 0:
        width = limbs.shape[1] - 1
        return read_digits(limbs[group], 1, 1 + width, digits), width + 1, base
    row = -base - 2
    low, high = wide[row, 0], wide[row, 1]
    # One more limb: the carries of the last one would take more than a digit.
    return read_digits(wide[row], WIDE_HEAD + low, WIDE_HEAD + high + 1, digits), high - low + 2, low


@njit(cache=True, nogil=True)
def leading(digits: I64, count: int) -> tuple[int, int]:
    """The first 56 to 63 bits of a number, the last one set if any bit below is, and the exponent of that last bit.

    (0, 0) for zero. So long a number with such a last bit is rounded as the whole number would be.
    """
    top = count - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return 0, 0
    first = np.uint64(digits[top])
    second = np.uint64(digits[top - 1]) if top > 0 else np.uint64(0)
    third = np.uint64(digits[top - 2]) if top > 1 else np.uint64(0)
    shift = 0
    for bound in (24, 16, 8):
        if first < np.uint64(1) << np.uint64(bound):
            shift = 32 - bound
    bits = ((first << np.uint64(32)) | second) << np.uint64(shift)
    below = third << np.uint64(shift)  # its upper half belongs to the bits, its lower half is below
    bits |= below >> np.uint64(32)
    rest = (below & np.uint64(MASK)) | (bits & np.uint64(1))
    at = top - 3
    while rest == np.uint64(0) and at >= 0:
        rest = np.uint64(digits[at])
        at -= 1
    number = np.int64(bits >> np.uint64(1))
    if rest != np.uint64(0):
        number |= 1
    return number, 32 * (top - 1) - shift + 1


@njit(cache=True, nogil=True)
def rounded_sum(digits: I64, count: int, sign: int, exponent: int) -> float:
    """The double next to a sum of doubles, ties to even, beyond the doubles infinite; `exponent`: of its last bit.

    A sum that is less than the least normal double has no bits that a double has not, so it is not rounded twice.
    """
    number, last = leading(digits, count)
    return math.ldexp(float(sign * number), exponent + last)
