"""The variance of a sample from its exact sum S and its exact sum of squares Q: (n Q - S^2) / (n (n - 1)).

The numerator is formed in digits of 32 bits, the quotient by long division bit by bit (Knuth, The Art of Computer
Programming 2, section 4.3.1), so what comes out is the double next to the rational number.
"""

import math

import numpy as np
from numba import njit

from stretto.engine.derived.kernels.long_accumulator import MASK
from stretto.values.rows import I64

QUOTIENT_BITS = 56
"""Bits of a quotient that are worked out: those of a double, one to round by, and some to spare."""
LEAST_EXPONENT = -1074
"""Of the last bit of the least doubles."""


@njit(cache=True, nogil=True)
def numerator(
    sums: I64, sum_count: int, sum_at: int, squares: I64, square_count: int, square_at: int, n: int, out: I64
) -> tuple[int, int]:
    """Write the digits of n Q - S^2, which is never negative; their number, and the limb of the first come back."""
    while sum_count > 0 and sums[sum_count - 1] == 0:
        sum_count -= 1
    skip = 0  # zeros at the end would be multiplied for nothing
    while skip < sum_count and sums[skip] == 0:
        skip += 1
    at = min(2 * (sum_at + skip), square_at)
    count = max(2 * (sum_at + sum_count), square_at + square_count) + 3 - at
    for j in range(count):
        out[j] = 0
    to = square_at - at
    carry = 0
    for j in range(square_count):
        total = squares[j] * n + carry  # n is less than 2^27, so this is less than 2^60
        out[to + j] = total & MASK
        carry = total >> 32
    out[to + square_count] = carry
    _subtract_square(sums, skip, sum_count, out, 2 * sum_at - at)
    return count, at


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def rounded_quotient(digits: I64, count: int, exponent: int, divisor: int) -> float:
    """The double next to digits 2^exponent / divisor, ties to even; the divisor is less than 2^62."""
    while count > 0 and digits[count - 1] == 0:
        count -= 1
    if count == 0:
        return 0.0
    quotient, remainder, last = 0, 0, 0
    bits = 0
    at = 32 * count - 1
    while bits < QUOTIENT_BITS:
        remainder *= 2
        if at >= 0:
            remainder += (digits[at >> 5] >> (at & 31)) & 1
        quotient *= 2
        if remainder >= divisor:
            remainder -= divisor
            quotient += 1
        if quotient:
            bits += 1
        last = at
        at -= 1
    more = remainder != 0
    while not more and at >= 0:
        more = (digits[at >> 5] >> (at & 31)) & 1 != 0
        at -= 1
    return _round_once(quotient, more, exponent + last)


@njit(cache=True, nogil=True)
def _round_once(number: int, more: bool, exponent: int) -> float:
    """The double next to a number of QUOTIENT_BITS bits (and a bit more) times 2^exponent; ties to even."""
    # Doubles near zero have fewer bits: what they lack is taken off here, so that nothing is rounded twice.
    drop = max(QUOTIENT_BITS - 53, LEAST_EXPONENT - exponent)
    if drop > QUOTIENT_BITS + 1:
        return 0.0
    kept = number >> drop
    rest = number - (kept << drop)
    half = 1 << (drop - 1)
    if rest > half or (rest == half and (more or kept & 1)):
        kept += 1
    return math.ldexp(float(kept), exponent + drop)
