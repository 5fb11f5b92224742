"""MIN, MAX and COUNT of one input over one grouping and window."""

import numpy as np

from stretto.engine.derived.exact_sums import more_rows
from stretto.engine.derived.frames import Frame, FrameMembers, members
from stretto.engine.derived.kernels.monotone_deques import (
    INFINITE,
    MOST,
    count_in_windows,
    extremes_in_windows,
)
from stretto.engine.kernels.when_to_compile import is_due
from stretto.records import dataclass
from stretto.values.rows import I64, Bool

GROUP_COLUMNS = 4
NO_MASK: Bool = np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Extremes:
    """Per row: how many values, how many of them are NaN, and the extreme of the others (its bits, if a double)."""

    counts: I64
    nans: I64
    bits: I64


class _Sliding:
    """What is known of every group, as far as the window has been gone through."""

    def __init__(self) -> None:
        self._done: I64 = np.zeros(2, np.int64)
        self._groups: I64 | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self._groups is None else self._groups.nbytes

    def reset(self) -> None:
        """Forget everything; the next step begins with what the window holds."""
        self._groups = None

    def dropped(self, count: int) -> None:
        """So many events have gone from the front of the window; all of them had left."""
        self._done -= count


class SlidingExtremes(_Sliding):
    """The least or the greatest values of every group; the bits of a zero below zero count as less than zero's."""

    def __init__(self, *, doubles: bool, highest: bool) -> None:
        super().__init__()
        self._doubles = doubles
        self._highest = highest

    def step(self, frame: Frame, bits: I64, valid: Bool, links: tuple[I64, I64]) -> Extremes:
        """Answer the rows of a frame. `links`: two columns of the window that are this object's own."""
        if not is_due(extremes_in_windows, 0):
            found = members(frame, valid)
            if not is_due(extremes_in_windows, found.work):
                self.reset()
                return extremes_reference(found, bits, doubles=self._doubles, highest=self._highest)
        if self._groups is None:
            self._groups = np.zeros((0, GROUP_COLUMNS), np.int64)
            self._done[:] = 0
        if len(self._groups) < frame.capacity:
            self._groups = more_rows(self._groups, frame.capacity)
        n = len(frame.asked)
        out = Extremes(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64))
        extremes_in_windows(
            *(frame.groups, bits, valid, self._doubles, self._highest, frame.base),
            *(frame.low, frame.high, frame.asked, self._done, self._groups, *links),
            *(out.counts, out.nans, out.bits),
        )
        return out


class SlidingCounts(_Sliding):
    """How many events every group has, or how many values that are not null."""

    def step(self, frame: Frame, valid: Bool | None) -> I64:
        """Answer the rows of a frame; None: every event counts."""
        if not is_due(count_in_windows, len(frame.groups)):
            self.reset()
            found = members(frame, valid)
            return found.stop - found.start
        if self._groups is None:
            self._groups = np.zeros((0, 1), np.int64)
            self._done[:] = 0
        if len(self._groups) < frame.capacity:
            self._groups = more_rows(self._groups, frame.capacity)
        counts = np.zeros(len(frame.asked), np.int64)
        mask = NO_MASK if valid is None else valid
        count_in_windows(
            frame.groups, mask, frame.low, frame.high, frame.asked, self._done, self._groups, counts
        )
        return counts


def extremes_reference(rows: FrameMembers, bits: I64, *, doubles: bool, highest: bool) -> Extremes:
    """As the loop, from the values themselves."""
    found = bits[rows.places]
    odd = (found & MOST) > INFINITE if doubles else np.zeros(len(found), np.bool_)
    keys = found ^ ((found >> 63) & MOST) if doubles else found
    # NaN is put where it is never the extreme; the values are looked up by key, so it is never read either.
    keys = np.where(odd, np.int64(-MOST - 1) if highest else np.int64(MOST), keys)
    before = np.concatenate([[0], np.cumsum(odd)])
    nans = before[rows.stop] - before[rows.start]
    best = np.zeros(len(rows.start), np.int64)
    filled = np.flatnonzero(rows.stop > rows.start)
    if len(filled):
        edges = np.stack([rows.start[filled], rows.stop[filled]], axis=1).reshape(-1)
        padded = np.concatenate([keys, keys[:1]])  # the last range may end where the values do
        best[filled] = (np.maximum if highest else np.minimum).reduceat(padded, edges)[::2]
    if doubles:
        best ^= (best >> 63) & MOST
    return Extremes(rows.stop - rows.start, nans, best)
