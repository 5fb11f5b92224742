"""Matches that keep a distance from the last one kept, key by key: the greedy walk of interval scheduling."""

import numpy as np
from numba import njit

from stretto.values.rows import I64, Bool

NEVER: int = int(np.iinfo(np.int64).min)
"""The mark of a key of which nothing was kept yet."""
MOST: int = int(np.iinfo(np.int64).max)


def keep_apart_reference(begin: I64, mark: I64, key: I64, last: I64, gap: int) -> Bool:
    """Which rows, in their order, begin at least `gap` after the mark of the last one kept with their key.

    `last` holds the mark of each key and is brought up to date.
    """
    kept = np.zeros(len(begin), np.bool_)
    marks = last.tolist()
    rows = zip(begin.tolist(), mark.tolist(), key.tolist(), strict=True)
    for row, (begins, marks_then, own) in enumerate(rows):
        if marks[own] == NEVER or begins - marks[own] >= gap:
            kept[row] = True
            marks[own] = marks_then
    last[:] = marks
    return kept


@njit(cache=True, nogil=True)
def keep_apart(begin: I64, mark: I64, key: I64, last: I64, gap: int) -> Bool:  # pragma: no cover - compiled
    """As the reference."""
    kept = np.zeros(begin.shape[0], np.bool_)
    for row in range(begin.shape[0]):
        own = key[row]
        if last[own] == NEVER or begin[row] - last[own] >= gap:
            kept[row] = True
            last[own] = mark[row]
    return kept


def may_keep_reference(begin: I64, time: I64, rank: I64, key: I64, last: I64, gap: int) -> Bool:
    """Which rows, in the order of their times, the walk above could keep if those of one time were in order of `rank`.

    For rows whose mark is their time. Which of equal ranks comes first is open; what is left out is kept in no case.
    """
    kept = np.zeros(len(begin), np.bool_)
    marks, now, before, least = last.tolist(), [NEVER] * len(last), [NEVER] * len(last), [MOST] * len(last)
    rows = zip(begin.tolist(), time.tolist(), rank.tolist(), key.tolist(), strict=True)
    for row, (begins, then, ranks, own) in enumerate(rows):
        again = now[own] == then
        mark = before[own] if again else marks[own]
        # One that is kept rules out the others of its time, unless they may follow it at once.
        if (mark == NEVER or begins - mark >= gap) and (not again or gap <= 0 or ranks <= least[own]):
            kept[row] = True
            before[own], now[own], marks[own], least[own] = mark, then, then, ranks
    return kept


@njit(cache=True, nogil=True)
def may_keep(
    begin: I64, time: I64, rank: I64, key: I64, last: I64, gap: int
) -> Bool:  # pragma: no cover - compiled
    """As the reference."""
    kept = np.zeros(begin.shape[0], np.bool_)
    marks = last.copy()
    now = np.full(last.shape[0], NEVER)
    before = np.full(last.shape[0], NEVER)
    least = np.full(last.shape[0], MOST)
    for row in range(begin.shape[0]):
        own = key[row]
        again = now[own] == time[row]
        mark = before[own] if again else marks[own]
        if (mark == NEVER or begin[row] - mark >= gap) and (not again or gap <= 0 or rank[row] <= least[own]):
            kept[row] = True
            before[own] = mark
            now[own] = time[row]
            marks[own] = time[row]
            least[own] = rank[row]
    return kept
