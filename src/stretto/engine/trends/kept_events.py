"""Events kept until their last window is closed: times, nodes, partitions, and the attributes that are asked for."""

from collections.abc import Iterable

import numpy as np

from stretto.engine.stream.arena import Growing
from stretto.engine.trends.executor import TakenEvents
from stretto.engine.trends.numbers import I32
from stretto.values.evaluate import Events
from stretto.values.rows import I64
from stretto.values.strings import Strings
from stretto.values.vector import Vector


class KeptEvents:
    """Events by their number among the kept ones, in time order; numbers shift when the oldest are forgotten.

    What is borrowed is good until the next take or forget.
    """

    def __init__(self, attributes: Iterable[str]) -> None:
        self._attributes = tuple(sorted(set(attributes) - {"ts"}))
        self._ts = Growing(np.int64)
        self._keys = Growing(np.int64)
        self._counts = Growing(np.int64)
        self._nodes = Growing(np.int32)
        self._data: dict[str, Growing] = {}
        self._valid = {name: Growing(np.bool_) for name in self._attributes}
        self._strings: Strings | None = None

    def __len__(self) -> int:
        return len(self._ts.borrowed)

    def take(self, taken: TakenEvents, events: Events) -> None:
        n = len(taken)
        self._strings = events.strings
        self._ts.append(taken.ts, n)
        self._keys.append(taken.keys, n)
        self._counts.append(np.diff(taken.first), n)
        self._nodes.append(taken.nodes, len(taken.nodes))
        for name in self._attributes:
            vector = events.values(name, taken.positions).over(n)
            if name not in self._data:
                self._data[name] = Growing(vector.data.dtype)
            self._data[name].append(vector.data, n)
            self._valid[name].append(True if vector.valid is None else vector.valid, n)

    def forget(self, count: int) -> None:
        """The first `count` events are in no window that is still open."""
        self._nodes.forget(int(self._counts.borrowed[:count].sum()))
        for array in self._by_event:
            array.forget(count)

    @property
    def borrowed_ts(self) -> I64:
        return self._ts.borrowed

    @property
    def borrowed_keys(self) -> I64:
        return self._keys.borrowed

    @property
    def borrowed_counts(self) -> I64:
        """How many nodes each event is at."""
        return self._counts.borrowed

    @property
    def borrowed_nodes(self) -> I32:
        """The nodes of all events, one after another."""
        return self._nodes.borrowed

    @property
    def strings(self) -> Strings:
        assert self._strings is not None
        return self._strings

    @property
    def held(self) -> int:
        return sum(array.nbytes for array in (*self._by_event, self._nodes))

    def ahead(self, taken: TakenEvents) -> int:
        """Bytes of the new memory that it takes to keep these events too."""
        n = len(taken)
        fresh = 16 * n * (len(self._attributes) - len(self._data))
        return fresh + sum(array.ahead(n) for array in self._by_event) + self._nodes.ahead(len(taken.nodes))

    @property
    def _by_event(self) -> tuple[Growing, ...]:
        return (self._ts, self._keys, self._counts, *self._data.values(), *self._valid.values())

    def values(self, attribute: str, positions: I64) -> Vector:
        if attribute == "ts":
            return Vector(self.borrowed_ts[positions])
        valid = self._valid[attribute].borrowed[positions]
        return Vector(self._data[attribute].borrowed[positions], None if valid.all() else valid)
