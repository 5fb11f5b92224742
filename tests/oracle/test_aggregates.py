"""Aggregates against a second implementation that knows only exact fractions."""

import math
from fractions import Fraction
from random import Random
from typing import Final

import pytest

from stretto.oracle.aggregates import aggregate, rounded_sum
from stretto.pattern.predicates import Value

NAN, INF = math.nan, math.inf
USUAL: Final = (1.0, -1.0, 0.1, 0.2, 0.3, 2.5, -0.0, 1e16, -1e16, 1.0, 3.0)
WILD: Final = (*USUAL, 1e308, -1e308, 1.7e308, 5e-324, -5e-324, 2.0**53, 2.0**-1074, 1e-300)
WHOLE: Final = (0, 1, -1, 7, 2**53 + 1, 2**62, -(2**62), 2**63 - 1, -(2**63))


def nearest(exact: Fraction) -> float:
    """The double nearest to a fraction, ties to even, found by bisection of its digits; infinite past the last one."""
    if exact == 0:
        return 0.0
    size = abs(exact)
    power = max(size.numerator.bit_length() - size.denominator.bit_length() - 53, -1074)
    while size / Fraction(2) ** power >= 2**53:
        power += 1
    while power > -1074 and size / Fraction(2) ** power < 2**52:
        power -= 1
    digits = round(size / Fraction(2) ** power)  # to even, as Python rounds
    if digits == 2**53:
        digits, power = 2**52, power + 1
    value = INF if power > 971 else math.ldexp(digits, power)
    return value if exact > 0 else -value


@pytest.mark.parametrize("seed", range(200))
def test_sums_are_rounded_once(seed: int) -> None:
    rng = Random(seed)
    values = [rng.choice(rng.choice((USUAL, WILD))) for _ in range(rng.randint(1, 12))]
    total = rounded_sum(values)
    exact = nearest(sum((Fraction(value) for value in values), Fraction(0)))
    assert total == exact
    assert aggregate("SUM", [*values, None]) == exact
    assert aggregate("AVG", [None, *values]) == exact / len(values)
    rng.shuffle(values)
    assert rounded_sum(values) == exact


@pytest.mark.parametrize("seed", range(60))
def test_deviations_are_near_the_exact_ones(seed: int) -> None:
    rng = Random(seed)
    values = [rng.choice((rng.uniform(-3, 3), rng.choice(USUAL[:7]))) for _ in range(rng.randint(2, 9))]
    mean = sum(map(Fraction, values), Fraction(0)) / len(values)
    exact = sum(((Fraction(value) - mean) ** 2 for value in values), Fraction(0)) / (len(values) - 1)
    assert aggregate("STDDEV", values) == pytest.approx(math.sqrt(exact), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_integers_are_exact(seed: int) -> None:
    rng = Random(seed)
    values = [rng.choice(WHOLE) for _ in range(rng.randint(1, 5))]
    total = sum(values)
    fits = -(2**63) <= total < 2**63
    assert aggregate("SUM", values) == (total if fits else None)
    assert aggregate("AVG", values) == (float(total) / len(values) if fits else None)
    assert (aggregate("MIN", values), aggregate("MAX", values)) == (min(values), max(values))


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        ("COUNT", [None, 1.0, NAN], 2),
        ("COUNT", [], 0),
        ("SUM", [None], None),
        ("STDDEV", [1.0], None),
        ("STDDEV", [1.0, None, 1.0], 0.0),
        ("MIN", [1.0, NAN], NAN),
        ("SUM", [INF, -INF], NAN),
        ("AVG", [INF, 1.0], INF),
        ("STDDEV", [INF, 1.0], NAN),
        ("SUM", [1e308, 1e308, -1e308], 1e308),
        ("SUM", [1.7e308, 1.7e308], INF),
        ("MAX", ["a"], "refused"),
    ],
)
def test_at_the_edges(function: str, values: list[Value], expected: Value) -> None:
    if expected == "refused":
        with pytest.raises(AssertionError):
            aggregate(function, values)
        return
    found = aggregate(function, values)
    assert found == expected or (math.isnan(found) and math.isnan(expected))
