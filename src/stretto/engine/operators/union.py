"""The rows of several parts as rows of one shape."""

from collections.abc import Sequence

from stretto.engine.memory.limits import size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.results.identity import once
from stretto.engine.rows.sets import PartColumns
from stretto.plan.ops import Union
from stretto.values.rows import Rows


class UnionOperator(Bookkeeping):
    """Equal rows bind the same events, so they come in the same step; nothing is kept for later ones."""

    def __init__(self, op: Union, inputs: Sequence[RowShape]) -> None:
        self._op = op
        self._parts = PartColumns.of(op.columns, op.sets)
        single = op.width == 1 and not op.sets[0] and all(shape.single for shape in inputs)
        self.shape = RowShape(op.sets, self._parts.optional(inputs), single=single)

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        meter = clock.meter
        out: list[Rows] = []
        for part, parts in enumerate(inputs):
            for rows in parts:
                if len(rows):
                    out.append(self._parts.moved(rows, part))
                    meter.charge(max(size_of(out[-1]) - size_of(rows), 0), len(rows))
        if not self._op.distinct or not out:
            return out
        rows, kept = once(out, meter)
        if not kept.all():
            rows = rows.take(kept)
        meter.charge(size_of(rows), len(rows))
        return [rows]
