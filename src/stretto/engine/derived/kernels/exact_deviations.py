"""Standard deviations over sliding windows of many groups: exact sums and exact sums of squares, rounded once.

Apart from sums, so that who asks for sums alone waits for a small loop to be compiled.
"""

import math

import numpy as np

from stretto.engine.derived.kernels.exact_sums import (
    COUNT,
    ENTERED,
    LEFT,
    ROW,
    add_value,
    count_odd,
    not_finite,
    parts,
)
from stretto.engine.derived.kernels.exact_variance import numerator, rounded_quotient
from stretto.engine.derived.kernels.long_accumulator import (
    SQUARE_LIMBS,
    SQUARE_SPAN,
    SQUARES,
    SUM_LIMBS,
    SUMS,
    WIDE,
    WIDE_SQUARE_COLUMNS,
    WIDE_SQUARES,
    WIDE_SUMS,
    add_square,
    forget,
    has_room,
    has_wide_room,
    read_section,
)
from stretto.values.loops import loop
from stretto.values.rows import F64, I64, Bool


@loop
def add_squared(
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


@loop
def change_squares(
    table: I64, wide: I64, free: I64, group: int, bits: int, times: int, doubles: bool
) -> bool:
    """Add a value to its group (`times` 1) or take it away (-1); False, and nothing is done, if room is wanting."""
    number, place = parts(bits, doubles)
    if place < 0:
        count_odd(table, group, bits, times)
    elif number:
        signed = -times if bits < 0 else times
        if not add_value(table, wide, free, group, number, place, signed):
            return False
        if not add_squared(table, wide, free, group, number, place, times):
            add_value(table, wide, free, group, number, place, -signed)
            return False
    table[group, COUNT] += times
    if table[group, COUNT] == 0:
        forget(table, wide, free, group)
    return True


@loop
def deviation(table: I64, wide: I64, group: int, unit: int, digits: I64, squares: I64, work: I64) -> float:
    """The standard deviation of a sample of at least two finite values."""
    n = table[group, COUNT]
    _, count, at = read_section(table, wide, group, SUMS, SUM_LIMBS, WIDE_SUMS, digits)
    _, squared, square_at = read_section(table, wide, group, SQUARES, SQUARE_LIMBS, WIDE_SQUARES, squares)
    length, first = numerator(digits, count, at, squares, squared, square_at, n, work)
    return math.sqrt(rounded_quotient(work, length, 32 * first + 2 * unit, n))


@loop
def deviations_in_windows(
    groups: I64,
    bits: I64,
    valid: Bool,
    low: I64,
    high: I64,
    asked: I64,
    doubles: bool,
    done: I64,
    table: I64,
    wide: I64,
    free: I64,
    out_counts: I64,
    out_deviations: F64,
) -> bool:
    """As `sum_windows`; a deviation of fewer than two values stays what it was."""
    unit = -1074 if doubles else 0
    digits = np.empty(WIDE_SQUARE_COLUMNS, np.int64)
    squares = np.empty(WIDE_SQUARE_COLUMNS, np.int64)
    work = np.empty(2 * WIDE_SQUARE_COLUMNS, np.int64)
    entered, left = done[ENTERED], done[LEFT]
    for row in range(done[ROW], low.shape[0]):
        if entered < low[row] and left == entered:  # what is past already need not enter
            left = entered = low[row]
        while left < low[row] or entered < high[row]:
            leaves = left < min(low[row], entered)
            at = left if leaves else entered
            counts = groups[at] >= 0 and valid[at]
            if counts and not change_squares(
                table, wide, free, groups[at], bits[at], -1 if leaves else 1, doubles
            ):
                done[ENTERED], done[LEFT], done[ROW] = entered, left, row
                return False
            left += leaves
            entered += not leaves
        if row == asked.shape[0]:
            break
        group = asked[row]
        out_counts[row] = table[group, COUNT]
        if not_finite(table, group) != 0.0:
            out_deviations[row] = math.nan
        elif table[group, COUNT] > 1:
            out_deviations[row] = deviation(table, wide, group, unit, digits, squares, work)
    done[ENTERED], done[LEFT], done[ROW] = entered, left, low.shape[0]
    return True
