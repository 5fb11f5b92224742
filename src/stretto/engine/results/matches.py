"""The result of a run: matches of all queries, column by column, formatted only when asked for."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain, islice
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa

from stretto.engine.counters import Counters
from stretto.engine.results.identity import ids_of_queries, match_ids
from stretto.engine.results.python_values import reader_of
from stretto.engine.results.returned_events import nested_objects, returned_arrays, returned_columns
from stretto.engine.results.returned_values import json_objects
from stretto.engine.results.routed import Routed, joined, member_counts
from stretto.engine.trends.totals import TOTALS, totals_beginning
from stretto.errors import instead_of
from stretto.pattern.nodes import TIMES, Return, column_of
from stretto.plan.families.members import FamilyMembers
from stretto.schema import Kind
from stretto.screen import html_table
from stretto.values.rows import I64, Bool, Column, Sets, concat_columns, spread, take_column, whole_times
from stretto.values.strings import Strings, stretches
from stretto.values.vector import Vector, concat_vectors

ARRAY_BYTES: Final = 128
"""What an array takes beside its elements."""
SHOWN: Final = 10
"""Matches that a notebook shows."""
MEMBER: Final = "member"
NO_ID: Final = int(np.iinfo(np.int64).min)  # in a column of ids: nothing is bound

SCHEMA: Final = pa.schema(
    [
        ("query", pa.string()),
        ("match_id", pa.string()),
        ("start", pa.timestamp("us")),
        ("end", pa.timestamp("us")),
        ("detected", pa.timestamp("us")),
        ("events", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("member", pa.string()),
        ("returned", pa.string()),
    ]
)
"""The columns of match files, where ids are integers."""


def match_schema(*, text_ids: bool) -> pa.Schema:
    """The columns of match files; ids as the data has them."""
    if not text_ids:
        return SCHEMA
    at = SCHEMA.get_field_index("events")
    return SCHEMA.set(at, pa.field("events", pa.map_(pa.string(), pa.list_(pa.string()))))


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
class MatchChunk:
    """Matches of one query: the ids bound to each variable (NO_ID, or an empty set, where it is unbound), the three
    times in microseconds, and the returned values, whose strings are codes of `strings`. Ids may be kept in 32 bits,
    and so may times, which are then counted from `since`: `wide` gives the ids and times themselves.
    `routed`: of a family, whose matches they are; a row is a match of each of these members.
    """

    ids: tuple[Column, ...]
    start: I64
    end: I64
    detected: I64
    returned: tuple[Vector, ...]
    strings: Strings
    routed: Routed | None = None
    since: int = 0

    def __len__(self) -> int:
        """The number of matches."""
        return len(self.start) if self.routed is None else len(self.routed)

    @property
    def arrays(self) -> Iterator[np.ndarray]:
        """All arrays that the matches lie in; one may come twice."""
        for column in self.ids:
            yield from (column.offsets, column.values) if isinstance(column, Sets) else (column,)
        yield from (self.start, self.end, self.detected)
        for vector in self.returned:
            yield from (vector.data,) if vector.valid is None else (vector.data, vector.valid)
        if self.routed is not None:
            yield from (self.routed.low, self.routed.high)

    def take(self, at: I64 | slice) -> "MatchChunk":
        """Some of the rows."""
        ids = tuple(_sliced(c, at) if isinstance(at, slice) else take_column(c, at) for c in self.ids)
        returned = tuple(vector.take(at) for vector in self.returned)
        routed = None if self.routed is None else self.routed.take(at)
        return MatchChunk(
            ids, self.start[at], self.end[at], self.detected[at], returned, self.strings, routed, self.since
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
        mine = np.flatnonzero((self.routed.low <= place) & (place < self.routed.high))
        return replace(self.take(mine), routed=None)

    def wide(self) -> "MatchChunk":
        """The same with all ids and times in 64 bits."""
        ids = tuple(_wide(column) for column in self.ids)
        start, end, detected = (
            whole_times(times, self.since) for times in (self.start, self.end, self.detected)
        )
        return replace(self, ids=ids, start=start, end=end, detected=detected, since=0)


class Matches:
    """The matches of some queries, and the totals of trends; `held` are their bytes.

    After a whole run: `counters`, what the operators did, `repeated_ids`, events with the id of one before them,
    and `peak_bytes`, the most that the engine held, these results too.
    """

    def __init__(self, outputs: Iterable[Output]) -> None:
        self.counters: Counters | None = None
        self.repeated_ids = 0
        self.peak_bytes = 0
        self._outputs: dict[str, Output] = {}
        self._chunks: dict[str, list[MatchChunk]] = {}
        self._totals: list[pa.RecordBatch] = []
        self._places: dict[str, tuple[str, ...]] | None = None  # of members of families, where they stand
        self.held = 0
        self._counted: set[int] = set()  # arrays: queries that report the same rows share them
        for output in outputs:
            self._admit(output)

    def add(self, query: str, chunks: Iterable[MatchChunk]) -> None:
        """Take more matches of a query."""
        kept, counted = self._chunks[query], self._counted
        for chunk in chunks:
            if not len(chunk):
                continue
            kept.append(chunk)
            for array in chunk.arrays:
                if id(array) not in counted:
                    counted.add(id(array))
                    self.held += array.nbytes + ARRAY_BYTES

    def add_totals(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take more totals of trends."""
        for batch in batches:
            self._totals.append(batch)
            self.held += batch.nbytes

    def drain(self) -> "Matches":
        """All of it as another result; this one has no matches and no totals then."""
        drained = Matches(())
        drained.__dict__ |= self.__dict__
        self.held, self._counted, self._totals = 0, set(), []
        self._chunks = {query: [] for query in self._chunks}
        return drained

    def extend(self, other: "Matches") -> None:
        """Take the queries and the matches of another result."""
        for query, output in other._outputs.items():  # noqa: SLF001 - the same class
            self._admit(output)
            self._chunks[query] += other._chunks[query]  # noqa: SLF001 - the same class
        self._totals += other._totals  # noqa: SLF001 - the same class
        self._places = None
        self.held += other.held

    def only(self, queries: Collection[str]) -> "Matches":
        """The matches of some of the queries."""
        found = Matches(())
        for query in queries:
            output, chunks = self._of(query)
            found._admit(output)
            found.add(query, chunks)
        return found

    def under(self, keys: Collection[str]) -> "Matches":
        """What stands under some keys: the names of a plan's Emits, of which a family may have several."""
        found = Matches(self._outputs.values())
        for key in keys:
            found.add(key, self._chunks[key])
        return found

    def started(self, low: int, high: int) -> "Matches":
        """The matches whose first event, and the totals whose window, begins in [low, high), in microseconds."""
        return self.beginning(lambda times: (times >= low) & (times < high))

    def beginning(self, kept: Callable[[I64], Bool]) -> "Matches":
        """The matches whose first event, and the totals whose window, begins at a time that is `kept`."""
        found = Matches(self._outputs.values())
        for query, chunks in self._chunks.items():
            begins = ((chunk, kept(whole_times(chunk.start, chunk.since))) for chunk in chunks)
            found.add(
                query, (one if which.all() else one.take(np.flatnonzero(which)) for one, which in begins)
            )
        found.add_totals(totals_beginning(self._totals, kept))
        return found

    def __add__(self, other: "Matches") -> "Matches":
        both = Matches(())
        both.extend(self)
        both.extend(other)
        return both

    def __len__(self) -> int:
        return sum(len(chunk) for chunks in self._chunks.values() for chunk in chunks)

    def __repr__(self) -> str:
        count = sum(1 if one.members is None else len(one.members) for one in self._outputs.values())
        return f"<Matches: {len(self):,} of {count:,} {'query' if count == 1 else 'queries'}>"

    def _repr_html_(self) -> str:
        """The counts and the first matches, for a notebook."""
        counts = html_table(("query", "matches"), [(q, f"{n:,}") for q, n in self.counts().items()])
        rows = [
            (row["query"], row["start"], row["end"], row["events"], row["returned"]) for row in self[:SHOWN]
        ]
        first = html_table(("query", "start", "end", "events", "returned"), rows) if rows else ""
        return counts + first

    def counts(self) -> dict[str, int]:
        """The number of matches of every query, in the order of the workload; the members of a table count as one."""
        found: dict[str, int] = {}
        for query, chunks in self._chunks.items():
            output = self._outputs[query]
            if output.members is None or output.members.names is None:
                found[output.shown] = found.get(output.shown, 0) + sum(map(len, chunks))
            else:
                found |= {name: found.get(name, 0) for name in output.members.names.to_pylist()}
                for members, counted in member_counts(chunk.routed for chunk in chunks):
                    assert members.names is not None
                    for name, count in zip(members.names.to_pylist(), counted.tolist(), strict=True):
                        found[name] = found.get(name, 0) + count
        return found

    def members(self, query: str) -> dict[str, int]:
        """The number of matches of each member of a family that has any, by its key."""
        found: dict[str, int] = {}
        for key in self._keys(query):
            for members, counted in member_counts(chunk.routed for chunk in self._chunks[key]):
                assert members.keys is not None, f"`{query}` is not for each row of a table"
                some = np.flatnonzero(counted)
                for text, count in zip(
                    members.keys.take(pa.array(some)).to_pylist(), counted[some].tolist(), strict=True
                ):
                    found[text] = found.get(text, 0) + count
        return found

    def chunks(self, query: str) -> Sequence[MatchChunk]:
        """A query's matches as they were found."""
        return tuple(self._of(query)[1])

    def _keys(self, query: str) -> list[str]:
        """What the matches of a query stand under; those of a family may stand under several."""
        if query in self._outputs and self._outputs[query].shown == query:
            return [query]
        return [key for key, output in self._outputs.items() if output.shown == query]

    def _of(self, query: str) -> tuple[Output, list[MatchChunk]]:
        """What a query's matches look like, and the matches; the query may be a member, `family[key]`.

        One that came and went with others may have been by itself for a time, and one of several for another.
        """
        keys, families = self._keys(query), self._families(query)
        if keys and not families:
            output = replace(self._outputs[keys[0]], query=query)
            return output, [chunk for key in keys for chunk in self._chunks[key]]
        output = replace(self._outputs[(*keys, *families)[0]], query=query, family=False, members=None)
        found = [chunk for key in keys for chunk in self._chunks[key]]
        for key in families:
            found += [
                chunk.of_member(chunk.routed.members.places[query])
                for chunk in self._chunks[key]
                if chunk.routed is not None and query in chunk.routed.members.places
            ]
        return output, found

    def _families(self, query: str) -> tuple[str, ...]:
        """The keys under which a query is one of several members; KeyError where there is no such query."""
        if self._places is None:
            self._places = {}
            for key, output in self._outputs.items():
                routed = (chunk.routed for chunk in self._chunks[key] if chunk.routed is not None)
                members = {id(one): one for one in (output.members, *(one.members for one in routed))}
                for name in chain.from_iterable(one.places for one in members.values() if one is not None):
                    known = self._places.get(name, ())
                    self._places[name] = known if key in known else (*known, key)
        return self._places.get(query, ()) if self._keys(query) else self._places[query]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each match as a dictionary: its query, its times, its events by variable, and what it returned by name."""
        for query, output in self._outputs.items():
            read = reader_of(output.returns)
            for chunk in _blocks(output, self._chunks[query], rows=1 << 16):
                for row in _file_rows(output, chunk).to_pylist(maps_as_pydicts="strict"):
                    yield {**row, "returned": read(row["returned"])}

    @overload
    def __getitem__(self, which: str) -> pa.Table: ...
    @overload
    def __getitem__(self, which: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, which: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, which: str | int | slice) -> Any:
        """A query's matches: a column per variable (an id, or a list of ids; null where unbound), `start`, `end`,
        `detected`, and the returned columns. A variable called like one of the times has the column `events.start`.
        Those of a table's members are together, with the column `member`; `family[key]` are one member's.

        By number, or a slice of numbers, matches as iteration gives them.
        """
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step < 0:
                return [self[number] for number in range(start, stop, step)]
            return list(islice(self, start, stop, step))
        if isinstance(which, int):
            number = which if which >= 0 else len(self) + which
            found = next(islice(self, number, None), None) if number >= 0 else None
            if found is None:
                raise IndexError(f"there are {len(self):,} matches")
            return found
        try:
            output, chunks = self._of(which)
        except KeyError:
            raise KeyError(f"no query `{which}`{instead_of(which, self.counts())}") from None
        batches = [_columns(output, chunk) for chunk in _blocks(output, chunks, rows=1 << 20)]
        return pa.Table.from_batches(batches, output.schema)

    def to_arrow(self) -> pa.Table:
        """All matches in the format of match files, one query after another."""
        texts = any(output.text_ids for output in self._outputs.values())
        return pa.Table.from_batches(list(self.batches()), match_schema(text_ids=texts))

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return self.to_arrow().to_pandas(maps_as_pydicts="strict")

    def to_polars(self) -> Any:
        """The same as a Polars DataFrame; events are a list of variables with their ids."""
        return import_module("polars").from_arrow(self.to_arrow())

    def totals(self) -> pa.Table:
        """The totals of trends: a row per query, window, group and aggregate."""
        return pa.Table.from_batches(self._totals, TOTALS)

    def total_batches(self) -> Sequence[pa.RecordBatch]:
        """The same as they were found."""
        return tuple(self._totals)

    def batches(self, rows: int = 1 << 16) -> Iterator[pa.RecordBatch]:
        """The same, in batches of at most `rows` rows, each made when it is asked for."""
        for query, output in self._outputs.items():
            for chunk in _blocks(output, self._chunks[query], rows):
                yield _file_rows(output, chunk)

    def _admit(self, output: Output) -> None:
        known = self._outputs.setdefault(output.query, output)
        if known != output:
            raise ValueError(f"the results hold two different queries `{output.query}`")
        self._chunks.setdefault(output.query, [])


def _blocks(output: Output, chunks: Iterable[MatchChunk], rows: int) -> Iterator[MatchChunk]:
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
    )


def _cut(output: Output, chunk: MatchChunk, rows: int) -> Iterator[MatchChunk]:
    returned = zip(output.returns, chunk.returned, strict=True)
    texts = [vector for item, vector in returned if item.kind is Kind.STRING]
    for at in stretches(texts, chunk.strings, len(chunk), rows):
        yield chunk.take(at)


def _sliced(column: Column, at: slice) -> Column:
    if not isinstance(column, Sets):
        return column[at]
    offsets = column.offsets[at.start : at.stop + 1]
    return Sets(offsets - offsets[0], column.values[offsets[0] : offsets[-1]])


def _columns(output: Output, chunk: MatchChunk) -> pa.RecordBatch:
    returned = returned_arrays(output.returns, chunk.returned, chunk.strings).values()
    texts = chunk.strings if output.text_ids else None
    arrays = [*(_ids(column, texts) for column in chunk.ids), *_times(chunk), *returned]
    if output.family:
        arrays.insert(0, _members(chunk))
    return pa.RecordBatch.from_arrays(arrays, schema=output.schema)


def _file_rows(output: Output, chunk: MatchChunk) -> pa.RecordBatch:
    n, routed, names = len(chunk), chunk.routed, output.variables
    texts = chunk.strings if output.text_ids else None
    if routed is None:
        queries = pa.repeat(pa.scalar(output.query, pa.string()), n)
        ids = match_ids(chunk.ids, n, output.query, names, texts)
    else:
        queries = routed.members.queries(routed.low)
        places, of = np.unique(routed.low, return_inverse=True)
        ids = ids_of_queries(chunk.ids, routed.members.identities(places), of, names, texts)
    arrays = [
        queries,
        ids,
        *_times(chunk),
        _events(output.variables, chunk, texts),
        _members(chunk),
        _returned(output, chunk),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=match_schema(text_ids=output.text_ids))


def _members(chunk: MatchChunk) -> pa.Array:
    """The key of each match's row; null where the query is for none."""
    routed = chunk.routed
    return pa.nulls(len(chunk), pa.string()) if routed is None else routed.members.texts(routed.low)


def _returned(output: Output, chunk: MatchChunk) -> pa.Array:
    """A JSON object per match; null where nothing is returned."""
    if not output.returns:
        return pa.nulls(len(chunk), pa.string())
    if any(item.part is not None for item in output.returns):
        return nested_objects(output.returns, chunk.returned, chunk.strings)
    names, kinds = [item.name for item in output.returns], [item.kind for item in output.returns]
    return json_objects(names, kinds, chunk.returned, chunk.strings)


def _times(chunk: MatchChunk) -> list[pa.Array]:
    return [pa.array(times).view(pa.timestamp("us")) for times in (chunk.start, chunk.end, chunk.detected)]


def _wide(column: Column) -> Column:
    if isinstance(column, Sets):
        return Sets(column.offsets, column.values.astype(np.int64, copy=False))
    return column.astype(np.int64, copy=False)


def _ids(column: Column, texts: Strings | None) -> pa.Array:
    unbound = ~_bound(column)
    mask = pa.array(unbound) if unbound.any() else None
    if isinstance(column, Sets):
        values = pa.array(column.values) if texts is None else texts.texts(column.values)
        return pa.ListArray.from_arrays(column.offsets.astype(np.int32), values, mask=mask)
    if texts is not None:
        return texts.texts(column, None if mask is None else ~unbound)
    return pa.array(column, mask=None if mask is None else unbound)


def _bound(column: Column) -> Bool:
    bound: Bool = column.lengths > 0 if isinstance(column, Sets) else column != NO_ID
    return bound


def _events(variables: Sequence[str], chunk: MatchChunk, texts: Strings | None) -> pa.Array:
    """A map per match from its bound variables, in their order, to the lists of their ids."""
    n = len(chunk)
    bound = np.stack([_bound(column) for column in chunk.ids], axis=1)
    lengths = np.stack(
        [c.lengths if isinstance(c, Sets) else np.ones(n, np.int64) for c in chunk.ids], axis=1
    )
    ends = np.cumsum(np.where(bound, lengths, 0)).reshape(bound.shape)
    starts = ends - lengths
    ids = np.empty(int(ends[-1, -1]) if n else 0, np.int64)
    for number, column in enumerate(chunk.ids):
        if isinstance(column, Sets):
            ids[spread(starts[:, number], column.lengths, column.offsets)] = column.values
        else:
            there = bound[:, number]
            ids[starts[there, number]] = column[there]
    lists = pa.ListArray.from_arrays(
        np.append(0, ends[bound]).astype(np.int32), pa.array(ids) if texts is None else texts.texts(ids)
    )
    names = pa.array(variables, pa.string()).take(pa.array(np.nonzero(bound)[1]))
    offsets = np.append(0, np.cumsum(bound.sum(axis=1))).astype(np.int32)
    return pa.MapArray.from_arrays(offsets, names, lists)
