"""Which events of the window a row's aggregates are over."""

import numpy as np

from stretto.engine.derived.kernels.merged_places import places_after
from stretto.engine.kernels.sorted_search import seek_reference
from stretto.engine.kernels.when_to_compile import is_due
from stretto.records import dataclass
from stretto.values.rows import I64, Bool

LEAST = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Frame:
    """Row i is over the events of group `asked[i]` at the places `low[i]`..`high[i] - 1` of the window.

    `groups`: of every event of the window; `base`: the number of its first event among all there were; `capacity`: more
    than any group's number. `low` and `high` never decrease, and have one place more than there are rows: where the
    last of the events, with a row or not, leaves them.
    """

    groups: I64
    asked: I64
    low: I64
    high: I64
    base: int
    capacity: int


@dataclass(frozen=True, slots=True)
class FrameMembers:
    """What rows are over, one after another: row i is over `places[start[i]:stop[i]]`, for twins of loops."""

    places: I64
    start: I64
    stop: I64

    @property
    def work(self) -> int:
        return len(self.places) + int((self.stop - self.start).sum())


def bounds(times: I64, new: I64, window_us: int) -> tuple[I64, I64]:
    """Per time in `new`, the range of sorted `times` that are later than it less the window, and not later than it."""
    earliest = np.maximum(new, LEAST + window_us) - window_us
    if is_due(places_after, len(new)):
        return places_after(times, earliest), places_after(times, new)
    return seek_reference(times, earliest, after=True), seek_reference(times, new, after=True)


def members(frame: Frame, valid: Bool | None) -> FrameMembers:
    """The valid events of every row's group and window."""
    kept = frame.groups >= 0 if valid is None else valid & (frame.groups >= 0)
    places = np.flatnonzero(kept)
    places = places[np.argsort(frame.groups[places], kind="stable")]
    size = len(frame.groups) + 1
    order = frame.groups[places] * size + places
    rows = len(frame.asked)
    start = np.searchsorted(order, frame.asked * size + frame.low[:rows])
    stop = np.searchsorted(order, frame.asked * size + frame.high[:rows])
    return FrameMembers(places, start, stop)
