"""Places of many values in a sorted array, found from one to the next.

A finger search, near to galloping (Bentley and Yao, An almost optimal algorithm for unbounded searching, 1976): the
place of the last value is the finger, a few steps go on from there, and what these do not reach is searched by halves.
"""

import numpy as np

from stretto.engine.kernels.eights import EIGHT, count_below
from stretto.values.loops import loop
from stretto.values.rows import I64, Bool

MOST = np.iinfo(np.int64).max
LINES = 4
"""Times eight entries, a line of the cache, that are looked at one after another."""


def look_up(distinct: I64, values: I64) -> tuple[I64, Bool]:
    """A place of each value among sorted distinct ones, and whether the value is there."""
    if not len(distinct):
        return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    return place, distinct[place] == values


def seek_reference(array: I64, values: I64, *, after: bool) -> I64:
    """Per value, how many entries of the sorted array are less than it (`after`: at most it)."""
    return np.searchsorted(array, values, side="right" if after else "left")


@loop
def _place(array: I64, bound: int, at: int) -> int:  # pragma: no cover - compiled
    """How many entries are less than the bound, searched from the place `at` on, where the last value was.

    From there, on or back, a few times eight entries, then a search by halves of what is left.
    """
    n = array.shape[0]
    # The place lies in low..high: all entries before low are less than the bound, none from high on is.
    low, high = 0, at
    if at == 0 or array[at - 1] < bound:
        low, high = at, n
        for _ in range(LINES):
            if low + EIGHT > n:
                break
            less = count_below(array, low, bound)  # nobody guesses how many it takes
            low += less
            if less < EIGHT:
                return low
    else:
        for _ in range(LINES):
            if high < EIGHT:
                break
            less = count_below(array, high - EIGHT, bound)
            if less > 0:
                return high - EIGHT + less
            high -= EIGHT
    while low < high:
        middle = (low + high) // 2
        if array[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@loop
def seek(array: I64, values: I64, after: int) -> I64:  # pragma: no cover - compiled
    """As the reference."""
    n = array.shape[0]
    places = np.empty(values.shape[0], np.int64)
    at = 0
    for i in range(values.shape[0]):
        # Entries at most v are those less than v + 1, but for the greatest integer, which has none above it.
        if after and values[i] == MOST:
            at = n
        else:
            at = _place(array, values[i] + after, at)
        places[i] = at
    return places


def spans_reference(
    lows: I64, low: I64, low_after: int, highs: I64, high: I64, high_after: int, begin: int
) -> tuple[I64, I64, int]:
    """Per row a range of entries, whose first is `begin`, and how many are in all ranges together.

    A range begins at the place of `low` among `lows` and ends before that of `high` among `highs`, which are as many.
    """
    first = seek_reference(lows, low, after=bool(low_after)) + begin
    last = np.maximum(seek_reference(highs, high, after=bool(high_after)) + begin, first)
    return first, last, int((last - first).sum())


@loop
def spans(
    lows: I64, low: I64, low_after: int, highs: I64, high: I64, high_after: int, begin: int
) -> tuple[I64, I64, int]:  # pragma: no cover - compiled
    """As the reference."""
    n, rows = lows.shape[0], low.shape[0]
    first, last = np.empty(rows, np.int64), np.empty(rows, np.int64)
    left = right = count = 0
    for i in range(rows):
        left = n if low_after and low[i] == MOST else _place(lows, low[i] + low_after, left)
        right = n if high_after and high[i] == MOST else _place(highs, high[i] + high_after, right)
        stop = max(left, right)
        first[i], last[i] = left + begin, stop + begin
        count += stop - left
    return first, last, count
