"""The remainder of doubles is that of C, bit by bit, whichever way it is computed."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.values.arithmetic import remainder

WHOLE = st.integers(-(2**52), 2**52).map(float)
NEAR = st.tuples(st.integers(1, 2**26), st.integers(1, 2**26), st.integers(-1, 1)).map(
    lambda found: float(found[0] * found[1] + found[2])
)
DOUBLES = WHOLE | NEAR | NEAR.map(lambda value: -value) | st.floats(allow_nan=True, allow_infinity=True)


@given(
    st.lists(DOUBLES, min_size=1, max_size=6),
    st.floats(allow_nan=False) | WHOLE | st.integers(-1000, 1000).map(float),
)
@settings(max_examples=300, deadline=None)
def test_it_is_that_of_c(left: list[float], right: float) -> None:
    with np.errstate(all="ignore"):
        found, fits = remainder(np.array(left), np.array(right))
    if right == 0:
        assert fits is not None
        assert not fits.any()
        return
    assert fits is None
    for value, one in zip(left, found.tolist(), strict=True):
        expected = math.fmod(value, right) if math.isfinite(value) else math.nan
        assert repr(one) == repr(expected) or (math.isnan(one) and math.isnan(expected)), (value, right)


@given(st.lists(st.tuples(NEAR, st.integers(1, 2**26).map(float)), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_next_to_multiples(pairs: list[tuple[float, float]]) -> None:
    for sign in (1.0, -1.0):
        left, right = np.array([a * sign for a, _ in pairs]), np.array([b for _, b in pairs])
        found, fits = remainder(left, right)
        assert fits is None
        assert found.tobytes() == np.fmod(left, right).tobytes()
