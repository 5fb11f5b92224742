"""Pairs of a probing row and a stored row inside a band of time, with every term a comparison of int64 keys.

Stored rows lie in `lanes`, one array per key: lane 0 holds the last coordinate, lanes 1..T the keys of the T terms.
Term t holds for the pair (i, r) when `lanes[1 + t, r] <= bounds[t, i]`. The loops fill the output and say where they
stopped, so that a block of pairs stays in the cache whatever the number of pairs.
"""

import numpy as np

from stretto.engine.kernels.eights import (
    ALL,
    COUNT,
    EIGHT,
    PLACES,
    at_most,
    copy_least,
    copy_most,
    fill,
    fill_places,
)
from stretto.engine.kernels.order_keys import LEAST, MOST
from stretto.values.hashing import GOLDEN
from stretto.values.loops import loop
from stretto.values.rows import I64, spread

FRESH = -2
"""Where a walk over a chain has not begun."""
NO_LANE = -1
"""In place of the lane of last times: no stored row ends after the row that finds it."""


def band_pairs_reference(lanes: I64, lo: I64, hi: I64, bounds: I64) -> tuple[I64, I64]:
    """All pairs at once: probing rows ascending, stored rows ascending for each."""
    lengths = np.maximum(hi - lo, 0)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    probe = np.repeat(np.arange(len(lo)), lengths)
    stored = spread(lo, lengths, offsets)
    passed = np.ones(len(probe), np.bool_)
    for t in range(len(bounds)):
        passed &= lanes[1 + t, stored] <= bounds[t, probe]
    return probe[passed], stored[passed]


def chained_pairs_reference(lanes: I64, lo: I64, hi: I64, keys: I64, bounds: I64) -> tuple[I64, I64, int]:
    """All band pairs whose keys are equal, and how many were met; the stored key stands in the last lane but one."""
    probe, stored = band_pairs_reference(lanes, lo, hi, bounds[:0])
    same = lanes[-2, stored] == keys[probe]
    probe, stored = probe[same], stored[same]
    passed = np.ones(len(probe), np.bool_)
    for t in range(len(bounds)):
        passed &= lanes[1 + t, stored] <= bounds[t, probe]
    return probe[passed], stored[passed], len(probe)


@loop
def band_pairs(
    lanes: I64, lo: I64, hi: I64, bounds: I64, probe: I64, stored: I64, i: int, j: int
) -> tuple[int, int, int]:
    """Go on from probing row i, stored row j; return (pairs written, i, j) to go on from."""
    terms, size, capacity = bounds.shape[0], stored.shape[0], lanes.shape[1]
    # Two terms are looked at together. Where there are fewer, any key is at most the greatest bound.
    keys, other_keys = lanes[min(terms, 1)], lanes[min(terms, 2)]
    bound = other_bound = MOST
    # An unsigned count spares the loops the check for negative indices.
    n = np.uint64(0)
    while i < lo.shape[0]:
        # Rows before j are done for probing row i. Never more candidates at a time than the room that is left, so
        # that no loop need ask for it.
        j = max(j, lo[i])
        stop = max(hi[i], j)
        left = size - int(np.int64(n))  # a number without a sign would make it a float
        cut = min(stop, j + left)
        begin = n
        if terms > 0:
            bound = bounds[0, i]
        if terms > 1:
            other_bound = bounds[1, i]
        # Most ranges are short, and to guess where they end costs more than their pairs. So there are always eight
        # candidates, of which those past the end do not count, and always eight pairs, which the next ones overwrite.
        inside = min(cut, j + left - EIGHT + 1, capacity - EIGHT + 1)
        while j < inside:
            bits = ALL >> np.uint64(max(EIGHT - (cut - j), 0))
            bits &= at_most(keys, j, bound) & at_most(other_keys, j, other_bound)
            fill(probe, n, i)
            fill_places(stored, n, j, PLACES[bits])
            n += COUNT[bits]
            j += EIGHT
        for r in range(j, cut):  # where eight are not in the lanes any more, or in the room
            probe[n] = i
            stored[n] = r
            n += np.uint64((keys[r] <= bound) & (other_keys[r] <= other_bound))
        for t in range(2, terms):  # further terms look only at the pairs that are left, in place
            found, n = n, begin
            bound = bounds[t, i]
            for k in range(begin, found):
                row = stored[k]
                stored[n] = row
                n += np.uint64(lanes[1 + t, row] <= bound)
        if cut < stop:
            return int(np.int64(n)), i, cut
        i += 1
        j = 0
    return int(np.int64(n)), i, j


def band_rows_reference(
    lanes: I64,
    lo: I64,
    hi: I64,
    bounds: I64,
    stored_lanes: I64,
    probing: I64,
    last_lane: int,
    *,
    stored_first: bool,
) -> I64:
    """The rows of all pairs: first time, last time, then the columns of the side that is named first.

    `stored_lanes` are the lanes of the stored row's first time and columns; `probing` has the probing rows' first
    time, last time and columns as its rows. A pair's first time is the earlier one, its last the later one; without a
    `last_lane` of the stored rows', the probing row's.
    """
    probe, stored = band_pairs_reference(lanes, lo, hi, bounds)
    left = [lanes[lane, stored] for lane in stored_lanes[1:]]
    right = [probing[c, probe] for c in range(2, len(probing))]
    first = np.minimum(lanes[stored_lanes[0], stored], probing[0, probe])
    columns = [*left, *right] if stored_first else [*right, *left]
    last = (
        probing[1, probe] if last_lane == NO_LANE else np.maximum(lanes[last_lane, stored], probing[1, probe])
    )
    return np.array([first, last, *columns])


@loop
def band_rows(
    lanes: I64,
    lo: I64,
    hi: I64,
    bounds: I64,
    stored_lanes: I64,
    probing: I64,
    stored_at: int,
    probing_at: int,
    room: I64,
    since: int,
    times: I64,
    out: I64,
    i: int,
    j: int,
    last_lane: int,
) -> tuple[int, int, int]:
    """As `band_pairs`, but write the joined rows: first and last times, and one array of `out` for each column.

    The stored row's columns begin at `out[stored_at]`, the probing row's at `out[probing_at]`. `room` takes the pairs
    between finding them and writing their rows, column by column. Times are counted from `since`.
    """
    n = 0
    while i < lo.shape[0] and n < out.shape[1]:
        # Pairs first, then one column after another: each loop reads and writes few arrays, which stay in the cache.
        most = min(room.shape[1], out.shape[1] - n)
        probe, stored = room[0, :most], room[1, :most]
        found, i, j = band_pairs(lanes, lo, hi, bounds, probe, stored, i, j)
        starts, ends = times[0, n : n + found], times[1, n : n + found]
        stored_first, first, last = lanes[stored_lanes[0]], probing[0], probing[1]
        for k in range(found):
            starts[k] = min(stored_first[stored[k]], first[probe[k]]) - since
            ends[k] = last[probe[k]] - since
        if last_lane != NO_LANE:
            stored_last = lanes[last_lane]
            for k in range(found):
                ends[k] = max(stored_last[stored[k]], last[probe[k]]) - since
        for c in range(1, stored_lanes.shape[0]):
            column, values = out[stored_at + c - 1, n : n + found], lanes[stored_lanes[c]]
            for k in range(found):
                column[k] = values[stored[k]]
        for c in range(2, probing.shape[0]):
            column, values = out[probing_at + c - 2, n : n + found], probing[c]
            for k in range(found):
                column[k] = values[probe[k]]
        n += found
    return n, i, j


@loop
def range_rows(
    lanes: I64,
    lo: I64,
    hi: I64,
    _bounds: I64,
    stored_lanes: I64,
    probing: I64,
    stored_at: int,
    probing_at: int,
    _room: I64,
    since: int,
    times: I64,
    out: I64,
    i: int,
    j: int,
    last_lane: int,
) -> tuple[int, int, int]:
    """As `band_rows` where there are no bounds: a range of stored rows is copied as it is, eight at a time."""
    size, capacity = out.shape[1], lanes.shape[1]
    n = 0
    while i < lo.shape[0]:
        j = max(j, lo[i])
        stop = max(hi[i], j)
        cut = min(stop, j + size - n)
        # Always eight, of which the next ones overwrite those past the end of the range.
        eights = min(cut - j, size - n - EIGHT + 1, capacity - j - EIGHT + 1)
        first, last = probing[0, i], probing[1, i]
        for k in range(0, eights, EIGHT):
            copy_least(times[0], n + k, lanes[stored_lanes[0]], j + k, first, since)
        if last_lane == NO_LANE:
            for k in range(0, eights, EIGHT):
                fill(times[1], n + k, last - since)
        else:
            for k in range(0, eights, EIGHT):
                copy_most(times[1], n + k, lanes[last_lane], j + k, last, since)
        for c in range(1, stored_lanes.shape[0]):
            for k in range(0, eights, EIGHT):
                copy_most(out[stored_at + c - 1], n + k, lanes[stored_lanes[c]], j + k, LEAST, 0)
        for c in range(2, probing.shape[0]):
            for k in range(0, eights, EIGHT):
                fill(out[probing_at + c - 2], n + k, probing[c, i])
        done = max(eights + EIGHT - 1, 0) // EIGHT * EIGHT
        for k in range(done, cut - j):  # where eight are not in the lanes any more, or in the room
            times[0, n + k] = min(lanes[stored_lanes[0], j + k], first) - since
            times[1, n + k] = (last if last_lane == NO_LANE else max(lanes[last_lane, j + k], last)) - since
            for c in range(1, stored_lanes.shape[0]):
                out[stored_at + c - 1, n + k] = lanes[stored_lanes[c], j + k]
            for c in range(2, probing.shape[0]):
                out[probing_at + c - 2, n + k] = probing[c, i]
        n += cut - j
        if cut < stop:
            return n, i, cut
        i += 1
        j = 0
    return n, i, j


@loop
def chained_pairs(
    lanes: I64,
    heads: I64,
    shift: np.uint64,
    inserted: int,
    lo: I64,
    hi: I64,
    keys: I64,
    bounds: I64,
    probe: I64,
    stored: I64,
    i: int,
    j: int,
) -> tuple[int, int, int, int, int]:
    """As `band_pairs`, for stored rows whose key equals the probing row's; how many of these were met comes last.

    The last two lanes are the key and the number of the row before in the same bucket. Rows below `hi` enter their
    bucket before they are looked for; `inserted` says how far that has come.
    """
    n = met = 0
    terms = bounds.shape[0]
    key_lane = lanes.shape[0] - 2
    while i < lo.shape[0]:
        # Separate chaining, the lists threaded through a lane: the head of a bucket is its latest row, so numbers
        # fall along a chain, and the first one below `lo` ends the walk. Expired rows need no deletion.
        while inserted < hi[i]:
            bucket = (np.uint64(lanes[key_lane, inserted]) * GOLDEN) >> shift
            lanes[key_lane + 1, inserted] = heads[bucket]
            heads[bucket] = inserted
            inserted += 1
        if j == FRESH:
            j = heads[(np.uint64(keys[i]) * GOLDEN) >> shift]
        while j >= lo[i]:
            holds = j < hi[i] and lanes[key_lane, j] == keys[i]
            met += holds
            t = 0
            while holds and t < terms:
                holds = lanes[1 + t, j] <= bounds[t, i]
                t += 1
            if holds:
                if n == stored.shape[0]:  # it is met again when this goes on
                    return n, i, j, inserted, met - 1
                probe[n] = i
                stored[n] = j
                n += 1
            j = lanes[key_lane + 1, j]
        i += 1
        j = FRESH
    return n, i, j, inserted, met
