"""Pairs of rows inside the window: each new row looks back at the rows of the other side that ended before it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Literal as OneOf

import numpy as np

from stretto.engine.memory.limits import size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.rows.band import Band
from stretto.engine.rows.coordinates import RangeEnd, beyond, coordinates, last_inside, reach
from stretto.engine.rows.known_order import joined, place_of
from stretto.engine.rows.row_blocks import rises
from stretto.engine.rows.shared_events import in_one_order, kept_columns, with_both_copies, without_copies
from stretto.pattern.order import mask_of
from stretto.plan.ops import Join
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Rows, Sets, concat_rows, take_column

FEW = 16
"""Where so many new rows come to one stored row, it looks for them: they need not be prepared to look for it."""

FEW_ROWS = 1 << 13
"""Parts of so many rows in all are put together: to copy them costs less than to call kernels for each."""


class JoinOperator(Bookkeeping):
    """The later row of a pair finds it: the right one if both end at once, so that each pair is found once.

    Where the order terms tell which side ends every pair, the other side is stored and never looks. Rows that meet
    single events in any order look around: the events of the step that are later than them are known too, and make one
    range with those before. So what they end with later steps is all that they are kept for.
    """

    def __init__(self, op: Join, inputs: Sequence[RowShape], *, last: bool = False) -> None:
        """`last`: the rows go into matches and nowhere else, so that their columns may be narrow."""
        left, right = inputs
        both = with_both_copies(op, left.width, right.width)
        pair = joined(left, right, both.terms, before=op.order == "before")
        pair = in_one_order(pair, left.width, op.same) if op.same else pair
        self.shape = without_copies(pair, left.width, op)
        self._window, self._last = op.window, last
        self._looks: list[_Look] = []
        of_left, of_right = range(left.width), range(left.width, pair.width)
        sequence, order = op.order == "before", pair.order
        if sequence or not order.never_last(of_right, mask_of(of_left)):
            self._looks.append(_Look(both, inputs, pair, stored=0, narrow=last))
        # A shared event ends a pair for both sides at once, and then the right row finds it.
        alone = set(of_left) - {column for column, _ in op.same}
        if not sequence and not order.never_last(alone, mask_of(of_right)):
            self._looks.append(_Look(both, inputs, pair, stored=1, narrow=last))
        self._kept = tuple(look.band for look in self._looks)
        self._around = [look for look in self._looks if len(self._looks) == 2 and look.may_look_around]
        # One look finds the pairs by when they end, if that is how the rows come that look.
        self.may_sieve = last and len(self._looks) == 1 and self._looks[0].band.plain

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        before = beyond(clock, self._window)
        for look in self._looks:
            look.band.expire(before)
        if clock.sieve is not None and not (self.may_sieve and self._in_turn(inputs)):
            clock.sieve.stop()
            clock = replace(clock, sieve=None)
        out: list[Rows] = []
        for rows in (self._met if self._around else self._found)(inputs, clock):
            if len(rows):
                clock.meter.charge(size_of(rows), len(rows))
                out.append(rows)
        return out if self._last else _together(out, clock)

    def _in_turn(self, inputs: Sequence[list[Rows]]) -> bool:
        """Whether the rows that look come by their last times."""
        lasts = [rows.last for rows in inputs[1 - self._looks[0].stored] if len(rows)]
        return all(map(rises, lasts)) and all(one[-1] <= other[0] for one, other in pairwise(lasts))

    def _found(self, inputs: Sequence[list[Rows]], clock: Clock) -> Iterator[Rows]:
        """The pairs that each side finds among the rows of the other one that ended before."""
        for look in self._looks:
            look.band.append(inputs[look.stored], clock.events, clock.meter)
        for look in self._looks:
            for part in look.probes(inputs[1 - look.stored], clock):
                yield from look.pairs(part, clock)

    def _met(self, inputs: Sequence[list[Rows]], clock: Clock) -> Iterator[Rows]:
        """The pairs that new rows of one side find by looking around, and those of rows before with new ones."""
        # Where both sides are single events, the fewer look.
        look = max(self._around, key=lambda one: sum(map(len, inputs[one.stored])))
        events, others, kept = inputs[look.stored], inputs[1 - look.stored], self._looks[1 - look.stored]
        before = look.band.added
        look.band.append(events, clock.events, clock.meter)
        new = look.band.added - before
        if FEW * len(kept.band) < new:
            yield from look.pairs_around(kept.band.rows(kept.band.numbers), clock, new)
        else:
            yield from chain.from_iterable(kept.pairs(part, clock) for part in events)
        for part in others:
            yield from look.pairs_around(part, clock)
        then = clock.until if self._window.unit == "us" else clock.end
        later = [part.take(last_inside(part, self._window) >= then) for part in others]
        kept.band.append(later, clock.events, clock.meter)


class _Look:
    """The rows of one side, `stored` 0 (left) or 1 (right), and how the rows of the other side find them."""

    def __init__(
        self, op: Join, inputs: Sequence[RowShape], pair: RowShape, *, stored: int, narrow: bool
    ) -> None:
        self.stored = stored
        self._columns = kept_columns(op, inputs)
        sides = range(inputs[0].width), range(inputs[0].width, pair.width)
        of_stored, of_probing = sides[stored], sides[1 - stored]
        self._window, self._narrow = op.window, narrow
        self._sequence = op.order == "before"
        self._place = place_of(pair, of_stored, of_probing, op.terms)
        self._wide = not inputs[1 - stored].single
        # By what the probing rows are known to be, not by what the terms will leave of them.
        own = inputs[1 - stored].order.shifted(of_probing.start)
        self._first = own.earliest(of_probing)
        self._last = own.latest(of_probing)
        self._probing_at = of_probing.start
        # Where both sides may end a pair that ends at once, the right row finds it.
        self._ties: OneOf["left", "right"] = "right" if stored == 0 else "left"
        self.band = Band(
            inputs[stored],
            inputs[1 - stored],
            op.window,
            [term for term in op.terms if term not in self._place.settled],
            op.distinct if stored == 0 else [(r, l) for l, r in op.distinct],
            stored_at=of_stored.start,
            probing_at=of_probing.start,
            inside=self._place.inside,
            hashed=op.hashed,
            by_event=bool(op.same),
        )
        # No order to go by, and a range of stored rows is all that the window leaves.
        ordered = self._place.after or self._place.before
        self.may_look_around = inputs[stored].single and self.band.plain and not ordered

    def probes(self, parts: Sequence[Rows], clock: Clock) -> Sequence[Rows]:
        """Probing rows as they come; where stored rows are found by their keys, all together."""
        parts = [part for part in parts if len(part)]
        if not self.band.hashes or len(parts) < 2 or not len(self.band):
            return parts
        clock.meter.reserve(sum(map(size_of, parts)), sum(map(len, parts)))
        return [concat_rows(parts)]

    def pairs(self, probe: Rows, clock: Clock) -> Iterator[Rows]:
        """Rows of all pairs with the stored rows."""
        band, stored_first = self.band, self.stored == 0
        if not len(probe) or not len(band):
            return
        (lo, hi, candidates), floor = self._range(probe, clock.events)
        # A chain is walked from its latest row. Rows enter when a probe reaches so far, so a probe that comes after
        # one that reached further walks over all that it must not see: with few keys, over most of a step.
        if band.hashes and (hi[1:] < hi[:-1]).any():
            clock.meter.reserve(size_of(probe), len(probe))
            order = np.argsort(hi, kind="stable")
            probe, lo, hi, floor = probe.take(order), lo[order], hi[order], floor[order]
        if band.plain:
            narrow = self._narrow and clock.end < 1 << 31
            yield from band.joined(
                probe,
                (lo, hi, candidates),
                clock.events,
                floor,
                clock.meter,
                stored_first=stored_first,
                narrow=narrow,
                sieve=clock.sieve,
            )
            return
        for index, numbers in band.pairs(probe, lo, hi, clock.events, clock.meter, floor):
            yield self._rows(numbers, probe, index, stored_first=stored_first)

    def pairs_around(self, probe: Rows, clock: Clock, new: int | None = None) -> Iterator[Rows]:
        """Rows of all pairs with stored events, or the last `new` of them, whether these are before or after."""
        band, window = self.band, self._window
        if not len(probe) or not len(band):
            return
        first, last = coordinates(probe, window)
        floor, latest = reach(last, window), last_inside(probe, window)
        lo, hi, count = band.span(RangeEnd(floor, "left"), RangeEnd(latest, "right"))
        outside = first < floor  # rows of a wider window
        if new is not None or outside.any():
            lo = lo if new is None else np.maximum(lo, band.numbers[-1] + 1 - new)
            hi = np.where(outside, lo, np.maximum(lo, hi))
            count = int((hi - lo).sum())
        yield from band.joined(
            probe,
            (lo, hi, count),
            clock.events,
            floor,
            clock.meter,
            stored_first=self.stored == 0,
            narrow=self._narrow and clock.end < 1 << 31,
            latest=latest,
        )

    def _range(self, probe: Rows, events: Events) -> tuple[tuple[I64, I64, int], I64]:
        """Per probing row: the stored rows lo..hi - 1 by their last event, and the first coordinate of its window."""
        place = self._place
        first, last = coordinates(probe, self._window)
        floor = reach(last, self._window)
        low = RangeEnd(floor, "left")
        if place.after:  # then the window's bound is implied
            times = _most([self._time(c, probe, events) for c in place.after])
            low = RangeEnd(times, "right", by_time=True)
        if self._sequence:
            high = RangeEnd(probe.first, "left", by_time=True)
        elif place.before:
            groups = [_least([self._time(c, probe, events) for c in group]) for group in place.before]
            high = RangeEnd(_most(groups), "left", by_time=True)
        else:
            high = RangeEnd(last, self._ties)
        lo, hi, count = self.band.span(low, high)
        if self._wide:
            outside = first < floor  # rows of a wider window
            if outside.any():
                hi = np.where(outside, lo, hi)
                count = int((hi - lo).sum())
        return (lo, hi, count), floor

    def _time(self, column: int, probe: Rows, events: Events) -> I64:
        """The time of the probing row's event in a column of the pair."""
        if self._last == [column]:
            return probe.last
        if self._first == [column]:
            return probe.first
        positions = probe.columns[column - self._probing_at]
        assert not isinstance(positions, Sets)
        times: I64 = events.values("ts", positions).data
        return times

    def _rows(self, numbers: I64, probe: Rows, index: I64, *, stored_first: bool) -> Rows:
        kept = self._columns[self.stored], self._columns[1 - self.stored]
        stored = [self.band.column(numbers, c) for c in kept[0]]
        probing = [take_column(probe.columns[c], index) for c in kept[1]]
        first = np.minimum(self.band.first_ts(numbers), probe.first[index])
        columns = (*stored, *probing) if stored_first else (*probing, *stored)
        return Rows(first, probe.last[index], columns)


def _together(parts: list[Rows], clock: Clock) -> list[Rows]:
    """Parts of few rows as one."""
    # What both sides found are two parts at least, and whoever reads them calls its kernels for each of them: in a
    # tree of such joins they would double from level to level.
    count = sum(map(len, parts))
    if len(parts) < 2 or count > FEW_ROWS:
        return parts
    clock.meter.reserve(sum(map(size_of, parts)), count)
    return [concat_rows(parts)]


def _least(times: Sequence[I64]) -> I64:
    return times[0] if len(times) == 1 else np.minimum.reduce(times)


def _most(times: Sequence[I64]) -> I64:
    return times[0] if len(times) == 1 else np.maximum.reduce(times)
