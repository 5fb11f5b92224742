"""The bound on memory: bytes that are held, and bytes that a step makes, counted as blocks of them are allocated."""

from collections.abc import Callable

import numpy as np

from stretto.engine.memory.freed_memory import keep_freed_memory
from stretto.records import dataclass
from stretto.values.rows import Rows
from stretto.values.strings import Strings
from stretto.values.vector import Vector

TEXT_BYTES = 200
"""Of a text beside its characters: the object, its place in the list, and its entry in the dictionary."""

Undo = Callable[[], None]
"""Makes the state of an operator what it was."""


class TooMuch(Exception):  # noqa: N818 - undone, or turned into an EngineError, which names the operator
    """A step went past the bound on memory."""


@dataclass(slots=True)
class Meter:
    """Counts bytes as blocks are made, so that a step stops soon after the limit, not when the system has no more.

    `limit` is what may be held at once, all together; `peak` what was, at most.

    `outside`: what lies around the operators and is known before a step: events on their way in, texts, snapshots,
    results that are kept. `held`: all that is held when a step begins; `used`: what the step has made since. `at`: the
    operator at work, and `rows`: those that it has made.
    """

    limit: int
    outside: int = 0
    held: int = 0
    used: int = 0
    rows: int = 0
    peak: int = 0
    at: int = 0

    @property
    def left(self) -> int:
        return self.limit - self.held - self.used

    def begin(self, state: int) -> None:
        """A step begins, and operators hold `state`; TooMuch if that alone is past the limit."""
        keep_freed_memory()
        self.held, self.used, self.rows = self.outside + state, 0, 0
        self.charge(0)

    def charge(self, size: int, rows: int = 0) -> None:
        """Add what was made and stays until the step ends; raises TooMuch past the limit."""
        self.used += size
        self.rows += rows
        total = self.held + self.used
        self.peak = max(self.peak, total)
        if total > self.limit:
            raise TooMuch

    def release(self, size: int) -> None:
        """Of what is counted, so much is there no more."""
        self.used -= size

    def reserve(self, size: int, rows: int = 0) -> None:
        """Raise TooMuch unless so much more can be made for a while; it is not there yet, nor is it counted."""
        if size > self.left:
            self.rows += rows
            raise TooMuch
        self.peak = max(self.peak, self.held + self.used + size)

    def share(self, parts: int, most: int, least: int) -> int:
        """A part of what is left, between bounds: how much to make at a time."""
        return min(max(self.left // parts, least), most)


def size_of(rows: Rows) -> int:
    """Bytes of the rows."""
    size = rows.first.nbytes + rows.last.nbytes
    for column in rows.columns:
        size += column.nbytes
    return size


def vector_size(vector: Vector) -> int:
    """Bytes of values, and of where they are none."""
    return vector.data.nbytes + (0 if vector.valid is None else vector.valid.nbytes)


@dataclass(slots=True)
class TextBytes:
    """What the texts of an engine take: counts those that have come since it last looked."""

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
