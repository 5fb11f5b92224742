"""Of many lists of times, each with another list: the next time behind each, found by merging the two."""

import numpy as np

from stretto.engine.kernels.segmented_search import seek_in_segments_reference
from stretto.values.loops import loop
from stretto.values.rows import I64, spread


@loop
def followers(
    firsts: I64,
    first_starts: I64,
    nexts: I64,
    next_starts: I64,
    ended: I64,
    lists: I64,
    list_starts: I64,
    within: int,
    found: tuple[I64, I64, I64],
) -> int:  # pragma: no cover - compiled
    """Places among `firsts`, among `nexts` and among `lists`, one of each per row of `found`; how many rows there are.

    Times of list g are `firsts[first_starts[g]:first_starts[g + 1]]`, ascending, those of code c likewise among
    `nexts`. Code c goes with the lists that stand at `list_starts[c]`..`list_starts[c + 1]` - 1 of `lists`: for every
    time of such a list, the first later one of the code, if it is at most `within` behind. A time before `ended[c]` had
    one earlier. What `found` has no room for is counted all the same.
    """
    at_first, at_next, at_list = found
    count, room = 0, at_first.shape[0]
    for code in range(next_starts.shape[0] - 1):
        begin, end = next_starts[code], next_starts[code + 1]
        if begin == end:
            continue
        for place in range(list_starts[code], list_starts[code + 1]):
            at, last = first_starts[lists[place]], first_starts[lists[place] + 1]
            if at == last:
                continue
            low, high, least = at, last, ended[code]
            while low < high:
                middle = (low + high) >> 1
                if firsts[middle] < least:
                    low = middle + 1
                else:
                    high = middle
            behind = begin
            for at in range(low, last):
                time = firsts[at]
                while behind < end and nexts[behind] <= time:
                    behind += 1
                if behind == end:
                    break
                if nexts[behind] - time <= within:
                    if count < room:
                        at_first[count], at_next[count], at_list[count] = at, behind, place
                    count += 1
    return count


def followers_reference(
    firsts: I64,
    first_starts: I64,
    nexts: I64,
    next_starts: I64,
    ended: I64,
    lists: I64,
    list_starts: I64,
    within: int,
) -> tuple[I64, I64, I64]:
    """The same, with room for all."""
    codes = np.flatnonzero(np.diff(next_starts))
    codes, places = _each(codes, list_starts[codes], list_starts[codes + 1])
    of = lists[places]
    which, at = _each(np.arange(len(of)), first_starts[of], first_starts[of + 1])
    codes, places, times = codes[which], places[which], firsts[at]
    behind = next_starts[codes] + seek_in_segments_reference(nexts, next_starts, codes, times)
    there = np.flatnonzero((behind < next_starts[codes + 1]) & (times >= ended[codes]))
    there = there[nexts[behind[there]] - times[there] <= within]
    return at[there], behind[there], places[there]


def _each(of: I64, starts: I64, ends: I64) -> tuple[I64, I64]:
    """Every one of some things with each number of its range."""
    lengths = ends - starts
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return np.repeat(of, lengths), spread(starts, lengths, offsets)
