"""Results over many tiles compared with those of each tile: rows as numbers, many at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tests.fuzz.exact_rows import TIMES, lists_of, plain_match_id, rows_of, variables_of
from tests.fuzz.tiles import Array, Tiling

from stretto.oracle.detections import Match
from stretto.pattern.nodes import Query
from stretto.schema import Kind

NOTHING = np.iinfo(np.int64).min
SHOWN = 5
IDS = 50  # ids of matches that are worked out one by one


class TiledJudge:
    """The matches of a query in every tile."""

    def __init__(self, query: Query, matches: Sequence[Sequence[Match]], tiling: Tiling) -> None:
        self._query, self._tiling = query, tiling
        flat = [match for of in matches for match in of]
        bound = [ids for match in flat for ids in match.events.values()]
        self._width = max(map(len, bound), default=1)
        self._words: dict[str, int] = {}
        self._tile = np.repeat(np.arange(len(matches)), [len(of) for of in matches])
        nowhere = np.zeros(len(flat), np.int64)
        self._rows = self._numbers(plain_table(flat, query), nowhere, nowhere)
        self._rows = np.column_stack([self._tile, self._rows])
        order = np.argsort(_hashed(self._rows), kind="stable")
        self._rows, self._tile = self._rows[order], self._tile[order]
        self._hashes = _hashed(self._rows)
        assert len(np.unique(self._hashes)) == len(flat), "two rows with one hash"

    def difference(self, found: pa.Table) -> str:
        """How a result of `exact_rows.table_of` differs; empty if it does not."""
        tiling = self._tiling
        start = found.column("start").cast(pa.int64()).to_numpy()
        place = np.searchsorted(tiling.times, start, side="right") - 1
        rows = self._numbers(found, tiling.ids[place], tiling.times[place])
        rows = np.column_stack([np.array(tiling.order)[place], rows])
        known = np.minimum(np.searchsorted(self._hashes, _hashed(rows)), max(len(self._hashes) - 1, 0))
        right = (self._rows[known] == rows).all(axis=1) if len(self._rows) else np.zeros(len(rows), np.bool_)
        if not right.all():
            return self._shown("not expected", found, np.flatnonzero(~right))
        once, first = np.unique(place * len(self._rows) + known, return_index=True)
        if len(once) < len(place):
            return self._shown("twice", found, np.setdiff1d(np.arange(len(place)), first))
        wanted = sum(self.per_tile[tile] for tile in tiling.order)
        if len(once) < wanted:
            return f"{self._query.name}: {wanted - len(once)} of {wanted} matches are missing"
        return self._wrong_ids(found)

    @property
    def per_tile(self) -> list[int]:
        """The number of matches in each tile."""
        return np.bincount(self._tile, minlength=len(self._tiling.tiles)).tolist()

    def _shown(self, title: str, found: pa.Table, at: Array) -> str:
        rows = found.take(pa.array(at[:SHOWN])).to_pylist()
        return f"{self._query.name}: {len(at)} of {found.num_rows} rows {title}\n" + "\n".join(map(str, rows))

    def _wrong_ids(self, found: pa.Table) -> str:
        """Ids of matches are distinct, and some of them, from all over the result, are worked out."""
        ids = found.column("match_id")
        if pc.count_distinct(ids).as_py() < len(ids):
            return f"{self._query.name}: matches share an id"
        names, lists = variables_of(self._query), lists_of(self._query)
        some = found.take(pa.array(np.linspace(0, len(ids) - 1, min(IDS, len(ids))).astype(np.int64)))
        for *row, identity in rows_of(some, self._query):
            bound = [
                ids if is_list or ids is None else (ids,) for ids, is_list in zip(row, lists, strict=False)
            ]
            if plain_match_id(self._query.name, names, lists, bound) != identity:
                return f"{self._query.name}: a wrong id of a match, {row} {identity}"
        return ""

    # ---- rows as numbers ---------------------------------------------------------------------------------------

    def _numbers(self, table: pa.Table, ids: Array, times: Array) -> Array:
        """A row of integers per match; ids and times less those of its place."""
        lists = dict(zip(variables_of(self._query), lists_of(self._query), strict=True))
        columns: list[Array] = []
        for name, is_list in lists.items():
            column = table.column(name)
            columns += self._members(column, ids) if is_list else [_less(column, ids)]
        columns += [_less(table.column(name), times) for name in TIMES]
        for item in self._query.returns:
            column = table.column(item.name)
            columns += [column.is_null().to_numpy().astype(np.int64), self._value(column, item.kind, times)]
        return np.column_stack(columns) if len(table) else np.zeros((0, len(columns)), np.int64)

    def _members(self, column: pa.ChunkedArray, ids: Array) -> list[Array]:
        """The number of ids in a list, and as many of them as the longest expected has."""
        sets = column.combine_chunks()
        sets = sets.chunk(0) if isinstance(sets, pa.ChunkedArray) else sets
        lengths = pc.fill_null(pc.list_value_length(sets), 0).to_numpy().astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64) if len(lengths) else lengths
        values = sets.flatten().to_numpy()
        found = [lengths]
        for place in range(self._width):
            there = lengths > place
            member = np.full(len(lengths), NOTHING)
            member[there] = values[starts[there] + place] - ids[there]
            found.append(member)
        return found

    def _value(self, column: pa.ChunkedArray, kind: Kind, times: Array) -> Array:
        if kind is Kind.TIME:
            return _less(column, times)
        if kind is Kind.STRING:
            coded = column.combine_chunks().dictionary_encode()
            coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
            words = [self._words.setdefault(word, len(self._words)) for word in coded.dictionary.to_pylist()]
            numbers = np.array([*words, NOTHING])
            return numbers[pc.fill_null(coded.indices, len(words)).to_numpy()]
        if kind is Kind.FLOAT:
            values = pc.fill_null(column, 0.0).to_numpy() + 0.0  # the two zeros are one value
            return np.where(np.isnan(values), np.nan, values).view(np.int64)
        return pc.fill_null(column.cast(pa.int64()), 0).to_numpy()


def _less(column: pa.ChunkedArray, by: Array) -> Array:
    """Integers less these; NOTHING for null."""
    values = column.cast(pa.int64())
    numbers = pc.fill_null(values, 0).to_numpy() - by
    return np.where(values.is_null().to_numpy(), NOTHING, numbers)


def plain_table(matches: Sequence[Match], query: Query) -> pa.Table:
    """Matches of the oracle as the engine would give them, without their ids."""
    columns: dict[str, Any] = {}
    for name, is_list in zip(variables_of(query), lists_of(query), strict=True):
        bound = [match.events.get(name) for match in matches]
        columns[name] = (
            pa.array(bound, pa.list_(pa.int64()))
            if is_list
            else pa.array([None if ids is None else ids[0] for ids in bound], pa.int64())
        )
    columns |= {name: pa.array([getattr(match, name) for match in matches], pa.int64()) for name in TIMES}
    for item in query.returns:
        columns[item.name] = pa.array([match.returned[item.name] for match in matches], item.kind.arrow)
    return pa.table(columns)


def _hashed(rows: Array) -> Array:
    """A number per row by which equal rows are found; whether they are equal is then asked."""
    state = np.zeros(len(rows), np.uint64)
    for column in rows.T:
        state = (state ^ column.astype(np.int64).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(32)
    return state
