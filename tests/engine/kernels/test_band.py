"""The join loops against their NumPy statement."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.kernels.band import (
    FRESH,
    NO_LANE,
    band_pairs,
    band_pairs_reference,
    band_rows,
    band_rows_reference,
    chained_pairs,
    chained_pairs_reference,
    range_rows,
)
from stretto.engine.kernels.counting_sort import (
    recoded,
    recoded_reference,
    split_by_code,
    split_by_code_reference,
)
from stretto.engine.kernels.sorted_search import seek, seek_reference, spans, spans_reference


@st.composite
def bands(draw):
    """Lanes, ranges and bounds as a join has them: (lanes, lo, hi, bounds, room of a block)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    stored, probing, terms = draw(st.integers(0, 40)), draw(st.integers(0, 20)), draw(st.integers(0, 4))
    lanes = rng.integers(-4, 5, (1 + terms + 2, stored))
    lo = rng.integers(0, stored + 1, probing)
    hi = np.minimum(stored, lo + rng.integers(-2, 12, probing))
    bounds = rng.integers(-4, 5, (terms, probing))
    return lanes, lo, hi, bounds, draw(st.integers(1, 50))


def collect(loop, room):
    probe, stored, i, j = [], [], 0, FRESH
    while True:
        out = np.empty(room, np.int64), np.empty(room, np.int64)
        n, i, j, done = loop(*out, i, j)
        probe += out[0][:n].tolist()
        stored += out[1][:n].tolist()
        if done:
            return probe, stored


@given(bands())
def test_band_pairs_come_in_blocks_of_any_size(case):
    lanes, lo, hi, bounds, room = case

    def loop(probe, stored, i, j):
        n, i, j = band_pairs(lanes, lo, hi, bounds, probe, stored, i, j)
        return n, i, j, i >= len(lo)

    expected = band_pairs_reference(lanes, lo, hi, bounds)
    assert collect(loop, room) == (expected[0].tolist(), expected[1].tolist())


@given(
    bands(),
    st.booleans(),
    st.integers(1, 9),
    st.sampled_from([np.int32, np.int64]),
    st.integers(-9, -4),
    st.sampled_from([NO_LANE, 1]),
    st.booleans(),
)
def test_band_rows_are_the_rows_of_the_pairs(case, stored_first, pairs, dtype, since, last_lane, ranges):
    lanes, lo, hi, bounds, room = case
    bounds = bounds[:0] if ranges else bounds
    loop = range_rows if ranges else band_rows
    stored_lanes = np.array([0, len(lanes) - 1, 0])
    probing = np.random.default_rng(3).integers(-4, 5, (3, len(lo)))
    at = (0, 2) if stored_first else (1, 0)
    parts, i, j = [], 0, 0
    while i < len(lo):
        between, times, out = (
            np.empty((2, pairs), np.int64),
            np.empty((2, room), np.int64 if dtype is np.int64 else np.uint32),
            np.empty((3, room), dtype),
        )
        n, i, j = loop(
            lanes, lo, hi, bounds, stored_lanes, probing, *at, between, since, times, out, i, j, last_lane
        )
        parts.append(np.concatenate([times + np.int64(since), out])[:, :n])
    found = np.concatenate([np.empty((5, 0), np.int64), *parts], axis=1)
    expected = band_rows_reference(
        lanes, lo, hi, bounds, stored_lanes, probing, last_lane, stored_first=stored_first
    )
    np.testing.assert_array_equal(found, expected)


ends = st.sampled_from([-(2**63), 2**63 - 1])


@given(st.lists(st.integers(-9, 9) | ends), st.lists(st.integers(-11, 11) | ends), st.booleans())
def test_seek(array, values, after):
    array, values = np.array(sorted(array), np.int64), np.array(values, np.int64)
    np.testing.assert_array_equal(seek(array, values, int(after)), seek_reference(array, values, after=after))


@given(
    st.lists(st.tuples(st.integers(-9, 9) | ends, st.integers(-9, 9) | ends)),
    st.lists(st.tuples(st.integers(-11, 11) | ends, st.integers(-11, 11) | ends)),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)
def test_spans(entries, values, low_after, high_after, begin):
    lows, highs = np.sort(np.array(entries, np.int64).reshape(-1, 2).T.copy(), axis=1)
    low, high = np.array(values, np.int64).reshape(-1, 2).T.copy()
    case = (lows, low, int(low_after), highs, high, int(high_after), begin)
    for found, expected in zip(spans(*case), spans_reference(*case), strict=True):
        np.testing.assert_array_equal(found, expected)


@given(bands(), st.integers(1, 4))
def test_chained_pairs_are_the_band_pairs_with_equal_keys(case, bits):
    lanes, lo, hi, bounds, room = case
    keys = np.random.default_rng(7).integers(-2, 3, len(lo))
    heads, state = np.full(1 << bits, -1), [0, 0]

    def loop(probe, stored, i, j):
        n, i, j, state[0], met = chained_pairs(
            lanes, heads, np.uint64(64 - bits), state[0], lo, hi, keys, bounds, probe, stored, i, j
        )
        state[1] += met
        return n, i, j, i >= len(lo)

    probe, stored = band_pairs_reference(lanes, lo, hi, bounds)
    expected = [
        (p, s) for p, s in zip(probe.tolist(), stored.tolist(), strict=True) if lanes[-2, s] == keys[p]
    ]
    found = collect(loop, room)
    assert sorted(zip(*found, strict=True)) == expected
    *again, met = chained_pairs_reference(lanes, lo, hi, keys, bounds)
    assert list(zip(*(part.tolist() for part in again), strict=True)) == expected
    assert state[1] == met >= len(expected)


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 2))
def test_split_by_code(codes, least):
    array = np.array(codes, np.int32)
    for found, expected in zip(
        split_by_code(array, 6, least), split_by_code_reference(array, 6, least), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@given(st.lists(st.integers(-2, 7), max_size=60), st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_recoded(codes, other):
    codes, other = np.array(codes, np.int32), np.array(other, np.int32)
    np.testing.assert_array_equal(recoded(codes, other), recoded_reference(codes, other))
