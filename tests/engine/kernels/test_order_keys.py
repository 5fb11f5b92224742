"""Keys read in one pass against their NumPy statement, and against the values' own order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.kernels.order_keys import keys_at, keys_at_reference

NUMBERS = st.floats() | st.sampled_from([0.0, -0.0, float("inf"), -float("inf"), float("nan")])
INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, 0, -1])
SIGN = st.integers(0, 1)


@given(st.lists(NUMBERS, min_size=1), st.lists(st.integers(0, 99)), SIGN, SIGN)
def test_keys_of_doubles(values, chosen, turned, less):
    positions = np.array(chosen, np.int64) % len(values) + 7
    case = np.array(values).view(np.int64), 7, positions, 1, turned, less
    keys, good = keys_at(*case)
    expected, expected_good = keys_at_reference(*case)
    assert good == expected_good
    if good:
        np.testing.assert_array_equal(keys, expected)


@given(st.lists(INTEGERS, min_size=1), SIGN, SIGN)
def test_keys_of_integers(values, turned, less):
    case = np.array(values, np.int64), 0, np.arange(len(values)), 0, turned, less
    keys, good = keys_at(*case)
    expected, expected_good = keys_at_reference(*case)
    assert good == expected_good
    if good:
        np.testing.assert_array_equal(keys, expected)


@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_keys_are_in_the_order_of_the_values(values):
    numbers = np.array(values)
    keys, good = keys_at(numbers.view(np.int64), 0, np.arange(len(numbers)), 1, 0, 0)
    assert good
    np.testing.assert_array_equal(keys[:-1] < keys[1:], numbers[:-1] < numbers[1:])
    np.testing.assert_array_equal(keys[:-1] == keys[1:], numbers[:-1] == numbers[1:])


def test_what_has_no_key_is_told():
    assert not keys_at(np.array([np.nan]).view(np.int64), 0, np.array([0]), 1, 0, 0)[1]
    assert not keys_at(np.array([-(2**63)]), 0, np.array([0]), 0, 0, 1)[1]
    assert not keys_at(np.array([2**63 - 1]), 0, np.array([0]), 0, 1, 1)[1]
