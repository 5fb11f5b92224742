"""The raw events that a window can still reach, column by column, found by position."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.engine.memory import reuse
from stretto.engine.memory.limits import vector_size
from stretto.pattern.predicates import POSITION
from stretto.records import dataclass
from stretto.values.rows import I64, spread
from stretto.values.strings import Strings
from stretto.values.vector import Vector, concat_vectors


@dataclass(frozen=True, slots=True)
class Block:
    """Events in one order, column by column: times, codes of types, ids, and the attributes that the plan reads.

    Ids that count the events as they arrived are a range for as long as they stay in that order.
    """

    ts: I64
    types: npt.NDArray[np.int32]
    ids: I64 | range
    attributes: dict[str, Vector]

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def nbytes(self) -> int:
        ids = 0 if isinstance(self.ids, range) else self.ids.nbytes
        return self.ts.nbytes + self.types.nbytes + ids + sum(map(vector_size, self.attributes.values()))

    def take(self, index: I64 | slice) -> "Block":
        attributes = {name: vector.take(index) for name, vector in self.attributes.items()}
        ids = self.ids[index] if isinstance(index, slice) else ids_at(self.ids, index)
        return Block(self.ts[index], self.types[index], ids, attributes)

    def own(self) -> "Block":
        """The same in memory that nobody else can write to: Arrow lends that of a NumPy array it was made of."""
        attributes = {
            name: Vector(_own(vector.data), None if vector.valid is None else _own(vector.valid))
            for name, vector in self.attributes.items()
        }
        ids = self.ids if isinstance(self.ids, range) else _own(self.ids)
        return Block(_own(self.ts), _own(self.types), ids, attributes)


def _own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if it is one that NumPy made, or a part of it; else a copy."""
    whole = array if array.base is None else array.base
    return array if isinstance(whole, np.ndarray) and whole.flags.owndata else array.copy()


def concat_blocks(blocks: list[Block]) -> Block:
    """The blocks' events one after another (at least one block)."""
    if len(blocks) == 1:
        return blocks[0]
    names = blocks[0].attributes
    return Block(
        np.concatenate([b.ts for b in blocks]),
        np.concatenate([b.types for b in blocks]),
        _concat_ids([block.ids for block in blocks]),
        {name: concat_vectors([b.attributes[name] for b in blocks]) for name in names},
    )


def ids_at(ids: I64 | range, index: I64) -> I64:
    """Some of the ids, by their places; a range is not written out for that."""
    found: I64 = index + ids.start if isinstance(ids, range) and ids.step == 1 else np.asarray(ids)[index]
    return found


def _concat_ids(parts: list[I64 | range]) -> I64 | range:
    """Ids one after another; ranges of which each goes on where the one before ends stay one."""
    ranges = [ids for ids in parts if isinstance(ids, range)]
    if len(ranges) == len(parts) and all(one.stop == other.start for one, other in pairwise(ranges)):
        return range(ranges[0].start, ranges[-1].stop)
    return np.concatenate([np.arange(p.start, p.stop) if isinstance(p, range) else p for p in parts])


LENT_FROM = 1 << 12
"""Shorter pieces are copied: that takes no longer than to look where they lie."""


def room_for(live: int, count: int, capacity: int) -> int:
    """The capacity for `count` more entries behind `live` ones, at least what there is.

    Moving the live ones to the front costs no more than adding the new ones: with room for the live ones twice, that
    happens only after as many have been added. No more room than that: memory that is touched first costs the most.
    """
    needed = 2 * live + count
    return capacity if needed <= capacity else needed + needed // 4


class Growing:
    """An array that grows at its end and is forgotten from its start.

    What is appended is copied to a buffer of its own. `lent`: a long piece of a longer array may be read where it
    lies instead, and the pieces that follow there, until it is settled.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._buffer = reuse.room(1 << 10, dtype)
        self._begin = self._end = 0
        self._is_lent = False
        self._source: npt.NDArray[Any] | None = None

    def append(self, values: npt.NDArray[np.generic] | bool, count: int, *, lent: bool = False) -> None:
        if lent and (start := self.reads(values, count)) is not None:
            whole = getattr(values, "base", None)
            assert isinstance(whole, np.ndarray)
            if whole is not self._source:
                self._source, self._buffer, self._begin = whole, _Lent(whole).array, start
                self._is_lent = True
            self._end = start + count
            return
        if self._end + count > self._capacity or reuse.debug:
            self._make_room(count)
        self._buffer[self._end : self._end + count] = values
        self._end += count

    def ahead(self, count: int) -> int:
        """Bytes of the new memory that it takes to append so many."""
        if self._end + count <= self._capacity:
            return 0
        capacity = room_for(len(self), count, self._capacity)
        return 0 if capacity == self._capacity else capacity * self._buffer.itemsize

    def settle(self) -> None:
        """Copy what is left of a lent array: its owner may write to it, or want its memory, once it is read."""
        if self._is_lent:
            self._make_room(0)

    def __len__(self) -> int:
        return self._end - self._begin

    def __getstate__(self) -> dict[str, Any]:
        """Of another's array only what is read goes into an engine that is stored."""
        state = dict(self.__dict__)
        if self._is_lent:
            state |= {
                "_buffer": self.borrowed,
                "_begin": 0,
                "_end": len(self),
                "_is_lent": False,
                "_source": None,
            }
        return state

    @property
    def _capacity(self) -> int:
        """How long the buffer of its own is."""
        return 0 if self._is_lent else len(self._buffer)

    def reads(self, values: object, count: int) -> int | None:
        """Where in a longer array these values could be read; None: they are to be copied.

        They can be if they are a long piece and the first one, or follow there on the last one.
        """
        whole = values.base if isinstance(values, np.ndarray) else None
        if reuse.debug or not isinstance(values, np.ndarray) or not isinstance(whole, np.ndarray):
            return None
        follows = self._is_lent and whole is self._source
        if not follows and (len(self) or count < LENT_FROM):
            return None
        if values.dtype != self._buffer.dtype or values.dtype != whole.dtype:
            return None
        if not (values.flags.c_contiguous and whole.flags.c_contiguous):
            return None
        start, rest = divmod(_address(values) - _address(whole), values.itemsize)
        return None if rest or (follows and start != self._end) else start

    def _make_room(self, count: int) -> None:
        live = len(self)
        capacity = room_for(live, count, self._capacity)
        # The same memory serves as long as it is enough: memory that is new to the process costs a page at a time.
        same = capacity == self._capacity and not (self._is_lent or reuse.debug)
        buffer = self._buffer if same else reuse.room(capacity, self._buffer.dtype)
        buffer[:live] = self._buffer[self._begin : self._end]
        if not (same or self._is_lent):
            reuse.forgotten(self._buffer)
        self._buffer, self._begin, self._end = buffer, 0, live
        self._is_lent, self._source = False, None

    def forget(self, count: int) -> None:
        if reuse.debug:
            reuse.forgotten(self._buffer[self._begin : self._begin + count])
        self._begin += count

    @property
    def borrowed(self) -> npt.NDArray[Any]:
        """All of it, until the next append or forget."""
        return self._buffer[self._begin : self._end]

    @property
    def nbytes(self) -> int:
        """Of what is lent, what is read: so much is copied when it is settled."""
        return self.borrowed.nbytes if self._is_lent else self._buffer.nbytes


class _Lent:
    """Another's array as one that loops take like any other: for one that may not be written to they would all be
    compiled a second time. Nothing writes to it for as long as it is lent.
    """

    __slots__ = ("__array_interface__", "_whole")

    def __init__(self, whole: npt.NDArray[Any]) -> None:
        self._whole = whole  # for as long as somebody reads it
        self.__array_interface__ = {
            "version": 3,
            "data": (_address(whole), False),
            "shape": (whole.size,),
            "typestr": whole.dtype.str,
        }

    @property
    def array(self) -> npt.NDArray[Any]:
        return np.asarray(self)


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _counts(ids: I64 | range, start: int) -> bool:
    """Whether the ids count on from `start`."""
    if isinstance(ids, range):
        return ids.start == start or not ids
    return bool((ids == np.arange(start, start + len(ids))).all())


class Arena:
    """Events by position, from `base` on; positions count all events that were released, in time order.

    What is borrowed is good until the next append or forget; everything else that is asked for is a copy.
    `codes`: those of the types; they may become more. `text_ids`: ids are codes of texts.
    """

    def __init__(
        self,
        attributes: Mapping[str, npt.DTypeLike],
        strings: Strings,
        base: int = 0,
        *,
        codes: Mapping[str, int] | None = None,
        text_ids: bool = False,
    ) -> None:
        self.base = base
        self.codes = {} if codes is None else codes
        self.text_ids = text_ids
        self.strings = strings
        self.rejections: dict[int, str] = {}  # by position, what users' functions said about events
        self._ts = Growing(np.int64)
        self._types = Growing(np.int32)
        self._ids: Growing | None = None  # none while ids and positions are one
        self._data = {name: Growing(dtype) for name, dtype in attributes.items()}
        self._valid: dict[str, Growing] = {}  # of attributes that have been null
        self._nulls = dict.fromkeys(attributes, 0)  # position up to which nulls have been seen, per attribute

    def append(self, block: Block) -> None:
        n = len(block)
        if self._ids is None and not _counts(block.ids, self.end):
            self._ids = Growing(np.int64)
            self._ids.append(np.arange(self.base, self.end), self.end - self.base)
        if self._ids is not None:
            self._ids.append(np.asarray(block.ids), n, lent=True)
        before = self.end - self.base
        self._ts.append(block.ts, n, lent=True)
        self._types.append(block.types, n, lent=True)
        for name, data in self._data.items():
            vector = block.attributes[name]
            data.append(vector.data, n, lent=True)
            if vector.valid is not None:
                self._nulls[name] = self.end
                if name not in self._valid:
                    self._valid[name] = Growing(np.bool_)
                    self._valid[name].append(True, before)
            if name in self._valid:
                self._valid[name].append(True if vector.valid is None else vector.valid, n)

    def settle(self) -> None:
        """What was pushed may go, or be written to: nothing reads it any more."""
        for array in self._growing:
            array.settle()

    @property
    def end(self) -> int:
        """The position that the next event will have."""
        return self.base + len(self._ts)

    @property
    def borrowed_ts(self) -> I64:
        return self._ts.borrowed

    @property
    def borrowed_types(self) -> npt.NDArray[np.int32]:
        return self._types.borrowed

    @property
    def held(self) -> int:
        return sum(array.nbytes for array in self._growing)

    def ahead(self, blocks: list[Block]) -> int:
        """Bytes of the new memory that it takes to append these events."""
        if len(blocks) == 1 and self._ts.reads(blocks[0].ts, len(blocks[0])) is not None:
            return 0
        count = sum(map(len, blocks))
        return sum(array.ahead(count) for array in self._growing)

    @property
    def _growing(self) -> tuple[Growing, ...]:
        ids = () if self._ids is None else (self._ids,)
        return (self._ts, self._types, *ids, *self._data.values(), *self._valid.values())

    @property
    def has_positions_as_ids(self) -> bool:
        """Whether the id of an event is its position."""
        return self._ids is None

    @property
    def borrowed_ids(self) -> I64 | None:
        """The ids of all events; None where they are the positions."""
        return None if self._ids is None else self._ids.borrowed

    def ids(self, positions: I64) -> I64:
        """The ids of the events at these positions; the same array where ids and positions are one."""
        if self._ids is None:
            return positions
        ids: I64 = self._ids.borrowed[positions - self.base]
        return ids

    def values(self, attribute: str, positions: I64) -> Vector:
        """The attribute of the events at these positions, all of them bound."""
        if attribute == POSITION:
            return Vector(positions, None)
        at = positions - self.base
        if attribute == "ts":
            return Vector(self.borrowed_ts[at], None)
        valid = self._valid[attribute].borrowed[at] if self._nulls[attribute] > self.base else None
        return Vector(self._data[attribute].borrowed[at], valid)

    def borrowed_bits(self, attribute: str) -> I64 | None:
        """All values of an attribute as 64-bit integers, of doubles the bits; None: some are null, or not so wide."""
        if attribute == "ts":
            return self.borrowed_ts
        if attribute == POSITION or self._nulls[attribute] > self.base:
            return None
        values = self._data[attribute].borrowed
        return values.view(np.int64) if values.itemsize == np.dtype(np.int64).itemsize else None

    def of_times(self, positions: I64) -> I64:
        """The positions of all events that have the time of one of these; ascending."""
        ts = self.borrowed_ts
        times = np.unique(ts[positions - self.base])
        starts, ends = (np.searchsorted(ts, times, side) for side in ("left", "right"))
        return self.base + spread(starts, ends - starts, np.append(0, np.cumsum(ends - starts)))

    def block(self, start: int, end: int) -> Block:
        """A copy of the events at positions `start`..`end` - 1."""
        at = slice(start - self.base, end - self.base)
        attributes = {
            name: Vector(
                data.borrowed[at].copy(),
                self._valid[name].borrowed[at].copy() if name in self._valid else None,
            )
            for name, data in self._data.items()
        }
        ids = range(start, end) if self._ids is None else self._ids.borrowed[at].copy()
        return Block(self.borrowed_ts[at].copy(), self.borrowed_types[at].copy(), ids, attributes)

    def picked(self, positions: I64) -> Block:
        """A copy of the events at these positions."""
        at = positions - self.base
        attributes = {name: self.values(name, positions) for name in self._data}
        ids = self.ids(positions).copy()
        return Block(self.borrowed_ts[at], self.borrowed_types[at], ids, attributes)

    def forget(self, before: int) -> None:
        """Events at positions less than `before` are reached by nothing any more."""
        count = min(before, self.end) - self.base
        if count <= 0:
            return
        for array in self._growing:
            array.forget(count)
        self.base += count
