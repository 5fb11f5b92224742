"""The variance of a sample from its exact sum S and its exact sum of squares Q: (n Q - S^2) / (n (n - 1)).

The numerator is formed in digits of 32 bits, the quotient by short division (Knuth, The Art of Computer Programming 2,
section 4.3.1, exercise 16), so what comes out is the double next to the rational number.
"""

import math

import numpy as np

from stretto.engine.derived.kernels.long_accumulator import MASK, leading
from stretto.values.loops import loop
from stretto.values.rows import I64

BELOW_POINT = 4
"""Digits of zero that a numerator has at its end, so that a quotient has digits enough."""
DIVIDED = 6
"""Digits of a numerator that are divided: their quotient by less than 2^54 has 75 bits or more."""
LEAST_NORMAL, LEAST = -1022, -1074
"""Exponents of the first bit of the least normal double, and of the last bit of all doubles below."""


@loop
def numerator(
    sums: I64, sum_count: int, sum_at: int, squares: I64, square_count: int, square_at: int, n: int, out: I64
) -> tuple[int, int]:
    """Write the digits of n Q - S^2, which is never negative, and BELOW_POINT zeros before them.

    Their number, with those zeros, and the limb of the first digit come back.
    """
    while sum_count > 0 and sums[sum_count - 1] == 0:
        sum_count -= 1
    skip = 0  # zeros at the end would be multiplied for nothing
    while skip < sum_count and sums[skip] == 0:
        skip += 1
    at = min(2 * (sum_at + skip), square_at)
    count = max(2 * (sum_at + sum_count), square_at + square_count) + 3 - at + BELOW_POINT
    for j in range(count):
        out[j] = 0
    to = square_at - at + BELOW_POINT
    carry = 0
    for j in range(square_count):
        total = squares[j] * n + carry  # n is less than 2^27, so this is less than 2^60
        out[to + j] = total & MASK
        carry = total >> 32
    out[to + square_count] = carry
    _subtract_square(sums, skip, sum_count, out, 2 * sum_at - at + BELOW_POINT)
    return count, at - BELOW_POINT


@loop
def _subtract_square(digits: I64, skip: int, count: int, out: I64, to: int) -> None:
    for i in range(skip, count):
        borrow = 0
        for j in range(skip, count):
            product = np.uint64(digits[i]) * np.uint64(digits[j])
            total = out[to + i + j] - np.int64(product & np.uint64(MASK)) - borrow
            out[to + i + j] = total & MASK
            borrow = np.int64(product >> np.uint64(32)) - (total >> 32)
        at = to + i + count
        while borrow != 0:
            total = out[at] - borrow
            out[at] = total & MASK
            borrow = -(total >> 32)
            at += 1


@loop
def rounded_quotient(digits: I64, count: int, exponent: int, n: int) -> float:
    """The double next to digits 2^exponent / (n (n - 1)), ties to even; n is below 2^27. Digits are written over."""
    while count > 0 and digits[count - 1] == 0:
        count -= 1
    if count == 0:
        return 0.0
    start = max(0, count - DIVIDED)
    more = False
    for j in range(start):
        more |= digits[j] != 0
    # The quotient by a product is the quotient by its factors, one after the other; so are the digits before the point.
    if n < 1 << 16:
        more |= _divide(digits, start, count, n * (n - 1))
    else:
        more |= _divide(digits, start, count, n)
        more |= _divide(digits, start, count, n - 1)
    if more:
        digits[start] |= 1  # more than 64 bits are above this one
    number, last = leading(digits[start:], count - start)
    return _round_once(number, exponent + 32 * start + last)


@loop
def _divide(digits: I64, start: int, count: int, divisor: int) -> bool:
    """Divide in place by less than 2^32; whether there is a remainder."""
    by = np.uint64(divisor)
    remainder = np.uint64(0)
    for j in range(count - 1, start - 1, -1):
        part = (remainder << np.uint64(32)) | np.uint64(digits[j])
        quotient = part // by
        remainder = part - quotient * by
        digits[j] = np.int64(quotient)
    return bool(remainder)


@loop
def _round_once(number: np.int64, exponent: int) -> float:
    """The double next to a number of 56 to 63 bits times 2^exponent, ties to even; its last bit is for all below."""
    if exponent + 62 >= LEAST_NORMAL and number >> max(0, LEAST_NORMAL - exponent):
        return math.ldexp(float(number), exponent)
    # Doubles near zero have fewer bits: what they lack is taken off here, so that nothing is rounded twice.
    drop = LEAST - exponent
    if drop > 63:
        return 0.0
    kept = number >> drop
    rest = number - (kept << drop)
    half = 1 << (drop - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    return math.ldexp(float(kept), LEAST)
