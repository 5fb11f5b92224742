"""Windowed aggregates of the streams of a channel, in one pass.

Streams that have had the same events are one block, and an event is aggregated once for each block that it is of: one
where all events are of all streams, as many as streams it is of where these have nothing in common. A class that cuts a
block in two copies its groups: until then both parts had the same events.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stretto.engine.derived.asked_aggregates import AskedAggregates
from stretto.engine.derived.block_events import BlockEvents
from stretto.engine.derived.levels import Copies, RawInputs
from stretto.pattern.derived.streams import WindowAggregate
from stretto.values.member_sets import member_sets
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.vector import Vector

NOBODY = np.zeros(0, np.int64)
NONE = -1


@dataclass(frozen=True, slots=True)
class ChannelRows:
    """Places of events in the step, the aggregates of some of its streams, and the class of these."""

    events: I64
    values: tuple[Vector, ...]
    classes: I64


class ChannelAggregates:
    """Blocks are numbered; of each class the numbers of the blocks that it consists of are known."""

    def __init__(self, stream: WindowAggregate, strings: Strings) -> None:
        self._sets = member_sets(strings)
        self._asked = AskedAggregates.of([stream])
        (self.names,) = self._asked.names
        self._window = self._asked.window(copied=True)
        self._block_of = np.full(0, NONE)  # by member
        self._sizes: list[int] = []  # by block
        self._codes: I64 = NOBODY  # by block, the class of its members
        self._seen: dict[int, I64] = {}

    @property
    def nbytes(self) -> int:
        return self._window.nbytes

    def step(
        self,
        ts: I64,
        classes: I64,
        events: BlockEvents,
        wanted: Callable[[Sequence[Vector]], Bool] | None = None,
    ) -> ChannelRows:
        """Aggregates of the events; `wanted` says which of them are, where some are not."""
        local = self._sets.local(classes)
        present = np.flatnonzero(np.bincount(local))
        distinct = [self._sets.codes[number] for number in present.tolist()]
        self._meet(distinct)
        blocks = [self._seen[code] for code in distinct]
        index = np.searchsorted(present, local) if len(present) > 1 else np.zeros(len(local), np.int64)
        sizes = np.array([len(of) for of in blocks], np.int64)
        counts = sizes[index]
        rows = np.repeat(np.arange(len(classes)), counts)
        starts = np.cumsum(sizes) - sizes
        places = np.repeat(starts[index] - (np.cumsum(counts) - counts), counts)
        places += np.arange(len(rows))
        of = np.concatenate([NOBODY, *blocks])[places]
        keys, inputs = self._asked.read(events, events.places)
        (found,) = self._window.step(ts, keys, inputs, copies=Copies(counts, of))
        at, values = found.events, found.values
        if wanted is not None and len(at):
            kept = np.flatnonzero(wanted(values))
            at, values = at[kept], tuple(vector.take(kept) for vector in values)
        made = ChannelRows(rows[at], values, self._codes[of[at]])
        return self._once(made) if int(sizes.max(initial=0)) > 1 else made

    def _meet(self, codes: Sequence[int]) -> None:
        """Make every class a union of blocks; those that are cut are copied."""
        fresh = [code for code in codes if code not in self._seen]
        if not fresh:
            return
        cut: dict[int, list[int]] = {}
        for code in fresh:
            members = self._sets.members(code)
            if len(members) and members[-1] >= len(self._block_of):
                more = np.full(int(members[-1]) + 1 - len(self._block_of), NONE)
                self._block_of = np.concatenate([self._block_of, more])
            of = self._block_of[members]
            counts = np.bincount(of - NONE)  # from those of no block on
            met = np.flatnonzero(counts)
            for block, count in zip((met + NONE).tolist(), counts[met].tolist(), strict=True):
                if block == NONE or count < self._sizes[block]:
                    self._block_of[members[of == block]] = len(self._sizes)
                    if block != NONE:
                        self._sizes[block] -= count
                        cut.setdefault(block, []).append(len(self._sizes))
                    self._sizes.append(count)
            self._seen[code] = NOBODY
        for code in self._seen:
            met = np.zeros(len(self._sizes), np.bool_)
            met[self._block_of[self._sets.members(code)]] = True
            self._seen[code] = np.flatnonzero(met)
        order = np.argsort(self._block_of, kind="stable")
        ends = np.searchsorted(self._block_of[order], np.arange(len(self._sizes) + 1))
        self._codes = np.array(
            [self._sets.code_of(order[ends[i] : ends[i + 1]]) for i in range(len(self._sizes))], np.int64
        )
        if cut and len(self._window):
            self._copy(cut)

    def _copy(self, cut: dict[int, list[int]]) -> None:
        """Give the events of blocks that were cut to all of their parts."""
        before = self._window.snapshot()
        *keys, blocks = before.keys
        heirs = {number: _heirs(number, cut) for number in set(blocks.data.tolist())}
        counts = np.array([len(heirs[number]) for number in blocks.data.tolist()], np.int64)
        rows = np.repeat(np.arange(len(before.ts)), counts)
        of = np.array([heir for number in blocks.data.tolist() for heir in heirs[number]], np.int64)
        self._window = self._asked.window(copied=True)
        inputs = tuple(one.take(rows) for one in before.inputs)
        self._window.restore(
            RawInputs(before.ts[rows], (*(key.take(rows) for key in keys), Vector(of)), inputs)
        )

    def _once(self, rows: ChannelRows) -> ChannelRows:
        """Equal values of one event once, for all streams that have them."""
        bits = [_bits(vector) for vector in rows.values]
        order = np.lexsort((*bits, rows.events))
        changes = np.zeros(len(order), np.bool_)
        changes[:1] = True
        for column in (*bits, rows.events):
            ordered = column[order]
            changes[1:] |= ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(changes)
        if len(starts) == len(order):
            return rows
        codes = self._sets.unions(rows.classes[order], starts)
        kept = order[starts]
        return ChannelRows(rows.events[kept], tuple(vector.take(kept) for vector in rows.values), codes)


def _heirs(number: int, cut: dict[int, list[int]]) -> list[int]:
    """The blocks that hold what a block held."""
    return [number, *(heir for part in cut.get(number, ()) for heir in _heirs(part, cut))]


def _bits(vector: Vector) -> I64:
    """Values as integers, with one for all that are null."""
    data = np.ascontiguousarray(vector.data)
    bits: I64 = data.view(np.int64) if data.dtype == np.float64 else data.astype(np.int64)
    return bits if vector.valid is None else np.where(vector.valid, bits, np.iinfo(np.int64).min)
