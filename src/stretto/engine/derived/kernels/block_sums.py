"""Sums and counts of integers over sliding windows, for all blocks of streams that an event is of."""

from stretto.engine.derived.kernels.exact_sums import COUNT, ENTERED, HIGH, LEFT, LOW, MASK
from stretto.values.loops import loop
from stretto.values.rows import F64, I64, Bool

COLUMNS = LOW + 1


@loop
def sum_blocks(
    groups: I64,
    classes: I64,
    ends: I64,
    first: I64,
    last: I64,
    bits: I64,
    valid: Bool,
    low: I64,
    high: I64,
    done: I64,
    table: I64,
    out_counts: I64,
    out_exact: I64,
    out_averages: F64,
    out_there: Bool,
) -> None:
    """As `sum_whole_windows`, with a row for every block of each of the last events of the window.

    The blocks of class c are `first[i]`..`last[i]` for i from `ends[c]` to `ends[c + 1] - 1`. `table`: by group, column
    and block, so that what follows one another there is summed up together.
    """
    entered, left = done[ENTERED], done[LEFT]
    rows = low.shape[0] - 1
    asked = groups.shape[0] - rows
    place = 0
    for row in range(rows + 1):
        if entered < low[row] and left == entered:  # what is past already need not enter
            left = entered = low[row]
        while left < low[row] or entered < high[row]:
            leaves = left < min(low[row], entered)
            at = left if leaves else entered
            if valid[at]:
                sums, times = table[groups[at]], -1 if leaves else 1
                upper, lower = times * (bits[at] >> 32), times * (bits[at] & MASK)
                for i in range(ends[classes[at]], ends[classes[at] + 1]):
                    for block in range(first[i], last[i] + 1):
                        sums[COUNT, block] += times
                        sums[HIGH, block] += upper
                        sums[LOW, block] += lower
            left += leaves
            entered += not leaves
        if row == rows:
            break
        sums, of = table[groups[asked + row]], classes[asked + row]
        for i in range(ends[of], ends[of + 1]):
            for block in range(first[i], last[i] + 1):
                count = sums[COUNT, block]
                upper, lower = sums[HIGH, block] + (sums[LOW, block] >> 32), sums[LOW, block] & MASK
                exact = (upper << 32) | lower
                out_there[place] = count > 0 and -(1 << 31) <= upper < 1 << 31
                if out_counts.shape[0]:
                    out_counts[place] = count
                if out_exact.shape[0]:
                    out_exact[place] = exact
                if out_averages.shape[0]:
                    out_averages[place] = float(exact) / max(count, 1)
                place += 1
    done[ENTERED], done[LEFT] = entered, left
