"""Aggregates of derived streams in plain Python: a function of the set of values alone, never of their order."""

import math
from collections.abc import Sequence
from fractions import Fraction

from stretto.pattern.derived.streams import Function
from stretto.pattern.predicates import Value


def aggregate(function: Function, values: Sequence[Value]) -> Value:
    """The aggregate of the values that are not null; null over none of them, except for COUNT.

    MIN, MAX, SUM, AVG and STDDEV are NaN if a value is. A sum of integers is null if it leaves 64 bits, and so is AVG
    then. STDDEV is the root of the double next to the exact variance.
    """
    known = [value for value in values if value is not None]
    if function == "COUNT":
        return len(known)
    if not known or (function == "STDDEV" and len(known) < 2):
        return None
    numbers = [value for value in known if isinstance(value, int | float)]
    assert len(numbers) == len(known)
    if any(math.isnan(value) for value in numbers):
        return math.nan
    if function in ("MIN", "MAX"):
        return min(numbers) if function == "MIN" else max(numbers)
    if function == "STDDEV":
        return _deviation(numbers)
    total = rounded_sum(numbers)
    if total is None or function == "SUM":
        return total
    return float(total) / len(numbers)


def _deviation(values: Sequence[int | float]) -> float:
    if any(math.isinf(value) for value in values):
        return math.nan
    mean = sum(map(Fraction, values), Fraction(0)) / len(values)
    variance = sum(((Fraction(value) - mean) ** 2 for value in values), Fraction(0)) / (len(values) - 1)
    try:
        return math.sqrt(float(variance))
    except OverflowError:
        return math.inf


def rounded_sum(values: Sequence[int | float]) -> int | float | None:
    """The exact sum of integers, null beyond 64 bits; of doubles the sum rounded once, as `math.fsum` gives it.

    It follows IEEE 754 where `math.fsum` raises: NaN where a value is or infinities of both signs meet, and infinite
    where no finite double is nearest.
    """
    if all(isinstance(value, int) for value in values):
        total = sum(int(value) for value in values)
        return total if -(2**63) <= total < 2**63 else None
    infinite = [value for value in values if not math.isfinite(value)]
    if infinite:
        return sum(infinite)
    try:
        return math.fsum(values)
    except OverflowError:  # some partial sum was too large; the whole need not be
        exact = sum((Fraction(value) for value in values), Fraction(0))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf
