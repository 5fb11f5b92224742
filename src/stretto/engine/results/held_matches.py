"""The matches that LONGEST holds until their windows have passed, and those that may still contain others."""

import base64
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from stretto.engine.kernels.keep_apart import NEVER
from stretto.engine.results.longest import bound_alike, contained
from stretto.engine.results.match_chunks import NO_ID, MatchChunk, joined_chunks
from stretto.engine.results.returned_values import arrow_array
from stretto.engine.snapshot import from_ipc, to_ipc
from stretto.errors import EngineError
from stretto.plan.ops import Emit
from stretto.schema import LISTS, Kind
from stretto.values.convert import as_kind, plain
from stretto.values.lists import list_texts
from stretto.values.rows import I64, Column, Sets
from stretto.values.strings import Strings
from stretto.values.vector import Vector


class HeldMatches:
    """Those of one query, with 64-bit ids and times; `detected` is when the window of a match has passed.

    What was certain before has the mark NEVER for it: it may still contain others. What is reported has no numbers of
    events any more: only LONGEST reads them.
    """

    def __init__(self, op: Emit, *, text_ids: bool) -> None:
        self._op, self._text_ids, self._window = op, text_ids, op.window.size
        self._chunks: list[MatchChunk] = []

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for chunk in self._chunks for array in chunk.arrays)

    @property
    def due_us(self) -> int | None:
        """The earliest time that a match waits for."""
        times = [chunk.detected[chunk.detected != NEVER] for chunk in self._chunks]
        return min((int(some.min()) for some in times if len(some)), default=None)

    @property
    def undecided(self) -> int:
        return sum(int((chunk.detected != NEVER).sum()) for chunk in self._chunks)

    def take(self, found: Sequence[MatchChunk], until: int) -> list[MatchChunk]:
        """Hold what was found until its window has passed; give what is certain now and contained in nothing."""
        numbers = {bound_alike(chunk) for chunk in (*self._chunks, *found)}
        # Where nothing waits, a match is found no later than what contains it. So if all that are here bind equally
        # many events, none of those that are certain has to be remembered for what comes later.
        if not any(self._op.waits) and len(numbers) == 1 and None not in numbers:
            return self._take_alike(found, until)
        return self._take_any(joined_chunks([chunk.wide() for chunk in found]), until)

    def _take_alike(self, found: Sequence[MatchChunk], until: int) -> list[MatchChunk]:
        """Where none contains another, matches only wait: they stay where they lie, but for the few still to wait."""
        held = [chunk.take(np.flatnonzero(chunk.detected != NEVER)) for chunk in self._chunks]
        told: list[MatchChunk] = []
        self._chunks = []
        for chunk in (*held, *found):
            least = until - self._window - chunk.since  # what starts then still waits
            if int(chunk.start.max(initial=0)) < least:
                told.append(chunk)
                continue
            late = chunk.start >= least
            first = int(late.argmax()) if late.any() else len(chunk)
            # Those that wait end last. A view keeps all of its block: worth it only where it shows most of that.
            first = first if 2 * first >= len(chunk) else 0
            told.append(chunk if first == len(chunk) else chunk.take(slice(0, first)))
            if first < len(chunk):
                told.append(chunk.take(first + np.flatnonzero(~late[first:])))
                waits = chunk.take(first + np.flatnonzero(late[first:])).wide()
                self._chunks.append(replace(waits, detected=waits.start + self._window))
        # Certain when the window has passed, which no column need be made to say.
        return [
            replace(chunk, detected=chunk.start, later=self._window, events=())
            for chunk in told
            if len(chunk)
        ]

    def _take_any(self, found: MatchChunk | None, until: int) -> list[MatchChunk]:
        if found is not None:
            self._chunks.append(replace(found, detected=found.start + self._window))
        whole = self.joined(self._chunks)
        if whole is None:
            return []
        due = (whole.detected != NEVER) & (whole.detected < until)
        if not due.any():
            self._chunks = [whole]
            return []
        dropped = np.zeros(len(whole), np.bool_)
        rows = np.flatnonzero(due)
        dropped[rows] = contained(whole, rows)
        told = whole.take(np.flatnonzero(due & ~dropped))
        detected = np.where(due, NEVER, whole.detected)
        # One that starts two windows before `until` contains nothing that is still to be judged.
        stays = np.flatnonzero(~dropped & ((detected != NEVER) | (whole.start + 2 * self._window >= until)))
        self._chunks = [replace(whole, detected=detected).take(stays)] if len(stays) else []
        return [replace(told, events=())]

    def joined(self, chunks: Sequence[MatchChunk]) -> MatchChunk | None:
        """Chunks as one, with ids and times in 64 bits and texts in the codes of the newest."""
        return joined_chunks([self._coded(chunk.wide(), chunks[-1].strings) for chunk in chunks])

    def _coded(self, chunk: MatchChunk, strings: Strings) -> MatchChunk:
        if chunk.strings is strings:
            return chunk
        values = zip(chunk.returned, self._op.returns, strict=True)
        arrays = [
            (arrow_array(vector.over(len(chunk)), item.kind, chunk.strings), item.kind)
            for vector, item in values
        ]
        returned = tuple(_vector(array, kind, strings) for array, kind in arrays)
        ids = chunk.ids
        if self._text_ids:
            ids = tuple(_ids_of(_id_array(column, chunk.strings), strings) for column in chunk.ids)
        return replace(chunk, ids=ids, returned=returned, strings=strings)

    def to_text(self) -> str | None:
        """All of them; None: there is none."""
        held = self.joined(self._chunks)
        return None if held is None else _written(held, self._op, text_ids=self._text_ids)

    def from_text(self, text: str | None, strings: Strings) -> None:
        """Go on with what `to_text` gave."""
        self._chunks = [] if text is None else [_read(text, self._op, strings)]


def _written(chunk: MatchChunk, op: Emit, *, text_ids: bool) -> str:
    columns: list[pa.Array] = [pa.array(times) for times in (chunk.start, chunk.end, chunk.detected)]
    columns += [_id_array(column, chunk.strings if text_ids else None) for column in chunk.ids]
    columns += [_id_array(column, None) for column in chunk.events]
    columns += [
        arrow_array(vector.over(len(chunk)), item.kind, chunk.strings)
        for vector, item in zip(chunk.returned, op.returns, strict=True)
    ]
    batch = pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])
    return base64.b64encode(to_ipc(batch)).decode()


def _id_array(column: Column, texts: Strings | None) -> pa.Array:
    if isinstance(column, Sets):
        values = pa.array(column.values) if texts is None else texts.texts(column.values)
        return pa.LargeListArray.from_arrays(pa.array(column.offsets), values)
    return pa.array(column) if texts is None else texts.texts(column, column != NO_ID)


def _read(text: str, op: Emit, strings: Strings) -> MatchChunk:
    columns = from_ipc(base64.b64decode(text)).columns
    start, end, detected = (column.to_numpy() for column in columns[:3])
    first, last = 3 + len(op.listed), len(columns) - len(op.returns)
    ids = tuple(_ids_of(column, strings) for column in columns[3:first])
    events = tuple(_numbers_of(column) for column in columns[first:last])
    if len(events) != (len(op.variables) if op.numbers_events else 0):
        raise EngineError(
            f"cannot go on with the matches that `KEEP LONGEST` holds for `{op.query}`: the snapshot is of an earlier "
            "release, which did not save what tells events of joins and patterns apart. Start without the snapshot."
        )
    returned = tuple(
        _vector(column, item.kind, strings) for column, item in zip(columns[last:], op.returns, strict=True)
    )
    return MatchChunk(ids, start, end, detected, returned, strings, events=events)


def _numbers_of(column: pa.Array) -> Sets:
    return Sets(column.offsets.to_numpy().astype(np.int64), column.values.to_numpy().astype(np.int64))


def _ids_of(column: pa.Array, strings: Strings) -> Column:
    if pa.types.is_large_list(column.type):
        values = _ids_of(column.values, strings)
        assert not isinstance(values, Sets)
        return Sets(column.offsets.to_numpy().astype(np.int64), values)
    ids: I64
    if pa.types.is_integer(column.type):
        ids = column.to_numpy().astype(np.int64)
        return ids
    found = strings.encode(column)
    ids = found.data if found.valid is None else np.where(found.valid, found.data, NO_ID)
    return ids


def _vector(column: pa.Array, kind: Kind, strings: Strings) -> Vector:
    if kind in LISTS:
        return strings.encode(list_texts(column, kind))
    return strings.encode(column) if kind is Kind.STRING else plain(as_kind(column, kind))
