"""What the texts of an engine take in memory."""

from dataclasses import dataclass

import numpy as np

from stretto.values.strings import Strings
from stretto.values.vector import Vector

TEXT_BYTES = 200
"""Of a text beside its characters: the object, its place in the list, and its entry in the dictionary."""


@dataclass(slots=True)
class Texts:
    """Counts the texts that have come since it last looked."""

    _known: int = 0
    _bytes: int = 0

    def held(self, strings: Strings) -> int:
        """Bytes of all texts."""
        now = len(strings)
        if now > self._known:
            new = np.arange(self._known, now)
            self._bytes += int(strings.lengths(Vector(new)).sum()) + TEXT_BYTES * len(new)
            self._known = now
        return self._bytes
