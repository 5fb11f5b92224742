"""The result of a run: matches of all queries, column by column, formatted only when asked for."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.engine.counters import Counters
from stretto.engine.results.identity import match_ids
from stretto.engine.results.returned_values import arrow_array, json_objects
from stretto.engine.trends.totals import TOTALS, totals_beginning
from stretto.pattern.nodes import TIMES, Return, column_of
from stretto.schema import Kind
from stretto.values.rows import I64, Bool, Column, Sets, concat_columns, spread, take_column
from stretto.values.strings import Strings, stretches
from stretto.values.vector import Vector, concat_vectors

ARRAY_BYTES: Final = 128
"""What an array takes beside its elements."""
NO_ID: Final = int(np.iinfo(np.int64).min)  # in a column of ids: nothing is bound

SCHEMA: Final = pa.schema(
    [
        ("query", pa.string()),
        ("match_id", pa.string()),
        ("start", pa.timestamp("us")),
        ("end", pa.timestamp("us")),
        ("detected", pa.timestamp("us")),
        ("events", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("returned", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Output:
    """What the matches of a query look like; `kleene[i]` says that variable i is a list."""

    query: str
    variables: tuple[str, ...]
    kleene: tuple[bool, ...]
    returns: tuple[Return, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """A column per variable, the three times, and the returned values; all names differ."""
        bound = [pa.list_(pa.int64()) if is_list else pa.int64() for is_list in self.kleene]
        return pa.schema(
            [
                *zip(map(column_of, self.variables), bound, strict=True),
                *((name, pa.timestamp("us")) for name in TIMES),
                *((item.name, item.kind.arrow) for item in self.returns),
            ]
        )


@dataclass(frozen=True, slots=True)
class MatchChunk:
    """Matches of one query: the ids bound to each variable (NO_ID, or an empty set, where it is unbound), the three
    times in microseconds, and the returned values, whose strings are codes of `strings`. Ids may be kept in 32 bits.
    """

    ids: tuple[Column, ...]
    start: I64
    end: I64
    detected: I64
    returned: tuple[Vector, ...]
    strings: Strings

    def __len__(self) -> int:
        return len(self.start)

    @property
    def arrays(self) -> Iterator[np.ndarray]:
        """All arrays that the matches lie in; one may come twice."""
        for column in self.ids:
            yield from (column.offsets, column.values) if isinstance(column, Sets) else (column,)
        yield from (self.start, self.end, self.detected)
        for vector in self.returned:
            yield from (vector.data,) if vector.valid is None else (vector.data, vector.valid)

    def take(self, at: I64 | slice) -> "MatchChunk":
        """Some of the matches."""
        ids = tuple(_sliced(c, at) if isinstance(at, slice) else take_column(c, at) for c in self.ids)
        returned = tuple(vector.take(at) for vector in self.returned)
        return MatchChunk(ids, self.start[at], self.end[at], self.detected[at], returned, self.strings)

    def wide(self) -> "MatchChunk":
        """The same with all ids in 64 bits."""
        return replace(self, ids=tuple(_wide(column) for column in self.ids))


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
        self.held += other.held

    def only(self, queries: Collection[str]) -> "Matches":
        """The matches of some of the queries."""
        found = Matches(self._outputs[query] for query in queries)
        for query in queries:
            found.add(query, self._chunks[query])
        return found

    def started(self, low: int, high: int) -> "Matches":
        """The matches whose first event, and the totals whose window, begins in [low, high), in microseconds."""
        return self.beginning(lambda times: (times >= low) & (times < high))

    def beginning(self, kept: Callable[[I64], Bool]) -> "Matches":
        """The matches whose first event, and the totals whose window, begins at a time that is `kept`."""
        found = Matches(self._outputs.values())
        for query, chunks in self._chunks.items():
            begins = ((chunk, kept(chunk.start)) for chunk in chunks)
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
        return sum(self.counts().values())

    def __repr__(self) -> str:
        return f"<Matches: {len(self):,} of {len(self._outputs):,} queries>"

    def counts(self) -> dict[str, int]:
        """The number of matches of every query, in the order of the workload."""
        return {query: sum(map(len, chunks)) for query, chunks in self._chunks.items()}

    def chunks(self, query: str) -> Sequence[MatchChunk]:
        """A query's matches as they were found."""
        return tuple(self._chunks[query])

    def __getitem__(self, query: str) -> pa.Table:
        """A query's matches: a column per variable (an id, or a list of ids; null where unbound), `start`, `end`,
        `detected`, and the returned columns. A variable called like one of the times has the column `events.start`.
        """
        output = self._outputs[query]
        batches = [_columns(output, chunk) for chunk in self._blocks(query, rows=1 << 20)]
        return pa.Table.from_batches(batches, output.schema)

    def to_arrow(self) -> pa.Table:
        """All matches in the format of match files, one query after another."""
        return pa.Table.from_batches(list(self.batches()), SCHEMA)

    def totals(self) -> pa.Table:
        """The totals of trends: a row per query, window, group and aggregate."""
        return pa.Table.from_batches(self._totals, TOTALS)

    def total_batches(self) -> Sequence[pa.RecordBatch]:
        """The same as they were found."""
        return tuple(self._totals)

    def batches(self, rows: int = 1 << 16) -> Iterator[pa.RecordBatch]:
        """The same, in batches of at most `rows` rows, each made when it is asked for."""
        for query, output in self._outputs.items():
            for chunk in self._blocks(query, rows):
                yield _file_rows(output, chunk)

    def _admit(self, output: Output) -> None:
        known = self._outputs.setdefault(output.query, output)
        if known != output:
            raise ValueError(f"the results hold two different queries `{output.query}`")
        self._chunks.setdefault(output.query, [])

    def _blocks(self, query: str, rows: int) -> Iterator[MatchChunk]:
        """The query's matches in chunks of at most `rows`: small ones are joined, large ones are cut."""
        pending: list[MatchChunk] = []
        count = 0
        for chunk in self._chunks[query]:
            if pending and (count >= rows or chunk.strings is not pending[0].strings):
                yield from _cut(self._outputs[query], _joined(pending), rows)
                pending, count = [], 0
            pending.append(chunk.wide())
            count += len(chunk)
        if pending:
            yield from _cut(self._outputs[query], _joined(pending), rows)


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
    returned = [
        arrow_array(vector, item.kind, chunk.strings)
        for vector, item in zip(chunk.returned, output.returns, strict=True)
    ]
    arrays = [*(_ids(column) for column in chunk.ids), *_times(chunk), *returned]
    return pa.RecordBatch.from_arrays(arrays, schema=output.schema)


def _file_rows(output: Output, chunk: MatchChunk) -> pa.RecordBatch:
    n = len(chunk)
    arrays = [
        pa.repeat(pa.scalar(output.query, pa.string()), n),
        match_ids(chunk.ids, n, output.query, output.variables),
        *_times(chunk),
        _events(output.variables, chunk),
        _returned(output, chunk),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _returned(output: Output, chunk: MatchChunk) -> pa.Array:
    """A JSON object per match; null where nothing is returned."""
    names, kinds = [item.name for item in output.returns], [item.kind for item in output.returns]
    if not names:
        return pa.nulls(len(chunk), pa.string())
    return json_objects(names, kinds, chunk.returned, chunk.strings)


def _times(chunk: MatchChunk) -> list[pa.Array]:
    return [pa.array(times).view(pa.timestamp("us")) for times in (chunk.start, chunk.end, chunk.detected)]


def _wide(column: Column) -> Column:
    if isinstance(column, Sets):
        return Sets(column.offsets, column.values.astype(np.int64, copy=False))
    return column.astype(np.int64, copy=False)


def _ids(column: Column) -> pa.Array:
    unbound = ~_bound(column)
    mask = pa.array(unbound) if unbound.any() else None
    if isinstance(column, Sets):
        return pa.ListArray.from_arrays(column.offsets.astype(np.int32), pa.array(column.values), mask=mask)
    return pa.array(column, mask=None if mask is None else unbound)


def _bound(column: Column) -> Bool:
    bound: Bool = column.lengths > 0 if isinstance(column, Sets) else column != NO_ID
    return bound


def _events(variables: Sequence[str], chunk: MatchChunk) -> pa.Array:
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
    lists = pa.ListArray.from_arrays(np.append(0, ends[bound]).astype(np.int32), pa.array(ids))
    names = pa.array(variables, pa.string()).take(pa.array(np.nonzero(bound)[1]))
    offsets = np.append(0, np.cumsum(bound.sum(axis=1))).astype(np.int32)
    return pa.MapArray.from_arrays(offsets, names, lists)
