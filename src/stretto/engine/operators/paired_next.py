"""An event and the next one behind it, for all entries of a family: each event is told by constants that it equals.

First events of the window are kept by the constants that they equal, never once per entry. A second event finds the
entries it concerns, and for each of them the first events since the entry had a second event before (RUMOR's FR, AN and
AI indices, sec. 4.3).
"""

from collections.abc import Sequence

import numpy as np

from stretto.engine.kernels.counting_sort import split_by_code, split_by_code_reference
from stretto.engine.kernels.followers import followers, followers_reference
from stretto.engine.kernels.order_keys import LEAST
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.memory.limits import Undo, size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.rows.next_moves import EVENT
from stretto.engine.stream.pair_index import PairIndex, pair_index, prepared
from stretto.pattern.predicates import columns_of
from stretto.plan.ops import PairedNext
from stretto.records import dataclass
from stretto.values.rows import I64, Rows, Sets, spread
from stretto.values.strings import Strings

ROW = 40
"""Bytes of a row that goes out."""


@dataclass(frozen=True, slots=True)
class _Told:
    """Events, in order of time, with the group of constants that each equals."""

    positions: I64
    ts: I64
    groups: I64

    def take(self, index: I64) -> "_Told":
        return _Told(self.positions[index], self.ts[index], self.groups[index])

    def then(self, more: "_Told") -> "_Told":
        both = [(self.positions, more.positions), (self.ts, more.ts), (self.groups, more.groups)]
        return _Told(*map(np.concatenate, both)) if len(self.ts) else more

    @property
    def nbytes(self) -> int:
        return self.positions.nbytes + self.ts.nbytes + self.groups.nbytes


@dataclass(frozen=True, slots=True)
class _Entries:
    """Entries by the groups of both events: those of group c of the second are at starts[c]..starts[c + 1] - 1.

    `numbers`: of the entries; `groups`: of the first event.
    """

    first: PairIndex
    second: PairIndex
    numbers: I64
    groups: I64
    starts: I64
    count: int
    """How many groups the first event has."""


class PairedNextOperator(Bookkeeping):
    looked = 0

    def __init__(self, op: PairedNext, inputs: Sequence[RowShape]) -> None:
        assert all(shape.single for shape in inputs)
        self._op = op
        self.shape = RowShape((False,) * 3, (False,) * 3)
        none = np.zeros(0, np.int64)
        # Never written to, so a step is undone by having them again.
        self._kept = ()
        self._waiting = _Told(none, none, none)
        self._ended: I64 = none
        self._entries: _Entries | None = None
        self._strings: Strings | None = None
        self._room = 0

    @property
    def held(self) -> int:
        return self._waiting.nbytes + self._ended.nbytes

    def mark(self) -> Undo:
        waiting, ended = self._waiting, self._ended

        def undo() -> None:
            self._waiting, self._ended = waiting, ended

        return undo

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        entries = self._read(clock.events.strings)
        begun = [_told(entries.first, rows, clock) for rows in inputs[0]]
        nexts = [_told(entries.second, rows, clock) for rows in inputs[1]]
        firsts = self._waiting
        for told in begun:
            firsts = firsts.then(told)
        found = self._followed(firsts, _in_order(nexts), entries, clock) if nexts else []
        open_ = firsts.ts >= max(clock.until - self._op.window.size, LEAST)
        self._waiting = firsts if open_.all() else firsts.take(np.flatnonzero(open_))
        clock.meter.charge(self.held)
        return found

    def _followed(self, firsts: _Told, nexts: _Told, entries: _Entries, clock: Clock) -> list[Rows]:
        """The first events that have a second one now, once for each entry."""
        clock.meter.reserve(2 * (firsts.nbytes + nexts.nbytes))
        firsts, first_starts = _by_group(firsts, entries.count)
        nexts, next_starts = _by_group(nexts, len(entries.starts) - 1)
        window = self._op.window.size
        lists = entries.groups, entries.starts
        given = firsts.ts, first_starts, nexts.ts, next_starts, self._ended, *lists, window
        if is_due(followers, len(firsts.ts) + len(nexts.ts)):
            self._room = max(self._room, 2 * len(nexts.ts))
            while True:
                clock.meter.reserve(3 * 8 * self._room, self._room)
                at, behind, places = (np.empty(self._room, np.int64) for _ in range(3))
                count = followers(*given, (at, behind, places))
                if count <= self._room:
                    break
                self._room = count
            at, behind, places = at[:count], behind[:count], places[:count]
        else:
            at, behind, places = followers_reference(*given)
        ended = self._ended.copy()
        present = np.flatnonzero(np.diff(next_starts))
        ended[present] = nexts.ts[next_starts[present + 1] - 1]
        self._ended = ended
        if not len(at):
            return []
        clock.meter.reserve(ROW * len(at), len(at))
        columns = firsts.positions[at], nexts.positions[behind], entries.numbers[places]
        rows = Rows(firsts.ts[at], nexts.ts[behind], columns)
        clock.meter.charge(size_of(rows), len(rows))
        return [rows]

    def _read(self, strings: Strings) -> _Entries:
        """Entries in the codes of these texts."""
        if self._entries is None or self._strings is not strings:
            self._entries, self._strings = _entries(self._op, strings), strings
            self._ended = np.full(len(self._entries.starts) - 1, LEAST)
        return self._entries


def _told(index: PairIndex, rows: Rows, clock: Clock) -> _Told:
    """The events that equal constants of some entry."""
    (positions,) = rows.columns
    assert not isinstance(positions, Sets)
    groups = index.groups((positions,), len(positions), clock.events)
    there = np.flatnonzero(groups >= 0)
    return _Told(positions[there], rows.last[there], groups[there])


def _in_order(parts: Sequence[_Told]) -> _Told:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.then(part)
    return whole


def _by_group(told: _Told, count: int) -> tuple[_Told, I64]:
    """The events group by group, and where each begins."""
    split = split_by_code if is_due(split_by_code, len(told.ts) + count) else split_by_code_reference
    order, starts = split(told.groups.astype(np.int32), count, 0)
    return told.take(order), starts


def _entries(op: PairedNext, strings: Strings) -> _Entries:
    found = prepared(op.terms, op.entries)
    key = PairedNext, op.terms
    if key not in found:
        first, second = (
            pair_index(
                [term.moved({step: 0}) for term in op.terms if columns_of(term) == {step}],
                EVENT,
                op.entries,
                strings,
            )
            for step in (0, 1)
        )
        found[key] = _both(first, second)
    entries = found[key]
    assert isinstance(entries, _Entries)
    return entries


def _both(first: PairIndex, second: PairIndex) -> _Entries:
    """Entries that both events may equal: once for each group of the one and group of the other."""
    by_first, by_second = first.by_groups, second.by_groups
    assert by_first is not None
    assert by_second is not None
    numbers, groups = _with_groups(*by_first)
    order = np.argsort(numbers, kind="stable")
    numbers, groups = numbers[order], groups[order]
    theirs, codes = _with_groups(*by_second)
    low, high = (np.searchsorted(numbers, theirs, side) for side in ("left", "right"))
    lengths = high - low
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    places = spread(low, lengths, offsets)
    count = len(by_second[1]) - 1
    starts = np.searchsorted(np.repeat(codes, lengths), np.arange(count + 1))
    return _Entries(first, second, numbers[places], groups[places], starts, len(by_first[1]) - 1)


def _with_groups(numbers: I64, starts: I64) -> tuple[I64, I64]:
    return numbers, np.repeat(np.arange(len(starts) - 1), np.diff(starts))
