"""When events come: stretches of so many events between two times, and the slices of time that are cut from them."""

from collections.abc import Iterable
from functools import cached_property
from typing import Final, Self

import numpy as np

from stretto.records import dataclass
from stretto.values.rows import F64, I64
from stretto.values.times import END_OF_TIME, START_OF_TIME

NEAR: Final = 0.25
"""A cut moves to an edge that is nearer than this share of a slice, so that what begins there is read once."""

Stretch = tuple[int, int, int]
"""The first and the last time of some events, and their number."""


@dataclass(frozen=True)
class Times:
    """Stretches of events in the order of their first times; they may overlap. `edges`: good times to cut at."""

    first: I64
    last: I64
    rows: I64
    edges: I64

    @classmethod
    def of(cls, stretches: Iterable[Stretch], edges: Iterable[int] = ()) -> Self:
        """Stretches in any order; those without events do not count."""
        found = np.array([s for s in stretches if s[2] > 0], np.int64).reshape(-1, 3)
        found = found[np.argsort(found[:, 0], kind="stable")]
        return cls(found[:, 0], found[:, 1], found[:, 2], np.unique(np.array(list(edges), np.int64)))

    @property
    def total(self) -> int:
        """The number of events."""
        return int(self.rows.sum())

    @property
    def seconds(self) -> float:
        """From the first to the last event."""
        return float(self.last.max() - self.first.min()) / 1e6 if len(self.rows) else 0.0

    def before(self, times: I64) -> F64:
        """About how many events lie before each time."""
        knots, counts = self._distribution
        if not len(knots):
            return np.zeros(len(times))
        shifted = np.clip(times, knots[0], knots[-1]) - knots[0]
        found: F64 = np.interp(shifted.astype(np.float64), (knots - knots[0]).astype(np.float64), counts)
        return found

    def at(self, shares: F64) -> I64:
        """The times before which about these shares of the events lie."""
        knots, counts = self._distribution
        moved = np.interp(shares * counts[-1], counts, (knots - knots[0]).astype(np.float64))
        found: I64 = knots[0] + moved.astype(np.int64)
        return found

    def cuts(self, count: int) -> list[int]:
        """Times that cut the events into at most so many slices of about equal size, in order."""
        knots, counts = self._distribution
        if not len(knots) or count < 2:
            return []
        shares = np.arange(1, count) / count
        wanted, cuts = shares * counts[-1], self.at(shares)
        edges = self.edges
        if len(edges) > 1:
            # A slice that begins at an edge shares no row group with the one before; uneven slices cost less than that,
            # as long as the cut moves by a small part of a slice.
            known = self.before(edges)
            after = np.clip(np.searchsorted(known, wanted), 1, len(edges) - 1)
            nearer = np.where(wanted - known[after - 1] < known[after] - wanted, after - 1, after)
            is_near = np.abs(known[nearer] - wanted) <= NEAR * counts[-1] / count
            cuts = np.where(is_near, edges[nearer], cuts)
        return [cut for cut in np.unique(cuts).tolist() if cut > knots[0]]

    def until(self, time: int, events: int) -> int:
        """A time such that at least so many events lie from `time` on and before it; the end if there are fewer."""
        if events <= 0:
            return time
        # Of a stretch that begins before `time` nobody knows how many events come after it, so it does not count: a
        # slice may see more than it needs, never less.
        inside = self.first >= time
        last, rows = self.last[inside], self.rows[inside]
        order = np.argsort(last, kind="stable")
        enough = np.flatnonzero(np.cumsum(rows[order]) >= events)
        return int(last[order[enough[0]]]) + 1 if len(enough) else END_OF_TIME

    def since(self, time: int, events: int) -> int:
        """A time such that at least so many events lie from it on and before `time`; the start if there are fewer."""
        if events <= 0:
            return time
        inside = self.last < time
        first, rows = self.first[inside], self.rows[inside]
        order = np.argsort(-first, kind="stable")
        enough = np.flatnonzero(np.cumsum(rows[order]) >= events)
        return int(first[order[enough[0]]]) if len(enough) else START_OF_TIME

    @cached_property
    def _distribution(self) -> tuple[I64, F64]:
        """Times in order, and how many events lie before each, if a stretch's events are evenly spread over it."""
        if not len(self.rows):
            return np.zeros(0, np.int64), np.zeros(0)
        knots = np.unique(np.concatenate([self.first, self.last + 1]))
        # A stretch adds its density at its first time and takes it away behind its last one: the running sum is the
        # density between two knots, however stretches overlap.
        density = np.zeros(len(knots))
        rates = self.rows / (self.last + 1 - self.first)
        np.add.at(density, np.searchsorted(knots, self.first), rates)
        np.add.at(density, np.searchsorted(knots, self.last + 1), -rates)
        grown = np.cumsum(density)[:-1] * np.diff(knots)
        return knots, np.concatenate([[0.0], np.cumsum(np.maximum(grown, 0.0))])


def stretches_of(ts: I64, most: int) -> list[Stretch]:
    """Some times as stretches of at most so many events that do not overlap, but in ties."""
    ts = np.sort(ts[(ts > START_OF_TIME) & (ts < END_OF_TIME)])
    starts = range(0, len(ts), most)
    return [(int(ts[i]), int(ts[min(i + most, len(ts)) - 1]), min(most, len(ts) - i)) for i in starts]
