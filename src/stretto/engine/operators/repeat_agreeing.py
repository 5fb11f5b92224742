"""Repetitions taken from the base rows themselves: rows that agree in all columns but one."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.memory.limits import Undo, size_of
from stretto.engine.operators.protocol import Clock, RowShape
from stretto.engine.operators.repeat import LINKS, RepeatOperator, repeated_shape
from stretto.engine.rows.coordinates import beyond, reach
from stretto.engine.rows.repetition_graph import BITS, ChainGraph, ordered_graph
from stretto.engine.rows.sets import sliced
from stretto.plan.ops import Repeat
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Column, Rows, Sets, concat_rows, spread


class Agreeing:
    """Rows sorted by all columns but one, and then by the time of that one's event: its repetitions, group by group.

    A row that could be an earlier repetition of another is before it in the same group.
    """

    def __init__(self, rows: Rows, column: int, ts: I64) -> None:
        own = rows.columns[column]
        assert not isinstance(own, Sets)
        others = [c for i, c in enumerate(rows.columns) if i != column and not isinstance(c, Sets)]
        order = np.lexsort((own, ts, *others))
        self._events, self._ts = own[order], ts[order]
        new = np.zeros(len(order), np.bool_)
        new[:1] = True
        for one in others:
            new[1:] |= one[order][1:] != one[order][:-1]
        places = np.arange(len(order))
        self._begin = np.maximum.accumulate(np.where(new, places, 0))
        later = new.copy()
        later[1:] |= self._ts[1:] != self._ts[:-1]
        self._earlier = np.maximum.accumulate(np.where(later, places, 0))
        self._place = np.empty(len(order), np.int64)
        self._place[order] = places

    def __len__(self) -> int:
        return len(self._ts)

    def ranges(self, rows: I64, floor: I64) -> tuple[I64, I64]:
        """For some rows, by number, where those stand that may come before: earlier ones, not before a time."""
        place = self._place[rows]
        hi = self._earlier[place]
        low, high = self._begin[place], hi.copy()
        while (low < high).any():
            middle = (low + high) // 2
            early = (low < high) & (self._ts[np.minimum(middle, len(self._ts) - 1)] < floor)
            low = np.where(early, middle + 1, low)
            high = np.where(early, high, np.minimum(middle, high))
        return low, hi

    # What a graph of chains asks of the rows that it is made of.

    def column(self, numbers: I64, _column: int) -> Column:
        return self._events[numbers]

    def first_ts(self, numbers: I64) -> I64:
        return self._ts[numbers]

    def last_ts(self, numbers: I64) -> I64:
        return self._ts[numbers]


class AgreeingRepeatOperator(RepeatOperator):
    """All that a chain of repetitions needs was decided when the base rows were made: only their times are left.

    Where the repeated event may be the last of a row, rows that agree come in different steps and are kept.
    """

    def __init__(self, op: Repeat, inputs: Sequence[RowShape]) -> None:
        (base,) = inputs
        self._op = op
        self._element = RowShape((False,), (False,), single=True)
        self.shape = repeated_shape(op, base)
        self._least, self._most = self.lengths(op)
        self._direct = True
        (final,) = op.final
        self._keeps = not any(pair[0] == final for pair in base.order)
        self._rows_kept: tuple[tuple[Rows, I64], ...] = ()  # with the times of their repeated events
        self._looked = 0

    @property
    def held(self) -> int:
        return sum(size_of(rows) + ts.nbytes for rows, ts in self._rows_kept)

    @property
    def looked(self) -> int:
        return self._looked

    def mark(self) -> Undo:
        before = self._rows_kept, self._looked

        def undo() -> None:
            self._rows_kept, self._looked = before

        return undo

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        (parts,) = inputs
        (final,) = self._op.final
        # An event before this is in no window with a row that ends in this step or later, and may be forgotten.
        before = beyond(clock, self._op.window)
        kept = [(rows.take(ts >= before), ts[ts >= before]) for rows, ts in self._rows_kept]
        kept = [(rows, ts) for rows, ts in kept if len(rows)]
        new = [(rows, _times(rows, final, clock.events)) for rows in parts if len(rows)]
        out: list[Rows] = []
        if new:
            together = concat_rows([rows for rows, _ in (*kept, *new)])
            clock.meter.charge(4 * size_of(together), len(together))
            ts = np.concatenate([times for _, times in (*kept, *new)])
            base = concat_rows([rows for rows, _ in new])
            out = list(self._grown_on(base, Agreeing(together, final, ts), clock))
        if self._keeps:
            self._rows_kept = (*kept, *new)
        return out

    def _grown_on(self, base: Rows, agreeing: Agreeing, clock: Clock) -> Iterator[Rows]:
        """The base rows, which are the last of all, with what precedes them."""
        self._band = agreeing
        rows = np.arange(len(agreeing) - len(base), len(agreeing))
        lo, hi = agreeing.ranges(rows, reach(base.last, self._op.window))
        counts = np.maximum(hi - lo, 0) if self._most else np.zeros(len(base), np.int64)
        self._looked += int(counts.sum())
        ends = np.cumsum(counts)
        start = 0
        while start < len(base):
            done = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, done + LINKS, side="right")), start + 1)
            piece = slice(start, min(stop, len(base)))
            yield from self._grown(
                sliced(base, piece), _graph(agreeing, lo[piece], counts[piece], clock), clock
            )
            start = piece.stop


def _times(rows: Rows, column: int, events: Events) -> I64:
    positions = rows.columns[column]
    assert not isinstance(positions, Sets)
    found: I64 = events.values("ts", positions).data
    return found


def _graph(agreeing: Agreeing, lo: I64, counts: I64, clock: Clock) -> ChainGraph:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    clock.meter.reserve(64 * int(offsets[-1]))
    row = np.repeat(np.arange(len(counts)), counts)
    keys = (row << BITS) | spread(lo, counts, offsets)
    return ordered_graph(agreeing, keys, 0, len(counts), single=True)
