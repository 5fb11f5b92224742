"""Rows that pass terms."""

from collections.abc import Sequence

from stretto.engine.sets import size_of
from stretto.engine.shape import Clock, Shape
from stretto.plan.ops import Filter
from stretto.values.evaluate import holds
from stretto.values.rows import Rows


class FilterOperator:
    """Keeps nothing from one step to the next."""

    held = 0

    def __init__(self, op: Filter, inputs: Sequence[Shape]) -> None:
        self._terms = op.terms
        (self.shape,) = inputs

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        out: list[Rows] = []
        for rows in inputs[0]:
            passed = holds(self._terms, rows.columns, len(rows), clock.events)
            if passed.all():
                out.append(rows)
            elif passed.any():
                kept = rows.take(passed)
                clock.meter.charge(size_of(kept), len(kept))
                out.append(kept)
        return out
