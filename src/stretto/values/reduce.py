"""SUM, MIN, MAX and ALL over segments: segment i holds the values `offsets[i]` to `offsets[i + 1]` - 1.

`present` says which values count; an empty array says that all do. Each result comes with the number of values
that counted; if that is 0 the result is arbitrary. Each loop has a NumPy twin of the same contract. ALL is
NumPy alone: a loop would gain nothing.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.values.loops import loop
from stretto.values.rows import F64, I64, Bool

ALL_PRESENT: Bool = np.zeros(0, np.bool_)


@loop
def sum_ints(offsets: I64, values: I64, present: Bool) -> tuple[I64, I64, Bool]:
    """Sums, counts, and whether the sum fits into 64 bits (sums on the way need not)."""
    n = len(offsets) - 1
    sums = np.zeros(n, np.int64)
    counts = np.zeros(n, np.int64)
    fits = np.ones(n, np.bool_)
    everything = len(present) == 0
    for i in range(n):
        # Halves of 32 bits, added up apart, show where the sum ends without ever overflowing themselves.
        high = 0
        low = 0
        count = 0
        for j in range(offsets[i], offsets[i + 1]):
            if everything or present[j]:
                high += values[j] >> 32
                low += values[j] & 0xFFFFFFFF
                count += 1
        high += low >> 32
        sums[i] = (high << 32) | (low & 0xFFFFFFFF)
        counts[i] = count
        fits[i] = -(2**31) <= high < 2**31
    return sums, counts, fits


def sum_ints_reference(offsets: I64, values: I64, present: Bool) -> tuple[I64, I64, Bool]:
    counted = np.where(present, values, 0) if len(present) else values
    high = _between(offsets, counted >> 32)
    low = _between(offsets, counted & 0xFFFFFFFF)
    high += low >> 32
    fits = (high >= -(2**31)) & (high < 2**31)
    return (high << 32) + (low & 0xFFFFFFFF), _counts(offsets, present), fits


@loop
def sum_floats(offsets: I64, values: F64, present: Bool) -> tuple[F64, I64]:
    """Sums, added up strictly from the left, and counts."""
    n = len(offsets) - 1
    sums = np.zeros(n, np.float64)
    counts = np.zeros(n, np.int64)
    everything = len(present) == 0
    for i in range(n):
        total = 0.0
        count = 0
        for j in range(offsets[i], offsets[i + 1]):
            if everything or present[j]:
                total += values[j]
                count += 1
        sums[i] = total
        counts[i] = count
    return sums, counts


def sum_floats_reference(offsets: I64, values: F64, present: Bool) -> tuple[F64, I64]:
    counted = np.where(present, values, 0.0) if len(present) else values
    sums = np.zeros(len(offsets) - 1)
    lengths = np.diff(offsets)
    for step in range(int(lengths.max(initial=0))):  # the step-th value of every segment that has one
        rows = np.flatnonzero(lengths > step)
        sums[rows] += counted[offsets[rows] + step]
    return sums, _counts(offsets, present)


@loop
def extremes(
    offsets: I64, values: npt.NDArray[Any], present: Bool, highest: bool
) -> tuple[npt.NDArray[Any], I64]:
    """The least (or, if `highest`, the greatest) values, NaN where one is NaN, and counts."""
    n = len(offsets) - 1
    best = np.zeros(n, values.dtype)
    counts = np.zeros(n, np.int64)
    everything = len(present) == 0
    for i in range(n):
        count = 0
        for j in range(offsets[i], offsets[i + 1]):
            if everything or present[j]:
                value = values[j]
                # A NaN takes the place of any value, and nothing compares as better than a NaN.
                # NaN is the value that differs from itself; it stays once it is there.
                if count == 0 or value != value or (value > best[i] if highest else value < best[i]):  # noqa: PLR0124
                    best[i] = value
                count += 1
        counts[i] = count
    return best, counts


def extremes_reference(
    offsets: I64, values: npt.NDArray[Any], present: Bool, highest: bool
) -> tuple[npt.NDArray[Any], I64]:
    best = np.zeros(len(offsets) - 1, values.dtype)
    counts = _counts(offsets, present)
    counted = values[present] if len(present) else values
    starts = np.cumsum(counts) - counts
    filled = counts > 0
    if filled.any():
        best[filled] = (np.maximum if highest else np.minimum).reduceat(counted, starts[filled])
    return best, counts


def all_hold(offsets: I64, flags: Bool) -> Bool:
    """Per segment, whether every flag is true (an empty one: yes)."""
    failed = np.zeros(len(flags) + 1, np.int32)
    np.cumsum(~flags, out=failed[1:])
    every: Bool = failed[offsets[1:]] == failed[offsets[:-1]]
    return every


def _counts(offsets: I64, present: Bool) -> I64:
    return _between(offsets, present) if len(present) else np.diff(offsets)


def _between(offsets: I64, values: npt.NDArray[Any]) -> I64:
    """Sums of integers, modulo 2^64, over the segments."""
    running = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=running[1:])
    sums: I64 = running[offsets[1:]] - running[offsets[:-1]]
    return sums
