"""The window of raw events, column by column: what comes in at the end, and what leaves at the front."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.engine.memory.reuse import room
from stretto.values.rows import I64

FIRST_ROOM = 256


class RawWindow:
    """Columns of equal length in buffers that are used again; what `column` gives is good until the next change.

    `base`: how many events have left, which is the number of the first one that is still there. The first columns,
    `lines` of integers, lie in one buffer.
    """

    def __init__(self, lines: int, dtypes: Sequence[npt.DTypeLike]) -> None:
        self.base = 0
        self.lines: I64 = room((lines, FIRST_ROOM), np.int64)
        self._others: list[npt.NDArray[Any]] = [room(FIRST_ROOM, dtype) for dtype in dtypes]
        self.start = 0
        self.end = 0

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def nbytes(self) -> int:
        return self.lines.nbytes + sum(buffer.nbytes for buffer in self._others)

    def column(self, number: int) -> npt.NDArray[Any]:
        among = len(self.lines)
        buffer = self.lines[number] if number < among else self._others[number - among]
        return buffer[self.start : self.end]

    def append(self, columns: Sequence[npt.NDArray[Any] | None], count: int) -> None:
        """Add `count` events; what a column without values (None) holds for them is arbitrary."""
        if self.end + count > self.lines.shape[1]:
            self._make_room(count)
        for buffer, column in zip([*self.lines, *self._others], columns, strict=True):
            if column is not None:
                buffer[self.end : self.end + count] = column
        self.end += count

    def drop(self, count: int) -> None:
        """Forget the first `count` events."""
        self.start += count
        self.base += count

    def cut(self, count: int) -> None:
        """Forget the last `count` events."""
        self.end -= count

    def _make_room(self, count: int) -> None:
        """Move events to the front; into other buffers if these would be more than half full, or nearly empty."""
        size = self.lines.shape[1]
        kept = len(self)
        wanted = max(FIRST_ROOM, 2 * (kept + count))
        fits = wanted <= size <= 4 * wanted
        for i, buffer in enumerate(self._others):
            to = buffer if fits else room(wanted, buffer.dtype)
            to[:kept] = buffer[self.start : self.end]
            self._others[i] = to
        lines = self.lines if fits else room((len(self.lines), wanted), np.int64)
        lines[:, :kept] = self.lines[:, self.start : self.end]
        self.lines = lines
        self.start, self.end = 0, kept
