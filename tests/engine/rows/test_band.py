"""Pairs that a Band finds, against all pairs tried one by one."""

import math
import operator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, k, x

from stretto.engine.memory.limits import Meter
from stretto.engine.operators.protocol import RowShape
from stretto.engine.rows.band import Band
from stretto.engine.rows.coordinates import coordinates, reach
from stretto.engine.rows.sets import differs
from stretto.pattern.nodes import Window
from stretto.values.rows import Rows, Sets

OPS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
EVENT = RowShape((False,), (False,), single=True)
PAIR = RowShape((False, False), (False, False))

numbers = st.sampled_from([None, 0.0, -0.0, 1.0, 2.5, math.nan, math.inf, -math.inf, 1e300])


@st.composite
def streams(draw):
    n = draw(st.integers(1, 14))
    ts = sorted(draw(st.lists(st.integers(0, 12), min_size=n, max_size=n)))
    xs = draw(st.lists(numbers, min_size=n, max_size=n))
    ks = draw(st.lists(st.sampled_from([None, 0, 1, 2**63 - 1, -(2**63)]), min_size=n, max_size=n))
    return ts, xs, ks


def passes(op, left, right):
    return left is not None and right is not None and OPS[op](left, right)


@given(
    streams(), st.sampled_from(sorted(OPS)), st.sampled_from(sorted(OPS)), st.integers(0, 12), st.booleans()
)
def test_single_events(stream, op_x, op_k, size, swapped):
    ts, xs, ks = stream
    arena = arena_of(ts, x=xs, k=ks)
    window = Window(max(size, 1))
    sides = (1, 0) if swapped else (0, 1)
    terms = [compare(op_x, x(sides[0]), x(sides[1])), compare(op_k, k(0), k(1))]
    band = Band(EVENT, EVENT, window, terms, [(0, 0)], stored_at=0, probing_at=1)
    at = np.arange(len(ts))
    rows = Rows(np.array(ts), np.array(ts), (at,))
    for cut in (slice(0, len(ts) // 2), slice(len(ts) // 2, None)):
        band.append([rows.take(at[cut])], arena, Meter(1 << 40))
    lo, hi = band.search(reach(rows.last, window), "left"), band.search(rows.last, "right")
    found = [
        (int(band.column(numbers, 0)[i]), int(index[i]))
        for index, numbers in band.pairs(rows, lo, hi, arena, Meter(1 << 40), reach(rows.last, window))
        for i in range(len(index))
    ]
    expected = [
        (s, p)
        for p in range(len(ts))
        for s in range(len(ts))
        if s != p
        and 0 <= ts[p] - ts[s] <= window.size
        and passes(op_x, *((xs[p], xs[s]) if swapped else (xs[s], xs[p])))
        and passes(op_k, ks[s], ks[p])
    ]
    assert sorted(found) == sorted(expected)


@given(streams(), st.integers(1, 8), st.integers(0, 9))
def test_rows_of_several_events_respect_the_floor_and_expire(stream, size, expired):
    ts = np.array(stream[0])
    arena = arena_of(ts.tolist())
    pairs = [(i, j) for i in range(len(ts)) for j in range(i + 1, len(ts))]
    if not pairs:
        return
    a, b = np.array(pairs).T
    stored = Rows(ts[a], ts[b], (a, b))
    window = Window(size)
    band = Band(PAIR, EVENT, window, [], stored_at=0, probing_at=2)
    band.append([stored], arena, Meter(1 << 40))
    band.expire(expired)
    probe = Rows(ts, ts, (np.arange(len(ts)),))
    floor = reach(probe.last, window)
    lo, hi = band.search(floor, "left"), band.search(probe.first, "left")
    found = []
    for index, numbers in band.pairs(probe, lo, hi, arena, Meter(1 << 40), floor):
        rows = band.rows(numbers)
        found += zip(*(c.tolist() for c in rows.columns), index.tolist(), strict=True)
        np.testing.assert_array_equal(rows.first, ts[rows.columns[0]])
    expected = [
        (i, j, p)
        for i, j in pairs
        for p in range(len(ts))
        if ts[j] >= expired and ts[j] < ts[p] and ts[p] - ts[i] <= size
    ]
    assert sorted(found) == sorted(expected)


def test_sets_survive_growth_and_expiry():
    shape = RowShape((False, True), (False, False))
    band = Band(shape, EVENT, Window(10**9), [], stored_at=0, probing_at=2)
    arena = arena_of([0])
    for start in range(0, 5000, 500):
        at = np.arange(start, start + 500)
        offsets = np.concatenate([[0], np.cumsum(at % 3 + 1)])
        band.append([Rows(at, at, (at, Sets(offsets, np.repeat(at, at % 3 + 1))))], arena, Meter(1 << 40))
        band.expire(start - 700)
    last = band.search(np.array([4999]), "left")
    column = band.column(last, 1)
    assert isinstance(column, Sets)
    assert column.values.tolist() == [4999] * (4999 % 3 + 1)


def test_coordinates_of_count_windows_are_positions():
    rows = Rows(
        np.array([5, 5]),
        np.array([7, 7]),
        (np.array([3, -1]), Sets(np.array([0, 2, 3]), np.array([1, 9, 4]))),
    )
    first, last = coordinates(rows, Window(3, "events"))
    assert (first.tolist(), last.tolist()) == ([1, 4], [9, 4])


def test_differs_looks_into_sets():
    sets = Sets(np.array([0, 2, 2, 3]), np.array([1, 2, 5]))
    assert differs(np.array([2, 2, 5]), sets).tolist() == [False, True, False]
    assert differs(sets, Sets(np.array([0, 1, 1, 2]), np.array([3, 5]))).tolist() == [True, True, False]
    assert differs(np.array([-1, 4]), np.array([-1, 4])).tolist() == [True, False]
