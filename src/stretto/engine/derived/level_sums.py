"""SUM, AVG and COUNT of one input over one window, by all groupings at once: Python is paid once a step."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stretto.engine.derived.exact_sums import Sums, more_wide, sum_windows_reference
from stretto.engine.derived.frames import Frame, members
from stretto.engine.derived.kernels.exact_sums import (
    ENTERED,
    LEFT,
    ROW,
    WHOLE_COLUMNS,
    sum_levels,
    sum_whole_levels,
)
from stretto.engine.derived.kernels.long_accumulator import SUM_COLUMNS, WIDE_SUM_COLUMNS
from stretto.engine.derived.kernels.small_sums import MOST_EVENTS, MOST_SUM, sum_small_levels
from stretto.engine.derived.levels import Function, InputAggregate
from stretto.engine.kernels.when_to_compile import is_due
from stretto.records import dataclass
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

OF_SUMS = frozenset([Function.COUNT, Function.SUM, Function.AVG])
NO_INTEGERS: I64 = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class LevelFrames:
    """What rows are over, by several groupings: as `Frame`, with a row for each of the last `rows` events.

    `numbers`: of groups, a line for each grouping, of which the columns `start`..`end - 1` are the window's. An event
    that is in no group has a row, too: of nothing.
    """

    numbers: I64
    start: int
    end: int
    rows: int
    low: I64
    high: I64
    base: int

    def frame(self, line: int, capacity: int) -> Frame:
        """What the rows are over by one grouping."""
        groups = self.numbers[line, self.start : self.end]
        return Frame(groups, groups[len(groups) - self.rows :], self.low, self.high, self.base, capacity)


class LevelSums:
    """Exact sums of every group, by groupings whose numbers are in some `lines`.

    `of`: the input's number; `functions`: what is asked of it.
    """

    def __init__(
        self, of: int, lines: Sequence[int], functions: frozenset[Function], *, doubles: bool
    ) -> None:
        self._of, self._functions, self._doubles = of, functions, doubles
        self._lines = np.array(lines, np.int64)
        self._use(sum_levels if doubles else sum_small_levels, SUM_COLUMNS if doubles else 1)

    def _use(self, loop: Any, columns: int) -> None:
        self._loop, self._width = loop, columns
        self.reset()

    @property
    def nbytes(self) -> int:
        return self._table.nbytes + self._wide.nbytes

    def reset(self, level: int | None = None) -> None:
        """Forget everything, or what is of one level; the next step begins with what the window holds."""
        if level is None or self._doubles:  # levels share wide rows
            count = len(self._lines)
            self._done: I64 = np.zeros((count, 3), np.int64)
            self._sizes: I64 = np.zeros(count, np.int64)
            self._table: I64 = np.zeros((0, self._width), np.int64)
            self._largest: int | None = None
            self._wide: I64 = np.zeros((0, WIDE_SUM_COLUMNS), np.int64)
            self._free: I64 = np.zeros(1, np.int64)
        else:
            self._done[level] = 0
            end = int(self._sizes[: level + 1].sum())
            self._table[end - self._sizes[level] : end] = 0

    def dropped(self, count: int) -> None:
        """So many events have gone from the front of the window; all of them had left, or none has entered."""
        self._done[:, [ENTERED, LEFT]] = np.maximum(self._done[:, [ENTERED, LEFT]] - count, 0)

    def step(
        self, frames: LevelFrames, capacities: I64, bits: I64, valid: Bool
    ) -> list[dict[InputAggregate, Vector]]:
        """The aggregates of every row, level by level. `bits`: integers, or those of doubles, of all in the window."""
        if self._loop is sum_small_levels and not self._are_small(bits, frames.rows):
            self._use(sum_whole_levels, WHOLE_COLUMNS)
        few = self._few(frames, capacities, bits, valid)
        if few is not None:
            columns = self._columns(few)
        else:
            if (capacities > self._sizes).any():
                self._make_room(np.maximum(self._sizes, capacities))
            given = (
                *(frames.numbers, self._lines, frames.start, frames.end, frames.rows, bits, valid),
                *(frames.low, frames.high, self._done, self._table, np.append(0, np.cumsum(self._sizes))),
            )
            self._done[:, ROW] = 0
            shape = len(self._lines), frames.rows
            columns = self._of_doubles(given, shape) if self._doubles else self._of_integers(given, shape)
        named = [(InputAggregate(function, self._of), column) for function, column in columns.items()]
        return [{name: _line(column, level) for name, column in named} for level in range(len(self._lines))]

    def _are_small(self, bits: I64, rows: int) -> bool:
        """Whether all sums of what is in the window, with so many new events, fit into a part of a word."""
        new = bits if self._largest is None else bits[len(bits) - rows :]
        found = max(int(new.max(initial=0)), -int(new.min(initial=0)))
        self._largest = max(found, self._largest or 0)
        return len(bits) < MOST_EVENTS and self._largest * len(bits) < MOST_SUM

    def _of_integers(self, given: tuple[Any, ...], shape: tuple[int, int]) -> dict[Function, Vector]:
        # Memory that is new costs more than the sums: there is room only for what is asked for.
        rooms = {function: shape if function in self._functions else (shape[0], 0) for function in OF_SUMS}
        counts, exact = np.empty(rooms[Function.COUNT], np.int64), np.empty(rooms[Function.SUM], np.int64)
        averages, there = np.empty(rooms[Function.AVG]), np.empty(shape, np.bool_)
        self._loop(*given, counts, exact, averages, there)
        some = None if there.all() else there
        made = {
            Function.COUNT: Vector(counts),
            Function.SUM: Vector(exact, some),
            Function.AVG: Vector(averages, some),
        }
        return {function: made[function] for function in self._functions & OF_SUMS}

    def _of_doubles(self, given: tuple[Any, ...], shape: tuple[int, int]) -> dict[Function, Vector]:
        sums = Sums(np.empty(shape, np.int64), np.empty(shape), NO_INTEGERS, NO_INTEGERS.astype(np.bool_))
        while not self._loop(*given, self._wide, self._free, sums.counts, sums.sums):
            self._wide = more_wide(self._wide, self._free)
        return self._columns(sums)

    def _columns(self, sums: Sums) -> dict[Function, Vector]:
        counts, whole = sums.counts, bool(sums.counts.all())
        some = None if whole else counts > 0
        if not self._doubles and not sums.fits.all():
            some = sums.fits if some is None else some & sums.fits
        made = {
            Function.COUNT: Vector(counts),
            Function.SUM: Vector(sums.sums if self._doubles else sums.exact, some),
        }
        if Function.AVG in self._functions:
            again = None if Function.SUM in self._functions else sums.sums
            averages = np.divide(sums.sums, counts if whole else np.maximum(counts, 1), out=again)
            made[Function.AVG] = Vector(averages, some)
        return made

    def _few(self, frames: LevelFrames, capacities: I64, bits: I64, valid: Bool) -> Sums | None:
        """The sums, if they are little enough for the loop's twin; nothing is kept between its steps."""
        if is_due(self._loop, 0):
            return None
        each = zip(self._lines.tolist(), capacities.tolist(), strict=True)
        found = [members(frames.frame(line, capacity), valid) for line, capacity in each]
        if is_due(self._loop, sum(one.work for one in found)):
            return None
        self.reset()
        values = bits.view(np.float64) if self._doubles else bits
        sums = [sum_windows_reference(one, values) for one in found]
        return Sums(
            np.stack([one.counts for one in sums]),
            np.stack([one.sums for one in sums]),
            np.stack([one.exact for one in sums]),
            np.stack([one.fits for one in sums]),
        )

    def _make_room(self, sizes: I64) -> None:
        """Give every level so many groups, no fewer than it has."""
        table = np.zeros((int(sizes.sum()), self._table.shape[1]), np.int64)
        if len(self._table):
            new, old = np.cumsum(sizes) - sizes, np.cumsum(self._sizes) - self._sizes
            for to, at, count in zip(new.tolist(), old.tolist(), self._sizes.tolist(), strict=True):
                table[to : to + count] = self._table[at : at + count]
        self._table, self._sizes = table, sizes


def _line(column: Vector, level: int) -> Vector:
    """What a column of all levels has of one."""
    return Vector(column.data[level], None if column.valid is None else column.valid[level])
