"""Matches of a query as they are held: ids, times and returned values in columns, formatted by nobody yet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.engine.results.returned_events import returned_columns
from stretto.engine.results.routed import Routed, joined
from stretto.pattern.nodes import TIMES, Return, column_of
from stretto.plan.families.members import FamilyMembers
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.rows import I64, Column, Sets, concat_columns, take_column, whole_times
from stretto.values.strings import Strings, stretches
from stretto.values.vector import Vector, concat_vectors

MEMBER: Final = "member"
NO_ID: Final = int(np.iinfo(np.int64).min)  # in a column of ids: nothing is bound


@dataclass(frozen=True, slots=True)
class Output:
    """What the matches of a query look like; `kleene[i]` says that variable i is a list.

    `family`: matches have a member, the key of a row. `members`: those that they are of, where these are several.
    `text_ids`: ids are texts, and a match holds their codes.
    """

    query: str
    variables: tuple[str, ...]
    kleene: tuple[bool, ...]
    returns: tuple[Return, ...] = ()
    family: bool = False
    members: FamilyMembers | None = field(default=None, compare=False, repr=False)
    text_ids: bool = False

    @property
    def shown(self) -> str:
        """The name that its matches have."""
        return self.query if self.members is None or self.members.keys is None else self.members.family

    @property
    def schema(self) -> pa.Schema:
        """The member, a column per variable, the three times, and the returned values; all names differ."""
        one = pa.string() if self.text_ids else pa.int64()
        bound = [pa.list_(one) if is_list else one for is_list in self.kleene]
        taken = {*self.variables, *(name for name, _ in returned_columns(self.returns))}
        member = MEMBER if MEMBER not in taken else f"family.{MEMBER}"
        return pa.schema(
            [
                *([(member, pa.string())] if self.family else []),
                *zip(map(column_of, self.variables), bound, strict=True),
                *((name, pa.timestamp("us")) for name in TIMES),
                *returned_columns(self.returns),
            ]
        )


@dataclass(frozen=True, slots=True)
class Unread:
    """All values of an attribute, for a step: the event at `base` + i has `borrowed[i]`."""

    borrowed: I64
    base: int

    def at(self, positions: I64) -> Vector:
        """The values of the events at these positions."""
        return Vector(self.borrowed[positions - self.base])


@dataclass(frozen=True, slots=True)
class MatchChunk:
    """Matches of one query: the ids bound to each variable (NO_ID, or an empty set, where it is unbound), the three
    times in microseconds, and the returned values, whose strings are codes of `strings`. Ids may be kept in 32 bits,
    and so may times, which are then counted from `since`; matches are detected so much `later` than `detected` says:
    `wide` gives the ids and times themselves.
    `routed`: of a family, whose matches they are; a row is a match of each of these members.
    `unread`: where that of KEEP's PER is read later, the values; the hidden one of `returned` are positions then.
    `events`: while LONGEST compares matches that list equal ids for different events, the numbers of the events bound
    to each variable; else empty.
    """

    ids: tuple[Column, ...]
    start: I64
    end: I64
    detected: I64
    returned: tuple[Vector, ...]
    strings: Strings
    routed: Routed | None = None
    since: int = 0
    unread: Unread | None = None
    later: int = 0
    events: tuple[Sets, ...] = ()

    def __len__(self) -> int:
        """The number of matches."""
        return len(self.start) if self.routed is None else len(self.routed)

    @property
    def arrays(self) -> Iterator[np.ndarray]:
        """All arrays that the matches lie in; one may come twice."""
        for column in (*self.ids, *self.events):
            yield from (column.offsets, column.values) if isinstance(column, Sets) else (column,)
        yield from (self.start, self.end, self.detected)
        for vector in self.returned:
            yield from (vector.data,) if vector.valid is None else (vector.data, vector.valid)
        if self.routed is not None:
            yield from self.routed.arrays

    def take(self, at: I64 | slice) -> "MatchChunk":
        """Some of the rows."""
        ids = tuple(_sliced(c, at) if isinstance(at, slice) else take_column(c, at) for c in self.ids)
        events = tuple(_sliced_sets(c, at) if isinstance(at, slice) else c.take(at) for c in self.events)
        returned = tuple(vector.take(at) for vector in self.returned)
        routed = None if self.routed is None else self.routed.take(at)
        times = self.start[at], self.end[at], self.detected[at]
        return MatchChunk(
            ids, *times, returned, self.strings, routed, self.since, later=self.later, events=events
        )

    def one_by_one(self, rows: int) -> Iterator["MatchChunk"]:
        """The same with a row per match, at most so many rows at a time."""
        if self.routed is None or self.routed.single:
            yield self
            return
        for at, routed in self.routed.one_by_one(rows):
            yield replace(self.take(at), routed=routed)

    def of_member(self, place: int) -> "MatchChunk":
        """The matches of one member, by its place in the order of all."""
        assert self.routed is not None
        return replace(self.take(self.routed.rows_of(place)), routed=None)

    def wide(self) -> "MatchChunk":
        """The same with all ids and times in 64 bits."""
        ids = tuple(wide_column(column) for column in self.ids)
        start, end, detected = (
            whole_times(times, self.since) for times in (self.start, self.end, self.detected)
        )
        detected = detected + self.later if self.later else detected
        return replace(self, ids=ids, start=start, end=end, detected=detected, since=0, later=0)


def in_blocks(output: Output, chunks: Iterable[MatchChunk], rows: int) -> Iterator[MatchChunk]:
    """A query's matches in chunks of at most `rows`: small ones are joined, large ones are cut."""
    pending: list[MatchChunk] = []
    count = 0
    for chunk in chain.from_iterable(chunk.one_by_one(rows) for chunk in chunks):
        if pending and (count >= rows or not _alike(chunk, pending[0])):
            yield from _cut(output, _joined(pending), rows)
            pending, count = [], 0
        pending.append(chunk.wide())
        count += len(chunk)
    if pending:
        yield from _cut(output, _joined(pending), rows)


def _alike(one: MatchChunk, other: MatchChunk) -> bool:
    """Whether the matches read the same texts and are of the same members."""
    of = [None if chunk.routed is None else chunk.routed.members for chunk in (one, other)]
    return one.strings is other.strings and of[0] is of[1]


def joined_chunks(chunks: Sequence[MatchChunk]) -> MatchChunk | None:
    """Chunks of one query, with the same strings, as one; None if there is none."""
    return _joined(chunks) if chunks else None


def _joined(chunks: Sequence[MatchChunk]) -> MatchChunk:
    if len(chunks) == 1:
        return chunks[0]
    return MatchChunk(
        tuple(concat_columns(parts) for parts in zip(*(chunk.ids for chunk in chunks), strict=True)),
        np.concatenate([chunk.start for chunk in chunks]),
        np.concatenate([chunk.end for chunk in chunks]),
        np.concatenate([chunk.detected for chunk in chunks]),
        tuple(concat_vectors(parts) for parts in zip(*(chunk.returned for chunk in chunks), strict=True)),
        chunks[0].strings,
        joined([chunk.routed for chunk in chunks if chunk.routed is not None]),
        events=tuple(
            first.followed_by(others)
            for first, *others in zip(*(chunk.events for chunk in chunks), strict=True)
        ),
    )


def _cut(output: Output, chunk: MatchChunk, rows: int) -> Iterator[MatchChunk]:
    returned = zip(output.returns, chunk.returned, strict=True)
    texts = [vector for item, vector in returned if item.kind is Kind.STRING]
    for at in stretches(texts, chunk.strings, len(chunk), rows):
        yield chunk.take(at)


def _sliced(column: Column, at: slice) -> Column:
    return _sliced_sets(column, at) if isinstance(column, Sets) else column[at]


def _sliced_sets(column: Sets, at: slice) -> Sets:
    offsets = column.offsets[at.start : at.stop + 1]
    return Sets(offsets - offsets[0], column.values[offsets[0] : offsets[-1]])


def wide_column(column: Column) -> Column:
    """The same with 64 bits."""
    if isinstance(column, Sets):
        return Sets(column.offsets, column.values.astype(np.int64, copy=False))
    return column.astype(np.int64, copy=False)
