"""Rows that pass terms and keep inside a window."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.memory.limits import size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.rows.coordinates import coordinates, reach
from stretto.engine.rows.known_order import ordered
from stretto.plan.ops import Filter
from stretto.values.evaluate import holds
from stretto.values.rows import Bool, Rows


class FilterOperator(Bookkeeping):
    """Keeps nothing from one step to the next."""

    def __init__(self, op: Filter, inputs: Sequence[RowShape]) -> None:
        self._terms, self._window = op.terms, op.window
        self.shape = ordered(inputs[0], op.terms)

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        out: list[Rows] = []
        for rows in inputs[0]:
            passed = self._passed(rows, clock)
            if passed.all():
                out.append(rows)
            elif passed.any():
                kept = rows.take(passed)
                clock.meter.charge(size_of(kept), len(kept))
                out.append(kept)
        return out

    def _passed(self, rows: Rows, clock: Clock) -> Bool:
        if self._window is None:
            return holds(self._terms, rows.columns, len(rows), clock.events)
        first, last = coordinates(rows, self._window)
        inside: Bool = first >= reach(last, self._window)
        index = np.flatnonzero(inside)
        if self._terms and len(index):
            near = rows if len(index) == len(rows) else rows.take(index)
            inside[index] = holds(self._terms, near.columns, len(near), clock.events)
        return inside
