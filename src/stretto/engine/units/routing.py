"""Which units a row goes to: by a hash of the ids of its events, so that a replay repeats it."""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.operators.protocol import RowShape
from stretto.engine.stream.arena import Arena
from stretto.plan.ops import Join, Op, Repeat
from stretto.plan.placement.placement import Grid
from stretto.values.evaluate import Events
from stretto.values.hashing import LANES, U64
from stretto.values.rows import I64, Rows, Sets


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
        ways = grid.right if self._side else grid.left
        way = _below(self._hashed(rows, self._own, events, lane=1), ways)
        for number in range(grid.groups * ways):
            chosen = np.flatnonzero((group == number // ways) & (way == number % ways))
            if len(chosen):
                part = rows.take(chosen)
                for unit in self._units(number // ways, number % ways):
                    yield unit, part

    def _units(self, group: int, way: int) -> Iterator[int]:
        """The units of a group that hold one of the divisions of this input."""
        grid = self._grid
        start = group * grid.left * grid.right
        if self._side:
            return iter(range(start + way, start + grid.left * grid.right, grid.right))
        return iter(range(start + way * grid.right, start + (way + 1) * grid.right))

    def _hashed(self, rows: Rows, columns: Sequence[int], events: Events, *, lane: int) -> U64:
        """64 bits for each row, the same wherever it is computed: of the ids of some columns, or of its times."""
        assert isinstance(events, Arena), "rows are routed by the ids of stored events"
        mix = LANES[lane]
        found = np.zeros(len(rows), np.uint64)
        for column in columns:
            positions = rows.columns[column]
            assert not isinstance(positions, Sets)
            ids = events.ids(positions).astype(np.int64, copy=False)
            bits = events.strings.hashes(ids, mix) if self._text_ids else ids.view(np.uint64)
            found = mix.mix(found * np.uint64(mix.step) ^ mix.mix(bits + np.uint64(1)))
        if not columns:
            for times in (rows.first, rows.last):
                found = mix.mix(found * np.uint64(mix.step) ^ mix.mix(times.view(np.uint64)))
        return found


def _below(bits: U64, count: int) -> I64:
    found: I64 = (bits % np.uint64(count)).astype(np.int64)
    return found
