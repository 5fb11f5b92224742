"""Blocks of rows that are written to again once nobody holds them.

Rows that become matches are kept for as long as somebody keeps the matches. Where these are soon dropped, by KEEP or
by a reader who has done with them, the next step would ask the system for the same memory anew, page by page.
"""

import sys
from collections import defaultdict, deque
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.engine.memory import reuse

MOST_BYTES = 1 << 26
LOOKS = 8
"""Blocks that are looked at: where as many are held, most are."""
_UNHELD = 3
"""References to an array of which there is no view: in the queue, by its name here, and that of the question."""


class SpareBlocks:
    """Blocks that were given out, of few shapes, at most so many bytes of them, whoever holds them now."""

    def __init__(self, most_bytes: int) -> None:
        self._most = min(most_bytes, MOST_BYTES)
        self._blocks: defaultdict[tuple[tuple[int, int], str], deque[npt.NDArray[Any]]] = defaultdict(deque)
        self.nbytes = 0

    def __reduce__(self) -> tuple[type["SpareBlocks"], tuple[int]]:
        """Without the blocks: an engine that is written to a file leaves them behind."""
        return SpareBlocks, (self._most,)

    def block(self, shape: tuple[int, int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array of any content, owned by who asked for it."""
        alike = self._blocks[shape, np.dtype(dtype).str]
        for _ in range(min(LOOKS, len(alike))):
            block = alike[0]
            alike.rotate(-1)
            # A view, and Arrow too, holds the array whose memory it shows; so none is left when nothing else does.
            if sys.getrefcount(block) == _UNHELD:
                reuse.forgotten(block)
                return block
        new = np.empty(shape, dtype)
        while alike and self.nbytes + new.nbytes > self._most:
            self.nbytes -= alike.popleft().nbytes
        if self.nbytes + new.nbytes <= self._most:
            alike.append(new)
            self.nbytes += new.nbytes
        return new
