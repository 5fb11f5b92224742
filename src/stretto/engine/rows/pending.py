"""Rows that wait until a coordinate of time has passed."""

import numpy as np

from stretto.engine.memory.limits import Meter, Undo, size_of
from stretto.engine.rows.sets import sliced
from stretto.records import dataclass
from stretto.values.rows import I64, Rows, concat_rows

MERGED = 1 << 16
"""Runs of so many rows are merged no more: that would take as much memory again, and there are few of them."""


@dataclass(slots=True)
class _SortedRun:
    """Rows sorted by the coordinate they wait for; those before `start` are gone."""

    rows: Rows
    due: I64
    start: int = 0

    def __len__(self) -> int:
        return len(self.due) - self.start


class Pending:
    """Runs of rows, each of the short ones at least twice as long as the next: a row is merged only a few times."""

    looked = 0  # rows that wait are nobody's partners

    def __init__(self) -> None:
        self._runs: list[_SortedRun] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    @property
    def earliest(self) -> int | None:
        """The least coordinate that a row waits for."""
        return min((int(run.due[run.start]) for run in self._runs), default=None)

    @property
    def held(self) -> int:
        return sum(size_of(run.rows) + run.due.nbytes for run in self._runs)

    def mark(self) -> Undo:
        """What brings back the rows that wait now, and no others."""
        runs = [(run, run.start) for run in self._runs]

        def undo() -> None:
            for run, start in runs:
                run.start = start
            self._runs = [run for run, _ in runs]

        return undo

    def add(self, rows: Rows, due: I64, meter: Meter) -> None:
        """Keep rows until `due` has passed, each its own."""
        for start in range(0, len(rows), MERGED):
            part = slice(start, min(start + MERGED, len(rows)))
            self._add(sliced(rows, part), due[part], meter)

    def _add(self, rows: Rows, due: I64, meter: Meter) -> None:
        while self._runs and len(self._runs[-1]) < min(2 * len(rows), MERGED):
            run = self._runs.pop()
            kept = slice(run.start, len(run.due))
            rows, due = concat_rows([sliced(run.rows, kept), rows]), np.concatenate([run.due[kept], due])
        order = np.argsort(due, kind="stable")
        run = _SortedRun(rows.take(order), due[order])
        meter.charge(size_of(run.rows) + run.due.nbytes, len(rows))
        self._runs.append(run)

    def release(self, before: int) -> list[Rows]:
        """Give up the rows that wait for less than `before`."""
        out: list[Rows] = []
        for run in self._runs:
            stop = int(np.searchsorted(run.due, before, side="left"))
            if stop > run.start:
                out.append(sliced(run.rows, slice(run.start, stop)))
                run.start = stop
        self._runs = [run for run in self._runs if len(run)]
        return out
