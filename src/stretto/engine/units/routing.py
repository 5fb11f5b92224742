"""Which units a row goes to: by a hash of the ids of its events, so that a replay repeats it."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.operators.protocol import RowShape
from stretto.engine.stream.arena import Arena
from stretto.plan.ops import Join, Op, Repeat
from stretto.plan.placement.placement import Grid
from stretto.values.evaluate import Events
from stretto.values.hashing import LANES, U64
from stretto.values.rows import I64, Bool, Rows, Sets


class Router:
    """Divides the rows of one input, 0 or 1, of an operator among the units of a grid.

    Of rows whose columns are all sets or may be unbound the times are hashed: equal rows still go to one unit.
    """

    def __init__(self, op: Op, side: int, shape: RowShape, grid: Grid, *, text_ids: bool = False) -> None:
        self._side, self._grid, self._text_ids = side, grid, text_ids
        self._shared = [pair[side] for pair in op.same] if isinstance(op, Join) else []
        self._own = [c for c in range(shape.width) if not (shape.sets[c] or shape.optional[c])]
        if isinstance(op, Repeat) and op.agreeing:  # rows that agree meet, whatever their last repetition
            self._own = [c for c in self._own if c not in op.final]

    def parts(self, rows: Rows, events: Events) -> Iterator[tuple[int, Rows]]:
        """The units that need some of the rows, with those in their order."""
        grid = self._grid
        if grid.units == 1:
            yield 0, rows
            return
        group = _below(self._hashed(rows, self._shared, events, lane=0), grid.groups)
        own = self._hashed(rows, self._own, events, lane=1)
        ways = grid.right if self._side else grid.left
        place = group * ways + _below(own, ways)
        places = [
            self._units(number // ways, number % ways, grid.left, grid.right)
            for number in range(grid.groups * ways)
        ]
        if grid.heavy:
            # A unit may have rows of its group and of heavy events: those of a pair hold the same ones, so that no two
            # rows meet on a second unit.
            across = grid.across
            heavy = self.holds(rows, grid.heavy, events)
            place[heavy] = len(places) + _below(own[heavy], across[self._side])
            places += [self._units(0, way, *across) for way in range(across[self._side])]
        for number, units in enumerate(places):
            chosen = np.flatnonzero(place == number)
            if len(chosen):
                part = rows.take(chosen)
                for unit in units:
                    yield unit, part

    def holds(self, rows: Rows, ids: Sequence[int], events: Events) -> Bool:
        """Which rows hold one of these shared events."""
        found = np.zeros(len(rows), np.bool_)
        for column in self._shared:
            found |= np.isin(self.shared_ids(rows, column, events), np.array(ids, np.int64))
        return found

    def shared_ids(self, rows: Rows, column: int, events: Events) -> I64:
        """The ids of the events in a shared column, of texts their hashes: the same in every process."""
        return self._bits(rows, column, events, lane=0).view(np.int64)

    @property
    def shared(self) -> Sequence[int]:
        """The columns whose events both inputs hold."""
        return self._shared

    def _units(self, group: int, way: int, left: int, right: int) -> range:
        """The units of a group, which is a grid, that hold one of the divisions of this input."""
        start = group * left * right
        if self._side:
            return range(start + way, start + left * right, right)
        return range(start + way * right, start + (way + 1) * right)

    def _hashed(self, rows: Rows, columns: Sequence[int], events: Events, *, lane: int) -> U64:
        """64 bits for each row, the same wherever it is computed: of the ids of some columns, or of its times."""
        mix = LANES[lane]
        found = np.zeros(len(rows), np.uint64)
        for column in columns:
            bits = self._bits(rows, column, events, lane=lane)
            found = mix.mix(found * np.uint64(mix.step) ^ mix.mix(bits + np.uint64(1)))
        if not columns:
            for times in (rows.first, rows.last):
                found = mix.mix(found * np.uint64(mix.step) ^ mix.mix(times.view(np.uint64)))
        return found

    def _bits(self, rows: Rows, column: int, events: Events, *, lane: int) -> U64:
        assert isinstance(events, Arena), "rows are routed by the ids of stored events"
        positions = rows.columns[column]
        assert not isinstance(positions, Sets)
        ids = events.ids(positions).astype(np.int64, copy=False)
        return events.strings.hashes(ids, LANES[lane]) if self._text_ids else ids.view(np.uint64)


def _below(bits: U64, count: int) -> I64:
    found: I64 = (bits % np.uint64(count)).astype(np.int64)
    return found
