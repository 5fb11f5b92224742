"""Operations on eight numbers at once against their statement in Python."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.kernels import eights
from stretto.engine.kernels.eights import (
    PLACES,
    at_most,
    copy_least,
    copy_most,
    count_below,
    fill,
    fill_places,
)
from stretto.values.loops import loop


@loop
def compared(keys, at, bound):
    return at_most(keys, at, bound), count_below(keys, at, bound)


@loop
def filled(array, at, value, bits):
    fill(array, at, value)
    fill_places(array, at + 8, value, PLACES[bits])


@loop
def copied(array, at, values, start, bound, less):
    copy_least(array[0], at, values, start, bound, less)
    copy_most(array[1], at, values, start, bound, less)
    fill(array[2], at, bound)


ends = st.sampled_from([-(2**63), 2**63 - 1])


@given(st.lists(st.integers(-4, 4) | ends, min_size=8, max_size=20), st.integers(-4, 4) | ends, st.data())
def test_eight_keys_are_compared_with_a_bound(keys, bound, data):
    keys, at = np.array(keys), data.draw(st.integers(0, len(keys) - 8))
    expected = eights.at_most(keys, at, bound), eights.count_below(keys, at, bound)
    assert compared(keys, at, bound) == expected


@given(st.integers(0, 5), st.integers(-(2**40), 2**40), st.integers(0, 255))
def test_eight_values_and_the_places_of_bits_are_written(at, value, bits):
    found, expected = np.zeros(24, np.int64), np.zeros(24, np.int64)
    filled(found, at, value, bits)
    eights.fill(expected, at, value)
    eights.fill_places(expected, at + 8, value, PLACES[bits])
    assert found.tolist() == expected.tolist()
    places = [k for k in range(8) if bits >> k & 1]
    assert (found[at + 8 : at + 8 + len(places)] - value).tolist() == places


@given(
    st.lists(st.integers(-9, 9), min_size=8, max_size=20),
    st.integers(-9, 9),
    st.integers(-30, -9),
    st.integers(0, 5),
    st.sampled_from([np.int64, np.int32]),
    st.data(),
)
def test_eight_values_are_copied_up_to_a_bound(values, bound, less, at, dtype, data):
    values, start = np.array(values), data.draw(st.integers(0, len(values) - 8))
    found, expected = np.zeros((3, 16), dtype), np.zeros((3, 16), dtype)
    copied(found, at, values, start, bound, less)
    eights.copy_least(expected[0], at, values, start, bound, less)
    eights.copy_most(expected[1], at, values, start, bound, less)
    eights.fill(expected[2], at, bound)
    assert found.tolist() == expected.tolist()
