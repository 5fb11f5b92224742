"""What goes from unit to unit: rows, and the events that they hold, each once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import pyarrow as pa

from stretto.engine.snapshot import from_ipc, to_arrow, to_ipc
from stretto.engine.stream.arena import Arena
from stretto.records import dataclass
from stretto.schema import Kind, Special
from stretto.values.rows import I64, UNBOUND, Column, Rows, Sets

HEAD = ("at", "first", "last")
"""The columns of rows before those of the operator: when it let them go, and the times of their events."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows for one input, `side`, of the head of a fragment on one of its units.

    `events`: those that the rows hold, with ids, times and the attributes that are still looked at. `rows`: the times
    of each row, and for every column numbers of events, -1 where it is unbound, or lists of them. A row is let go at
    its last time, or later where it waited for a negation: `at`.
    """

    fragment: int
    unit: int
    side: int
    events: pa.RecordBatch
    rows: pa.RecordBatch

    @property
    def at(self) -> I64:
        found: I64 = self.rows.column(0).to_numpy()
        return found

    def some(self, chosen: I64) -> "Parcel":
        """Some of the rows, with their events.

        No others: a unit gives positions to events as they come, and SELECT NEXT takes them in the order of these.
        """
        rows = self.rows.take(pa.array(chosen))
        own = np.arange(self.events.num_rows)
        columns = [_positions(column, own) for column in rows.columns[len(HEAD) :]]
        held = np.unique(np.concatenate([c.values if isinstance(c, Sets) else c for c in columns]))
        held = held[held != UNBOUND]
        numbered = [*rows.columns[: len(HEAD)], *(_numbers(column, held) for column in columns)]
        rows = pa.RecordBatch.from_arrays(numbered, names=rows.schema.names)
        return Parcel(self.fragment, self.unit, self.side, self.events.take(pa.array(held)), rows)

    def columns(self, positions: I64) -> Rows:
        """The rows, over the positions that their events have where they arrive."""
        _, first, last = (self.rows.column(i).to_numpy() for i in range(len(HEAD)))
        columns = tuple(_positions(column, positions) for column in self.rows.columns[len(HEAD) :])
        return Rows(first, last, columns)

    def to_bytes(self) -> tuple[bytes, bytes]:
        """Events and rows as Arrow streams."""
        return to_ipc(self.events), to_ipc(self.rows)

    @classmethod
    def from_bytes(cls, fragment: int, unit: int, side: int, events: bytes, rows: bytes) -> Self:
        """Return the parcel that `to_bytes` wrote; raise ValueError where its rows hold events that it has not."""
        read = cls(fragment, unit, side, from_ipc(events), from_ipc(rows))
        columns = read.rows.columns
        plain = [column.values if pa.types.is_large_list(column.type) else column for column in columns]
        if len(columns) < len(HEAD) or not all(pa.types.is_int64(c.type) and not c.null_count for c in plain):
            raise ValueError("its rows are no numbers of events")
        for column in plain[len(HEAD) :]:
            if len(column) and int(column.to_numpy().max()) >= read.events.num_rows:
                raise ValueError("its rows hold events that it has not")
        return read


@dataclass(frozen=True, slots=True)
class Packing:
    """How events are written: the attributes that those who read them look at, and whether ids are texts."""

    kinds: dict[str, Kind]
    special: Special
    text_ids: bool

    def packed(self, rows: Rows, since: int, arena: Arena) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Events and rows; these were let go in a step that began at a time."""
        held = [c.values if isinstance(c, Sets) else c[c != UNBOUND] for c in rows.columns]
        positions = np.unique(np.concatenate([np.asarray(c, np.int64) for c in held]))
        block = replace(
            arena.picked(positions), types=np.zeros(len(positions), np.int32)
        )  # nobody asks for them
        events = to_arrow(block, {}, self.kinds, self.special, arena.strings)
        if self.text_ids:
            texts = arena.strings.texts(np.asarray(block.ids))
            at = events.schema.get_field_index(self.special.id)
            events = events.set_column(at, self.special.id, texts)
        times = (np.maximum(rows.last, since), rows.first, rows.last)
        columns = [*map(pa.array, times), *(_numbers(c, positions) for c in rows.columns)]
        names = [*HEAD, *(f"c{i}" for i in range(len(rows.columns)))]
        return events, pa.RecordBatch.from_arrays(columns, names=names)


def _numbers(column: Column, positions: I64) -> pa.Array:
    if isinstance(column, Sets):
        values = pa.array(np.searchsorted(positions, column.values))
        return pa.LargeListArray.from_arrays(pa.array(column.offsets), values)
    found = np.searchsorted(positions, column)
    return pa.array(np.where(column == UNBOUND, UNBOUND, found).astype(np.int64, copy=False))


def _positions(column: pa.Array, positions: I64) -> Column:
    if pa.types.is_large_list(column.type):
        offsets = column.offsets.to_numpy().astype(np.int64)
        values = column.values.to_numpy()[offsets[0] : offsets[-1]]
        return Sets(offsets - offsets[0], positions[values])
    numbers = column.to_numpy()
    if not len(positions):
        return np.full(len(numbers), UNBOUND, np.int64)
    found: I64 = np.where(numbers < 0, UNBOUND, positions[numbers])
    return found


def split_at(parcels: Sequence[Parcel], before: int) -> tuple[list[Parcel], list[Parcel]]:
    """The rows that were let go before a time, and the others."""
    ready: list[Parcel] = []
    ahead: list[Parcel] = []
    for parcel in parcels:
        early = parcel.at < before
        if early.all():
            ready.append(parcel)
        elif not early.any():
            ahead.append(parcel)
        else:
            ready.append(parcel.some(np.flatnonzero(early)))
            ahead.append(parcel.some(np.flatnonzero(~early)))
    return ready, ahead
