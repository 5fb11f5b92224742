"""Matches that keep a distance from the last one kept, key by key: the greedy walk of interval scheduling."""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool

NEVER: int = int(np.iinfo(np.int64).min)
"""The mark of a key of which nothing was kept yet."""
MOST: int = int(np.iinfo(np.int64).max)


def keep_apart_reference(begin: I64, mark: I64, key: I64, last: I64, gap: int) -> Bool:
    """Which rows, in their order, begin at least `gap` after the mark of the last one kept with their key.

    `key`: a number per row, or none where all are alike. `last` holds the mark of each key and is brought up to date.
    """
    kept = np.zeros(len(begin), np.bool_)
    marks = last.tolist()
    rows = zip(begin.tolist(), mark.tolist(), _own(key, len(begin)), strict=True)
    for row, (begins, marks_then, own) in enumerate(rows):
        if marks[own] == NEVER or begins - marks[own] >= gap:
            kept[row] = True
            marks[own] = marks_then
    last[:] = marks
    return kept


@loop
def keep_apart(begin: I64, mark: I64, key: I64, last: I64, gap: int) -> Bool:  # pragma: no cover - compiled
    """As the reference."""
    kept = np.zeros(begin.shape[0], np.bool_)
    for row in range(begin.shape[0]):
        own = key[row] if key.shape[0] else 0
        if last[own] == NEVER or begin[row] - last[own] >= gap:
            kept[row] = True
            last[own] = mark[row]
    return kept


def begun(last: I64) -> I64:
    """For the walk below, where `last` are the marks that keys have: the mark of each, the time of what may be kept
    last, the mark before that time, and the least rank in it.
    """
    return np.stack([last, np.full_like(last, NEVER), np.full_like(last, NEVER), np.full_like(last, MOST)])


def may_keep_reference(
    time: I64, rank: I64, since: int, key: I64, state: I64, gap: int, by_rank: bool, found: I64
) -> int:
    """Which rows, in the order of their times, the walk above could keep if those of one time were in order of `rank`.

    For rows whose mark is their time; they begin then or, `by_rank`, at their rank. Times and ranks are counted from
    `since`. Which of equal ranks comes first is open; what is left out is kept in no case. Writes the rows to `found`
    and says how many they are; -1 where times are out of order. `state`: as `begun` gives it, for rows that follow.
    """
    times = time.astype(np.int64)
    if (times[1:] < times[:-1]).any():
        return -1
    marks, now, before, least = state.tolist()
    kept = []
    rows = zip(
        (times + since).tolist(),
        (rank.astype(np.int64) + since).tolist(),
        _own(key, len(time)),
        strict=True,
    )
    for row, (then, ranks, own) in enumerate(rows):
        again = now[own] == then
        mark = before[own] if again else marks[own]
        begins = ranks if by_rank else then
        # One that is kept rules out the others of its time, unless they may follow it at once.
        if (mark == NEVER or begins - mark >= gap) and (not again or gap <= 0 or ranks <= least[own]):
            kept.append(row)
            before[own], now[own], marks[own], least[own] = mark, then, then, ranks
    state[:] = marks, now, before, least
    found[: len(kept)] = kept
    return len(kept)


@loop
def may_keep(
    time: I64, rank: I64, since: int, key: I64, state: I64, gap: int, by_rank: bool, found: I64
) -> int:  # pragma: no cover - compiled
    """As the reference."""
    count = 0
    latest = np.int64(NEVER)
    for row in range(time.shape[0]):
        own = key[row] if key.shape[0] else 0
        then = since + np.int64(time[row])
        if then < latest:
            return -1
        latest = then
        again = state[1, own] == then
        mark = state[2, own] if again else state[0, own]
        # Most rows end here, and their ranks are not read.
        if not by_rank and mark != NEVER and then - mark < gap:
            continue
        ranks = since + np.int64(rank[row])
        begins = ranks if by_rank else then
        if (mark == NEVER or begins - mark >= gap) and (not again or gap <= 0 or ranks <= state[3, own]):
            found[count] = row
            count += 1
            state[0, own] = then
            state[1, own] = then
            state[2, own] = mark
            state[3, own] = ranks
    return count


def _own(key: I64, count: int) -> list[int]:
    """The key of each row."""
    return key.tolist() if len(key) else [0] * count
