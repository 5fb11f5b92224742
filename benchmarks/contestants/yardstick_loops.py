"""The loops of the yardstick: each fills blocks of output with the matches of one shape of query.

A loop starts at the first event `state[0]` with the pointers of its window in the rest of `state`, and ends when
all events are done or the next one's matches may not fit; it returns the number of rows written and leaves
`state` where it stopped. Rows are written before the last comparison is known and kept by moving on, so that there
is no branch to guess. Inputs are sorted by time (keyed: by k, then time).
"""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def rising(at, ax, ai, bt, bx, bi, ct, cx, ci, window, after, state, oa, ob, oc, start, end, detected):
    """SEQ(a, b, c) with rising x; `after[j]` is the first c later than b number j."""
    i, b0, b1, c1 = state
    n = 0
    while i < len(at):
        t, x = at[i], ax[i]
        until = t + window
        while b0 < len(bt) and bt[b0] <= t:
            b0 += 1
        while b1 < len(bt) and bt[b1] <= until:
            b1 += 1
        while c1 < len(ct) and ct[c1] <= until:
            c1 += 1
        before = n
        for j in range(b0, b1):
            y = bx[j]
            if x < y:
                if n + c1 - after[j] > len(oa):
                    state[:] = (i, b0, b1, c1)
                    return before
                for q in range(after[j], c1):
                    oa[n], ob[n], oc[n], start[n], end[n], detected[n] = ai[i], bi[j], ci[q], t, ct[q], ct[q]
                    n += y < cx[q]
        i += 1
    state[0] = i
    return n


@nb.njit(cache=True, nogil=True)
def first_after(bt, ct):
    """Per b the number of the first c that is later."""
    after = np.empty(len(bt), np.int64)
    q = 0
    for j in range(len(bt)):
        while q < len(ct) and ct[q] <= bt[j]:
            q += 1
        after[j] = q
    return after


@nb.njit(cache=True, nogil=True)
def conjunction(at, ax, ai, bt, bx, bi, ct, ci, window, state, oa, ob, oc, start, end, detected):
    """AND(a, b, c) with a.x < b.x."""
    i, b0, b1, c0 = state
    n = 0
    while i < len(at):
        t, x = at[i], ax[i]
        while b0 < len(bt) and bt[b0] < t - window:
            b0 += 1
        while b1 < len(bt) and bt[b1] <= t + window:
            b1 += 1
        while c0 < len(ct) and ct[c0] < t - window:
            c0 += 1
        before = n
        low = high = c0
        for j in range(b0, b1):
            if x < bx[j]:
                first, last = min(t, bt[j]), max(t, bt[j])
                while low < len(ct) and ct[low] < last - window:
                    low += 1
                while high < len(ct) and ct[high] <= first + window:
                    high += 1
                if n + high - low > len(oa):
                    state[:] = (i, b0, b1, c0)
                    return before
                for q in range(low, high):
                    oa[n], ob[n], oc[n] = ai[i], bi[j], ci[q]
                    start[n], end[n] = min(first, ct[q]), max(last, ct[q])
                    detected[n] = end[n]
                    n += 1
        i += 1
    state[0] = i
    return n


@nb.njit(cache=True, nogil=True)
def keyed(ak, at, ax, ai, bk, bt, bx, bi, ck, ct, cx, ci, window, state, oa, ob, oc, start, end, detected):
    """SEQ(a, b, c) with rising x and one k; all three sorted by k, then time."""
    i, b0, c0, _ = state
    n = 0
    while i < len(at):
        k, t, x = ak[i], at[i], ax[i]
        until = t + window
        while b0 < len(bt) and (bk[b0] < k or (bk[b0] == k and bt[b0] <= t)):
            b0 += 1
        while c0 < len(ct) and (ck[c0] < k or (ck[c0] == k and ct[c0] <= t)):
            c0 += 1
        before = n
        j, later = b0, c0
        while j < len(bt) and bk[j] == k and bt[j] <= until:
            while later < len(ct) and ck[later] == k and ct[later] <= bt[j]:
                later += 1
            q = later
            while x < bx[j] and q < len(ct) and ck[q] == k and ct[q] <= until:
                if bx[j] < cx[q]:
                    if n == len(oa):
                        state[:] = (i, b0, c0, 0)
                        return before
                    oa[n], ob[n], oc[n], start[n], end[n], detected[n] = ai[i], bi[j], ci[q], t, ct[q], ct[q]
                    n += 1
                q += 1
            j += 1
        i += 1
    state[0] = i
    return n


@nb.njit(cache=True, nogil=True)
def kleene(at, ai, bt, bi, ct, ci, window, state, oa, offsets, values, oc, start, end, detected):
    """SEQ(a, b+, c): every non-empty set of the bs between a and c of which no two share a time."""
    i, b0, c0, _ = state
    n = v = 0
    while i < len(at):
        t = at[i]
        while b0 < len(bt) and bt[b0] <= t:
            b0 += 1
        while c0 < len(ct) and ct[c0] <= t:
            c0 += 1
        before = n
        between = 0
        q = c0
        while q < len(ct) and ct[q] <= t + window:
            while b0 + between < len(bt) and bt[b0 + between] < ct[q]:
                between += 1
            tied = False
            for j in range(b0 + 1, b0 + between):
                tied |= bt[j] == bt[j - 1]
            sets = 1 << between
            if n + sets > len(oa) or v + between * sets // 2 + 1 > len(values):
                state[:] = (i, b0, c0, 0)
                return before
            for chosen in range(1, sets):
                if tied and _shares_time(chosen, between, bt, b0):
                    continue
                for j in range(between):
                    values[v] = bi[b0 + j]
                    v += (chosen >> j) & 1
                oa[n], oc[n], start[n], end[n], detected[n] = ai[i], ci[q], t, ct[q], ct[q]
                n += 1
                offsets[n] = v
            q += 1
        i += 1
    state[0] = i
    return n


@nb.njit(cache=True, nogil=True)
def _shares_time(chosen, between, bt, b0):
    last = -1
    for j in range(between):
        if (chosen >> j) & 1:
            if bt[b0 + j] == last:
                return True
            last = bt[b0 + j]
    return False
