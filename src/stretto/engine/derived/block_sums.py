"""SUM, AVG and COUNT of integers for blocks of streams, over a window that holds an event once for all of them."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from stretto.engine.derived.exact_sums import Sums, sum_windows_reference
from stretto.engine.derived.frames import Frame, members
from stretto.engine.derived.kernels.block_sums import COLUMNS, sum_blocks
from stretto.engine.derived.kernels.exact_sums import ENTERED, LEFT
from stretto.engine.derived.level_sums import OF_SUMS
from stretto.engine.derived.levels import Function
from stretto.engine.kernels.when_to_compile import is_due
from stretto.records import dataclass
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

FEWEST_DENSE = 1 << 16
ROOMY = 4
"""There is room for every block of every group where that is no more than this, or than so many for each row."""


@dataclass(frozen=True)
class ClassBlocks:
    """The numbers of the blocks that each class consists of, one class behind the other; `count`: of all blocks."""

    blocks: I64
    sizes: I64
    count: int

    @classmethod
    def of(cls, lists: Sequence[I64], count: int) -> "ClassBlocks":
        none = np.zeros(0, np.int64)
        return cls(np.concatenate([none, *lists]), np.array([len(of) for of in lists], np.int64), count)

    @cached_property
    def starts(self) -> I64:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def ranges(self) -> tuple[I64, I64, I64]:
        """The same as ranges of numbers, from the first to the last: where those of a class end, and both."""
        begins = np.ones(len(self.blocks), np.bool_)
        begins[1:] = np.diff(self.blocks) != 1
        begins[self.starts[self.sizes > 0]] = True
        at = np.flatnonzero(begins)
        ends = np.searchsorted(at, np.append(self.starts, len(self.blocks)))
        return ends, self.blocks[at], self.blocks[np.append(at[1:], len(self.blocks)) - 1]

    def listed(self, classes: I64) -> tuple[I64, I64]:
        """Pairs of places in `classes` and blocks of the classes there."""
        counts = self.sizes[classes]
        owners = np.repeat(np.arange(len(classes)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        return owners, self.blocks[np.repeat(self.starts[classes], counts) + within]

    def picked(self, classes: I64, pairs: I64) -> tuple[I64, I64]:
        """Some of these pairs, by their numbers."""
        ends = np.cumsum(self.sizes[classes])
        owners = np.searchsorted(ends, pairs, side="right")
        of = classes[owners]
        return owners, self.blocks[self.starts[of] + pairs - (ends[owners] - self.sizes[of])]


class BlockSums:
    """Exact sums of every group and block of one input."""

    def __init__(self, functions: frozenset[Function]) -> None:
        assert functions <= OF_SUMS, functions
        self._functions = functions
        self.reset()

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def reset(self) -> None:
        """Forget everything; the next step begins with what the window holds."""
        self._done: I64 = np.zeros(2, np.int64)
        self._table: I64 = np.zeros((0, COLUMNS, 0), np.int64)

    def dropped(self, count: int) -> None:
        """So many events have gone from the front of the window; all of them had left, or none has entered."""
        self._done[[ENTERED, LEFT]] = np.maximum(self._done[[ENTERED, LEFT]] - count, 0)

    def divide(self, parts: Sequence[tuple[int, int]], count: int) -> None:
        """Blocks were cut: new ones (and of which they were a part), in order, have had the same events."""
        self._make_room(len(self._table), count)
        for new, old in parts:
            self._table[:, :, new] = self._table[:, :, old]

    def step(
        self, frame: Frame, classes: I64, known: ClassBlocks, bits: I64, valid: Bool
    ) -> dict[Function, Vector]:
        """Aggregates with a row for every block of the last events of the window, of which all `classes` are given."""
        few = self._few(frame, classes, known, bits, valid)
        if few is not None:
            averages = few.sums / np.maximum(few.counts, 1)
            return self._named(few.counts, few.exact, averages, few.fits & (few.counts > 0))
        self._make_room(frame.capacity, known.count)
        rows = int(known.sizes[classes[len(classes) - len(frame.asked) :]].sum())
        # Memory that is new costs more than the sums: there is room only for what is asked for.
        rooms = {function: rows if function in self._functions else 0 for function in OF_SUMS}
        counts, exact = np.empty(rooms[Function.COUNT], np.int64), np.empty(rooms[Function.SUM], np.int64)
        averages, there = np.empty(rooms[Function.AVG]), np.empty(rows, np.bool_)
        sum_blocks(
            *(frame.groups, classes, *known.ranges, bits, valid, frame.low, frame.high),
            *(self._done, self._table, counts, exact, averages, there),
        )
        return self._named(counts, exact, averages, there)

    def _named(self, counts: I64, exact: I64, averages: np.ndarray, there: Bool) -> dict[Function, Vector]:
        some = None if there.all() else there
        made = {
            Function.COUNT: Vector(counts),
            Function.SUM: Vector(exact, some),
            Function.AVG: Vector(averages, some),
        }
        return {function: made[function] for function in self._functions}

    def _few(self, frame: Frame, classes: I64, known: ClassBlocks, bits: I64, valid: Bool) -> Sums | None:
        """The sums, if they are little enough for the loop's twin; nothing is kept between its steps."""
        if is_due(sum_blocks, 0):
            return None
        rows, blocks = known.listed(classes)
        ends = np.append(0, np.cumsum(known.sizes[classes]))
        groups = frame.groups[rows] * known.count + blocks
        first = len(classes) - len(frame.asked)
        asked = slice(int(ends[first]), None)
        low, high = (ends[bound[rows[asked] - first]] for bound in (frame.low, frame.high))
        found = members(Frame(groups, groups[asked], low, high, 0, 0), valid[rows])
        if is_due(sum_blocks, found.work):
            return None
        self.reset()
        return sum_windows_reference(found, bits[rows])

    def _make_room(self, groups: int, blocks: int) -> None:
        """Room for so many groups and blocks."""
        had, _, width = self._table.shape
        if groups <= had and blocks <= width:
            return
        table = np.zeros((max(groups, had), COLUMNS, max(blocks, width)), np.int64)
        table[:had, :, :width] = self._table
        self._table = table


def is_dense(groups: int, blocks: int, rows: int) -> bool:
    """Whether there may be room for every block of every group; `rows`: events of the window, once for each block."""
    return groups * blocks <= max(FEWEST_DENSE, ROOMY * rows)
