"""Exact sums of many groups: fixed-point numbers in limbs of 32 bits, with carries that wait.

A long accumulator (Kulisch and Miranker, The arithmetic of the digital computer: a new approach, 1986) is wide enough
for every double, so adding is exact, and what was added can be taken away again. A limb is an int64 that holds 32 bits
of the number and as many bits for carries: they are passed on only when the number is read, and never written back,
so a group that all values have left holds zeros. A limb has room for 2^27 values.

Nearly all numbers of a group lie near each other. So a number is a *section* of a group's row: a few limbs around the
group's first value, after a head that says which limb of the whole number the first one is, plus 1 (0: no value yet).
A value that does not fit moves the number to the group's wide row, where a section has every limb; the head is then
IN_WIDE. A section of a wide row begins with the range of its limbs that are in use. Wide rows that are free are a list:
the first column has the number of the next one, plus 1.
"""

import math

import numpy as np

from stretto.values.loops import inlined, loop
from stretto.values.rows import I64

WIDE = 4
"""The column of a group's row that has the number of its wide row, plus 1; before it are counts."""
SUMS, SUM_LIMBS, SUM_SPAN = 5, 7, 3
SQUARES, SQUARE_LIMBS, SQUARE_SPAN = 13, 15, 5
"""Sections of a group's row: the column of the head, limbs, and limbs that one value takes."""
SUM_COLUMNS, SQUARE_COLUMNS = 13, 29
WIDE_SUMS, WIDE_SQUARES = 0, 74
WIDE_SUM_COLUMNS, WIDE_SQUARE_COLUMNS = 74, 218
"""Sections of a wide row. Doubles take 66 limbs, their squares 132; a row may begin near the end, and has carries."""
IN_WIDE = -1
MASK = 0xFFFFFFFF


@inlined
def add_half(table: I64, row: int, column: int, half: np.uint64, shift: np.uint64, times: int) -> None:
    """Add 32 bits, shifted by less than 32, so many times (-1: take them away)."""
    moved = half << shift
    table[row, column] += times * np.int64(moved & np.uint64(MASK))
    table[row, column + 1] += times * np.int64(moved >> np.uint64(32))


@inlined
def add_number(table: I64, row: int, column: int, number: np.uint64, shift: np.uint64, times: int) -> None:
    """Add a number of 64 bits to three limbs."""
    add_half(table, row, column, number & np.uint64(MASK), shift, times)
    add_half(table, row, column + 1, number >> np.uint64(32), shift, times)


@loop
def add_square(table: I64, row: int, column: int, number: np.uint64, shift: np.uint64, times: int) -> None:
    """Add the square of a number of 64 bits to five limbs: l^2 + 2hl 2^32 + h^2 2^64."""
    low, high = number & np.uint64(MASK), number >> np.uint64(32)
    add_number(table, row, column, low * low, shift, times)
    add_number(table, row, column + 1, low * high, shift, 2 * times)
    add_number(table, row, column + 2, high * high, shift, times)


@loop
def has_room(table: I64, group: int, head: int, limbs: int, at: int, span: int) -> bool:
    """Whether the limbs `at`..`at + span - 1` are in the group's row; an empty section takes its place around them."""
    if table[group, head] == 0:
        table[group, head] = max(0, at - (limbs - span) * 2 // 3) + 1
    column = at - table[group, head] + 1
    # The last limb stays free of values: it takes the carries.
    return bool(table[group, head] > 0 and column >= 0 and column + span < limbs)


@loop
def has_wide_room(
    table: I64, wide: I64, free: I64, group: int, head: int, limbs: int, wide_head: int, at: int, span: int
) -> bool:
    """Let a section be in the group's wide row, and `span` limbs from `at` in use; False if no row is free."""
    if table[group, WIDE] == 0:
        if free[0] == 0:
            return False
        table[group, WIDE] = free[0]
        free[0] = wide[free[0] - 1, 0]
        wide[table[group, WIDE] - 1, 0] = 0
    row = table[group, WIDE] - 1
    base = table[group, head] - 1
    if base >= 0:
        for j in range(limbs):
            wide[row, wide_head + 2 + base + j] = table[group, head + 1 + j]
            table[group, head + 1 + j] = 0
        wide[row, wide_head] = base
        wide[row, wide_head + 1] = base + limbs
        table[group, head] = IN_WIDE
    wide[row, wide_head] = min(wide[row, wide_head], at)
    wide[row, wide_head + 1] = max(wide[row, wide_head + 1], at + span)
    return True


@loop
def forget(table: I64, wide: I64, free: I64, group: int) -> None:
    """All values have left the group: its limbs are 0, and its places are free."""
    if table[group, WIDE]:
        wide[table[group, WIDE] - 1, 0] = free[0]
        free[0] = table[group, WIDE]
        table[group, WIDE] = 0
    table[group, SUMS] = 0
    if table.shape[1] > SQUARES:
        table[group, SQUARES] = 0


@inlined
def read_digits(table: I64, row: int, column: int, count: int, digits: I64) -> int:
    """Write the absolute value of some limbs as digits of 32 bits, one more than limbs; the sign comes back."""
    carry = 0
    for j in range(count):
        limb = table[row, column + j] + carry
        digits[j] = limb & MASK
        carry = limb >> 32
    digits[count] = carry & MASK
    if carry < 0:
        borrow = 1
        for j in range(count + 1):
            digit = (digits[j] ^ MASK) + borrow
            digits[j] = digit & MASK
            borrow = digit >> 32
    return -1 if carry < 0 else 1


@loop
def read_wide(wide: I64, row: int, head: int, digits: I64) -> tuple[int, int, int]:
    low, high = wide[row, head], wide[row, head + 1]
    # One more limb: the carries of the last one would take more than a digit.
    sign = read_digits(wide, row, head + 2 + low, high - low + 1, digits)
    return sign, high - low + 2, low


@inlined
def read_section(
    table: I64, wide: I64, group: int, head: int, limbs: int, wide_head: int, digits: I64
) -> tuple[int, int, int]:
    """A number: its sign, how many digits it has, and which limb of the whole number the first one is."""
    base = table[group, head] - 1
    sign, count = 1, 0
    if base >= 0:
        sign, count = read_digits(table, group, head + 1, limbs, digits), limbs + 1
    elif base == IN_WIDE - 1:
        sign, count, base = read_wide(wide, table[group, WIDE] - 1, wide_head, digits)
    return sign, count, base


@loop
def leading(digits: I64, count: int) -> tuple[np.int64, int]:
    """The first 56 to 63 bits of a number, the last one set if any bit below is, and the exponent of that last bit.

    (0, 0) for zero. So long a number with such a last bit is rounded as the whole number would be.
    """
    top = count - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return np.int64(0), 0
    first = np.uint64(digits[top])
    second = np.uint64(digits[top - 1]) if top > 0 else np.uint64(0)
    third = np.uint64(digits[top - 2]) if top > 1 else np.uint64(0)
    shift = 0
    if first < np.uint64(1 << 24):
        shift = 8
    if first < np.uint64(1 << 16):
        shift = 16
    if first < np.uint64(1 << 8):
        shift = 24
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
        number |= np.int64(1)
    return number, 32 * (top - 1) - shift + 1


@loop
def rounded_sum(digits: I64, count: int, sign: int, exponent: int) -> float:
    """The double next to a sum of doubles, ties to even, beyond the doubles infinite; `exponent`: of its last bit.

    A sum that is less than the least normal double has no bits that a double has not, so it is not rounded twice.
    """
    number, last = leading(digits, count)
    return math.ldexp(float(sign * number), exponent + last)
