"""Matches that keep a distance from the last one kept, key by key: the greedy walk of interval scheduling."""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool

NEVER: int = int(np.iinfo(np.int64).min)
"""The mark of a key of which nothing was kept yet."""


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
    """For the walk below, where `last` are the marks that keys have. A column per key: its mark, the time of what was
    kept last, the mark before that time, the least rank in it, and the place of the first row that has it.
    """
    # Of most rows only the mark is read: marks lie close together.
    state = np.full((5, len(last)), NEVER)
    state[0] = last
    return state


def first_ones_reference(
    time: I64,
    rank: I64,
    since: int,
    key: I64,
    low: int,
    look: I64,
    base: int,
    state: I64,
    gap: int,
    by_rank: bool,
    before: int,
    found: I64,
    counts: I64,
) -> None:
    """Which rows, in the order of their times, the walk above keeps if those of one time are in the order of `rank`.

    For rows whose mark is their time; they begin then or, `by_rank`, at their rank, and `gap` is more than nothing: of
    those with one time and key, one is kept. Times and ranks are counted from `since`, keys from `low`; if there is
    something to `look` them up in, `key` has their places there, counted from `base`. Which of equal ranks comes first
    is open, so all of these are written: to `found[0]` their rows, numbered from `before` on and ascending, to
    `found[1]` a number that they share; one of a greater rank may be among them. `counts`: rows and numbers written so
    far. `state`: as `begun` gives it. With these, rows in several parts are walked part by part.
    """
    count, shared = counts.tolist()
    kept = state.T.tolist()
    numbers = _own((look[key - base] if len(look) else key) - low, len(time))
    times, ranks = ((values.astype(np.int64) + since).tolist() for values in (time, rank))
    for row, (then, ranked, own) in enumerate(zip(times, ranks, numbers, strict=True)):
        mark, now, earlier, least, place = kept[own]
        again = now == then
        mark = earlier if again else mark
        if (mark != NEVER and (ranked if by_rank else then) - mark < gap) or (again and ranked > least):
            continue
        number = found[1, place] if again else shared
        shared += not again
        if not again or ranked < least:
            # What was written for a greater rank is written over, where nothing else came after it.
            count = place if again and (not len(key) or place == count - 1) else count
            kept[own] = [then, then, mark, ranked, count]
        found[:, count] = before + row, number
        count += 1
    state.T[:], counts[:] = kept, (count, shared)


@loop
def first_ones(
    time: I64,
    rank: I64,
    since: int,
    key: I64,
    low: int,
    look: I64,
    base: int,
    state: I64,
    gap: int,
    by_rank: bool,
    before: int,
    found: I64,
    counts: I64,
) -> None:  # pragma: no cover - compiled
    """As the reference."""
    alike, looked = key.shape[0] == 0, look.shape[0] > 0
    count, shared = counts
    marks = state[0]
    row, own = 0, np.uint64(0)
    while row < time.shape[0]:
        if looked:
            own = np.uint64(look[np.uint64(key[row] - base)] - low)
        elif not alike:
            own = np.uint64(key[row] - low)
        then = since + np.int64(time[row])
        mark = marks[own]
        again = mark == then and state[1, own] == then
        if again:
            mark = state[2, own]
        # Most rows end here, and where their times decide, their ranks are not read.
        if mark != NEVER:
            if not by_rank and then - mark < gap:
                row = _next_at(time, row, mark + gap - since) if alike else row + 1
                continue
            if by_rank and since + np.int64(rank[row]) - mark < gap:
                row += 1
                while (
                    alike and not again and row < time.shape[0] and np.int64(rank[row]) < mark + gap - since
                ):
                    row += 1
                continue
        ranked = since + np.int64(rank[row])
        if again and ranked > state[3, own]:
            row += 1
            continue
        number = found[1, state[4, own]] if again else shared
        shared += not again
        if not again or ranked < state[3, own]:
            if again and (alike or state[4, own] == count - 1):
                count = state[4, own]
            marks[own] = state[1, own] = then
            state[2, own] = mark
            state[3, own] = ranked
            state[4, own] = count
        found[0, count] = before + row
        found[1, count] = number
        count += 1
        row += 1
    counts[0], counts[1] = count, shared


def earliest_reference(
    time: I64, since: int, length: int, most: int, state: I64, before: int, found: I64
) -> int:
    """Which rows, in the order of their times, may be among the first `most` of their stretch of time.

    Which of one time comes first is open: the last of these rows come with all of their time. Times are counted from
    `since`, and a stretch has this length. Writes the rows, numbered from `before` on, to `found` and says how many
    they are. `state`: the stretch, the rows of it so far, and the time of the last of the first.
    """
    stretch, rows, last = state.tolist()
    kept = []
    for row, then in enumerate((time.astype(np.int64) + since).tolist()):
        if then // length != stretch:
            stretch, rows, last = then // length, 0, NEVER
        if rows < most or then == last:
            last = then if rows < most else last
            rows += 1
            kept.append(before + row)
    state[:] = stretch, rows, last
    found[: len(kept)] = kept
    return len(kept)


@loop
def earliest(
    time: I64, since: int, length: int, most: int, state: I64, before: int, found: I64
) -> int:  # pragma: no cover - compiled
    """As the reference."""
    stretch, rows, last = state
    count = row = 0
    while row < time.shape[0]:
        then = since + np.int64(time[row])
        if then // length != stretch:
            stretch, rows, last = then // length, 0, NEVER
        if rows >= most and then != last:
            row = _next_at(time, row, (stretch + 1) * length - since)
            continue
        if rows < most:
            last = then
        rows += 1
        found[count] = before + row
        count += 1
        row += 1
    state[0], state[1], state[2] = stretch, rows, last
    return count


@loop
def _next_at(ascending: I64, begin: int, least: int) -> int:  # pragma: no cover - compiled
    """The first row after `begin`, whose value is less, that has at least this value: galloping search."""
    step = 1
    while begin + step < ascending.shape[0] and np.int64(ascending[begin + step]) < least:
        begin += step
        step *= 2
    end = min(begin + step, ascending.shape[0])
    begin += 1
    while begin < end:
        middle = (begin + end) // 2
        if np.int64(ascending[middle]) < least:
            begin = middle + 1
        else:
            end = middle
    return begin


def _own(key: I64, count: int) -> list[int]:
    """The key of each row."""
    return key.tolist() if len(key) else [0] * count
