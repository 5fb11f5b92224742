"""Numbers as the results show them: exact integers below 2^63, doubles beyond, logarithms of counts of any size.

An integer that was summed modulo 2^64 is known exactly wherever its double says that it is less than 2^63, whatever
overflowed on the way; so nothing ever checks for overflow. This holds while a sum's positive and negative parts are
each less than 2^115: beyond, what they leave of each other is less than the rounding of the double.

Extremes are keys in the order of the values. The keys of MAX are turned over, so that in every lane the least key wins:
`MOST` says that there is none, `LEAST` that there was a NaN.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.engine.trends.kernels.numbers import DOWN, HIGH, I32, LEAST, LOW, MOST, U64, UP, Values
from stretto.records import dataclass
from stretto.values.rows import F64, I64, Bool
from stretto.values.vector import Vector

__all__ = ["I32", "LEAST", "MOST", "U64", "Integers", "Values", "zeros"]

LIMIT = 2.0**63
MARGIN = 1e-6  # the doubles' relative error is far less; nearer to the limit the integer itself decides


def zeros(rows: int, linear: int, extreme: int) -> Values:
    """So many zero values, with these numbers of lanes."""
    return Values(
        np.zeros((rows, linear), np.uint64),
        np.zeros((rows, linear), np.float64),
        np.zeros((rows, linear), np.int32),
        np.full((rows, extreme), MOST, np.int64),
    )


def take_values(values: Values, index: I64 | Bool | slice) -> Values:
    return Values._make(array[index] for array in values)


def concat_values(parts: Sequence[Values]) -> Values:
    return Values._make(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def size_of(values: Values) -> int:
    """Bytes."""
    return sum(array.nbytes for array in values)


def scaled(numbers: F64) -> tuple[F64, I32]:
    """Any doubles as f and e in bounds."""
    f, e = numbers.copy(), np.zeros(numbers.shape, np.int32)
    for _ in range(2):  # the largest and the smallest double are two steps away
        size = np.abs(f)
        large, small = (size >= HIGH) & np.isfinite(f), (size < LOW) & (f != 0)
        f[large] *= DOWN
        f[small] *= UP
        e += large
        e -= small
    return f, e


def doubles(f: F64, e: I32) -> F64:
    """The numbers as doubles: an infinity also where no double is large enough."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(f, 512 * np.clip(e, -8, 8))


def log2(f: F64, e: I32) -> F64:
    """The binary logarithms of counts; NaN where the count is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(f > 0, np.log2(f) + 512.0 * e, np.nan)


@dataclass(frozen=True, slots=True)
class Integers:
    """Integers: the digits where `is_exact`, a double (infinite where none is large enough) everywhere."""

    exact: I64
    is_exact: Bool
    value: F64


def integers(u: U64, f: F64, e: I32) -> Integers:
    """What a lane of counts, or of sums of integers, stands for."""
    value = doubles(f, e)
    size = np.abs(value)
    exact = u.astype(np.int64)  # two's complement
    near = np.abs(size - LIMIT) <= MARGIN * LIMIT
    magnitude = np.where(f < 0, np.negative(u), u)
    is_exact = np.where(near, magnitude < np.uint64(1 << 63), size < LIMIT)
    value = np.where(near, np.copysign(magnitude.astype(np.float64), f), value)
    return Integers(exact, is_exact, np.where(is_exact, exact.astype(np.float64), value))


def extreme_keys(vector: Vector, *, largest: bool) -> I64:
    """The keys of values (numbers or times) for MIN or, where `largest`, for MAX."""
    data: npt.NDArray[Any] = vector.data
    if data.dtype == np.float64:
        bits = data.view(np.int64)
        keys = np.where(bits >= 0, bits, bits ^ MOST)
    else:
        keys = data.astype(np.int64)
    if largest:
        keys = ~keys
    if data.dtype == np.float64:
        keys = np.where(np.isnan(data), LEAST, keys)
    return keys if vector.valid is None else np.where(vector.valid, keys, MOST)


def extreme_integers(keys: I64, *, largest: bool) -> I64:
    """The integers of these keys; whether there is one at all is for the count of known values to say."""
    return ~keys if largest else keys


def extreme_doubles(keys: I64, *, largest: bool) -> F64:
    """The doubles of these keys, NaN for `LEAST`; as above."""
    bits = ~keys if largest else keys
    bits = np.where(bits >= 0, bits, bits ^ MOST)
    return np.where(keys == LEAST, np.nan, bits.view(np.float64))
