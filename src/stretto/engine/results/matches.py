"""The result of a run: matches of all queries, column by column, formatted only when asked for."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain, islice
from typing import Any, Final, overload

import numpy as np
import pyarrow as pa

from stretto.engine.counters import Counters
from stretto.engine.results.match_chunks import MatchChunk, Output, in_blocks
from stretto.engine.results.match_limit import MatchLimit
from stretto.engine.results.match_rows import file_rows, match_schema, typed_rows
from stretto.engine.results.python_values import python_rows, reader_of
from stretto.engine.results.routed import member_counts
from stretto.engine.results.totals import TOTALS, totals_beginning
from stretto.errors import instead_of
from stretto.screen import html_table
from stretto.values.rows import I64, Bool, whole_times

ARRAY_BYTES: Final = 128
"""What an array takes beside its elements."""
SHOWN: Final = 10
"""Matches that a notebook shows."""


class Matches:
    """The matches of some queries, and the totals of trends; `held` are their bytes.

    After a whole run: `counters`, what the operators did, `repeated_ids`, events with the id of one before them,
    and `peak_bytes`, the most that the engine held, these results too. `undecided` is the number of matches by query
    that waited for a time after the last event of the input, whether they are among these matches or were dropped.
    """

    def __init__(self, outputs: Iterable[Output], limit: MatchLimit | None = None) -> None:
        self._limit = limit
        self.counters: Counters | None = None
        self.repeated_ids = 0
        self.peak_bytes = 0
        self.undecided: Counter[str] = Counter()
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
        if self._limit is not None:
            chunks = list(chunks)
            self._limit.take(self._outputs[query], chunks)
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
        self.undecided = Counter()
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
        self.undecided += other.undecided

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
            (
                row["query"],
                row["start"],
                row["end"],
                _assigned(row["events"]),
                _assigned(row["returned"] or {}),
            )
            for row in self[:SHOWN]
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
        """Each match as a dictionary: its query, its times, its events by variable, and what it returned by name.

        A time outside of the years 1 to 9999, which Python does not have, is its ISO text.
        """
        for query, output in self._outputs.items():
            read = reader_of(output.returns)
            for chunk in in_blocks(output, self._chunks[query], rows=1 << 16):
                for row in python_rows(file_rows(output, chunk)):
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
        if not isinstance(which, str):
            raise TypeError(
                f"matches are had by the name of a query, a number or a slice, not {type(which).__name__}"
            )
        try:
            output, chunks = self._of(which)
        except KeyError:
            raise KeyError(f"no query `{which}`{instead_of(which, self.counts())}") from None
        batches = [typed_rows(output, chunk) for chunk in in_blocks(output, chunks, rows=1 << 20)]
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
        try:
            polars = import_module("polars")
        except ImportError:
            raise ImportError("to_polars() needs Polars: pip install polars") from None
        return polars.from_arrow(self.to_arrow())

    def totals(self) -> pa.Table:
        """The totals of trends: a row per query, window, group and aggregate."""
        return pa.Table.from_batches(self._totals, TOTALS)

    def total_batches(self) -> Sequence[pa.RecordBatch]:
        """The same as they were found."""
        return tuple(self._totals)

    def batches(self, rows: int = 1 << 16) -> Iterator[pa.RecordBatch]:
        """The same, in batches of at most `rows` rows, each made when it is asked for."""
        for query, output in self._outputs.items():
            for chunk in in_blocks(output, self._chunks[query], rows):
                yield file_rows(output, chunk)

    def _admit(self, output: Output) -> None:
        known = self._outputs.setdefault(output.query, output)
        if known != output:
            raise ValueError(f"the results hold two different queries `{output.query}`")
        self._chunks.setdefault(output.query, [])


def _assigned(values: Mapping[str, Any]) -> str:
    """Names with their values, as people read them: `a=1 b=2,3`."""
    shown = (
        (name, ",".join(map(str, one)) if isinstance(one, list) else one) for name, one in values.items()
    )
    return " ".join(f"{name}={one}" for name, one in shown)
