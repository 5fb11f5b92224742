"""The events that the rows of a unit hold: each is kept once, however many rows bring it along."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from stretto.engine.stream.arena import Arena, Block, concat_blocks, ids_at
from stretto.records import dataclass
from stretto.values.rows import I64


@dataclass(slots=True)
class _Came:
    """Events that came in one step, from a position on; `used`: rows of steps before this time hold some of them."""

    start: int
    used: int


class Carried:
    """Events by id in an arena whose positions are in the order of arrival, not of time."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self._ids: I64 = np.zeros(0, np.int64)  # sorted, of all events that are kept
        self._at: I64 = np.zeros(0, np.int64)
        self._steps: deque[_Came] = deque()

    def take(self, blocks: Sequence[Block], until: int) -> list[I64]:
        """Take the events of a step that ends at a time; the positions that those of each block have."""
        blocks = list(blocks)
        if not blocks:
            return []
        every = concat_blocks(blocks)
        ids = np.asarray(every.ids, np.int64)
        known, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        found = self._known(known)
        new = np.flatnonzero(found < 0)
        if len(new):
            # Those that come together are in order of time among themselves.
            at = first[new]
            order = np.lexsort((ids[at], every.ts[at]))
            block = every.take(at[order])
            start = self.arena.end
            self.arena.append(
                Block(block.ts, block.types, ids_at(block.ids, np.arange(len(block))), block.attributes)
            )
            found[new[order]] = np.arange(start, self.arena.end)
            self._learn(known[new], found[new])
            self._steps.append(_Came(start, until))
        self._use(found, until)
        positions = found[inverse.reshape(-1)]
        ends = np.cumsum([len(block) for block in blocks])
        return [positions[end - len(block) : end] for block, end in zip(blocks, ends, strict=True)]

    def _known(self, ids: I64) -> I64:
        """The position of each id, -1 if it has none."""
        at = np.searchsorted(self._ids, ids)
        found = np.full(len(ids), -1, np.int64)
        inside = at < len(self._ids)
        hit = np.flatnonzero(inside)[self._ids[at[inside]] == ids[inside]]
        found[hit] = self._at[at[hit]]
        return found

    def _learn(self, ids: I64, positions: I64) -> None:
        ids, positions = np.concatenate([self._ids, ids]), np.concatenate([self._at, positions])
        order = np.argsort(ids, kind="stable")
        self._ids, self._at = ids[order], positions[order]

    def _use(self, positions: I64, until: int) -> None:
        """Steps whose events are held by rows that came now are kept as long as these."""
        starts = np.array([step.start for step in self._steps], np.int64)
        for number in np.unique(np.searchsorted(starts, positions, side="right") - 1).tolist():
            self._steps[number].used = until

    def forget(self, before: int) -> None:
        """No row of a step that ended by this time is looked at any more."""
        steps, arena = self._steps, self.arena
        while steps and steps[0].used <= before:
            steps.popleft()
        base = steps[0].start if steps else arena.end
        if base > arena.base:
            arena.forget(base)
            kept = self._at >= base
            self._ids, self._at = self._ids[kept], self._at[kept]
