"""Ids that come again: two events of one id are two events to every query, but their matches may have one match id."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stretto.engine.kernels.hash_tables import EMPTY, seen_again, seen_again_reference
from stretto.engine.results.identity import FEW
from stretto.values.rows import I64, Bool

REACH = 1 << 16
"""An id is looked for among at least so many events before; what is kept for that does not grow with the stream."""


class RepeatedIds:
    """Counts the events whose id one of the events before them has, at least of the last REACH, in order of position.

    Ids that ascend, as most do, cost one comparison. `given`: whether there are ids; numbers of arrival do not repeat.
    `counts`: which events are counted, by their ids and times; None: all.
    """

    def __init__(self) -> None:
        self.given = False
        self.counts: Callable[[I64, I64], Bool] | None = None
        self._found = 0
        self.remember(np.empty(0, np.int64))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_tables": None}

    @property
    def found(self) -> int:
        """How many there have been so far."""
        self._judge()
        return self._found

    def take(self, ids: I64 | range, ts: I64) -> None:
        """Take the next events: their ids, and their times."""
        if not self.given:
            return
        start = 0
        while start < len(ids):
            # Always as many at once, so that the count does not depend on how events are cut into blocks.
            part = slice(start, start + REACH - self._size)
            self._ids.append(np.array(ids[part], np.int64))
            self._ts.append(ts[part].copy())
            start += len(self._ids[-1])
            self._size += len(self._ids[-1])
            if self._size == REACH:
                self._judge()
                tables = None if self._tables is None else (self._tables[1], _table())
                self.remember(self._ids[0], tables)

    def remember(self, ids: I64, tables: tuple[I64, I64] | None = None) -> None:
        """The last events had these ids, and are counted. `tables`: a hash table of them, and an empty one."""
        self._before = ids[-REACH:].copy()
        self._greatest = int(self._before.max(initial=EMPTY))
        self._ids: list[
            I64
        ] = []  # of the events since, fewer than REACH; `_judged` of them have been looked at
        self._ts: list[I64] = []
        self._size = self._judged = 0
        self._tables = tables  # of the ids before, and of those judged

    def _judge(self) -> None:
        """Count those among the events that have not been looked at."""
        if self._judged == self._size:
            return
        ids, judged = self._ids[0] if len(self._ids) == 1 else np.concatenate(self._ids), self._judged
        self._ids, self._judged = [ids], self._size
        if ids[0] > self._greatest and (ids[1:] > ids[:-1]).all():
            self._tables = None
            return
        again = self._again(ids[:judged], ids[judged:])
        if self.counts is not None:
            again &= self.counts(ids[judged:], np.concatenate(self._ts)[judged:])
        self._found += int(np.count_nonzero(again))

    def _again(self, judged: I64, new: I64) -> Bool:
        """Which ids have come before."""
        if len(self._before) + len(judged) + len(new) < FEW:
            return seen_again_reference(new, np.concatenate([self._before, judged]))
        if self._tables is None:
            self._tables = _table(self._before), _table(judged)
        return _seen(new, *self._tables)


def _table(ids: I64 | None = None) -> I64:
    """A hash table of these ids, with room for REACH."""
    table = np.full(2 * REACH, EMPTY, np.int64)
    if ids is not None:
        _seen(ids, np.full(2 * REACH, EMPTY, np.int64), table)
    return table


def _seen(ids: I64, before: I64, now: I64) -> Bool:
    again: Bool = seen_again(ids, before, now, np.uint64(65 - len(now).bit_length()))
    return again
