"""SUM, AVG, COUNT and STDDEV of one input over one grouping and window, all in one pass."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from stretto.engine.derived.frames import Frame, FrameMembers, members
from stretto.engine.derived.kernels.exact_sums import ENTERED, LEFT, ROW, sum_windows
from stretto.engine.derived.kernels.long_accumulator import (
    SQUARE_COLUMNS,
    SUM_COLUMNS,
    WIDE_SQUARE_COLUMNS,
    WIDE_SUM_COLUMNS,
)
from stretto.engine.kernels.when_to_compile import is_due
from stretto.values.rows import F64, I64, Bool

FEWEST_WIDE = 8
FRACTION_WORK = 16
"""A value as a fraction costs as much as so many doubles."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Per row: how many values; their sum, rounded once; its digits, and whether 64 bits hold them; the deviation.

    Without values, a sum is arbitrary; the deviation is, with fewer than two. `exact` and `fits` are of integers,
    `deviations` are there if they were asked for.
    """

    counts: I64
    sums: F64
    exact: I64
    fits: Bool
    deviations: F64


class ExactSums:
    """The sums of every group: state that is no more than the window of raw events tells."""

    def __init__(self, *, doubles: bool, deviations: bool) -> None:
        self._doubles = doubles
        self._deviations = deviations
        self._state: _State | None = None

    @property
    def nbytes(self) -> int:
        return self._state.nbytes if self._state else 0

    def reset(self) -> None:
        """Forget everything; the next step begins with what the window holds."""
        self._state = None

    def dropped(self, count: int) -> None:
        """So many events have gone from the front of the window; all of them had left."""
        if self._state:
            self._state.done[[ENTERED, LEFT]] -= count

    def step(self, frame: Frame, bits: I64, valid: Bool) -> Sums:
        """Answer the rows of a frame. `bits`: integers, or the bits of doubles, of all events in the window."""
        if not is_due(sum_windows, 0):
            found = members(frame, valid)
            if not is_due(sum_windows, found.work * (FRACTION_WORK if self._deviations else 1)):
                self.reset()
                values = bits.view(np.float64) if self._doubles else bits
                return sum_windows_reference(found, values, deviations=self._deviations)
        out = _new_sums(len(frame.asked), doubles=self._doubles, deviations=self._deviations)
        self._run(frame, bits, valid, out)
        return out

    def _run(self, frame: Frame, bits: I64, valid: Bool, out: Sums) -> None:
        state = self._state = self._state or _State(self._deviations)
        if len(state.table) < frame.capacity:
            state.table = more_rows(state.table, frame.capacity)
        state.done[ROW] = 0
        while not sum_windows(
            *(frame.groups, bits, valid, frame.low, frame.high, frame.asked, self._doubles, self._deviations),
            *(state.done, state.table, state.wide, state.free),
            out.counts,
            out.sums,
            out.exact,
            out.fits,
            out.deviations,
        ):
            state.wide = _more_wide(state.wide, state.free)


class _State:
    """What `kernels/exact_sums.py` reads and writes."""

    def __init__(self, deviations: bool) -> None:
        self.done: I64 = np.zeros(3, np.int64)
        self.table: I64 = np.zeros((0, SQUARE_COLUMNS if deviations else SUM_COLUMNS), np.int64)
        self.wide: I64 = np.zeros((0, WIDE_SQUARE_COLUMNS if deviations else WIDE_SUM_COLUMNS), np.int64)
        self.free: I64 = np.zeros(1, np.int64)

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + self.wide.nbytes


def more_rows(table: I64, count: int) -> I64:
    """The table with zeros below, `count` rows in all."""
    more = np.zeros((count, table.shape[1]), np.int64)
    more[: len(table)] = table
    return more


def _more_wide(wide: I64, free: I64) -> I64:
    """Twice as many wide rows; the new ones are put on the list of free ones, which is empty."""
    more = more_rows(wide, max(2 * len(wide), FEWEST_WIDE))
    more[len(wide) : -1, 0] = np.arange(len(wide) + 1, len(more)) + 1
    free[0] = len(wide) + 1
    return more


def _new_sums(n: int, *, doubles: bool, deviations: bool) -> Sums:
    integers = 0 if doubles else n
    return Sums(
        np.zeros(n, np.int64),
        np.zeros(n),
        np.zeros(integers, np.int64),
        np.zeros(integers, np.bool_),
        np.zeros(n if deviations else 0),
    )


def sum_windows_reference(rows: FrameMembers, values: I64 | F64, *, deviations: bool) -> Sums:
    """As the loop, from the values themselves: for a little work, and to say what the loop does."""
    doubles = values.dtype.kind == "f"
    out = _new_sums(len(rows.start), doubles=doubles, deviations=deviations)
    listed = values[rows.places].tolist()
    for i, (start, stop) in enumerate(zip(rows.start.tolist(), rows.stop.tolist(), strict=True)):
        found = listed[start:stop]
        out.counts[i] = len(found)
        out.sums[i] = rounded_sum(found)
        if deviations and len(found) > 1:
            out.deviations[i] = rounded_deviation(found)
        if not doubles:
            total = sum(found)
            out.fits[i] = -(2**63) <= total < 2**63
            out.exact[i] = total if out.fits[i] else 0
    return out


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
