"""The reorder buffer: time order out, lateness judged event by event."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.stream.arena import Block
from stretto.engine.stream.reorder import Reorder, is_in_order, late_mask, order_of
from stretto.values.times import START_OF_TIME


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
    # The ids are the order of arrival, which equal times keep: exactly the stable sort of what was not late.
    assert out == sorted((i for i in range(len(ts)) if not late[i]), key=lambda i: ts[i])


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-5, 5)), max_size=30), st.integers(0, 8), st.data())
def test_equal_times_go_out_together_by_id(events, lateness, data):
    late = late_by_definition([ts for ts, _ in events], lateness)
    kept = [event for event, is_late in zip(events, late, strict=True) if not is_late]
    reorder, out, at = Reorder(lateness), [], 0
    while at < len(kept):
        end = data.draw(st.integers(at + 1, len(kept)))
        ts, ids = zip(*kept[at:end], strict=True)
        reorder.greatest = max(reorder.greatest, *ts)
        released = reorder.push(block(ts, ids))
        if out and released:
            assert out[-1][0] < released[0].ts[0]
        out += [event for b in released for event in zip(b.ts.tolist(), b.ids.tolist(), strict=True)]
        at = end
    out += [event for b in reorder.flush() for event in zip(b.ts.tolist(), b.ids.tolist(), strict=True)]
    assert out == sorted(kept)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_what_is_in_order(events):
    ts, ids = (np.array([event[i] for event in events], np.int64) for i in (0, 1))
    assert is_in_order(ts, ids) == (events == sorted(events))
    assert is_in_order(ts, range(len(ts))) == (ts.tolist() == sorted(ts))
    assert [events[i] for i in order_of(ts, ids)] == sorted(events)
