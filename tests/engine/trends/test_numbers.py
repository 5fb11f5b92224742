"""Numbers of any size against Python integers."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.trends.kernels.numbers import add, add_one, add_product, clear, copy, plus
from stretto.engine.trends.kernels.reference import by_reference
from stretto.engine.trends.numbers import (
    LEAST,
    MOST,
    Values,
    doubles,
    extreme_doubles,
    extreme_integers,
    extreme_keys,
    integers,
    log2,
    scaled,
    zeros,
)
from stretto.values.vector import Vector

SAME = np.array([[0, 1]], np.int32), np.array([[0]], np.int32)


def value_of(count, total, least=MOST):
    """A value of one sum and one extreme."""
    value = zeros(1, 2, 1)
    for lane, number in enumerate((count, total)):
        value.u[0, lane] = np.uint64(number % 2**64)
        high = max(number.bit_length() - 60, 0)
        f, e = math.ldexp(float(number >> high), high % 512), high // 512
        (value.f[0, lane],), extra = scaled(np.array([f]))
        value.e[0, lane] = e + extra[0] if f else 0
    value.x[0, 0] = least
    return value


def factors(left, right):
    return by_reference(value_of(*left)), 0, by_reference(value_of(*right)), 0


def assert_is(value, count, total, least):
    for lane, number in enumerate((count, total)):
        assert int(value.u[0, lane]) == number % 2**64
        f, e = float(value.f[0, lane]), int(value.e[0, lane])
        assert (f == 0) == (number == 0)
        if number:
            assert 2.0**-256 <= abs(f) < 2.0**256
            assert (f > 0) == (number > 0)
            assert math.isclose(math.log2(abs(f)) + 512 * e, math.log2(abs(number)), rel_tol=1e-12)
    assert int(value.x[0, 0]) == least


counts = st.integers(1, 2**70) | st.integers(1, 2**3000) | st.integers(0, 3000).map(lambda n: 2**n)
triples = st.tuples(counts, st.integers(0, 2**1500), st.integers(LEAST, MOST)) | st.just((0, 0, MOST))


@given(triples, triples)
def test_sums(left, right):
    value = value_of(*left)
    add(by_reference(value), 0, by_reference(value_of(*right)), 0)
    assert_is(value, left[0] + right[0], left[1] + right[1], min(left[2], right[2]))


@given(triples, triples, triples)
def test_products(into, left, right):
    value = value_of(*into)
    add_product(by_reference(value), 0, *factors(left, right), *SAME, 0)
    (a, s, x), (b, t, y) = left, right
    least = min(into[2], x, y) if a and b else into[2]
    assert_is(value, into[0] + a * b, into[1] + a * t + b * s, least)


@given(triples, triples)
def test_products_without_the_other_lanes(left, right):
    none = np.array([[0, -1]], np.int32), np.array([[-1]], np.int32)
    value = zeros(1, 2, 1)
    add_product(by_reference(value), 0, *factors(left, right), *none, 0)
    (a, s, x), (b, _, _) = left, right
    assert_is(value, a * b, b * s, x if a and b else MOST)


def test_rows():
    values = zeros(2, 2, 1)
    rows = by_reference(values)
    add_one(rows, 0)
    add_one(rows, 0)
    copy(rows, 1, rows, 0)
    clear(rows, 0)
    assert values.u.tolist() == [[0, 0], [2, 0]]
    assert values.f.tolist() == [[0, 0], [2, 0]]
    assert values.x.tolist() == [[MOST], [MOST]]


def test_infinities_win_over_any_exponent():
    for f in (math.inf, -math.inf, math.nan):
        for g, d in ((1.0, 5), (1.0, -5), (1.0, 0)):
            assert str(plus(f, 0, g, d)[0]) == str(plus(g, d, f, 0)[0]) == str(f)
    assert math.isnan(plus(math.inf, 0, -math.inf, 3)[0])


@given(st.floats())
def test_scaled(number):
    f, e = scaled(np.array([number]))
    assert not math.isfinite(number) or number == 0 or 2.0**-256 <= abs(f[0]) < 2.0**256
    np.testing.assert_array_equal(doubles(f, e), [number])


@given(st.integers(-(2**80), 2**80) | st.integers(-3000, 3000).map(lambda n: 2**63 + n) | st.integers(-9, 9))
def test_integers(number):
    value = value_of(0, number)
    found = integers(value.u[:, 1], value.f[:, 1], value.e[:, 1])
    assert found.is_exact.tolist() == [abs(number) < 2**63]
    assert math.isclose(found.value[0], number, rel_tol=1e-15)
    if found.is_exact[0]:
        assert found.exact.tolist() == [number]


def test_integers_beyond_doubles():
    value = value_of(2**5000, -(2**5000))
    found = integers(value.u, value.f, value.e)
    assert found.value.tolist() == [[math.inf, -math.inf]]
    assert not found.is_exact.any()
    assert log2(value.f, value.e)[0, 0] == 5000
    assert math.isnan(log2(np.zeros(1), np.zeros(1, np.int32))[0])


@given(st.lists(st.floats(), min_size=1), st.booleans())
def test_extreme_doubles(numbers, largest):
    keys = extreme_keys(Vector(np.array(numbers)), largest=largest)
    np.testing.assert_array_equal(extreme_doubles(keys, largest=largest), numbers)
    if any(math.isnan(number) for number in numbers):
        assert keys.min() == LEAST
    else:
        best = (max if largest else min)(numbers)
        np.testing.assert_array_equal(extreme_doubles(keys.min(keepdims=True), largest=largest), [best])


@given(st.lists(st.integers(LEAST, MOST), min_size=1), st.booleans())
def test_extreme_integers(numbers, largest):
    valid = np.array([n % 3 > 0 for n in numbers])
    keys = extreme_keys(Vector(np.array(numbers, np.int64), valid), largest=largest)
    known = [n for n, is_known in zip(numbers, valid, strict=True) if is_known]
    if known:
        assert extreme_integers(keys.min(keepdims=True), largest=largest)[0] == (max if largest else min)(
            known
        )
    else:
        assert isinstance(zeros(1, 1, 1), Values)
        assert (keys == MOST).all()
