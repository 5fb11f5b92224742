"""Sets that grow event by event without being copied: nodes with a link to the set before the latest event.

Many runs may go on from one node, and what a run adds costs the same however long it is. A set is written out only
for those who read all of it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.kernels.linked_sets import (
    reached,
    reached_reference,
    written_out,
    written_out_reference,
)
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.memory.limits import Undo
from stretto.engine.rows.running_reductions import LANES, RunningReduction, kept_for
from stretto.pattern.predicates import Reduce
from stretto.values.evaluate import Events
from stretto.values.rows import I64, UNBOUND, Sets
from stretto.values.vector import Vector

EMPTY = -1
"""In place of a node, for the empty set."""
FEWEST = 256
"""So few nodes are not looked through for those that nobody needs."""
PARENT, POSITION, FIRST, COUNT, LINKS = range(5)


class LinkedNodes:
    """A node per set: the set without its latest event, that event, the earliest one, and how many there are.

    After these, what the set's values sum up to, as far as `reductions` ask for it. What is there is never written to,
    so a step is undone by going back to how many there were.
    """

    def __init__(self, reductions: Sequence[RunningReduction] = ()) -> None:
        self._reductions = tuple(reductions)
        self._doubles: dict[str, bool] = {}
        self._data = self._room(FEWEST)
        self._used = 0
        self._kept = 0

    def _room(self, nodes: int) -> I64:
        return np.empty((LINKS + LANES * len(self._reductions), nodes), np.int64)

    @property
    def held(self) -> int:
        return self._used * len(self._data) * 8

    def __len__(self) -> int:
        return self._used

    def mark(self) -> Undo:
        before = self._data, self._used, self._kept

        def undo() -> None:
            self._data, self._used, self._kept = before

        return undo

    def added(self, parents: I64, positions: I64, events: Events) -> I64:
        """LinkedNodes for these sets with one more event each."""
        begin, end = self._used, self._used + len(parents)
        if end > self._data.shape[1]:
            larger = self._room(max(end, 2 * self._data.shape[1]))
            larger[:, :begin] = self._data[:, :begin]
            self._data = larger
        new = self._data[:, begin:end]
        new[PARENT], new[POSITION] = parents, positions
        empty = parents == EMPTY
        new[FIRST] = np.where(empty, positions, self._data[FIRST, parents])
        new[COUNT] = np.where(empty, 0, self._data[COUNT, parents]) + 1
        for lanes, one in self._lanes():
            values = events.values(one.attribute, positions)
            self._doubles[one.attribute] = values.data.dtype.kind == "f"
            new[lanes] = one.grown(self._data[lanes, parents], empty, values)
        self._used = end
        return np.arange(begin, end)

    def reduced(self, node: Reduce, heads: I64) -> Vector | None:
        """What a reduction gives for sets; None if it is not kept."""
        for lanes, one in self._lanes():
            if one == kept_for(node):
                found = np.where(heads == EMPTY, 0, self._data[lanes, heads])
                return one.read(found, node.function, doubles=self._doubles.get(one.attribute, False))
        return None

    def _lanes(self) -> Iterator[tuple[slice, RunningReduction]]:
        for number, one in enumerate(self._reductions):
            at = LINKS + LANES * number
            yield slice(at, at + LANES), one

    def read(self, what: int, nodes: I64) -> I64:
        found: I64 = self._data[what, nodes]
        return found

    def written_out(self, heads: I64, offsets: I64) -> I64:
        work = written_out if is_due(written_out, int(offsets[-1])) else written_out_reference
        values: I64 = work(self._data[PARENT], self._data[POSITION], heads, offsets)
        return values

    def compacted(self, heads: I64) -> I64 | None:
        """New numbers of all nodes, of which those that no head needs are gone; None where it is not worth the work.

        It is once there are twice as many as were needed the last time, so it costs no more than adding them did.
        """
        if self._used < 2 * self._kept + FEWEST:
            return None
        old = self._data[:, : self._used]
        find = reached if is_due(reached, self._used) else reached_reference
        needed = find(old[PARENT], heads)
        numbers = np.cumsum(needed) - 1
        kept = old[:, needed]
        some = kept[PARENT] >= 0
        kept[PARENT, some] = numbers[kept[PARENT, some]]
        self._data = self._room(max(2 * kept.shape[1], FEWEST))
        self._data[:, : kept.shape[1]] = kept
        self._used = self._kept = kept.shape[1]
        return numbers


class LinkedSets(Sets):
    """A column of such sets: a node per row. It reads as any column of sets does."""

    __slots__ = ("_values", "heads", "nodes")

    nodes: LinkedNodes
    heads: I64
    _values: I64 | None

    def __init__(self, nodes: LinkedNodes, heads: I64) -> None:
        for name, what in (("nodes", nodes), ("heads", heads), ("_values", None)):
            object.__setattr__(self, name, what)

    def __reduce__(self) -> tuple[type["LinkedSets"], tuple[LinkedNodes, I64]]:
        return LinkedSets, (self.nodes, self.heads)  # not the fields of plain sets, which are worked out here

    @property
    def offsets(self) -> I64:
        offsets = np.zeros(len(self.heads) + 1, np.int64)
        np.cumsum(self.lengths, out=offsets[1:])
        return offsets

    @property
    def values(self) -> I64:
        if self._values is None:
            object.__setattr__(self, "_values", self.nodes.written_out(self.heads, self.offsets))
        assert self._values is not None
        return self._values

    @property
    def lengths(self) -> I64:
        return np.where(self.heads == EMPTY, 0, self.nodes.read(COUNT, self.heads))

    @property
    def nbytes(self) -> int:
        """Bytes of the column; nodes are counted where they are kept."""
        return self.heads.nbytes

    def __len__(self) -> int:
        return len(self.heads)

    def firsts(self, rows: I64) -> I64:
        return self.nodes.read(FIRST, self.heads[rows])

    def lasts(self, rows: I64) -> I64:
        return self.nodes.read(POSITION, self.heads[rows])

    def take(self, index: I64) -> "LinkedSets":
        return LinkedSets(self.nodes, self.heads[index])

    def followed_by(self, others: Sequence[Sets]) -> "LinkedSets":
        chains = [one for one in others if isinstance(one, LinkedSets)]
        assert len(chains) == len(others)
        return LinkedSets(self.nodes, np.concatenate([self.heads, *(one.heads for one in chains)]))

    def reduced(self, node: Reduce) -> Vector | None:
        return self.nodes.reduced(node, self.heads)

    def extended(self, positions: I64, events: Events) -> "LinkedSets":
        """Every set with one more event, its latest."""
        return LinkedSets(self.nodes, self.nodes.added(self.heads, positions, events))

    def renumbered(self, numbers: I64) -> "LinkedSets":
        return LinkedSets(self.nodes, np.where(self.heads == EMPTY, EMPTY, numbers[self.heads]))

    def plain(self) -> Sets:
        return Sets(self.offsets, self.values)


def no_events(nodes: LinkedNodes, n: int) -> LinkedSets:
    """Empty sets."""
    return LinkedSets(nodes, np.full(n, UNBOUND, np.int64))
