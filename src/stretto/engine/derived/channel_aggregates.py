"""Windowed aggregates of the streams of a channel, in one pass.

Streams that have had the same events are one block, and an event is aggregated once for each block that it is of: one
where all events are of all streams, as many as streams it is of where these have nothing in common. A class that cuts a
block in two copies its groups: until then both parts had the same events.
"""

from collections.abc import Callable, Sequence

import numpy as np

from stretto.engine.derived.asked_aggregates import AskedAggregates
from stretto.engine.derived.block_events import BlockEvents
from stretto.engine.derived.block_sums import ClassBlocks
from stretto.engine.derived.block_window import BlockWindow
from stretto.engine.derived.levels import Copies, RawInputs
from stretto.pattern.derived.streams import WindowAggregate
from stretto.records import dataclass
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
    """Blocks are numbered; of each class the numbers of the blocks that it consists of are known.

    Where blocks of groups are not much sparser than events of blocks, an event is kept once for all of its blocks; else
    a copy is kept for each.
    """

    def __init__(self, stream: WindowAggregate, strings: Strings) -> None:
        self._sets = member_sets(strings)
        self._asked = AskedAggregates.of([stream])
        (self.names,) = self._asked.names
        self._once_each = BlockWindow(self._asked) if BlockWindow.can_make(self._asked) else None
        self._copies = self._asked.window(copied=True)
        self._block_of = np.full(0, NONE)  # by member
        self._sizes: list[int] = []  # by block
        self._codes: I64 = NOBODY  # by block, the class of its members
        self._numbers: I64 = NOBODY  # of classes that were met, by their small numbers among sets
        self._met: list[int] = []  # the codes of these
        self._known = ClassBlocks.of((), 0)

    @property
    def nbytes(self) -> int:
        return self._copies.nbytes + (0 if self._once_each is None else self._once_each.nbytes)

    def step(
        self,
        ts: I64,
        classes: I64,
        events: BlockEvents,
        wanted: Callable[[Sequence[Vector]], Bool] | None = None,
    ) -> ChannelRows:
        """Aggregates of the events; `wanted` says which of them are, where some are not."""
        numbers = self._numbered(classes)
        keys, inputs = self._asked.read(events, events.places)
        found = None
        if self._once_each is not None:
            found = self._once_each.step(ts, keys, inputs, numbers, self._known)
            if found is None:
                self._copies.restore(self._once_each.copied(self._known))
                self._once_each = None
        if found is not None:
            inside, values = found
            pairs, values = _some(values, wanted)
            owners, of = self._known.picked(numbers[inside], pairs)
            made = ChannelRows(inside[owners], values, self._codes[of])
        else:
            owners, of = self._known.listed(numbers)
            copies = Copies(self._known.sizes[numbers], of)
            (rows,) = self._copies.step(ts, keys, inputs, copies=copies)
            kept, values = _some(rows.values, wanted)
            pairs = rows.events[kept]
            made = ChannelRows(owners[pairs], values, self._codes[of[pairs]])
        return self._once(made) if int(self._known.sizes.max(initial=0)) > 1 else made

    def _numbered(self, classes: I64) -> I64:
        """The numbers of classes, after all of them were met."""
        local = self._sets.local(classes)
        if len(self._numbers) < len(self._sets.codes):
            more = np.full(len(self._sets.codes) - len(self._numbers), NONE)
            self._numbers = np.concatenate([self._numbers, more])
        numbers: I64 = self._numbers[local]
        fresh = np.flatnonzero(np.bincount(local[numbers == NONE]))
        if len(fresh):
            self._numbers[fresh] = np.arange(len(fresh)) + len(self._met)
            self._meet([self._sets.codes[number] for number in fresh.tolist()])
            numbers = self._numbers[local]
        return numbers

    def _meet(self, fresh: Sequence[int]) -> None:
        """Make every class a union of blocks; those that are cut have parts that have had the same events."""
        parts: list[tuple[int, int]] = []
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
                        parts.append((len(self._sizes), block))
                    self._sizes.append(count)
        self._met += fresh
        self._known = ClassBlocks.of([self._blocks(code) for code in self._met], len(self._sizes))
        order = np.argsort(self._block_of, kind="stable")
        ends = np.searchsorted(self._block_of[order], np.arange(len(self._sizes) + 1))
        self._codes = np.array(
            [self._sets.code_of(order[ends[i] : ends[i + 1]]) for i in range(len(self._sizes))], np.int64
        )
        if parts and self._once_each is not None:
            self._once_each.divide(parts, len(self._sizes))
        elif parts and len(self._copies):
            self._copy(parts)

    def _blocks(self, code: int) -> I64:
        """The blocks that a class consists of."""
        met = np.zeros(len(self._sizes), np.bool_)
        met[self._block_of[self._sets.members(code)]] = True
        return np.flatnonzero(met)

    def _copy(self, parts: Sequence[tuple[int, int]]) -> None:
        """Give the events of blocks that were cut to all of their parts."""
        heirs = {number: [number] for number in range(len(self._sizes))}
        for new, old in reversed(parts):  # a part may have been cut after it was
            heirs[old] += heirs[new]
        before = self._copies.snapshot()
        *keys, blocks = before.keys
        shared = ClassBlocks.of([np.array(of) for of in heirs.values()], len(heirs))
        rows, of = shared.listed(blocks.data)
        inputs = tuple(one.take(rows) for one in before.inputs)
        self._copies = self._asked.window(copied=True)
        self._copies.restore(
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


def _some(
    values: tuple[Vector, ...], wanted: Callable[[Sequence[Vector]], Bool] | None
) -> tuple[I64, tuple[Vector, ...]]:
    """The rows that are wanted, and their values."""
    if wanted is None or not len(values[0]):
        return np.arange(len(values[0])), values
    kept = np.flatnonzero(wanted(values))
    return kept, tuple(vector.take(kept) for vector in values)


def _bits(vector: Vector) -> I64:
    """Values as integers, with one for all that are null."""
    data = np.ascontiguousarray(vector.data)
    bits: I64 = data.view(np.int64) if data.dtype == np.float64 else data.astype(np.int64)
    return bits if vector.valid is None else np.where(vector.valid, bits, np.iinfo(np.int64).min)
