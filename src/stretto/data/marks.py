"""The times of every so many-th event: how long any number of events usually takes, without all their times."""

from dataclasses import field
from math import inf
from typing import Final

import numpy as np

from stretto.records import dataclass
from stretto.values.rows import I64

MOST: Final = 1 << 13


@dataclass(frozen=True, slots=True)
class TimeMarks:
    """The times of every `every`-th of `rows` events, in order; at most `MOST` of them."""

    marks: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    every: int = 1
    rows: int = 0

    def extended(self, times: I64) -> "TimeMarks":
        """The same with those of further events."""
        marks, every = np.concatenate([self.marks, times[-self.rows % self.every :: self.every]]), self.every
        while len(marks) > MOST:
            marks, every = marks[::2], 2 * every
        return TimeMarks(marks, every, self.rows + len(times))

    def usual_length(self, rows: int) -> float:
        """Microseconds that so many events usually take; infinity where there are no more than these."""
        steps = max(round(rows / self.every), 1)
        if steps >= len(self.marks):
            return inf
        return float(np.median(self.marks[steps:] - self.marks[:-steps])) * rows / (steps * self.every)
