"""Sums and counts of small integers over sliding windows, by several groupings at once.

A group's count and sum are one word, so that one addition makes both; groupings take turns at an event, so that the
walk of the window is paid once for several of them, and what memory is slow to bring comes for several at a time.
"""

from stretto.engine.derived.kernels.exact_sums import ENTERED, LEFT
from stretto.values.loops import loop
from stretto.values.rows import F64, I64, Bool

SUM_BITS = 40
"""Of a word the lower ones, with a sign; the count has the others."""
OTHER_BITS = 64 - SUM_BITS
ONE = 1 << SUM_BITS
MOST_EVENTS = 1 << (OTHER_BITS - 1)
MOST_SUM = 1 << (SUM_BITS - 1)
"""Fewer events than these, and sums less than this either way, are small."""
TOGETHER = 8
"""Groupings that take turns: with more of them, their tables do not stay near the processor."""


@loop
def sum_small_levels(
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
    """As `sum_whole_levels`, with one word for each group."""
    asked = end - rows
    some_counts, some_exact = out_counts.shape[1] > 0, out_exact.shape[1] > 0
    some_averages = out_averages.shape[1] > 0
    first = 0
    while first < lines.shape[0]:
        entered, left = done[first, ENTERED], done[first, LEFT]
        last = first + 1
        while (
            last < min(first + TOGETHER, lines.shape[0])
            and done[last, ENTERED] == entered
            and done[last, LEFT] == left
        ):
            last += 1
        for row in range(rows + 1):
            if entered < low[row] and left == entered:  # what is past already need not enter
                left = entered = low[row]
            while entered < high[row]:
                if valid[entered]:
                    for i in range(first, last):
                        group = numbers[lines[i], start + entered]
                        if group >= 0:
                            table[ends[i] + group, 0] += ONE + bits[entered]
                entered += 1
            while left < low[row]:
                if valid[left]:
                    for i in range(first, last):
                        group = numbers[lines[i], start + left]
                        if group >= 0:
                            table[ends[i] + group, 0] -= ONE + bits[left]
                left += 1
            if row == rows:
                break
            for i in range(first, last):
                group = numbers[lines[i], asked + row]
                if group < 0:
                    out_there[i, row] = False
                    continue
                word = table[ends[i] + group, 0]
                exact = (word << OTHER_BITS) >> OTHER_BITS
                count = (word - exact) >> SUM_BITS
                out_there[i, row] = count > 0
                if some_counts:
                    out_counts[i, row] = count
                if some_exact:
                    out_exact[i, row] = exact
                if some_averages:
                    out_averages[i, row] = float(exact) / max(count, 1)
        for i in range(first, last):
            done[i, ENTERED], done[i, LEFT] = entered, left
        first = last
