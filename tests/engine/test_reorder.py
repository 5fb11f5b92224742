"""The reorder buffer: time order out, lateness judged event by event."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.arena import Block
from stretto.engine.reorder import START_OF_TIME, Reorder, late_mask


def block(ts, ids):
    return Block(np.array(ts, np.int64), np.ones(len(ts), np.int32), np.array(ids, np.int64), {})


def late_by_definition(ts, lateness):
    greatest, late = None, []
    for t in ts:
        late.append(greatest is not None and t < greatest - lateness)
        greatest = t if greatest is None else max(greatest, t)
    return late


@given(st.lists(st.integers(-20, 20), max_size=30), st.integers(0, 10), st.data())
def test_late_does_not_depend_on_the_cut(ts, lateness, data):
    cut = data.draw(st.integers(0, len(ts)))
    greatest, late = START_OF_TIME, []
    for part in (ts[:cut], ts[cut:]):
        mask, greatest = late_mask(np.array(part, np.int64), greatest, lateness)
        late += [False] * len(part) if mask is None else mask.tolist()
    assert late == late_by_definition(ts, lateness)


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.integers(0, 10), st.data())
def test_events_go_out_sorted_and_none_is_lost(ts, lateness, data):
    late = late_by_definition(ts, lateness)
    reorder, out, at = Reorder(lateness), [], 0
    while at < len(ts):
        end = data.draw(st.integers(at + 1, len(ts)))
        rows = np.arange(at, end)
        mask, reorder.greatest = late_mask(np.array(ts[at:end], np.int64), reorder.greatest, lateness)
        kept = rows if mask is None else rows[~mask]
        released = reorder.push(block([ts[i] for i in kept], kept))
        assert all((b.ts < reorder.watermark).all() for b in released)
        out += [i for b in released for i in b.ids.tolist()]
        at = end
    out += [i for b in reorder.flush() for i in b.ids.tolist()]
    # Equal times keep the order of arrival: exactly the stable sort of what was not late.
    assert out == sorted((i for i in range(len(ts)) if not late[i]), key=lambda i: ts[i])
