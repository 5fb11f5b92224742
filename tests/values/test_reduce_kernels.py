"""The loops over segments equal their NumPy twins, and both equal plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.values import reduce

INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 0.1])


@st.composite
def segments(draw, values, dtype):
    parts = draw(st.lists(st.lists(st.tuples(values, st.booleans()), max_size=5), max_size=6))
    offsets = np.cumsum([0] + [len(part) for part in parts])
    flat = [pair for part in parts for pair in part]
    data = np.array([value for value, _ in flat], dtype)
    everything = draw(st.booleans())
    present = reduce.ALL_PRESENT if everything else np.array([there for _, there in flat], np.bool_)
    counted = [[value for value, there in part if there or everything or not len(present)] for part in parts]
    return offsets, data, present, counted


@settings(deadline=None)
@given(segments(INTS, np.int64))
def test_integer_sums(case) -> None:
    offsets, values, present, counted = case
    sums, counts, fits = reduce.sum_ints(offsets, values, present)
    for ours, theirs in zip(
        (sums, counts, fits), reduce.sum_ints_reference(offsets, values, present), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert counts.tolist() == [len(part) for part in counted]
    assert fits.tolist() == [-(2**63) <= sum(part) < 2**63 for part in counted]
    assert [s for s, ok in zip(sums.tolist(), fits, strict=True) if ok] == [
        sum(part) for part, ok in zip(counted, fits, strict=True) if ok
    ]


@settings(deadline=None)
@given(segments(FLOATS, np.float64))
def test_double_sums_are_taken_from_the_left(case) -> None:
    offsets, values, present, counted = case
    sums, counts = reduce.sum_floats(offsets, values, present)
    with np.errstate(all="ignore"):
        reference = reduce.sum_floats_reference(offsets, values, present)
    np.testing.assert_array_equal(sums, reference[0])
    np.testing.assert_array_equal(counts, reference[1])
    for total, part in zip(sums.tolist(), counted, strict=True):
        expected = 0.0
        for value in part:
            expected += value
        assert total == expected or (math.isnan(total) and math.isnan(expected))


@pytest.mark.parametrize("highest", [False, True])
@settings(deadline=None)
@given(segments(INTS, np.int64), segments(FLOATS, np.float64))
def test_extremes(highest, ints, floats) -> None:
    for offsets, values, present, counted in (ints, floats):
        best, counts = reduce.extremes(offsets, values, present, highest)
        reference = reduce.extremes_reference(offsets, values, present, highest)
        np.testing.assert_array_equal(best, reference[0])
        np.testing.assert_array_equal(counts, reference[1])
        for found, part in zip(best.tolist(), counted, strict=True):
            if any(math.isnan(value) for value in part):
                assert math.isnan(found)
            elif part:
                assert found == (max(part) if highest else min(part))


@given(st.lists(st.lists(st.booleans(), max_size=4), max_size=6))
def test_all_hold(parts) -> None:
    offsets = np.cumsum([0] + [len(part) for part in parts])
    flags = np.array([flag for part in parts for flag in part], np.bool_)
    assert reduce.all_hold(offsets, flags).tolist() == [all(part) for part in parts]
