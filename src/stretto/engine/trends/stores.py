"""Where occurrences stand in the stores of their edges: groups, ranks there, and the counts that others ask for."""

import numpy as np

from stretto.engine.kernels.sorted_search import look_up
from stretto.engine.trends.cells import Cells
from stretto.engine.trends.conditions import Store, StoreLookup, asked, kept
from stretto.engine.trends.numbers import I32
from stretto.records import dataclass
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool

FoundGroups = tuple[I32, I32]
"""Per occurrence of a node: a group, and a leaf (-1: not kept) or a count of leaves (0: none)."""


@dataclass(frozen=True, slots=True)
class _Coded:
    """Distinct keys of an equality, and the distinct codes of what they make of the codes before."""

    keys: I64
    codes: I64


class Ranked:
    """A store over cells: groups are numbered by cell; each has leaves, by rank or by time."""

    def __init__(self, store: Store, cells: Cells, events: Events) -> None:
        at = cells.of_node[store.source]
        equal, order, alive = kept(store, cells.event[at], events)
        self._store, self._cells, self._events = store, cells, events
        self._index = np.flatnonzero(alive)
        code = cells.cell[at][alive]
        self._equalities: list[_Coded] = []
        for keys in equal:
            distinct, place = np.unique(keys[alive], return_inverse=True)
            codes, code = np.unique(code * len(distinct) + place, return_inverse=True)
            self._equalities.append(_Coded(distinct, codes))
        self.cell = np.arange(len(cells))
        if equal:
            self.cell = np.zeros(len(self._equalities[-1].codes), np.int64)
            self.cell[code] = cells.cell[at][alive]
        groups = len(self.cell)
        if store.scanned:
            leaf = self._by_time(code, groups, cells.tick[at][alive])
        elif order is None:
            leaf, self.size = np.zeros(len(code), np.int64), np.ones(groups, np.int64)
        else:
            leaf = self._by_rank(code, groups, order[alive])
        self.source: FoundGroups = _scattered(len(at), alive, code, leaf, -1)

    def _by_rank(self, code: I64, groups: int, keys: I64) -> I64:
        self._keys, rank = np.unique(keys, return_inverse=True)
        if groups == 1:
            self._ranked, self._begin = np.arange(len(self._keys)), np.zeros(1, np.int64)
            self.size = np.array([len(self._keys)])
            return rank
        # A group and a rank in it make one integer, so that one sorted array holds the ranks of all groups.
        many = len(self._keys) + 1
        self._ranked, place = np.unique(code * many + rank, return_inverse=True)
        bounds = np.searchsorted(self._ranked, np.arange(groups + 1) * many)
        self._begin, self.size = bounds[:-1], np.diff(bounds)
        return np.asarray(place - self._begin[code])

    def _by_time(self, code: I64, groups: int, tick: I64) -> I64:
        """Leaves in order of time; what is before a tick is then a prefix."""
        order = np.argsort(code, kind="stable")
        many = len(self._cells.tick_cell) + 1
        self._ranked = (code * many + tick)[order]
        bounds = np.searchsorted(self._ranked, np.arange(groups + 1) * many)
        self._begin, self.size = bounds[:-1], np.diff(bounds)
        self.in_time = self._index[order]
        leaf = np.empty(len(code), np.int64)
        leaf[order] = np.arange(len(code))
        return leaf - self._begin[code]

    def begins(self, groups: I32) -> I64:
        """Where the occurrences of these groups begin among `in_time` (numbers among those of the source node)."""
        if not len(self._begin):  # nothing is kept, and nobody reads a group
            return np.zeros(len(groups), np.int64)
        return np.asarray(self._begin[groups])

    def target(self, look: StoreLookup) -> FoundGroups:
        """For the occurrences of the look's target: the group they read, and how many of its leaves."""
        if look.mirrors:
            group, leaf = self.source
            if look.order is None:
                return group, (leaf >= 0).astype(np.int32)
            return group, leaf if look.strict and (leaf >= 0).all() else np.where(
                leaf >= 0, leaf + (not look.strict), 0
            ).astype(np.int32)
        at = self._cells.of_node[look.target]
        equal, order, alive = asked(look, self._cells.event[at], self._events)
        code = self._cells.cell[at]
        for keys, coded in zip(equal, self._equalities, strict=True):
            place, there = look_up(coded.keys, keys)
            code, known = look_up(coded.codes, code * len(coded.keys) + place)
            alive &= there & known
        code = code[alive]
        if self._store.scanned:
            many = len(self._cells.tick_cell) + 1
            count = np.searchsorted(self._ranked, code * many + self._cells.tick[at][alive])
            count -= self._begin[code]
        elif order is None:
            count = np.ones(len(code), np.int64)
        else:
            count = self._before(code, order[alive])
        return _scattered(len(at), alive, code, count, 0)

    def _before(self, code: I64, keys: I64) -> I64:
        count = np.searchsorted(self._keys, keys, side="right")
        if len(self.cell) == 1:
            return count
        many = len(self._keys) + 1
        return np.searchsorted(self._ranked, code * many + count) - self._begin[code]


def _scattered(n: int, alive: Bool, code: I64, value: I64, other: int) -> FoundGroups:
    groups, values = np.zeros(n, np.int32), np.full(n, other, np.int32)
    groups[alive], values[alive] = code, value
    return groups, values
