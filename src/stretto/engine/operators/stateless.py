"""Operators that keep nothing from one step to the next: rows that pass terms, and the rows of several parts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stretto.engine.memory.limits import size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.results.identity import once
from stretto.engine.rows.coordinates import coordinates, reach
from stretto.engine.rows.known_order import ordered
from stretto.engine.rows.sets import PartColumns, is_bound
from stretto.plan.ops import Filter, Union
from stretto.values.evaluate import holds
from stretto.values.rows import Bool, Rows


class FilterOperator(Bookkeeping):
    """Rows that pass terms and keep inside a window."""

    def __init__(self, op: Filter, inputs: Sequence[RowShape]) -> None:
        self._terms, self._window, self._bound = op.terms, op.window, op.bound
        optional = tuple(may and column not in op.bound for column, may in enumerate(inputs[0].optional))
        self.shape = ordered(replace(inputs[0], optional=optional), op.terms)

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
        complete: Bool = np.ones(len(rows), np.bool_)
        for column in self._bound:
            complete &= is_bound(rows.columns[column])
        if not (self._terms or self._window):
            return complete
        index = np.flatnonzero(complete)
        if self._bound and len(index) < len(rows):
            complete[index] = self._judged(rows.take(index), clock)
            return complete
        return self._judged(rows, clock)

    def _judged(self, rows: Rows, clock: Clock) -> Bool:
        if self._window is None:
            return holds(self._terms, rows.columns, len(rows), clock.events)
        first, last = coordinates(rows, self._window)
        inside: Bool = first >= reach(last, self._window)
        index = np.flatnonzero(inside)
        if self._terms and len(index):
            near = rows if len(index) == len(rows) else rows.take(index)
            inside[index] = holds(self._terms, near.columns, len(near), clock.events)
        return inside


class UnionOperator(Bookkeeping):
    """The rows of several parts as rows of one shape. Equal rows bind the same events, so they come in one step."""

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
