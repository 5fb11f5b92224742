"""Extremes and counts over sliding windows of many groups: a monotone deque per group.

(Lemire, Streaming maximum-minimum filter using no more than three comparisons per element, 2006.) A deque holds the
values that can still become the least, in time order and ascending. Deques are lists through the events themselves:
`before` and `after` link the places of events in the window, whose first is number `base` of all events ever. The
greatest value is the least of the keys turned over.
"""

import numpy as np

from stretto.engine.derived.kernels.exact_sums import ENTERED, LEFT
from stretto.values.loops import inlined, loop
from stretto.values.rows import I64, Bool

MOST = np.iinfo(np.int64).max
INFINITE = 0x7FF0000000000000
"""The bits of the infinite double, which are its key too: a NaN is beyond."""
COUNT, NAN, HEAD, TAIL = 0, 1, 2, 3
"""Columns of a group: values, NaN among them, and both ends of its deque as numbers of events, plus 1 (0: empty)."""


@inlined
def key_of(bits: int, doubles: bool, highest: bool) -> int:
    """An integer in the order of the values (a zero below zero is less than zero), or against it if `highest`."""
    key = bits ^ ((bits >> 63) & MOST) if doubles else bits
    return ~key if highest else key


@inlined
def enter(
    at: int,
    bits: I64,
    doubles: bool,
    highest: bool,
    base: int,
    state: I64,
    before: I64,
    after: I64,
    group: int,
) -> None:
    """A value comes in at the end: those that are not less will never be the least again."""
    tail = state[group, TAIL]
    key = key_of(bits[at], doubles, highest)
    while tail and key_of(bits[tail - 1 - base], doubles, highest) >= key:
        tail = before[tail - 1 - base]
    before[at] = tail
    after[at] = 0
    if tail:
        after[tail - 1 - base] = at + base + 1
    else:
        state[group, HEAD] = at + base + 1
    state[group, TAIL] = at + base + 1


@inlined
def leave(at: int, base: int, state: I64, before: I64, after: I64, group: int) -> None:
    """The oldest value of its group goes; it is the first of the deque, or it is not there any more."""
    if state[group, HEAD] == at + base + 1:
        state[group, HEAD] = after[at]
        if after[at]:
            before[after[at] - 1 - base] = 0
        else:
            state[group, TAIL] = 0


@loop
def extremes_in_windows(
    groups: I64,
    bits: I64,
    valid: Bool,
    doubles: bool,
    highest: bool,
    base: int,
    low: I64,
    high: I64,
    asked: I64,
    done: I64,
    state: I64,
    before: I64,
    after: I64,
    out_counts: I64,
    out_nans: I64,
    out_bits: I64,
) -> None:
    """Per row, how many values its group has in `low`..`high` - 1, how many are NaN, and the least (or greatest) other.

    `low` and `high` have one place more than rows are asked for: how far to go on at the end.
    """
    for row in range(low.shape[0]):
        while done[LEFT] < min(low[row], done[ENTERED]):
            at = done[LEFT]
            group = groups[at]
            if group >= 0 and valid[at]:
                state[group, COUNT] -= 1
                if doubles and (bits[at] & MOST) > INFINITE:
                    state[group, NAN] -= 1
                else:
                    leave(at, base, state, before, after, group)
            done[LEFT] += 1
        if done[LEFT] < low[row]:  # what is past already need not enter
            done[LEFT] = done[ENTERED] = low[row]
        while done[ENTERED] < high[row]:
            at = done[ENTERED]
            group = groups[at]
            if group >= 0 and valid[at]:
                state[group, COUNT] += 1
                if doubles and (bits[at] & MOST) > INFINITE:
                    state[group, NAN] += 1
                else:
                    enter(at, bits, doubles, highest, base, state, before, after, group)
            done[ENTERED] += 1
        if row == asked.shape[0]:
            break
        group = asked[row]
        out_counts[row] = state[group, COUNT]
        out_nans[row] = state[group, NAN]
        head = state[group, HEAD]
        out_bits[row] = bits[head - 1 - base] if head else np.int64(0)


@loop
def count_in_windows(
    groups: I64, valid: Bool, low: I64, high: I64, asked: I64, done: I64, state: I64, out_counts: I64
) -> None:
    """Per row, how many valid events (`valid` empty: all) its group has in `low`..`high` - 1; see above."""
    everything = valid.shape[0] == 0
    for row in range(low.shape[0]):
        while done[LEFT] < min(low[row], done[ENTERED]):
            at = done[LEFT]
            if groups[at] >= 0 and (everything or valid[at]):
                state[groups[at], 0] -= 1
            done[LEFT] += 1
        if done[LEFT] < low[row]:
            done[LEFT] = done[ENTERED] = low[row]
        while done[ENTERED] < high[row]:
            at = done[ENTERED]
            if groups[at] >= 0 and (everything or valid[at]):
                state[groups[at], 0] += 1
            done[ENTERED] += 1
        if row < asked.shape[0]:
            out_counts[row] = state[asked[row], 0]
