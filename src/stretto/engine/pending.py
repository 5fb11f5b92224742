"""Rows that wait until a coordinate of time has passed."""

from dataclasses import dataclass

import numpy as np

from stretto.engine.sets import size_of
from stretto.values.rows import I64, Rows, concat_rows


@dataclass(slots=True)
class _Run:
    """Rows sorted by the coordinate they wait for; those before `start` are gone."""

    rows: Rows
    due: I64
    start: int = 0

    def __len__(self) -> int:
        return len(self.due) - self.start


class Pending:
    """Runs of rows, each at least twice as long as the next, so that a row is merged only a few times."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    @property
    def earliest(self) -> int | None:
        """The least coordinate that a row waits for."""
        return min((int(run.due[run.start]) for run in self._runs), default=None)

    @property
    def held(self) -> int:
        return sum(size_of(run.rows) + run.due.nbytes for run in self._runs)

    def add(self, rows: Rows, due: I64) -> None:
        """Keep rows until `due` has passed, each its own."""
        if not len(rows):
            return
        while self._runs and len(self._runs[-1]) < 2 * len(rows):
            run = self._runs.pop()
            kept = np.arange(run.start, len(run.due))
            rows, due = concat_rows([run.rows.take(kept), rows]), np.concatenate([run.due[kept], due])
        order = np.argsort(due, kind="stable")
        self._runs.append(_Run(rows.take(order), due[order]))

    def release(self, before: int) -> list[Rows]:
        """Give up the rows that wait for less than `before`."""
        out: list[Rows] = []
        for run in self._runs:
            stop = int(np.searchsorted(run.due, before, side="left"))
            if stop > run.start:
                out.append(run.rows.take(np.arange(run.start, stop)))
                run.start = stop
        self._runs = [run for run in self._runs if len(run)]
        return out
