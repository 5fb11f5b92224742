"""Sums, counts and standard deviations over sliding windows of many groups, exact at every row.

The window of raw events is an array; row i's window is what its group has in `low[i]`..`high[i] - 1`. Both bounds only
grow, so every event is added once and taken away once, and what is between is the sum of all groups' windows.
"""

import math

import numpy as np
from numba import njit

from stretto.engine.derived.kernels.exact_variance import numerator, rounded_quotient
from stretto.engine.derived.kernels.long_accumulator import (
    SQUARE_LIMBS,
    SQUARE_SPAN,
    SQUARES,
    SUM_LIMBS,
    SUM_SPAN,
    SUMS,
    WIDE,
    WIDE_SQUARE_COLUMNS,
    WIDE_SQUARES,
    WIDE_SUM_COLUMNS,
    WIDE_SUMS,
    add_number,
    add_square,
    forget,
    has_room,
    has_wide_room,
    read_section,
    rounded_sum,
)
from stretto.values.rows import F64, I64, Bool

COUNT, NAN, ABOVE, BELOW = 0, 1, 2, 3
"""Columns of a group's row before WIDE: values, NaN among them, and infinities."""
ENTERED, LEFT, ROW = 0, 1, 2
"""How far a run has come: events that entered, events that left, rows that are answered."""
EXPONENT_BITS = 0x7FF
UNIT = 1 << 52
LEAST = np.int64(-(2**63))


@njit(cache=True, nogil=True)
def add_to_squares(
    table: I64, wide: I64, free: I64, group: int, number: np.uint64, place: int, times: int
) -> bool:
    """Add the square of number 2^place, so many times; False, and nothing is done, if a wide row is wanting."""
    at, shift = place >> 4, np.uint64((2 * place) & 31)
    if has_room(table, group, SQUARES, SQUARE_LIMBS, at, SQUARE_SPAN):
        add_square(table, group, SQUARES + 2 + at - table[group, SQUARES], number, shift, times)
        return True
    if not has_wide_room(table, wide, free, group, SQUARES, SQUARE_LIMBS, WIDE_SQUARES, at, SQUARE_SPAN):
        return False
    add_square(wide, table[group, WIDE] - 1, WIDE_SQUARES + 2 + at, number, shift, times)
    return True


@njit(cache=True, nogil=True, inline="always")
def change(
    table: I64, wide: I64, free: I64, group: int, bits: int, times: int, doubles: bool, deviations: bool
) -> bool:
    """Add a value to its group (`times` 1) or take it away (-1); False, and nothing is done, if room is wanting."""
    exponent = (bits >> 52) & EXPONENT_BITS if doubles else 0
    done = True
    if doubles and exponent == EXPONENT_BITS:
        table[group, NAN if bits & (UNIT - 1) else BELOW if bits < 0 else ABOVE] += times
    else:
        if doubles:
            number = np.uint64(bits & (UNIT - 1)) | (np.uint64(UNIT) if exponent else np.uint64(0))
        else:
            number = np.uint64(-bits if bits < 0 else bits)
        if number:
            place = max(exponent, 1) - 1
            signed = -times if bits < 0 else times
            at, shift = place >> 5, np.uint64(place & 31)
            narrow = has_room(table, group, SUMS, SUM_LIMBS, at, SUM_SPAN)
            done = narrow or has_wide_room(table, wide, free, group, SUMS, SUM_LIMBS, WIDE_SUMS, at, SUM_SPAN)
            if done and deviations:
                done = add_to_squares(table, wide, free, group, number, place, times)
            if done and narrow:
                add_number(table, group, SUMS + 2 + at - table[group, SUMS], number, shift, signed)
            elif done:
                add_number(wide, table[group, WIDE] - 1, WIDE_SUMS + 2 + at, number, shift, signed)
    if done:
        table[group, COUNT] += times
        if table[group, COUNT] == 0:
            forget(table, wide, free, group)
    return done


@njit(cache=True, nogil=True)
def deviation(table: I64, wide: I64, group: int, unit: int, digits: I64, squares: I64, work: I64) -> float:
    """The standard deviation of a sample of at least two finite values."""
    n = table[group, COUNT]
    _, count, at = read_section(table, wide, group, SUMS, SUM_LIMBS, WIDE_SUMS, digits)
    _, squared, square_at = read_section(table, wide, group, SQUARES, SQUARE_LIMBS, WIDE_SQUARES, squares)
    length, first = numerator(digits, count, at, squares, squared, square_at, n, work)
    return math.sqrt(rounded_quotient(work, length, 32 * first + 2 * unit, n))


@njit(cache=True, nogil=True)
def not_finite(table: I64, group: int) -> float:
    """The sum of a group with infinities or NaN; 0 if there are none."""
    if table[group, NAN] or (table[group, ABOVE] and table[group, BELOW]):
        return math.nan
    return math.inf if table[group, ABOVE] else -math.inf if table[group, BELOW] else 0.0


@njit(cache=True, nogil=True)
def exact_sum(digits: I64, count: int, sign: int) -> tuple[int, bool]:
    """The sum of integers as one, and whether it is within 64 bits."""
    if count == 0:
        return 0, True
    fits = True
    for j in range(2, count):
        fits &= digits[j] == 0
    total = digits[0] | (digits[1] << 32)  # modulo 2^64
    if total < 0:
        fits &= sign < 0 and total == LEAST
    return (-total if sign < 0 else total), fits


@njit(cache=True, nogil=True)
def sum_windows(
    groups: I64,
    bits: I64,
    valid: Bool,
    low: I64,
    high: I64,
    asked: I64,
    doubles: bool,
    deviations: bool,
    done: I64,
    table: I64,
    wide: I64,
    free: I64,
    out_counts: I64,
    out_sums: F64,
    out_exact: I64,
    out_fits: Bool,
    out_deviations: F64,
) -> bool:
    """Answer the rows from `done[ROW]` on: the groups `asked`, with `low` and `high` per row.

    Comes back with False if a wide row is wanting: it is then called again. `low` and `high` have one place more than
    rows are asked for: how far to go on at the end. `bits`: integers, or the bits of doubles; values that are not
    `valid` count nowhere. `out_exact` and `out_fits` are of integers.
    """
    unit = -1074 if doubles else 0
    digits = np.empty(WIDE_SUM_COLUMNS, np.int64)
    squares = np.empty(WIDE_SQUARE_COLUMNS, np.int64)
    work = np.empty(2 * WIDE_SQUARE_COLUMNS, np.int64)
    entered, left = done[ENTERED], done[LEFT]
    for row in range(done[ROW], low.shape[0]):
        while left < min(low[row], entered):
            if groups[left] >= 0 and valid[left]:
                change(table, wide, free, groups[left], bits[left], -1, doubles, deviations)
            left += 1
        if left < low[row]:  # what is past already need not enter
            left = entered = low[row]
        while entered < high[row]:
            counts = groups[entered] >= 0 and valid[entered]
            if counts and not change(
                table, wide, free, groups[entered], bits[entered], 1, doubles, deviations
            ):
                done[ENTERED], done[LEFT], done[ROW] = entered, left, row
                return False
            entered += 1
        if row == asked.shape[0]:
            break
        group = asked[row]
        out_counts[row] = table[group, COUNT]
        odd = not_finite(table, group)
        if odd != 0.0:
            out_sums[row] = odd
            if deviations:
                out_deviations[row] = math.nan
            continue
        sign, count, base = read_section(table, wide, group, SUMS, SUM_LIMBS, WIDE_SUMS, digits)
        out_sums[row] = rounded_sum(digits, count, sign, 32 * base + unit)
        if not doubles:
            out_exact[row], out_fits[row] = exact_sum(digits, count, sign)
        if deviations and table[group, COUNT] > 1:
            out_deviations[row] = deviation(table, wide, group, unit, digits, squares, work)
    done[ENTERED], done[LEFT], done[ROW] = entered, left, low.shape[0]
    return True
