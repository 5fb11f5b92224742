"""Places of many values in sorted arrays that lie one after another, and boxes that cover a cell."""

import numpy as np

from stretto.values.loops import loop
from stretto.values.rows import I64, Bool


@loop
def seek_in_segments(edges: I64, starts: I64, segments: I64, values: I64) -> I64:
    """Per value, how many edges of its segment are at most it; -1 where the segment is -1.

    Segment s holds `edges[starts[s]:starts[s + 1]]`, ascending.
    """
    ranks = np.empty(values.shape[0], np.int64)
    for i in range(values.shape[0]):
        if segments[i] < 0:
            ranks[i] = -1
            continue
        first = starts[segments[i]]
        low, high = first, starts[segments[i] + 1]
        while low < high:
            middle = (low + high) >> 1
            if edges[middle] <= values[i]:
                low = middle + 1
            else:
                high = middle
        ranks[i] = low - first
    return ranks


def seek_in_segments_reference(edges: I64, starts: I64, segments: I64, values: I64) -> I64:
    ranks = np.full(len(values), -1, np.int64)
    order = np.argsort(segments, kind="stable")
    bounds = np.searchsorted(segments[order], np.arange(len(starts)))
    for segment in np.unique(segments[segments >= 0]).tolist():
        rows = order[bounds[segment] : bounds[segment + 1]]
        own = edges[starts[segment] : starts[segment + 1]]
        ranks[rows] = np.searchsorted(own, values[rows], side="right")
    return ranks


@loop
def any_box_covers(
    low: I64, high: I64, reach: I64, starts: I64, alive: Bool, cells: I64, groups: I64
) -> Bool:
    """Per row of cells, whether a box that is alive in the row's group has all of them in low..high - 1.

    The boxes of group g are rows `starts[g]`..`starts[g + 1] - 1` of `low` and `high`, ascending by their first low;
    `reach` is the greatest first high of the group's boxes up to each: before one that reaches less, none covers.
    """
    found = np.zeros(cells.shape[0], np.bool_)
    for i in range(cells.shape[0]):
        first = starts[groups[i]]
        begin, end = first, starts[groups[i] + 1]
        while begin < end:  # the boxes that begin at most here
            middle = (begin + end) >> 1
            if low[middle, 0] <= cells[i, 0]:
                begin = middle + 1
            else:
                end = middle
        at = begin - 1
        while at >= first and reach[at] > cells[i, 0] and not found[i]:
            covers = alive[at]
            for j in range(low.shape[1]):
                covers &= low[at, j] <= cells[i, j] < high[at, j]
            found[i] = covers
            at -= 1
    return found


def any_box_covers_reference(
    low: I64, high: I64, _reach: I64, starts: I64, alive: Bool, cells: I64, groups: I64
) -> Bool:
    found = np.zeros(len(cells), np.bool_)
    for i, (cell, group) in enumerate(zip(cells, groups.tolist(), strict=True)):
        own = slice(starts[group], starts[group + 1])
        covers = (low[own] <= cell) & (cell < high[own])
        found[i] = bool((covers.all(axis=1) & alive[own]).any())
    return found
