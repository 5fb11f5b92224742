"""Pairs of a probing row and a stored row inside a band of time, with every term a comparison of int64 keys.

Stored rows lie in `lanes`, one array per key: lane 0 holds the last coordinate, lanes 1..T the keys of the T terms.
Term t holds for the pair (i, r) when `lanes[1 + t, r] <= bounds[t, i]`. The loops fill the output and say where they
stopped, so that a block of pairs stays in the cache whatever the number of pairs.
"""

import numpy as np
from numba import njit

from stretto.engine.rows import I64, spread

FRESH = -2
"""Where a walk over a chain has not begun."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


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


@njit(cache=True, nogil=True)
def band_pairs(
    lanes: I64, lo: I64, hi: I64, bounds: I64, probe: I64, stored: I64, i: int, j: int
) -> tuple[int, int, int]:
    """Go on from probing row i, stored row j; return (pairs written, i, j) to go on from."""
    n = 0
    terms = bounds.shape[0]
    while i < lo.shape[0]:
        j = max(j, lo[i])
        stop = max(hi[i], j)
        cut = min(stop, j + stored.shape[0] - n)
        # Views from 0 and an unsigned count spare the loops the check for negative indices: half their time.
        room = stored[n:]
        found = np.uint64(0)
        if terms == 0:
            for r in range(cut - j):
                room[r] = j + r
            found = np.uint64(cut - j)
        elif terms == 1:
            bound = bounds[0, i]
            keys = lanes[1, j:cut]
            for r in range(keys.shape[0]):
                room[found] = j + r
                found += np.uint64(keys[r] <= bound)
        else:
            bound, other_bound = bounds[0, i], bounds[1, i]
            keys, other_keys = lanes[1, j:cut], lanes[2, j:cut]
            for r in range(keys.shape[0]):
                room[found] = j + r
                found += np.uint64((keys[r] <= bound) & (other_keys[r] <= other_bound))
        for t in range(2, terms):
            candidates = found
            found = np.uint64(0)
            bound = bounds[t, i]
            for k in range(candidates):
                row = room[k]
                room[found] = row
                found += np.uint64(lanes[1 + t, row] <= bound)
        end = n + int(found)
        probe[n:end] = i
        n = end
        if cut < stop:
            return n, i, cut
        i += 1
        j = 0
    return n, i, j


@njit(cache=True, nogil=True)
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
) -> tuple[int, int, int, int]:
    """As `band_pairs`, for stored rows whose key equals the probing row's.

    The last two lanes are the key and the number of the row before in the same bucket. Rows below `hi` enter their
    bucket before they are looked for; `inserted` says how far that has come.
    """
    n = 0
    terms = bounds.shape[0]
    key_lane = lanes.shape[0] - 2
    while i < lo.shape[0]:
        while inserted < hi[i]:
            bucket = (np.uint64(lanes[key_lane, inserted]) * _GOLDEN) >> shift
            lanes[key_lane + 1, inserted] = heads[bucket]
            heads[bucket] = inserted
            inserted += 1
        if j == FRESH:
            j = heads[(np.uint64(keys[i]) * _GOLDEN) >> shift]
        while j >= lo[i]:
            holds = j < hi[i] and lanes[key_lane, j] == keys[i]
            t = 0
            while holds and t < terms:
                holds = lanes[1 + t, j] <= bounds[t, i]
                t += 1
            if holds:
                if n == stored.shape[0]:
                    return n, i, j, inserted
                probe[n] = i
                stored[n] = j
                n += 1
            j = lanes[key_lane + 1, j]
        i += 1
        j = FRESH
    return n, i, j, inserted
