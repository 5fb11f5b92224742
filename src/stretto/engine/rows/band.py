"""The rows of one input that a window can still reach, and the pairs they form with rows that probe them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Literal as OneOf

import numpy as np

from stretto.engine.kernels.band import (
    FRESH,
    NO_LANE,
    band_pairs,
    band_pairs_reference,
    band_rows,
    band_rows_reference,
    chained_pairs,
    chained_pairs_reference,
    range_rows,
)
from stretto.engine.kernels.order_keys import MOST
from stretto.engine.kernels.sieved_band import sieved_rows
from stretto.engine.kernels.sorted_search import seek, seek_reference, spans, spans_reference
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.memory import reuse
from stretto.engine.memory.limits import Meter, Undo, size_of
from stretto.engine.operators.protocol import RowShape
from stretto.engine.rows.coordinates import RangeEnd, coordinates
from stretto.engine.rows.join_keys import KeyTerm, all_probing_keys, all_stored_keys, mixed, split_terms
from stretto.engine.rows.row_blocks import blocks_for, rises, stretches, written
from stretto.engine.rows.sets import differs
from stretto.engine.rows.sieve import Sieve
from stretto.engine.stream.arena import room_for
from stretto.pattern.nodes import Window
from stretto.pattern.predicates import Expr, columns_of
from stretto.values.evaluate import Events, holds
from stretto.values.rows import I64, UNBOUND, Bool, Column, Rows, Sets, concat_rows, spread, take_column

BLOCK = 1 << 16
LARGE_BLOCK = 1 << 16
"""The most rows that a join makes at a time. Larger arrays come in large pages, which cost more than they save."""
PAIRS = 1 << 12
"""Pairs that are found before their rows are written: they stay in the first cache."""
FEWEST = 256
"""Pairs that are made at a time, however little memory is left."""
_FIRST_CAPACITY = 1 << 10
_NO_KEYS = np.empty(0, np.int64)


class Band:
    """Rows of one input, kept sorted by their last coordinate, and the terms that relate them to probing rows.

    Terms read the stored row's columns as `stored_at`.., the probing row's as `probing_at`..; `distinct` are pairs
    (stored column, probing column), each by its own numbering. Row numbers are valid until the next append or expire.
    `inside`: no stored row begins before the row that probes, so that its first coordinate need not be looked at.
    `hashed`: rows with equal keys are found by hash, else they are compared like all others. `by_event`: the keys are
    events that both rows hold, and of the ranges only rows with equal keys count as looked at.
    """

    def __init__(
        self,
        stored: RowShape,
        probing: RowShape,
        window: Window,
        terms: Sequence[Expr],
        distinct: Sequence[tuple[int, int]] = (),
        *,
        stored_at: int,
        probing_at: int,
        inside: bool = False,
        hashed: bool = True,
        by_event: bool = False,
    ) -> None:
        self.looked = 0  # candidates: stored rows in the ranges that were searched, all together
        self._by_event = by_event
        self._stored, self._probing, self._window = stored, probing, window
        self._stored_at, self._probing_at = stored_at, probing_at
        self._distinct = tuple(distinct)
        split = split_terms(terms, stored, probing, stored_at, probing_at)
        self._rest = split.rest
        # One equality is exact by its key; several meet in a mixed key, so each is checked again as two comparisons.
        twice = [KeyTerm(op, t.stored, t.probing, t.kind) for t in split.equal for op in ("<=", ">=")]
        if hashed:
            self._equal = split.equal
            self._at_most = (*split.at_most, *(twice if len(split.equal) > 1 else ()))
        else:
            self._equal = ()
            self._at_most = (*twice, *split.at_most)
        # The first coordinate, negated, is the last term: a band on the last one is all there is for single events.
        self._has_floor = not (stored.single or inside)
        self._pair_parts = 128 * (4 + stored.width + probing.width)
        self._lay_out()
        self._lanes = reuse.room((self._lane_count, _FIRST_CAPACITY), np.int64)
        self._pools = [np.empty(0, np.int64) for _ in stored.sets]
        self._begin = self._end = 0
        self.added = 0  # rows, all together
        self._reset_chains()
        self._block = _FIRST_CAPACITY
        self._share = 0.0  # of the candidates, those that were pairs when it was last asked
        self._room = reuse.room((2, PAIRS), np.int64)
        self._probe = reuse.room((2 + probing.width, 0), np.int64)
        self._measure()

    def _lay_out(self) -> None:
        """Number the lanes: last coordinate, terms, first coordinate, times, columns; key and chain come last."""
        by_time, single = self._window.unit == "us", self._stored.single
        terms = len(self._at_most)
        lane = 1 + terms + self._has_floor
        self._last_ts_lane = 0 if by_time else lane
        lane += not by_time
        self._first_ts_lane = self._last_ts_lane if single else lane
        lane += not single
        self._column_lanes: list[int] = []
        for is_set in self._stored.sets:
            self._column_lanes.append(lane)
            lane += 2 if is_set else 1
        self._lane_count = lane + (2 if self._equal else 0)
        self._row_lanes = np.array([self._first_ts_lane, *self._column_lanes])
        has_sets = any((*self._stored.sets, *self._probing.sets))
        # Whether pairs need no more than comparisons of keys, and rows have no sets: `joined` can make them.
        self.plain = not (self._rest or self._distinct or self._equal or has_sets)

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def numbers(self) -> I64:
        """Of all rows."""
        return np.arange(self._begin, self._end)

    @property
    def width(self) -> int:
        return self._stored.width

    @property
    def hashes(self) -> bool:
        """Whether stored rows are found by equal keys."""
        return bool(self._equal)

    def _measure(self) -> None:
        """Say anew how many bytes are held: asked for in every turn, and changed when a buffer is another one."""
        buffers = (self._lanes, self._heads, self._probe, self._room, *self._pools)
        self.held = sum([buffer.nbytes for buffer in buffers])

    # ---- keeping rows --------------------------------------------------------------------------------------

    def append(self, parts: Sequence[Rows], events: Events, meter: Meter) -> None:
        """Keep these rows too; none of them has a last coordinate before one that is kept already."""
        parts = [part for part in parts if len(part)]
        if not parts:
            return
        count = sum(map(len, parts))
        # Beside the rows in one piece, in order: coordinates, the order, and the keys.
        made = sum(map(size_of, parts)) * 2 + 8 * count * (3 + len(self._at_most) + len(self._equal))
        meter.reserve(made + self._growth(count), count)
        lasts = [coordinates(part, self._window)[1] for part in parts]
        if all(map(rises, lasts)) and all(one[-1] <= other[0] for one, other in pairwise(lasts)):
            for part in parts:  # in order as they come: each is written to its place
                self._keep(part, None, events, meter)
            return
        order = np.argsort(np.concatenate(lasts), kind="stable")
        self._keep(concat_rows(parts), order, events, meter)

    def _keep(self, rows: Rows, order: I64 | None, events: Events, meter: Meter) -> None:
        """Write those of the rows that can satisfy all terms, in this order."""
        keys, alive = all_stored_keys((*self._at_most, *self._equal), rows.columns, len(rows), events)
        if alive is not None and not alive.all():
            order = np.flatnonzero(alive) if order is None else order[alive[order]]
        if order is not None and any(self._stored.sets):
            rows, keys, order = rows.take(order), [key[order] for key in keys], None
        if len(rows if order is None else order):
            before = self.held
            self._write(rows, keys, order)
            meter.charge(self.held - before, len(rows))

    def mark(self) -> Undo:
        """What takes back all rows that are appended from now on; rows that expire do not come back."""
        # Rows that the step expired are in no window with what comes, whether it is run again in parts or not; so to
        # forget the last rows is enough, and a mark costs nothing.
        added, looked = self.added, self.looked

        def undo() -> None:
            self._drop(self.added - added)
            self.looked = looked

        return undo

    def _drop(self, count: int) -> None:
        """Without the last `count` rows, and without the room for them."""
        if not count:
            return
        self.added -= count
        self._end -= count
        for i, is_set in enumerate(self._stored.sets):
            if is_set:
                values = self._pools[i]
                self._pools[i] = values[: self._lanes[self._column_lanes[i], self._end]].copy()
                reuse.forgotten(values)
        self._move(room_for(len(self), 0, _FIRST_CAPACITY))

    def _write(self, rows: Rows, keys: list[I64], order: I64 | None) -> None:
        """Write these rows, or those of them that `order` names, behind the others; sets come in their order."""
        count = len(rows if order is None else order)
        if self._end + count > self._lanes.shape[1] or reuse.debug:
            # Drop what expired and grow, so that the new rows fit.
            self._move(room_for(len(self), count, self._lanes.shape[1]))
        new = slice(self._end, self._end + count)
        lanes = self._lanes
        for lane, values in self._filled(rows, keys):
            if order is None:
                lanes[lane, new] = values
            else:  # a mode is given, as NumPy would write to a copy first to be able to fail
                values.take(order, out=lanes[lane, new], mode="clip")
        if self._has_floor:
            floors = lanes[1 + len(self._at_most), new]
            np.negative(floors, out=floors)
        self._end = new.stop
        self.added += count

    def _filled(self, rows: Rows, keys: list[I64]) -> Iterator[tuple[int, I64]]:
        """What stands in each lane; where it is negated, without that."""
        first, last = coordinates(rows, self._window)
        yield 0, last
        for t in range(len(self._at_most)):
            yield 1 + t, keys[t]
        if self._has_floor:
            yield 1 + len(self._at_most), first
        if self._last_ts_lane:
            yield self._last_ts_lane, rows.last
        if not self._stored.single:
            yield self._first_ts_lane, rows.first
        for i, column in enumerate(rows.columns):
            lane = self._column_lanes[i]
            if isinstance(column, Sets):
                yield lane, column.offsets[:-1] + len(self._pools[i])
                yield lane + 1, column.lengths
                old, self._pools[i] = self._pools[i], np.concatenate([self._pools[i], column.values])
                reuse.forgotten(old)
                self._measure()
            else:
                yield lane, column
        if self._equal:
            yield self._lane_count - 2, mixed(keys[len(self._at_most) :])

    def _growth(self, count: int) -> int:
        """Bytes of the room that `count` more rows need anew, while those before are still there."""
        if self._end + count <= self._lanes.shape[1]:
            return 0
        capacity = room_for(len(self), count, self._lanes.shape[1])
        return (
            0 if capacity == self._lanes.shape[1] else capacity * 8 * (self._lane_count + bool(self._equal))
        )

    def _move(self, capacity: int) -> None:
        """The live rows to the front of a room for so many."""
        live = len(self)
        # What was written once is not written anew by the system, so the same memory serves as long as it is enough.
        same = capacity == self._lanes.shape[1] and not reuse.debug
        lanes = self._lanes if same else reuse.room((self._lane_count, capacity), np.int64)
        lanes[:, :live] = self._lanes[:, self._begin : self._end]
        if not same:
            reuse.forgotten(self._lanes)
        for i, is_set in enumerate(self._stored.sets):
            if is_set:
                starts = lanes[self._column_lanes[i], :live]
                base = int(starts[0]) if live else len(self._pools[i])
                old, self._pools[i] = self._pools[i], self._pools[i][base:].copy()
                reuse.forgotten(old)
                starts -= base
        self._lanes, self._begin, self._end = lanes, 0, live
        self._reset_chains()
        self._measure()

    def _reset_chains(self) -> None:
        """Empty buckets, about one for each row that fits; rows enter them when they are first looked for."""
        # Row numbers change when rows move, so chains are built anew: lazily, for those rows that someone looks for.
        bits = self._lanes.shape[1].bit_length() - 1 if self._equal else 1
        self._heads = np.full(1 << bits, UNBOUND, np.int64)
        self._shift = np.uint64(64 - bits)
        self._inserted = self._begin

    def expire(self, before: int) -> None:
        """Rows whose last coordinate is less than `before` are reached by nothing any more."""
        begin, end = self._begin, self._end
        if begin < end and self._lanes[0, begin] < before:
            self._begin += int(self._lanes[0, begin:end].searchsorted(before, side="left"))
            if reuse.debug:
                reuse.forgotten(self._lanes[:, begin : self._begin])

    # ---- finding pairs -------------------------------------------------------------------------------------

    def search(self, coordinate: I64, side: OneOf["left", "right"]) -> I64:
        """Number of the first row whose last coordinate is >= (left) or > (right) each of these."""
        return self._search(0, coordinate, side)

    def search_time(self, ts: I64, side: OneOf["left", "right"]) -> I64:
        """The same by the last time; rows sorted by position are sorted by time too."""
        return self._search(self._last_ts_lane, ts, side)

    def _search(self, lane: int, values: I64, side: OneOf["left", "right"]) -> I64:
        array, after = self._lanes[lane, self._begin : self._end], side == "right"
        if is_due(seek, len(values)):
            places: I64 = seek(array, values, int(after))
        else:
            places = seek_reference(array, values, after=after)
        return places + self._begin

    def span(self, low: RangeEnd, high: RangeEnd) -> tuple[I64, I64, int]:
        """Per probing row the rows lo..hi - 1 from one bound up to the other, and how many these are, all together."""
        begin, end = self._begin, self._end
        lows, highs = (
            self._lanes[self._last_ts_lane if one.by_time else 0, begin:end] for one in (low, high)
        )
        search = spans if is_due(spans, len(low.values)) else spans_reference
        found: tuple[I64, I64, int] = search(
            lows, low.values, int(low.side == "right"), highs, high.values, int(high.side == "right"), begin
        )
        return found

    def pairs(
        self, probe: Rows, lo: I64, hi: I64, events: Events, meter: Meter, floor: I64 | None = None
    ) -> Iterator[tuple[I64, I64]]:
        """Blocks of (index into probe, row number) with lo <= row < hi that satisfy all terms.

        `floor`: the row's first coordinate is at least this. Probe indices ascend over all blocks; row numbers ascend
        for each of them, unless an equality is looked up by hash.
        """
        if not len(probe) or self._begin == self._end:
            return
        keys, bounds, alive = self._probe_keys(probe, events, floor)
        lo = np.maximum(lo, self._begin)
        if alive is not None:
            hi = np.where(alive, hi, lo)
        for index, numbers in self._candidates(lo, hi, keys, bounds, self._few(meter)):
            if self._rest or self._distinct:
                kept = self._passes(probe, index, numbers, events)
                if not kept.all():
                    yield index[kept], numbers[kept]
                    continue
            yield index, numbers

    def joined(
        self,
        probe: Rows,
        found: tuple[I64, I64, int],
        events: Events,
        floor: I64,
        meter: Meter,
        *,
        stored_first: bool,
        narrow: bool,
        latest: I64 | None = None,
        sieve: Sieve | None = None,
    ) -> Iterator[Rows]:
        """The rows of all pairs, with the columns of one side and then the other's; only where `plain`.

        `found` is what `span` gave. `narrow`: positions are written as 32-bit integers, and times where that can be,
        for rows that are not joined any further. `latest`: stored rows may end after the probing row, but not after
        this. `sieve`: which of them need not be written, where probing rows come by their last times.
        """
        lo, hi, candidates = found
        if not candidates:
            return
        _, bounds, alive = self._probe_keys(probe, events, floor)
        if alive is not None:
            hi = np.where(alive, hi, lo)
            candidates = _candidates(lo, hi)
        self.looked += candidates
        if not candidates:
            return
        last_lane, latest = (NO_LANE, probe.last) if latest is None else (self._last_ts_lane, latest)
        loop = band_rows if len(bounds) else range_rows
        if not is_due(loop, candidates) and candidates <= self._few(meter):
            if sieve is not None:
                sieve.stop()
            yield self._few_joined(probe, (lo, hi, bounds), last_lane, stored_first=stored_first)
            return
        sieve = None if sieve is None or sieve.stopped else sieve
        probing = self._laid_out(probe)
        at = (0, self.width) if stored_first else (self._probing.width, 0)
        made, width = 0, self.width + self._probing.width
        write: Callable[..., tuple[int, int, int]] = loop if sieve is None else sieved_rows
        more = (last_lane,) if sieve is None else self._sieving(sieve, stored_first=stored_first)
        # What a sieve leaves is little: in one piece with whole times it is sooner dealt with than narrow in several.
        many = candidates if narrow and sieve is None else 0
        for begin, end, since in stretches(latest, floor, self._window, many):
            part = slice(begin, end)
            here = candidates if end - begin == len(lo) else int((hi[part] - lo[part]).sum())
            ranges = (lo[:end], hi[:end], bounds, self._row_lanes, probing, *at, self._room)
            i, j, left = begin, 0, int(here * self._share)
            while i < end or (sieve is not None and sieve.pending):
                room = max(min(self._block, here, self._few(meter)), 1)
                times, out = blocks_for(width, room, left if narrow else None, since)
                n, i, j = write(self._lanes, *ranges, since or 0, times, out, i, j, *more)
                made, left = made + n, left - n
                if n == self._block:
                    self._block = min(2 * self._block, LARGE_BLOCK)
                if n:
                    yield written(times, out, n, since)
        self._share = made / candidates

    def _few_joined(
        self, probe: Rows, ranges: tuple[I64, I64, I64], last_lane: int, *, stored_first: bool
    ) -> Rows:
        """The rows of pairs that are too few to compile a loop for."""
        probing = np.array([probe.first, probe.last, *probe.columns])
        whole = band_rows_reference(
            self._lanes, *ranges, self._row_lanes, probing, last_lane, stored_first=stored_first
        )
        return Rows(whole[0], whole[1], tuple(whole[2:]))

    def _sieving(self, sieve: Sieve, *, stored_first: bool) -> tuple[int | I64, ...]:
        """What the loop asks of a sieve."""
        # Columns of probing rows lie behind their two times.
        stored, probing = self._column_lanes, [-3 - c for c in range(self._probing.width)]
        columns = [*stored, *probing] if stored_first else [*probing, *stored]
        return self._last_ts_lane, *sieve.arguments(columns)

    def _few(self, meter: Meter) -> int:
        """How many pairs are made at a time: a block of them with all that is worked out on the way is a small part
        of the memory that is left.
        """
        return meter.share(self._pair_parts, 1 << 24, FEWEST)

    def _laid_out(self, probe: Rows) -> I64:
        """The probing rows' times and columns as rows of one array, which is used again; it may be longer."""
        if self._probe.shape[1] < len(probe) or reuse.debug:
            reuse.forgotten(self._probe, self._room)
            self._probe = reuse.room((2 + self._probing.width, len(probe) + len(probe) // 4), np.int64)
            self._measure()
        for i, column in enumerate((probe.first, probe.last, *probe.columns)):
            assert not isinstance(column, Sets)
            self._probe[i, : len(probe)] = column
        return self._probe

    def _probe_keys(self, probe: Rows, events: Events, floor: I64 | None) -> tuple[I64, I64, Bool | None]:
        bounds = np.empty((len(self._at_most) + self._has_floor, len(probe)), np.int64)
        if not (self._at_most or self._equal or self._has_floor):
            return _NO_KEYS, bounds, None
        terms = (*self._at_most, *self._equal)
        keys, alive = all_probing_keys(terms, probe.columns, len(probe), events)
        for t, key in enumerate(keys[: len(self._at_most)]):
            bounds[t] = key
        if self._has_floor:
            bounds[-1] = MOST if floor is None else -floor
        return (mixed(keys[len(self._at_most) :]) if self._equal else _NO_KEYS), bounds, alive

    def _candidates(self, lo: I64, hi: I64, keys: I64, bounds: I64, few: int) -> Iterator[tuple[I64, I64]]:
        """Blocks of pairs that the keys leave; `few` is how many are looked at together, at most."""
        candidates = _candidates(lo, hi)
        self.looked += 0 if self._by_event else candidates
        if not is_due(chained_pairs if self._equal else band_pairs, candidates) and candidates <= few:
            if self._equal:
                index, numbers, met = chained_pairs_reference(self._lanes, lo, hi, keys, bounds)
                self.looked += met if self._by_event else 0
                yield index, numbers
            else:
                yield band_pairs_reference(self._lanes, lo, hi, bounds)
            return
        i, j = 0, FRESH
        while i < len(lo):
            probe, stored = np.empty(min(BLOCK, few), np.int64), np.empty(min(BLOCK, few), np.int64)
            if self._equal:
                n, i, j, self._inserted, met = chained_pairs(
                    self._lanes,
                    self._heads,
                    self._shift,
                    self._inserted,
                    lo,
                    hi,
                    keys,
                    bounds,
                    probe,
                    stored,
                    i,
                    j,
                )
                self.looked += met if self._by_event else 0
            else:
                n, i, j = band_pairs(self._lanes, lo, hi, bounds, probe, stored, i, j)
            if n:
                yield probe[:n], stored[:n]

    def _passes(self, probe: Rows, index: I64, numbers: I64, events: Events) -> Bool:
        """Which pairs also satisfy the terms that are no comparison of keys, and bind different events."""
        kept = np.ones(len(index), np.bool_)
        for mine, theirs in self._distinct:
            kept &= differs(self.column(numbers, mine), take_column(probe.columns[theirs], index))
        if not self._rest:
            return kept
        index, numbers = index[kept], numbers[kept]
        needed = frozenset().union(*(columns_of(term) for term in self._rest))
        width = max(self._stored_at + self._stored.width, self._probing_at + self._probing.width)
        columns: list[Column] = [np.empty(0, np.int64)] * width
        for c in needed:
            if self._stored_at <= c < self._stored_at + self._stored.width:
                columns[c] = self.column(numbers, c - self._stored_at)
            else:
                columns[c] = take_column(probe.columns[c - self._probing_at], index)
        kept[kept] = holds(self._rest, columns, len(index), events)
        return kept

    # ---- reading rows --------------------------------------------------------------------------------------

    def column(self, numbers: I64, column: int) -> Column:
        lane = self._column_lanes[column]
        values: I64 = self._lanes[lane][numbers]
        if not self._stored.sets[column]:
            return values
        lengths = self._lanes[lane + 1][numbers]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return Sets(offsets, self._pools[column][spread(values, lengths, offsets)])

    def first_ts(self, numbers: I64) -> I64:
        times: I64 = self._lanes[self._first_ts_lane][numbers]
        return times

    def last_ts(self, numbers: I64) -> I64:
        times: I64 = self._lanes[self._last_ts_lane][numbers]
        return times

    def rows(self, numbers: I64) -> Rows:
        columns = tuple(self.column(numbers, c) for c in range(self._stored.width))
        return Rows(self.first_ts(numbers), self.last_ts(numbers), columns)


def _candidates(lo: I64, hi: I64) -> int:
    lengths = hi - lo
    return int(lengths.sum() if lengths.min(initial=0) == 0 else np.maximum(lengths, 0).sum())
