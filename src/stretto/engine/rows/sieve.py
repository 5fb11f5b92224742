"""What the last join of a query need not write: matches that KEEP or LIMIT drop."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

import numpy as np

from stretto.engine.kernels.keep_apart import NEVER
from stretto.engine.kernels.sieved_band import APART, FIRST, LIMIT
from stretto.records import dataclass
from stretto.values.rows import I64

_NOTHING: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Sieving:
    """A join whose rows are the matches of one query and nothing else.

    `emit`: the operator that reads it. `key`: what tells matches apart, the column of a row and the attribute of its
    event. `order`: the columns by whose ids matches are ordered in the end; none where that takes more than their ids.
    """

    query: str
    emit: int
    key: tuple[int, str] | None
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """What tells matches apart: an attribute of the event in this column of a row.

    `borrowed`: the values of all events. The value `low` has the first mark, `low` + 1 the second, and so on.
    """

    column: int
    borrowed: I64
    low: int


@dataclass(slots=True)
class Sieve:
    """For one step, and one join that finds all matches of a query, by when they are detected.

    `marks`: as the step begins, and brought up to date. `order`: the columns by whose ids matches of one time and start
    are ordered; `borrowed_ids`: of all events, from the one at position `base` on; empty: they are the positions.
    `stopped`: no match is left out any more.
    """

    word: int
    gap: int
    most: int
    marks: I64
    base: int = 0
    keys: Keys | None = None
    order: Sequence[int] = ()
    borrowed_ids: I64 = field(default_factory=lambda: _NOTHING)
    stopped: bool = field(init=False)
    _counts: I64 = field(init=False)

    def __post_init__(self) -> None:
        self.stopped = False
        self._counts = np.array((0, 0, 0, bool(self.order)), np.int64)

    @property
    def pending(self) -> bool:
        """Whether pairs were found that are still to be written."""
        return bool(self._counts[1])

    @property
    def left_out(self) -> int:
        """How many matches were found and are not written."""
        return int(self._counts[2])

    @property
    def exact(self) -> bool:
        """Whether all that is written is kept; else there may be more, and what is kept is among it."""
        return bool(self._counts[3])

    def stop(self) -> None:
        """Leave out no more matches in this step.

        To be called before matches are written that the sieve does not see. One of them may be kept, and its mark
        would be missing: the walk over all matches drops and keeps others than a sieve without that mark.
        """
        self.stopped = True
        self._counts[3] = 0

    def arguments(self, columns: Sequence[int]) -> tuple[I64, I64, I64, I64, I64, I64]:
        """As the loop reads it; `columns`: from where it reads those of a row."""
        keys = self.keys
        key = (0, self.base, 0) if keys is None else (columns[keys.column], self.base, keys.low)
        rule = np.array((self.word, self.gap, self.most, *key), np.int64)
        look = _NOTHING if keys is None else keys.borrowed
        order = np.array([columns[c] for c in self.order], np.int64)
        return rule, self.marks, look, order, self.borrowed_ids, self._counts


def first_sieve(
    marks: I64, gap: int, base: int, keys: Keys | None, order: Sequence[int], ids: I64 | None, *, apart: bool
) -> Sieve:
    """Of FIRST or APART, where these are the marks of the keys."""
    state = np.full((4, len(marks)), NEVER)
    state[0] = marks
    return Sieve(
        APART if apart else FIRST, gap, 0, state, base, keys, order, _NOTHING if ids is None else ids
    )


def limit_sieve(stretch: int, count: int, length: int, most: int) -> Sieve:
    """Of LIMIT alone, where so many were kept of the last stretch."""
    return Sieve(LIMIT, length, most, np.array([[stretch], [count], [NEVER], [NEVER]], np.int64))
