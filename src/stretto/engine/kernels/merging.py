"""Lists of events that are in order become one."""

import numpy as np

from stretto.values.loops import inlined, loop
from stretto.values.rows import I64


@inlined
def _stays(ts: I64, ids: I64, ranks: I64, one: int, other: int) -> bool:  # pragma: no cover - compiled
    """Whether one event comes before another, or is equal to it."""
    if ts[one] != ts[other]:
        return bool(ts[one] < ts[other])
    if ids[one] != ids[other]:
        return bool(ids[one] < ids[other])
    return bool(ranks[one] <= ranks[other])


@loop
def merged_order(ts: I64, ids: I64, ranks: I64, ends: I64) -> tuple[I64, bool]:  # pragma: no cover - compiled
    """The order of all events by time, id and rank, given as lists that end at `ends`; of equal ones as they stand.

    Beside it whether each list was in this order; if one was not, there is no order of all.
    """
    order = np.arange(ts.shape[0])
    begin = 0
    for end in ends:
        for at in range(begin + 1, end):
            if not _stays(ts, ids, ranks, at - 1, at):
                return order, False
        begin = end
    known = np.empty_like(order)
    for part in range(1, ends.shape[0]):
        begin, end = ends[part - 1], ends[part]
        known[:begin] = order[:begin]
        left, right = 0, begin
        for place in range(end):
            if right == end or (left < begin and _stays(ts, ids, ranks, known[left], right)):
                order[place] = known[left]
                left += 1
            else:
                order[place] = right
                right += 1
    return order, True
