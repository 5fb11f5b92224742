"""Rows without a forbidden event in the interval that a negation's place gives them."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.kernels.order_keys import LEAST, MOST
from stretto.engine.kernels.sorted_search import look_up
from stretto.engine.memory.limits import Meter, Undo, size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.rows.band import Band
from stretto.engine.rows.coordinates import any_bound, coordinates, last_inside, reach, times
from stretto.engine.rows.join_keys import split_terms
from stretto.engine.rows.pending import Pending
from stretto.engine.rows.sets import sliced
from stretto.pattern.piece import Place
from stretto.plan.ops import Forbid
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool, Rows, Sets, empty_rows

FIRST_SLICE = 16
GROWTH = 16
"""How many events of an interval are looked at before more of them, and how many more."""
JUDGING = 2048
"""Bytes of memory that is left for each row that is judged together with others: about ten times what it takes."""


class ForbidOperator(Bookkeeping):
    """Rows are judged once all events of their interval are known; those of a waiting place wait for that.

    A row that leaves one side of an OPEN place unbound has its negation first or last. A row that leaves both sides
    unbound has none.
    """

    def __init__(self, op: Forbid, inputs: Sequence[RowShape]) -> None:
        rows, events = inputs
        self._op = op
        self.shape = rows
        self._after = op.after if op.place in (Place.BETWEEN, Place.OPEN, Place.LAST) else ()
        self._before = op.before if op.place in (Place.BETWEEN, Place.OPEN, Place.FIRST) else ()
        distinct = [(0, c) for c in op.distinct]
        self._band = Band(events, rows, op.window, op.terms, distinct, stored_at=rows.width, probing_at=0)
        self._by_key = bool(split_terms(op.terms, events, rows, rows.width, 0).equal)
        self._pending = Pending()
        self._kept = (self._band, self._pending)
        self._reached = LEAST  # no row that comes now looks at an event before this

    @property
    def waiting(self) -> bool:
        return bool(self._pending)

    @property
    def due_us(self) -> int | None:
        """The earliest time that a row waits for; rows that wait for events to come wait for no time."""
        return self._pending.earliest if self._op.window.unit == "us" else None

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        rows, events = inputs
        meter = clock.meter
        self._band.expire(self._reached)
        self._band.append(events, clock.events, meter)
        ready = [part for part in rows if len(part)]
        if self._op.place.waits:
            ready = [self._without_waiting(part, clock) for part in ready]
            ready += self._pending.release(self._passed(clock))
        out: list[Rows] = []
        for part in ready:
            some = meter.share(JUDGING, 1 << 24, FIRST_SLICE)
            for start in range(0, len(part), some):
                piece = sliced(part, slice(start, min(start + some, len(part))))
                kept = self._judged(piece, clock.events, meter)
                if len(kept) < len(piece):
                    meter.charge(size_of(kept), len(kept))
                out.append(kept)
        self._reached = self._reach(clock)
        return [part for part in out if len(part)]

    def mark(self) -> Undo:
        rows, reached = super().mark(), self._reached

        def undo() -> None:
            rows()
            self._reached = reached

        return undo

    # ---- waiting -----------------------------------------------------------------------------------------------

    def _without_waiting(self, rows: Rows, clock: Clock) -> Rows:
        """The rows that can be judged now; the others are put aside until the end of their interval has passed."""
        waits = self._open_end(rows)
        late = rows if waits.all() else rows.take(waits)
        self._pending.add(late, last_inside(late, self._op.window), clock.meter)
        if late is rows:
            return empty_rows(self.shape.sets)
        ready = rows.take(~waits)
        clock.meter.charge(size_of(ready), len(ready))
        return ready

    def _open_end(self, rows: Rows) -> Bool:
        """Which rows forbid up to the end of the window."""
        if self._op.place is Place.ANYWHERE:
            return np.ones(len(rows), np.bool_)
        return any_bound(rows, self._after) & ~any_bound(rows, self._before)

    def _passed(self, clock: Clock) -> int:
        """Every event with a coordinate below this is known."""
        if clock.closing:
            return MOST
        return clock.until if self._op.window.unit == "us" else clock.end

    def _reach(self, clock: Clock) -> int:
        """Keep events for rows that come, or wait, up to one window after their first event and look back another.

        Older ones expire in the next step: until then this one may be undone.
        """
        reached = clock.until if self._op.window.unit == "us" else clock.end
        return max(reached - 2 * self._op.window.size, LEAST)

    # ---- judging -----------------------------------------------------------------------------------------------

    def _judged(self, rows: Rows, events: Events, meter: Meter) -> Rows:
        lo, hi = self._interval(rows, events)
        if self._op.terms:
            broken = self._broken(rows, lo, hi, events, meter)
        else:
            broken = hi - lo > self._own(rows, lo, hi)
        return rows.take(~broken) if broken.any() else rows

    def _interval(self, rows: Rows, events: Events) -> tuple[I64, I64]:
        """Per row, the forbidden events of its interval, as a range of the band's rows."""
        band, window = self._band, self._op.window
        last = band.search(last_inside(rows, window), "right")
        if self._op.place is Place.ANYWHERE:
            return band.search_time(rows.first, "left"), last
        _, after, opened = times(rows, self._after, events)
        before, _, closed = times(rows, self._before, events)
        first = band.search(reach(coordinates(rows, window)[1], window), "left")
        lo = np.where(opened, band.search_time(after, "right"), first)
        hi = np.where(closed, band.search_time(before, "left"), last)
        return lo, np.where(opened | closed, hi, lo)

    def _own(self, rows: Rows, lo: I64, hi: I64) -> I64:
        """How many events of its interval each row binds itself, in the columns where that could be."""
        own = np.zeros(len(rows), np.int64)
        end = int(self._band.search(np.array([MOST]), "right")[0])
        numbers = np.arange(end - len(self._band), end)
        stored = self._band.column(numbers, 0)
        assert not isinstance(stored, Sets)
        for c in self._op.distinct:
            column = rows.columns[c]
            index, bound = np.arange(len(rows)), column
            if isinstance(column, Sets):
                index, bound = np.repeat(index, column.lengths), column.values
            assert not isinstance(bound, Sets)
            at, found = look_up(stored, bound)
            at = at + end - len(self._band)
            own += np.bincount(index[found & (lo[index] <= at) & (at < hi[index])], minlength=len(rows))
        return own

    def _broken(self, rows: Rows, lo: I64, hi: I64, events: Events, meter: Meter) -> Bool:
        """Which rows have an event in their range that the terms forbid, looking at the first ones first."""
        broken = np.zeros(len(rows), np.bool_)
        left = np.flatnonzero(lo < hi)
        size = MOST if self._by_key else FIRST_SLICE
        while len(left):
            start = lo[left]
            stop = np.minimum(hi[left], start + min(size, len(self._band)))
            probe = rows if len(left) == len(rows) else rows.take(left)
            for index, _ in self._band.pairs(probe, start, stop, events, meter):
                broken[left[index]] = True
            lo = lo.copy()
            lo[left] = stop
            left = left[~broken[left] & (stop < hi[left])]
            size = min(size * GROWTH, MOST)
        return broken
