"""Pairs of rows inside the window: each new row looks back at the rows of the other side that ended before it."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.band import Band, coordinates, reach
from stretto.engine.sets import size_of
from stretto.engine.shape import Clock, Shape
from stretto.plan.ops import Join
from stretto.values.rows import I64, Rows, take_column


class JoinOperator:
    """The later row of a pair finds it: the right one if both end at once, so that each pair is found once."""

    def __init__(self, op: Join, inputs: Sequence[Shape], *, last: bool = False) -> None:
        """`last`: the rows go into matches and nowhere else, so that their columns may be narrow."""
        left, right = inputs
        self._op, self._narrow = op, last
        self.shape = Shape((*left.sets, *right.sets), (*left.optional, *right.optional))
        at = left.width
        self._left = Band(left, right, op.window, op.terms, op.distinct, stored_at=0, probing_at=at)
        # All of the left comes before the right in a sequence, so that no left row ever ends a pair.
        self._right: Band | None = None
        if op.order == "any":
            swapped = [(r, l) for l, r in op.distinct]
            self._right = Band(right, left, op.window, op.terms, swapped, stored_at=at, probing_at=0)

    @property
    def held(self) -> int:
        return self._left.held + (self._right.held if self._right else 0)

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        left, right = inputs
        self._left.append(left, clock.events)
        out: list[Rows] = []
        for part in right:
            out.extend(self._from_right(part, clock))
        if self._right is not None:
            self._right.append(right, clock.events)
            for part in left:
                out.extend(self._from_left(part, self._right, clock))
        self._expire(clock)
        return out

    def _from_right(self, probe: Rows, clock: Clock) -> Iterator[Rows]:
        first, last = coordinates(probe, self._op.window)
        sequence = self._op.order == "before"
        hi = self._left.search(first, "left") if sequence else self._left.search(last, "right")
        by_count = sequence and self._op.window.unit == "events"
        for rows in self._joined(self._left, probe, hi, last, clock, strictly=by_count):
            clock.meter.charge(size_of(rows), len(rows))
            yield rows

    def _from_left(self, probe: Rows, band: Band, clock: Clock) -> Iterator[Rows]:
        last = coordinates(probe, self._op.window)[1]
        for rows in self._joined(band, probe, band.search(last, "left"), last, clock, strictly=False):
            clock.meter.charge(size_of(rows), len(rows))
            yield rows

    def _joined(
        self, band: Band, probe: Rows, hi: I64, last: I64, clock: Clock, *, strictly: bool
    ) -> Iterator[Rows]:
        """Rows of the pairs below `hi` and in the window; `strictly`: the stored row ends before the other begins."""
        floor = reach(last, self._op.window)
        lo = band.search(floor, "left")
        stored_first = band is self._left
        if band.plain and not strictly:
            narrow = self._narrow and clock.end < 1 << 31
            yield from band.joined(
                probe, lo, hi, clock.events, floor, stored_first=stored_first, narrow=narrow
            )
            return
        for index, numbers in band.pairs(probe, lo, hi, clock.events, floor):
            rows = self._rows(band, numbers, probe, index, stored_first=stored_first)
            # Positions also order events of one time, which are in no sequence.
            yield rows.take(band.last_ts(numbers) < probe.first[index]) if strictly else rows

    def _rows(self, band: Band, numbers: I64, probe: Rows, index: I64, *, stored_first: bool) -> Rows:
        stored = [band.column(numbers, c) for c in range(band.width)]
        probing = [take_column(column, index) for column in probe.columns]
        first = np.minimum(band.first_ts(numbers), probe.first[index])
        columns = (*stored, *probing) if stored_first else (*probing, *stored)
        return Rows(first, probe.last[index], columns)

    def _expire(self, clock: Clock) -> None:
        window = self._op.window
        before = clock.until - window.size if window.unit == "us" else clock.end - (window.size - 1)
        self._left.expire(before)
        if self._right is not None:
            self._right.expire(before)
