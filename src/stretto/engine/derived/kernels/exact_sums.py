"""Sums, counts and standard deviations over sliding windows of many groups, exact at every row.

The window of raw events is an array; row i's window is what its group has in `low[i]`..`high[i] - 1`. Both bounds only
grow, so every event is added once and taken away once, and what is between is the sum of all groups' windows.
"""

import math

import numpy as np
from numba import njit

from stretto.engine.derived.kernels.exact_variance import numerator, rounded_quotient
from stretto.engine.derived.kernels.long_accumulator import (
    IN_WIDE,
    NO_ROOM,
    WIDE_HEAD,
    add_number,
    add_square,
    forget,
    read_group,
    room_for,
    rounded_sum,
)
from stretto.values.rows import F64, I64, Bool

COUNT, NAN, ABOVE, BELOW = 0, 1, 2, 3
"""Columns of a group's counts: values, NaN among them, and infinities."""
ENTERED, LEFT, ROW = 0, 1, 2
"""How far a run has come: events that entered, events that left, rows that are answered."""
SUM_SPAN, SQUARE_SPAN = 3, 5
"""Limbs that a value takes, and its square."""
EXPONENT_BITS = 0x7FF
UNIT = 1 << 52
SIGN = np.int64(-(2**63))


@njit(cache=True, nogil=True)
def change(
    group: int,
    bits: int,
    times: int,
    doubles: bool,
    counts: I64,
    sums: I64,
    wide_sums: I64,
    squares: I64,
    wide_squares: I64,
    free_sums: I64,
    free_squares: I64,
) -> bool:
    """Add a value to its group (`times` 1) or take it away (-1); False, and nothing is done, if room is wanting."""
    negative = bits < 0
    place = 0
    if doubles:
        exponent = (bits >> 52) & EXPONENT_BITS
        fraction = bits & (UNIT - 1)
        if exponent == EXPONENT_BITS:
            counts[group, NAN if fraction else BELOW if negative else ABOVE] += times
            counts[group, COUNT] += times
            return True
        number = np.uint64(fraction | UNIT if exponent else fraction)
        place = max(exponent, 1) - 1
    else:
        number = np.uint64(-bits if negative else bits)
    if number:
        signed = -times if negative else times
        at, shift = place >> 5, np.uint64(place & 31)
        column = room_for(sums, wide_sums, free_sums, group, at, SUM_SPAN)
        if column == NO_ROOM:
            return False
        if squares.shape[0]:
            square_at, square_shift = (2 * place) >> 5, np.uint64((2 * place) & 31)
            square_column = room_for(squares, wide_squares, free_squares, group, square_at, SQUARE_SPAN)
            if square_column == NO_ROOM:
                return False
            if square_column == IN_WIDE:
                row = wide_squares[-squares[group, 0] - 1]
                add_square(row, WIDE_HEAD + square_at, number, square_shift, times)
            else:
                add_square(squares[group], square_column, number, square_shift, times)
        if column == IN_WIDE:
            add_number(wide_sums[-sums[group, 0] - 1], WIDE_HEAD + at, number, shift, signed)
        else:
            add_number(sums[group], column, number, shift, signed)
    counts[group, COUNT] += times
    if counts[group, COUNT] == 0:
        forget(sums, wide_sums, free_sums, group)
        if squares.shape[0]:
            forget(squares, wide_squares, free_squares, group)
    return True


@njit(cache=True, nogil=True)
def deviation(
    group: int,
    n: int,
    sums: I64,
    wide_sums: I64,
    squares: I64,
    wide_squares: I64,
    unit: int,
    digits: I64,
    square_digits: I64,
    work: I64,
) -> float:
    """The standard deviation of a sample of at least two finite values."""
    _, count, at = read_group(sums, wide_sums, group, digits)
    _, square_count, square_at = read_group(squares, wide_squares, group, square_digits)
    length, first = numerator(digits, count, at, square_digits, square_count, square_at, n, work)
    return math.sqrt(rounded_quotient(work, length, 32 * first + 2 * unit, n * (n - 1)))


@njit(cache=True, nogil=True)
def sum_windows(
    groups: I64,
    bits: I64,
    valid: Bool,
    low: I64,
    high: I64,
    asked: I64,
    doubles: bool,
    done: I64,
    counts: I64,
    sums: I64,
    wide_sums: I64,
    squares: I64,
    wide_squares: I64,
    free_sums: I64,
    free_squares: I64,
    out_counts: I64,
    out_sums: F64,
    out_exact: I64,
    out_fits: Bool,
    out_deviations: F64,
) -> int:
    """Answer the rows from `done[ROW]` on: the groups `asked`, with `low` and `high` per row.

    Comes back with 0 when all are answered, 1 or 2 if a wide row is wanting (for sums, for squares): it is then called
    again. `low` and `high` have one place more than rows are asked for: how far to go on at the end. `bits`: integers,
    or the bits of doubles; values that are not `valid` count nowhere.
    `squares` without rows: no deviations are asked for. `out_exact` and `out_fits` are of integers.
    """
    unit = -1074 if doubles else 0
    digits = np.empty(WIDE_HEAD + 80, np.int64)
    square_digits = np.empty(WIDE_HEAD + 150, np.int64)
    work = np.empty(400, np.int64)
    for row in range(done[ROW], low.shape[0]):
        done[ROW] = row
        while done[LEFT] < min(low[row], done[ENTERED]):
            at = done[LEFT]
            if groups[at] >= 0 and valid[at]:
                change(
                    groups[at],
                    bits[at],
                    -1,
                    doubles,
                    counts,
                    sums,
                    wide_sums,
                    squares,
                    wide_squares,
                    free_sums,
                    free_squares,
                )
            done[LEFT] += 1
        if done[LEFT] < low[row]:  # what is past already need not enter
            done[LEFT] = done[ENTERED] = low[row]
        while done[ENTERED] < high[row]:
            at = done[ENTERED]
            if groups[at] >= 0 and valid[at]:
                if not change(
                    groups[at],
                    bits[at],
                    1,
                    doubles,
                    counts,
                    sums,
                    wide_sums,
                    squares,
                    wide_squares,
                    free_sums,
                    free_squares,
                ):
                    return 1 if free_sums[0] == 0 else 2
            done[ENTERED] += 1
        if row == asked.shape[0]:
            break
        group = asked[row]
        n = counts[group, COUNT]
        out_counts[row] = n
        if n == 0:
            continue
        odd = counts[group, NAN] + counts[group, ABOVE] + counts[group, BELOW]
        if odd:
            one_sided = counts[group, NAN] == 0 and (counts[group, ABOVE] == 0 or counts[group, BELOW] == 0)
            out_sums[row] = math.nan if not one_sided else math.inf if counts[group, ABOVE] else -math.inf
            if squares.shape[0]:
                out_deviations[row] = math.nan
            continue
        sign, count, base = read_group(sums, wide_sums, group, digits)
        out_sums[row] = rounded_sum(digits, count, sign, 32 * base + unit)
        if not doubles:
            exact_sum(digits, count, sign, row, out_exact, out_fits)
        if n > 1 and squares.shape[0]:
            out_deviations[row] = deviation(
                group, n, sums, wide_sums, squares, wide_squares, unit, digits, square_digits, work
            )
    return 0


@njit(cache=True, nogil=True)
def exact_sum(digits: I64, count: int, sign: int, row: int, out_exact: I64, out_fits: Bool) -> None:
    """The sum of integers as one, and whether it is within 64 bits."""
    if count == 0:
        out_exact[row] = 0
        out_fits[row] = True
        return
    fits = True
    for j in range(2, count):
        fits &= digits[j] == 0
    total = digits[0] | (digits[1] << 32)  # modulo 2^64
    if total < 0:
        fits &= sign < 0 and total == SIGN
    out_exact[row] = -total if sign < 0 else total
    out_fits[row] = fits
