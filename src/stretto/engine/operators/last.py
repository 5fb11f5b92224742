"""Only the most recent partial match: one per number of steps done and combination of key values."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.memory.limits import Undo, size_of
from stretto.engine.operators.protocol import Clock, RowShape
from stretto.engine.rows.coordinates import last_inside
from stretto.engine.rows.latest_nodes import Nodes, gates_of, keyed
from stretto.pattern.order import Order
from stretto.plan.ops import Last
from stretto.values.rows import I64, Rows, empty_rows

NODE_BYTES = 96
"""What an event takes at a step while the loop runs, beside its keys of terms."""


class LastOperator:
    """A partial match depends on nothing that began before it: what stands is all that later steps need.

    Proof, and what follows for slices of time and for starting anew: docs/laws.md, L20.
    """

    waiting = False

    def __init__(self, op: Last, inputs: Sequence[RowShape]) -> None:
        assert all(shape.single for shape in inputs)
        self._op = op
        width = len(op.steps)
        plain = (False,) * width
        self.shape = RowShape(plain, plain, single=width == 1, order=Order.total(width))
        self._gates = gates_of(op)
        self._terms = sum(len(gate.keys) for gate in self._gates)
        # What stands at each step but the last one; parts are never written to, so undoing is having them again.
        self._standing: tuple[Rows, ...] = tuple(empty_rows(plain[: step + 1]) for step in range(width - 1))
        self.looked = 0

    @property
    def held(self) -> int:
        return sum(map(size_of, self._standing))

    def mark(self) -> Undo:
        standing, looked = self._standing, self.looked

        def undo() -> None:
            self._standing, self.looked = standing, looked

        return undo

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        streams = [_in_order(parts) for parts in inputs]
        standing = [self._inside(rows, clock) for rows in self._standing]
        total = sum(len(ts) for _, ts in streams) + sum(map(len, standing)) * len(streams)
        clock.meter.reserve(total * (NODE_BYTES + 9 * self._terms), total)
        new, keys, count = keyed(self._op.same, streams, standing, clock.events)
        nodes = Nodes(self._gates, new, standing, clock.events)
        complete, state, looked = nodes.follow(keys, count, self._op)
        self.looked += looked
        kept = [state[:, step] for step in range(nodes.steps - 1)]
        self._standing = tuple(nodes.rows(of[of >= 0], step) for step, of in enumerate(kept))
        clock.meter.charge(self.held)
        if not len(complete):
            return []
        found = nodes.rows(complete, nodes.steps - 1)
        clock.meter.charge(size_of(found), len(found))
        return [found]

    def _inside(self, rows: Rows, clock: Clock) -> Rows:
        """Those whose window an event of this step or a later one could still be in."""
        window = self._op.window
        open_ = last_inside(rows, window) >= (clock.since if window.unit == "us" else clock.start)
        return rows if open_.all() else rows.take(open_)


def _in_order(parts: Sequence[Rows]) -> tuple[I64, I64]:
    """Positions and times of one input's events, in order of position."""
    if not parts:
        none = np.empty(0, np.int64)
        return none, none
    positions = np.concatenate([np.asarray(rows.columns[0]) for rows in parts]).astype(np.int64, copy=False)
    ts = np.concatenate([rows.last for rows in parts])
    if (positions[1:] > positions[:-1]).all():
        return positions, ts
    order = np.argsort(positions, kind="stable")
    return positions[order], ts[order]
