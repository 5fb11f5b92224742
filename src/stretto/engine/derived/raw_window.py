"""The window of raw events, column by column: what comes in at the end, and what leaves at the front."""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from stretto.engine.memory.reuse import room

FIRST_ROOM = 256


class RawWindow:
    """Columns of equal length in buffers that are used again; what `column` gives is good until the next change.

    `base`: how many events have left, which is the number of the first one that is still there.
    """

    def __init__(self, dtypes: Sequence[npt.DTypeLike]) -> None:
        self.base = 0
        self._buffers: list[npt.NDArray[Any]] = [room(FIRST_ROOM, dtype) for dtype in dtypes]
        self._start = 0
        self._end = 0

    def __len__(self) -> int:
        return self._end - self._start

    @property
    def nbytes(self) -> int:
        return sum(buffer.nbytes for buffer in self._buffers)

    def column(self, number: int) -> npt.NDArray[Any]:
        return self._buffers[number][self._start : self._end]

    def append(self, columns: Sequence[npt.NDArray[Any] | None], count: int) -> None:
        """Add `count` events; what a column without values (None) holds for them is arbitrary."""
        if self._end + count > len(self._buffers[0]):
            self._make_room(count)
        for buffer, column in zip(self._buffers, columns, strict=True):
            if column is not None:
                buffer[self._end : self._end + count] = column
        self._end += count

    def drop(self, count: int) -> None:
        """Forget the first `count` events."""
        self._start += count
        self.base += count

    def cut(self, count: int) -> None:
        """Forget the last `count` events."""
        self._end -= count

    def _make_room(self, count: int) -> None:
        """Move events to the front; into other buffers if these would be more than half full, or nearly empty."""
        size = len(self._buffers[0])
        kept = len(self)
        wanted = max(FIRST_ROOM, 2 * (kept + count))
        for i, buffer in enumerate(self._buffers):
            to = buffer if wanted <= size <= 4 * wanted else room(wanted, buffer.dtype)
            to[:kept] = buffer[self._start : self._end]
            self._buffers[i] = to
        self._start, self._end = 0, kept
