"""Blocks of rows that are written to again once nobody holds them.

Rows that become matches are kept for as long as somebody keeps the matches. Where these are soon dropped, by KEEP or
by a reader who has done with them, the next step would ask the system for the same memory anew, page by page.
"""

import sys
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.engine.memory import reuse

MOST_BYTES = 1 << 26
_UNHELD = 3
"""References to an array of which there is no view: in the list, from the loop over it, and that of the question."""


class SpareBlocks:
    """The blocks that were given out last, at most so many bytes of them, whoever holds them now."""

    def __init__(self, most_bytes: int) -> None:
        self._most = min(most_bytes, MOST_BYTES)
        self._blocks: deque[npt.NDArray[Any]] = deque()
        self.nbytes = 0

    def block(self, shape: tuple[int, int], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array of any content, owned by who asked for it."""
        for block in self._blocks:
            # A view, and Arrow too, holds the array whose memory it shows; so none is left when nothing else does.
            if block.shape == shape and block.dtype == dtype and sys.getrefcount(block) == _UNHELD:
                reuse.forgotten(block)
                return block
        new = np.empty(shape, dtype)
        if new.nbytes <= self._most:
            self._blocks.append(new)
            self.nbytes += new.nbytes
            while self.nbytes > self._most:
                self.nbytes -= self._blocks.popleft().nbytes
        return new
