"""Times: slices of equal size, edges that are kept, and reaches in numbers of events."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.plan.spread.time_slices import Times, stretches_of
from stretto.values.times import END_OF_TIME, START_OF_TIME

EVENTS = st.lists(st.integers(-50, 50), max_size=60)


@given(EVENTS, st.integers(1, 7), st.integers(1, 30))
def test_cuts_are_ordered_and_inside(ts: list[int], size: int, count: int) -> None:
    cuts = Times.of(stretches_of(np.array(ts, np.int64), size)).cuts(count)
    assert cuts == sorted(set(cuts))
    assert len(cuts) < count or not cuts
    assert all(min(ts) < cut <= max(ts) + 1 for cut in cuts)


@given(EVENTS, st.integers(1, 7), st.integers(-60, 60), st.integers(0, 20))
def test_reaches_hold_enough_events(ts: list[int], size: int, time: int, events: int) -> None:
    times = Times.of(stretches_of(np.array(ts, np.int64), size))
    until, since = times.until(time, events), times.since(time, events)
    assert until == END_OF_TIME or sum(time <= t < until for t in ts) >= events
    assert since == START_OF_TIME or sum(since <= t < time for t in ts) >= events


def test_slices_have_about_the_same_size() -> None:
    ts = np.concatenate([np.arange(1000), np.arange(1000, 100_000, 99)])
    times = Times.of(stretches_of(ts, 50))
    cuts = times.cuts(8)
    sizes = np.diff(np.searchsorted(ts, [ts[0], *cuts, ts[-1] + 1]))
    assert len(sizes) == 8
    assert sizes.max() <= 1.2 * sizes.min()


def test_cuts_move_to_edges_that_are_near() -> None:
    stretches = [(i * 100, i * 100 + 99, 100) for i in range(20)]
    assert Times.of(stretches).cuts(3) == [666, 1333]
    assert Times.of(stretches, [i * 100 for i in range(20)]).cuts(3) == [700, 1300]
    assert Times.of(stretches, [0, 1900]).cuts(3) == [666, 1333]


def test_counts_before() -> None:
    times = Times.of([(0, 9, 10), (100, 100, 5), (7, 7, 0)])
    assert times.before(np.array([-5, 0, 5, 50, 101, 500])).tolist() == [0, 0, 5, 10, 15, 15]
    assert (times.total, times.seconds) == (15, 1e-4)
    assert times.at(np.array([0.0, 0.5, 1.0])).tolist() == [0, 7, 101]
    nothing = Times.of([])
    assert nothing.before(np.array([3])).tolist() == [0]
    assert (nothing.cuts(4), nothing.total, nothing.seconds) == ([], 0, 0.0)


def test_times_that_are_none_do_not_count() -> None:
    assert stretches_of(np.array([5, START_OF_TIME, END_OF_TIME, 3]), 10) == [(3, 5, 2)]
