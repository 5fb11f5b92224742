"""The rows of a band's pairs, as `band_rows` writes them, but for those that KEEP and LIMIT drop.

A pair that is dropped is counted, and nothing of it is written. Probing rows come in the order of their last times,
which are those at which their pairs are detected.
"""

from typing import Any

import numpy as np

from stretto.engine.kernels.band import band_pairs
from stretto.engine.kernels.keep_apart import NEVER
from stretto.engine.kernels.order_keys import MOST
from stretto.values.loops import loop
from stretto.values.rows import I64

FIRST, APART, LIMIT = 0, 1, 2
"""What pairs are dropped by."""


@loop
def sieved_rows(
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
    rule: I64,
    marks: I64,
    look: I64,
    order: I64,
    ids: I64,
    counts: I64,
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """As `band_rows`, for pairs that a rule leaves; to be called until no probing row and no pending pair is left.

    `rule`: what to drop by; the gap, or the length of a stretch; how many LIMIT leaves of one; from where the event is
    read whose key a pair has; what events are counted from; and the key that has the first of the marks. `look` has the
    keys of events; if it is empty, all pairs are alike. Events are in a lane, or, -1 less it, a row of `probing`.
    `marks`: per key its mark, the mark before that one's time, the earliest start in that time, and which row that is;
    of LIMIT the stretch, the rows of it so far, and the time of the last of the first. They are brought up to date.
    `last_lane`: that of the stored rows' last times, which rise.

    Of one time and key that pair is left which starts first, and then that whose ids are less: those of the events that
    `order` names, each in its turn, as `ids` has them or, if it is empty, their positions. `counts`: rows written so
    far, pairs that lie pending in `room`, pairs that were left out, and whether none is left that should not be: a rule
    may not know some key, or two that are to be compared were too far apart.
    """
    n = 0
    probe, stored, last = room[0], room[1], probing[1]
    while True:
        found = before = counts[1]
        if look.shape[0]:
            if i < lo.shape[0]:
                new, i, j = band_pairs(lanes, lo, hi, bounds, probe[before:], stored[before:], i, j)
                met = np.int64(new)  # as `before` is: with unsigned ones Numba would go over to doubles
                found = _of_keys(
                    lanes, stored_lanes[0], probing, probe, stored, met, rule, marks, look, order, ids, counts
                )
                counts[2] += before + met - found
        else:
            found, i, j = _alike(
                lanes,
                lo,
                hi,
                bounds,
                stored_lanes[0],
                last_lane,
                probing,
                probe,
                stored,
                i,
                j,
                rule,
                marks,
                order,
                ids,
                counts,
            )
        # What comes next may be of the time of the last pairs, and one of it then stand in the place of one of those.
        ready = found
        while i < lo.shape[0] and ready > 0 and last[probe[ready - 1]] == last[i]:
            ready -= 1
        ready = min(found if ready == 0 and found == probe.shape[0] else ready, out.shape[1] - n)
        starts, ends = times[0, n : n + ready], times[1, n : n + ready]
        stored_first, first = lanes[stored_lanes[0]], probing[0]
        for k in range(ready):
            starts[k] = min(stored_first[stored[k]], first[probe[k]]) - since
            ends[k] = last[probe[k]] - since
        for c in range(1, stored_lanes.shape[0]):
            column, values = out[stored_at + c - 1, n : n + ready], lanes[stored_lanes[c]]
            for k in range(ready):
                column[k] = values[stored[k]]
        for c in range(2, probing.shape[0]):
            column, values = out[probing_at + c - 2, n : n + ready], probing[c]
            for k in range(ready):
                column[k] = values[probe[k]]
        for k in range(ready, found):
            probe[k - ready], stored[k - ready] = probe[k], stored[k]
        n += ready
        counts[0] += ready
        counts[1] = found - ready
        if n == out.shape[1] or (i >= lo.shape[0] and found == ready):
            return n, i, j


@loop
def _of_keys(
    lanes: I64,
    first_lane: int,
    probing: I64,
    probe: I64,
    stored: I64,
    met: Any,
    rule: I64,
    marks: I64,
    look: I64,
    order: I64,
    ids: I64,
    counts: I64,
) -> int:  # pragma: no cover - compiled
    """Leave of so many pairs behind those that are pending, in place, what FIRST and APART keep; how many there are."""
    apart, gap, source, base, low = rule[0] == APART, rule[1], rule[3], rule[4], rule[5]
    keys, by_stored = np.uint64(marks.shape[1]), source >= 0
    events = lanes[source] if by_stored else probing[-1 - source]
    stored_first, first, last = lanes[first_lane], probing[0], probing[1]
    newest, earlier, least, place = marks[0], marks[1], marks[2], marks[3]
    written, n = counts[0], counts[1]
    for k in range(n, n + met):
        at, row = np.uint64(probe[k]), np.uint64(stored[k])
        own = np.uint64(look[np.uint64(events[row if by_stored else at] - base)] - low)
        if own >= keys:  # of a key without a mark, nothing is known
            counts[3] = 0
            probe[n], stored[n] = at, row
            n += 1
            continue
        then, mark = last[at], newest[own]
        again = mark == then
        # Most are dropped, and where their times decide that, their starts are not read.
        if not (apart or again) and mark != NEVER and then - mark < gap:
            continue
        start = min(stored_first[row], first[at])
        if again:
            mark = earlier[own]
        if mark != NEVER and (start if apart else then) - mark < gap:
            continue
        if again:
            if start > least[own]:
                continue
            there = place[own] - written
            if there >= 0 and order.shape[0]:
                other_at, other = probe[there], stored[there]
                if start < least[own] or _precedes(
                    lanes, probing, order, ids, base, at, row, other_at, other
                ):
                    probe[there], stored[there] = at, row
                    least[own] = start
                continue
            counts[3] = 0
        else:
            newest[own], earlier[own] = then, mark
        least[own], place[own] = start, written + n
        probe[n], stored[n] = at, row
        n += 1
    return int(n)


@loop
def _alike(
    lanes: I64,
    lo: I64,
    hi: I64,
    bounds: I64,
    first_lane: int,
    last_lane: int,
    probing: I64,
    probe: I64,
    stored: I64,
    i: int,
    j: int,
    rule: I64,
    marks: I64,
    order: I64,
    ids: I64,
    counts: I64,
) -> tuple[int, int, int]:  # pragma: no cover - compiled
    """As `band_pairs`, behind the pairs that are pending, where no key tells them apart."""
    # Lanes are taken here once: a slice for each row would cost more than the few candidates that it has.
    terms, word, gap, most = bounds.shape[0], rule[0], rule[1], rule[2]
    keys, other_keys, lasts = lanes[min(terms, 1)], lanes[min(terms, 2)], lanes[last_lane]
    stored_first, first, last = lanes[first_lane], probing[0], probing[1]
    newest, earlier, least, place = marks[0, 0], marks[1, 0], marks[2, 0], marks[3, 0]
    written, n, left_out = counts[0], counts[1], 0
    # For APART: every stored row before this one ends at or before the last mark. Marks only rise, so this stays true.
    reached = 0
    while i < lo.shape[0] and n < probe.shape[0]:
        then, begin = last[i], max(j, lo[i])
        end = max(hi[i], begin)
        bound = bounds[0, i] if terms > 0 else MOST
        other_bound = bounds[1, i] if terms > 1 else MOST
        mark, skipped = NEVER, begin
        if word == LIMIT:  # its stretch, the rows of that, and the time of the last of the first
            if then // gap != newest:
                newest, earlier, least = then // gap, 0, NEVER
            if earlier >= most and then != least:
                skipped = end
        else:
            mark = earlier if newest == then else newest
            if mark != NEVER and word == FIRST and then - mark < gap:
                skipped = end
            elif mark != NEVER and word == APART:
                # Ranges may begin earlier than the range before them, if the order terms of the last join say so.
                # Therefore rows before the range are dropped only after one of its rows was.
                skipped = max(begin, min(reached, end))
                while skipped < end and lasts[skipped] - mark < gap:
                    skipped += 1
                if skipped > begin:
                    reached = max(reached, skipped)
        # Of these it is enough to know how many there are.
        if terms <= 2:
            for r in range(np.uint64(begin), np.uint64(skipped)):
                left_out += (keys[r] <= bound) & (other_keys[r] <= other_bound)
        else:
            left_out += _partners(lanes, bounds, i, begin, skipped)
        cut = min(end, skipped + probe.shape[0] - n)
        for r in range(np.uint64(skipped), np.uint64(cut)):
            if keys[r] > bound or other_keys[r] > other_bound:
                continue
            if terms > 2 and not _rest_holds(lanes, bounds, i, r):
                continue
            start = min(stored_first[r], first[i])
            if word == LIMIT:
                least = then if earlier < most else least
                earlier += 1
            elif mark != NEVER and word == APART and start - mark < gap:
                left_out += 1
                continue
            elif newest != then:
                newest, earlier, least, place = then, mark, start, written + n
            elif start > least:
                left_out += 1
                continue
            elif place >= written and order.shape[0]:
                other_at, other = probe[place - written], stored[place - written]
                if start < least or _precedes(lanes, probing, order, ids, rule[4], i, r, other_at, other):
                    probe[place - written], stored[place - written] = i, r
                    least = start
                left_out += 1
                continue
            else:
                least, place = start, written + n
                counts[3] = 0
            probe[n], stored[n] = i, r
            n += 1
        if cut < end:
            j = cut
        else:
            i += 1
            j = 0
    marks[0, 0], marks[1, 0], marks[2, 0], marks[3, 0] = newest, earlier, least, place
    counts[2] += left_out
    return n, i, j


@loop
def _precedes(
    lanes: I64,
    probing: I64,
    order: I64,
    ids: I64,
    base: int,
    at: Any,
    row: Any,
    other_at: int,
    other: int,
) -> bool:  # pragma: no cover - compiled
    """Whether the ids of one pair are less than those of another."""
    for c in range(order.shape[0]):
        source = order[c]
        if source >= 0:
            one, two = lanes[source, row], lanes[source, other]
        else:
            one, two = probing[-1 - source, at], probing[-1 - source, other_at]
        if one != two:
            return bool(ids[one - base] < ids[two - base] if ids.shape[0] else one < two)
    return False


@loop
def _partners(lanes: I64, bounds: I64, i: int, begin: int, end: int) -> int:  # pragma: no cover - compiled
    """How many of the stored rows begin..end - 1 are partners of probing row i, by more than two terms."""
    n = 0
    for r in range(np.uint64(begin), np.uint64(end)):
        n += lanes[1, r] <= bounds[0, i] and lanes[2, r] <= bounds[1, i] and _rest_holds(lanes, bounds, i, r)
    return n


@loop
def _rest_holds(lanes: I64, bounds: I64, i: int, r: Any) -> bool:  # pragma: no cover - compiled
    """Whether the terms after the second hold for a pair."""
    t = 2
    while t < bounds.shape[0] and lanes[1 + t, r] <= bounds[t, i]:
        t += 1
    return bool(t >= bounds.shape[0])
