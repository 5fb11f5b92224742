"""The rows of several parts as rows of one shape."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.memory.limits import size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.results.identity import FINDING, duplicates
from stretto.engine.rows.sets import as_sets
from stretto.plan.ops import Union
from stretto.values.rows import UNBOUND, Column, Rows, Sets, concat_rows


class UnionOperator(Bookkeeping):
    """Equal rows bind the same events, so they come in the same step; nothing is kept for later ones."""

    def __init__(self, op: Union, inputs: Sequence[RowShape]) -> None:
        self._op = op
        self._sources = [dict(zip(columns, range(len(columns)), strict=True)) for columns in op.columns]
        parts = list(zip(self._sources, inputs, strict=True))
        optional = tuple(
            any(c not in source or shape.optional[source[c]] for source, shape in parts)
            for c in range(op.width)
        )
        single = op.width == 1 and not op.sets[0] and all(shape.single for shape in inputs)
        self.shape = RowShape(op.sets, optional, single=single)

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        meter = clock.meter
        out: list[Rows] = []
        for source, parts in zip(self._sources, inputs, strict=True):
            for rows in parts:
                if len(rows):
                    out.append(self._moved(rows, source))
                    meter.charge(max(size_of(out[-1]) - size_of(rows), 0), len(rows))
        if not self._op.distinct or not out:
            return out
        # All of them in one piece, what finds equal ones, and those that are kept.
        size, count = sum(map(size_of, out)), sum(map(len, out))
        meter.reserve(2 * size + FINDING * count, count)
        rows = concat_rows(out)
        kept = duplicates(rows.columns, rows.first)
        if not kept.all():
            rows = rows.take(kept)
        meter.charge(size_of(rows), len(rows))
        return [rows]

    def _moved(self, rows: Rows, source: dict[int, int]) -> Rows:
        """A part's rows over the columns of the result."""
        columns: list[Column] = []
        for c, is_set in enumerate(self._op.sets):
            if c in source:
                column = rows.columns[source[c]]
                columns.append(as_sets(column) if is_set else column)
            elif is_set:
                columns.append(Sets(np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.int64)))
            else:
                columns.append(np.full(len(rows), UNBOUND, np.int64))
        return Rows(rows.first, rows.last, tuple(columns))
