"""A sample of events kept in memory, so that terms can be measured when they are first asked for.

It is made of a few stretches of the stream, each complete, so that what lies in one window of a sampled event is
there. Rare types get some events of their own besides: they tell of values, not of neighbours.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.pattern.nodes import Stream, Window
from stretto.records import dataclass
from stretto.schema import LISTS, Kind, Schema, column_of
from stretto.stats.remembered import remembered
from stretto.values.convert import as_kind, plain
from stretto.values.evaluate import holds
from stretto.values.lists import list_texts
from stretto.values.rows import F64, I64, Bool
from stretto.values.strings import Strings, decoded, valid_texts
from stretto.values.vector import Vector

NULL = -1
RANKS = 64  # streams whose ranks are kept
LONGEST = 1 << 60  # of a window: neither that nor a time of any size may leave what 64 bits hold
SMALL = 1 << 16
SPARSE = 2  # so many numbers for each value are still numbers to count by


@dataclass(frozen=True, slots=True)
class Members:
    """The positions of a stream's events: all of them, and how many of those are in the complete stretches."""

    positions: I64
    inside: int


@dataclass(frozen=True, slots=True)
class Starts:
    """The events that tuples may begin with, and whether what a window holds around them is there for all of them."""

    positions: I64
    complete: bool


class WindowReach:
    """For each position the half-open range of positions that one window can hold together with it.

    Where events are in sequence only one of its ends is asked for.
    """

    def __init__(self, low: Callable[[], I64], high: Callable[[], I64]) -> None:
        self._low, self._high = low, high

    @cached_property
    def low(self) -> I64:
        return self._low()

    @cached_property
    def high(self) -> I64:
        return self._high()


class Sample:
    """Events by position: the stretches one after another, each in order of time, then the loose ones."""

    def __init__(
        self, stretches: Sequence[pa.Table], loose: pa.Table | None, schema: Schema, *, whole: bool = False
    ) -> None:
        """`whole`: the stretches are the whole stream, so that no window goes on beyond their ends."""
        self.strings = Strings()
        self.whole = whole
        self._schema = schema
        lengths = [table.num_rows for table in stretches]
        ends = np.cumsum([0, *lengths])
        self._ends = ends.tolist()
        self.inside = int(ends[-1])
        parts = [*stretches, *([loose] if loose is not None else [])]
        self._table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
        self.ts = micros_of(self._table[schema.special.ts]).data
        self._begin = np.repeat(ends[:-1], lengths)
        self._end = np.repeat(ends[1:], lengths)
        self._remembered: dict[tuple[Any, ...], Any] = {}
        self._ranks: dict[Stream, npt.NDArray[np.int32]] = {}

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def events(self) -> pa.Table:
        """The events of the complete stretches, one stretch after another."""
        return self._table.slice(0, self.inside)

    @property
    def stretches(self) -> list[pa.Table]:
        """The events of each complete stretch."""
        ends = self._ends
        return [self._table.slice(low, high - low) for low, high in pairwise(ends)]

    # ---- values ------------------------------------------------------------------------------------------------

    def values(self, attribute: str, positions: I64) -> Vector:
        """The attribute of the events at these positions."""
        if attribute == "ts":
            return Vector(self.ts[positions])
        return self._column(attribute).take(positions)

    forgiving = True
    """What users' functions say about events is for the run to tell."""

    def knows(self, attribute: str) -> bool:
        return attribute == "ts" or attribute in self._schema.attributes

    @remembered
    def _column(self, attribute: str) -> Vector:
        kind = self._schema.attributes[attribute]
        found = column_of(self._table, attribute)
        assert found is not None, attribute
        column = in_one(found)
        if kind in LISTS:
            column = list_texts(column, kind)
        if kind is Kind.STRING or kind in LISTS:
            return self.strings.encode(valid_texts(column))
        return plain(as_kind(column, kind))

    def text(self, attribute: str, value: object) -> object:
        """A value as it is written: that of a string is its code here."""
        if self._schema.attributes.get(attribute) is Kind.STRING and isinstance(value, int):
            return self.strings.texts(np.array([value]))[0].as_py()
        return value

    # ---- streams -----------------------------------------------------------------------------------------------

    @cached_property
    def _by_type(self) -> dict[str, I64]:
        if not len(self):
            return {}
        names, numbers = types_of(self._table[self._schema.special.type])
        order = in_groups(numbers)
        cuts = np.searchsorted(numbers[order], np.arange(len(names) + 1))
        return {name: order[cuts[i] : cuts[i + 1]].astype(np.int64) for i, name in enumerate(names)}

    @remembered
    def members(self, stream: Stream) -> Members:
        """Where the events of a type are that pass the stream's terms."""
        positions = self._by_type.get(stream.type, np.zeros(0, np.int64))
        if stream.where and len(positions):
            positions = positions[holds(stream.where, (positions,), len(positions), self)]
        return Members(positions, int(np.searchsorted(positions, self.inside)))

    def ranks(self, stream: Stream) -> npt.NDArray[np.int32]:
        """For each position, and the one behind the last, how many of the stream's events stand before it."""
        if stream not in self._ranks:
            if len(self._ranks) >= RANKS:
                self._ranks.clear()
            found = np.zeros(len(self) + 1, np.int32)
            found[self.members(stream).positions + 1] = 1
            self._ranks[stream] = np.cumsum(found, dtype=np.int32)
        return self._ranks[stream]

    # ---- time --------------------------------------------------------------------------------------------------

    @cached_property
    def before(self) -> I64:
        """For each position of a stretch the first one of the same time."""
        here = np.arange(self.inside, dtype=np.int64)
        return np.maximum.accumulate(np.where(self._is_later, here, 0))

    @cached_property
    def after(self) -> I64:
        """For each position of a stretch the first one of a later time, or that behind its stretch."""
        times = np.append(np.flatnonzero(self._is_later), self.inside)
        return np.repeat(times[1:], np.diff(times))

    @property
    def _is_later(self) -> Bool:
        """Which events of stretches are the first of their time, or of their stretch."""
        later = np.ones(self.inside, np.bool_)
        later[1:] = self._stretched[1:] != self._stretched[:-1]
        later[[start for start in self._ends[:-1] if start < self.inside]] = True
        return later

    @property
    def _stretched(self) -> I64:
        return self.ts[: self.inside]

    def _found(self, times: I64, side: Literal["left", "right"]) -> I64:
        """Where a time would stand, for each position, in that position's own stretch."""
        parts = [
            start + np.searchsorted(self.ts[start:end], times[start:end], side=side)
            for start, end in zip(self._ends[:-1], self._ends[1:], strict=True)
        ]
        return np.concatenate(parts)

    @remembered
    def reach(self, window: Window | None) -> WindowReach:
        """What a window holds around each position; None: everything is together with everything."""
        if window is None:
            whole = np.zeros(len(self), np.int64)
            return WindowReach(lambda: whole, lambda: whole + len(self))
        if window.unit == "events":
            size, here = min(window.size, len(self) + 1), np.arange(self.inside, dtype=np.int64)
            return WindowReach(
                lambda: np.maximum(here - size + 1, self._begin), lambda: np.minimum(here + size, self._end)
            )
        size, ts = min(window.size, LONGEST), self._stretched
        return WindowReach(
            lambda: self._found(np.maximum(ts, size - (1 << 62)) - size, "left"),
            lambda: self._found(np.minimum(ts, (1 << 62) - size) + size, "right"),
        )

    def seen_behind(self, window: Window, positions: I64) -> F64:
        """How much of the window behind each event the sample has seen: microseconds, or places."""
        if window.unit == "events":
            size, room = window.size - 1, self._end[positions] - 1 - positions
        else:
            size, room = window.size, self.ts[self._end[positions] - 1] - self.ts[positions]
        found: F64 = np.minimum(np.inf if self.whole else room, float(size)) * np.ones(len(positions))
        return found

    def seen_before(self, window: Window, positions: I64) -> F64:
        """The same of the window before each event."""
        if window.unit == "events":
            size, room = window.size - 1, positions - self._begin[positions]
        else:
            size, room = window.size, self.ts[positions] - self.ts[self._begin[positions]]
        found: F64 = np.minimum(np.inf if self.whole else room, float(size)) * np.ones(len(positions))
        return found

    @remembered
    def starts(self, stream: Stream, window: Window | None, around: bool) -> Starts:
        """The stream's events in stretches whose window no end of a stretch cuts off; all, where it cuts off most.

        The window behind an event; with `around` the one before it, too.
        """
        members = self.members(stream)
        if window is None:
            return Starts(members.positions, complete=True)
        positions = members.positions[: members.inside]
        if self.whole:
            return Starts(positions, complete=True)
        begin, end = self._begin[positions], self._end[positions]
        if window.unit == "events":
            kept = end - positions > window.size
            before = positions - begin >= window.size
        else:
            size, ts = min(window.size, LONGEST), self.ts[positions]
            kept = self.ts[end - 1] - ts > size
            before = ts - self.ts[begin] > size
        if around:
            kept &= before
        complete = 2 * int(np.count_nonzero(kept)) >= len(positions)
        return Starts(positions[kept] if complete else positions, complete)

    # ---- equal values ------------------------------------------------------------------------------------------

    @remembered
    def codes(self, left: str, right: str) -> tuple[I64, I64]:
        """Numbers for the values of two attributes, equal where the values are; -1 where null or NaN."""
        vectors = [self._column(name) for name in dict.fromkeys((left, right))]
        numbers = _in_order(np.concatenate([v.data for v in vectors]))
        for i, vector in enumerate(vectors):
            numbers[i * len(self) : (i + 1) * len(self)][_missing(vector)] = NULL
        return numbers[: len(self)], numbers[-len(self) :]

    @remembered
    def index(self, stream: Stream, probe: str, attribute: str) -> tuple[I64, I64]:
        """A stream's events by value of `attribute` and then by position: sorted keys, and the positions.

        The key is code * len(self) + position, where the code is that of `codes(probe, attribute)`.
        """
        positions = self.members(stream).positions
        codes = self.codes(probe, attribute)[1][positions]
        positions = positions[codes != NULL]
        codes = codes[codes != NULL]
        order = in_groups(codes)
        positions = positions[order]
        return codes[order] * len(self) + positions, positions


def in_groups(numbers: I64) -> I64:
    """The places of some numbers, none below zero, by number; equal ones as they stand."""
    if len(numbers) and numbers.max() < SMALL:
        numbers = numbers.astype(np.uint16)  # NumPy counts these in place of comparing them
    found: I64 = np.argsort(numbers, kind="stable")
    return found


def _in_order(values: npt.NDArray[Any]) -> I64:
    """Numbers from 0 on, in the order of the values and equal where these are, not many more than there are values."""
    if len(values) and values.dtype.kind == "i":
        least = int(values.min())
        if int(values.max()) - least <= SPARSE * len(values):
            return values.astype(np.int64) - least
    _, numbers = np.unique(values, return_inverse=True)
    return numbers.astype(np.int64)


def _missing(vector: Vector) -> Bool:
    missing = vector.nulls
    return missing | np.isnan(vector.data) if vector.data.dtype.kind == "f" else missing


def micros_of(column: pa.ChunkedArray) -> Vector:
    """A column of times as microseconds."""
    chunks = [plain(as_kind(chunk, Kind.TIME)) for chunk in column.chunks if len(chunk)]
    if not chunks:
        return Vector(np.zeros(0, np.int64))
    data = np.concatenate([chunk.data for chunk in chunks]).astype(np.int64, copy=False)
    if all(chunk.valid is None for chunk in chunks):
        return Vector(data)
    return Vector(data, np.concatenate([~chunk.nulls for chunk in chunks]))


def types_of(column: pa.ChunkedArray) -> tuple[list[str], I64]:
    """The names in a column of types, and for each event the number of its own; null has that behind the last.

    Of a column of dictionaries also names that no event has.
    """
    number: dict[str, int] = {}
    parts = [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        words = chunk if pa.types.is_dictionary(chunk.type) else chunk.cast(pa.string()).dictionary_encode()
        names = decoded(words.dictionary.cast(pa.string()))
        numbers = [NULL if name is None else number.setdefault(name, len(number)) for name in names]
        places = words.indices.cast(pa.int64()).fill_null(len(names)).to_numpy(zero_copy_only=False)
        parts.append(np.array([*numbers, NULL], np.int64)[places])
    found = np.concatenate(parts)
    found[found == NULL] = len(number)
    return list(number), found


def in_one(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    found = column.combine_chunks()
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found


def names_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of strings as plain ones; a dictionary's values are cast first, which Arrow cannot do in one go."""
    if pa.types.is_dictionary(column.type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
            for chunk in column.chunks
        ]
        column = pa.chunked_array(chunks, pa.dictionary(column.type.index_type, pa.string()))
    return column.cast(pa.string())
