"""Quotients are those of fractions, near zero and near the greatest double too."""

from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from tests.engine.derived.brute_force import nearest

from stretto.engine.derived.kernels.exact_variance import BELOW_POINT, rounded_quotient

sizes = st.integers(2, 2**27 - 1) | st.integers(2, 100) | st.integers(2**16 - 2, 2**16 + 2)
exponents = st.integers(-1200, 1100) | st.integers(-1180, -1020)


@given(st.integers(0, 2**300) | st.integers(0, 2**64), exponents, sizes)
@example(1, 0, 2**27 - 1)
@example(3, -1075, 2)
@example(1, -1074, 2)
@example(2**53 + 1, 0, 2)
@example((2**53 + 1) * 2, 0, 2)
@example((2**54 - 1) * 2, 1024 - 54, 2)
def test_quotient_is_the_nearest_double(number, exponent, n):
    digits = np.zeros(20, np.int64)
    for j in range(14):
        digits[BELOW_POINT + j] = (number >> (32 * j)) & 0xFFFFFFFF
    found = rounded_quotient(digits, 20, exponent - 32 * BELOW_POINT, n)
    assert found == nearest(Fraction(number) * Fraction(2) ** exponent / (n * (n - 1)))
