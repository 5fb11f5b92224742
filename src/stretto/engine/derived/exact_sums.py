"""Sums by their definition, and STDDEV of one input over one grouping and window: state that the window tells."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.engine.derived.frames import Frame, FrameMembers, members
from stretto.engine.derived.kernels.exact_deviations import deviations_in_windows
from stretto.engine.derived.kernels.exact_sums import ENTERED, LEFT, ROW
from stretto.engine.derived.kernels.long_accumulator import SQUARE_COLUMNS, WIDE_SQUARE_COLUMNS
from stretto.engine.kernels.when_to_compile import is_due
from stretto.records import dataclass
from stretto.values.rows import F64, I64, Bool

FEWEST_WIDE = 8
FRACTION_WORK = 16
"""A value as a fraction costs as much as so many doubles."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Per row: how many values; their sum, rounded once; of integers, its digits, and whether 64 bits hold them.

    Without values, a sum is arbitrary.
    """

    counts: I64
    sums: F64
    exact: I64
    fits: Bool


@dataclass(frozen=True, slots=True)
class Deviations:
    """Per row: how many values, and the standard deviation; with fewer than two, it is arbitrary."""

    counts: I64
    deviations: F64


class LongAccumulators:
    """What a loop over long accumulators reads and writes: a row per group, and wide rows for those that need one."""

    def __init__(self, loop: Any, columns: int, wide_columns: int, *, doubles: bool) -> None:
        self._loop = loop
        self._doubles = doubles
        self._columns = (columns, wide_columns)
        self.reset()

    @property
    def nbytes(self) -> int:
        return self._table.nbytes + self._wide.nbytes

    def reset(self) -> None:
        """Forget everything; the next step begins with what the window holds."""
        self._done: I64 = np.zeros(3, np.int64)
        self._table: I64 = np.zeros((0, self._columns[0]), np.int64)
        self._wide: I64 = np.zeros((0, self._columns[1]), np.int64)
        self._free: I64 = np.zeros(1, np.int64)

    def dropped(self, count: int) -> None:
        """So many events have gone from the front of the window; all of them had left, or none has entered."""
        self._done[[ENTERED, LEFT]] = np.maximum(self._done[[ENTERED, LEFT]] - count, 0)

    def _run(self, frame: Frame, bits: I64, valid: Bool, *out: npt.NDArray[Any]) -> None:
        self._make_room(frame.capacity)
        self._done[ROW] = 0
        while not self._loop(
            *(frame.groups, bits, valid, frame.low, frame.high, frame.asked, self._doubles),
            *(self._done, self._table, self._wide, self._free, *out),
        ):
            self._wide = more_wide(self._wide, self._free)

    def _make_room(self, groups: int) -> None:
        if len(self._table) < groups:
            self._table = more_rows(self._table, groups)

    def _few(self, frame: Frame, valid: Bool, weight: int) -> FrameMembers | None:
        """What the rows are over, if that is little enough for the loop's twin; nothing is kept between its steps."""
        if is_due(self._loop, 0):
            return None
        found = members(frame, valid)
        if is_due(self._loop, found.work * weight):
            return None
        self.reset()
        return found


class ExactDeviations(LongAccumulators):
    """Standard deviations of every group."""

    def __init__(self, *, doubles: bool) -> None:
        super().__init__(deviations_in_windows, SQUARE_COLUMNS, WIDE_SQUARE_COLUMNS, doubles=doubles)

    def step(self, frame: Frame, bits: I64, valid: Bool) -> Deviations:
        """Answer the rows of a frame, as sums do."""
        few = self._few(frame, valid, FRACTION_WORK)
        if few is not None:
            return deviations_reference(few, bits.view(np.float64) if self._doubles else bits)
        n = len(frame.asked)
        out = Deviations(np.zeros(n, np.int64), np.zeros(n))
        self._run(frame, bits, valid, out.counts, out.deviations)
        return out


def more_rows(table: I64, count: int) -> I64:
    """The table with zeros below, `count` rows in all."""
    more = np.zeros((count, table.shape[1]), np.int64)
    more[: len(table)] = table
    return more


def more_wide(wide: I64, free: I64) -> I64:
    """Twice as many wide rows; the new ones are put on the list of free ones, which is empty."""
    more = more_rows(wide, max(2 * len(wide), FEWEST_WIDE))
    more[len(wide) : -1, 0] = np.arange(len(wide) + 1, len(more)) + 1
    free[0] = len(wide) + 1
    return more


def sum_windows_reference(rows: FrameMembers, values: I64 | F64) -> Sums:
    """As the loop, from the values themselves: for a little work, and to say what the loop does."""
    doubles = values.dtype.kind == "f"
    n = len(rows.start)
    integers = 0 if doubles else n
    out = Sums(
        rows.stop - rows.start, np.zeros(n), np.zeros(integers, np.int64), np.zeros(integers, np.bool_)
    )
    for i, found in enumerate(_listed(rows, values)):
        out.sums[i] = rounded_sum(found)
        if not doubles:
            total = sum(found)
            out.fits[i] = -(2**63) <= total < 2**63
            out.exact[i] = total if out.fits[i] else 0
    return out


def deviations_reference(rows: FrameMembers, values: I64 | F64) -> Deviations:
    """As the loop, in fractions."""
    found = [rounded_deviation(few) if len(few) > 1 else 0.0 for few in _listed(rows, values)]
    return Deviations(rows.stop - rows.start, np.array(found, np.float64))


def _listed(rows: FrameMembers, values: I64 | F64) -> list[list[Any]]:
    listed = values[rows.places].tolist()
    bounds = zip(rows.start.tolist(), rows.stop.tolist(), strict=True)
    return [listed[start:stop] for start, stop in bounds]


def rounded_sum(values: Sequence[float]) -> float:
    """The double next to the sum; infinite where that is beyond the doubles, NaN for infinities of both signs."""
    if not all(map(math.isfinite, values)):
        return sum(value for value in values if not math.isfinite(value))
    try:
        return float(sum(values)) if all(isinstance(value, int) for value in values) else math.fsum(values)
    except OverflowError:  # on the way, it may be
        return _nearest(sum(map(Fraction, values), Fraction()))


def rounded_deviation(values: Sequence[float]) -> float:
    """The square root of the double next to the variance of a sample of two values or more."""
    if not all(map(math.isfinite, values)):
        return math.nan
    n = len(values)
    exact = [Fraction(value) for value in values]
    total = sum(exact, Fraction())
    spread = n * sum((value * value for value in exact), Fraction()) - total * total
    return math.sqrt(_nearest(spread / (n * (n - 1))))


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
