"""Sums and counts over sliding windows of many groups, exact at every row.

The window of raw events is an array; row i's window is what its group has in `low[i]`..`high[i] - 1`. Both bounds only
grow, so every event is added once and taken away once, and what is between is the sum of all groups' windows.
"""

import math

import numpy as np

from stretto.engine.derived.kernels.long_accumulator import (
    SUM_LIMBS,
    SUM_SPAN,
    SUMS,
    WIDE,
    WIDE_SUM_COLUMNS,
    WIDE_SUMS,
    add_number,
    forget,
    has_room,
    has_wide_room,
    read_section,
    rounded_sum,
)
from stretto.values.loops import inlined, loop
from stretto.values.rows import F64, I64, Bool

COUNT, NAN, ABOVE, BELOW = 0, 1, 2, 3
"""Columns of a group's row before WIDE: values, NaN among them, and infinities."""
ENTERED, LEFT, ROW = 0, 1, 2
"""How far a run has come: events that entered, events that left, rows that are answered."""
EXPONENT_BITS = 0x7FF
UNIT = 1 << 52
ALONE = SUMS + 2
"""One of the limbs, while nothing is added up."""
HIGH, LOW, WHOLE_COLUMNS = 1, 2, 4
"""Columns of a group's row of integers, after COUNT: sums of the halves of 32 bits."""
MASK = 0xFFFFFFFF


@inlined
def parts(bits: int, doubles: bool) -> tuple[np.uint64, int]:
    """The absolute value as number 2^place, in units of the least double; of an infinity or NaN the place is -1."""
    if not doubles:
        number, place = np.uint64(-bits if bits < 0 else bits), 0
    else:
        exponent = (bits >> 52) & EXPONENT_BITS
        fraction = np.uint64(bits & (UNIT - 1))
        number = fraction | np.uint64(UNIT) if exponent else fraction
        place = -1 if exponent == EXPONENT_BITS else max(exponent, 1) - 1
    return number, place


@loop
def count_odd(table: I64, group: int, bits: int, times: int) -> None:
    """Count an infinity or a NaN."""
    table[group, NAN if bits & (UNIT - 1) else BELOW if bits < 0 else ABOVE] += times


@loop
def not_finite(table: I64, group: int) -> float:
    """The sum of a group with infinities or NaN; 0 if there are none."""
    if table[group, NAN] or (table[group, ABOVE] and table[group, BELOW]):
        return math.nan
    return math.inf if table[group, ABOVE] else -math.inf if table[group, BELOW] else 0.0


@inlined
def add_value(
    table: I64, wide: I64, free: I64, group: int, number: np.uint64, place: int, signed: int
) -> bool:
    """Add number 2^place to the sum, so many times; False, and nothing is done, if a wide row is wanting."""
    at, shift = place >> 5, np.uint64(place & 31)
    done = True
    if has_room(table, group, SUMS, SUM_LIMBS, at, SUM_SPAN):
        add_number(table, group, SUMS + 2 + at - table[group, SUMS], number, shift, signed)
    else:
        done = has_wide_room(table, wide, free, group, SUMS, SUM_LIMBS, WIDE_SUMS, at, SUM_SPAN)
        if done:
            add_number(wide, table[group, WIDE] - 1, WIDE_SUMS + 2 + at, number, shift, signed)
    return done


@inlined
def change(table: I64, wide: I64, free: I64, group: int, bits: int, times: int, doubles: bool) -> bool:
    """Add a value to its group (`times` 1) or take it away (-1); False, and nothing is done, if room is wanting."""
    if doubles and times > 0 and table[group, COUNT] == 0:
        table[group, ALONE] = bits  # a value alone is its own sum: there is nothing to add yet
        table[group, COUNT] = 1
        return True
    if doubles and is_alone(table, group):
        if times < 0:
            table[group, ALONE] = table[group, COUNT] = 0
            return True
        first = table[group, ALONE]
        table[group, ALONE] = 0
        add_bits(table, wide, free, group, first, 1, doubles)  # there is room: nothing was added so far
    if not add_bits(table, wide, free, group, bits, times, doubles):
        return False
    table[group, COUNT] += times
    if table[group, COUNT] == 0:
        forget(table, wide, free, group)
    return True


@inlined
def is_alone(table: I64, group: int) -> bool:
    """Whether ALONE has the bits of the one value that a group has.

    It also says so of a zero that is left of several values: ALONE is zero then.
    """
    odd = table[group, NAN] | table[group, ABOVE] | table[group, BELOW]
    return bool(table[group, COUNT] == 1 and (odd | table[group, WIDE] | table[group, SUMS]) == 0)


@inlined
def add_bits(table: I64, wide: I64, free: I64, group: int, bits: int, times: int, doubles: bool) -> bool:
    """Add a value to what a group sums up to, so many times; False, and nothing is done, if room is wanting."""
    number, place = parts(bits, doubles)
    done = True
    if place < 0:
        count_odd(table, group, bits, times)
    elif number:
        done = add_value(table, wide, free, group, number, place, -times if bits < 0 else times)
    return done


@loop
def sum_windows(
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
    out_sums: F64,
) -> bool:
    """Answer the rows from `done[ROW]` on: the groups `asked`, with `low` and `high` per row.

    Comes back with False if a wide row is wanting: it is then called again. `low` and `high` have one place more than
    rows are asked for: how far to go on at the end. `bits`: those of doubles; values that are not `valid` count
    nowhere. A row that asks for no group (below 0) is over nothing.
    """
    digits = np.empty(WIDE_SUM_COLUMNS, np.int64)
    alone = np.empty(1, np.int64)
    entered, left = done[ENTERED], done[LEFT]
    for row in range(done[ROW], low.shape[0]):
        if entered < low[row] and left == entered:  # what is past already need not enter
            left = entered = low[row]
        while left < low[row] or entered < high[row]:
            leaves = left < min(low[row], entered)
            at = left if leaves else entered
            counts = groups[at] >= 0 and valid[at]
            if counts and not change(table, wide, free, groups[at], bits[at], -1 if leaves else 1, doubles):
                done[ENTERED], done[LEFT], done[ROW] = entered, left, row
                return False
            left += leaves
            entered += not leaves
        if row == asked.shape[0]:
            break
        group = asked[row]
        if group < 0:
            out_counts[row], out_sums[row] = 0, 0.0
            continue
        out_counts[row] = table[group, COUNT]
        out_sums[row] = not_finite(table, group)
        if is_alone(table, group):
            alone[0] = table[group, ALONE]
            out_sums[row] = alone.view(np.float64)[0] + 0.0
        elif out_sums[row] == 0.0:
            sign, count, base = read_section(table, wide, group, SUMS, SUM_LIMBS, WIDE_SUMS, digits)
            out_sums[row] = rounded_sum(digits, count, sign, 32 * base - 1074)
    done[ENTERED], done[LEFT], done[ROW] = entered, left, low.shape[0]
    return True


@loop
def sum_whole_windows(
    groups: I64,
    bits: I64,
    valid: Bool,
    low: I64,
    high: I64,
    asked: I64,
    done: I64,
    table: I64,
    out_counts: I64,
    out_exact: I64,
    out_averages: F64,
    out_there: Bool,
) -> None:
    """As `sum_windows`, of integers; no wide row is ever wanting.

    Counts, sums and averages are left out where there is no room for them. `out_there`: where there are a sum that 64
    bits hold and an average.
    """
    entered, left = done[ENTERED], done[LEFT]
    for row in range(low.shape[0]):
        if entered < low[row] and left == entered:  # what is past already need not enter
            left = entered = low[row]
        while entered < high[row]:
            group = groups[entered]
            if group >= 0 and valid[entered]:
                table[group, COUNT] += 1
                table[group, HIGH] += bits[entered] >> 32
                table[group, LOW] += bits[entered] & MASK
            entered += 1
        while left < low[row]:
            group = groups[left]
            if group >= 0 and valid[left]:
                table[group, COUNT] -= 1
                table[group, HIGH] -= bits[left] >> 32
                table[group, LOW] -= bits[left] & MASK
            left += 1
        if row == asked.shape[0]:
            break
        group = asked[row]
        if group < 0:
            out_there[row] = False
            continue
        count = table[group, COUNT]
        upper, lower = table[group, HIGH] + (table[group, LOW] >> 32), table[group, LOW] & MASK
        fits = -(1 << 31) <= upper < 1 << 31
        out_there[row] = fits and count > 0
        exact = (upper << 32) | lower
        if out_counts.shape[0]:
            out_counts[row] = count
        if out_exact.shape[0]:
            out_exact[row] = exact
        if out_averages.shape[0]:
            out_averages[row] = float(exact) / max(count, 1)
    done[ENTERED], done[LEFT] = entered, left


@loop
def sum_levels(
    numbers: I64,
    lines: I64,
    start: int,
    end: int,
    rows: int,
    bits: I64,
    valid: Bool,
    low: I64,
    high: I64,
    done: I64,
    table: I64,
    ends: I64,
    wide: I64,
    free: I64,
    out_counts: I64,
    out_sums: F64,
) -> bool:
    """`sum_windows` level by level: groups are some `lines` of `numbers`, tables lie between `ends` in one."""
    for i in range(lines.shape[0]):
        groups = numbers[lines[i]][start:end]
        asked = groups[groups.shape[0] - rows :]
        own = table[ends[i] : ends[i + 1]]
        if not sum_windows(
            groups, bits, valid, low, high, asked, True, done[i], own, wide, free, out_counts[i], out_sums[i]
        ):
            return False
    return True


@loop
def sum_whole_levels(
    numbers: I64,
    lines: I64,
    start: int,
    end: int,
    rows: int,
    bits: I64,
    valid: Bool,
    low: I64,
    high: I64,
    done: I64,
    table: I64,
    ends: I64,
    out_counts: I64,
    out_exact: I64,
    out_averages: F64,
    out_there: Bool,
) -> None:
    """The same of integers."""
    for i in range(lines.shape[0]):
        groups = numbers[lines[i]][start:end]
        asked = groups[groups.shape[0] - rows :]
        own = table[ends[i] : ends[i + 1]]
        sum_whole_windows(
            *(groups, bits, valid, low, high, asked, done[i], own),
            *(out_counts[i], out_exact[i], out_averages[i], out_there[i]),
        )
