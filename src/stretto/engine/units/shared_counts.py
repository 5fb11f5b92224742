"""Which shared events how many rows hold: the commonest are counted, so that skew can be told and mended."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stretto.engine.units.routing import Router
from stretto.plan.placement.heavy import HeavyEvent
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Rows

KEPT: Final = 4096
"""Events of each input whose rows are counted; of more the rarest are forgotten."""


class SharedCounts:
    """Rows of both inputs of a join by the events that they share with the other one."""

    def __init__(self, routers: Sequence[Router]) -> None:
        self._routers = routers
        self._ids: list[I64] = [np.zeros(0, np.int64) for _ in routers]
        self._counts: list[I64] = [np.zeros(0, np.int64) for _ in routers]
        self._rows = [0 for _ in routers]

    def add(self, side: int, rows: Rows, events: Events) -> None:
        """Count the rows of one input."""
        self._rows[side] += len(rows)
        router = self._routers[side]
        for column in router.shared:
            ids, counts = np.unique(router.shared_ids(rows, column, events), return_counts=True)
            every = np.concatenate([self._ids[side], ids])
            known, where = np.unique(every, return_inverse=True)
            sums = np.bincount(where, np.concatenate([self._counts[side], counts])).astype(np.int64)
            if len(known) > KEPT:
                most = np.sort(np.argpartition(sums, len(sums) - KEPT)[-KEPT:])
                known, sums = known[most], sums[most]
            self._ids[side], self._counts[side] = known, sums

    def heavy(self, least: float) -> tuple[HeavyEvent, ...]:
        """The events that at least such a share of the rows of either input holds, the commonest first."""
        found: dict[int, list[float]] = {}
        for side, (ids, counts) in enumerate(zip(self._ids, self._counts, strict=True)):
            shares = counts / max(self._rows[side], 1)
            for place in np.flatnonzero(shares >= least).tolist():
                found.setdefault(int(ids[place]), [0.0, 0.0])[side] = float(shares[place])
        for number, both in found.items():
            for side in (0, 1):
                at = np.flatnonzero(self._ids[side] == number)
                both[side] = float(self._counts[side][at].sum() / max(self._rows[side], 1))
        each = (HeavyEvent(number, *shares) for number, shares in found.items())
        return tuple(sorted(each, key=lambda one: (-max(one.left, one.right), one.number)))
