"""The matches of a contestant in one form for all: Arrow columns while the time is measured, arrays to compare them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

BLOCK = 1 << 20
TIMES = ("start", "end", "detected")

Tables = dict[str, pa.Table]
"""The columns of every query's matches: ids by variable in the order of the pattern, then times."""


class WrongAnswerError(Exception):
    """Two contestants found different matches."""


class UnfinishedError(Exception):
    """The clock stopped before the columns of all matches were in memory."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What a contestant does while the time is measured: `plan`, and `run` with the plan, which ends with columns."""

    plan: Callable[[], Any]
    run: Callable[[Any], Tables]


def check_finished(tables: Tables, queries: Iterable[str]) -> None:
    """Raise UnfinishedError unless every query has a table of Arrow columns that nothing builds later.

    A mapping of a class of its own may build a table when it is asked for one, so only a plain dict passes.
    """
    if type(tables) is not dict:
        raise UnfinishedError(f"the result is a {type(tables).__name__}, not a dict of Arrow tables")
    if set(tables) != set(queries):
        raise UnfinishedError(f"there are results of {sorted(tables)}, not of {sorted(queries)}")
    for query, table in tables.items():
        if type(table) is not pa.Table:
            raise UnfinishedError(f"{query}: the result is a {type(table).__name__}, not an Arrow table")
        if not {"start", "end"} < set(table.column_names):
            raise UnfinishedError(
                f"{query}: the columns are {table.column_names}; start, end or ids are not built"
            )


def bytes_per_match(tables: Tables) -> float:
    """Bytes of the columns, without what buffers hold beyond the last match, per match."""
    held = sum(column.nbytes for table in tables.values() for column in table.columns)
    return held / max(sum(table.num_rows for table in tables.values()), 1)


@dataclass(frozen=True, slots=True)
class Lists:
    """A column of lists: row i holds `values[offsets[i]:offsets[i + 1]]`."""

    offsets: I64
    values: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1


Column = I64 | Lists


@dataclass(frozen=True, slots=True)
class Found:
    """Some matches of one query: event ids per variable in the order of the pattern, first and last time."""

    columns: tuple[Column, ...]
    start: I64
    end: I64

    def __len__(self) -> int:
        return len(self.start)


Answer = Mapping[str, Sequence[Found]]
"""Query name to its matches, in any order and any number of parts."""


def answer_of(tables: Mapping[str, pa.Table | None]) -> Answer:
    """The matches of every query; None stands for no matches."""
    return {
        query: [] if table is None else [found_in(batch) for batch in table.to_batches()]
        for query, table in tables.items()
    }


def found_in(batch: pa.RecordBatch) -> Found:
    """The matches of a batch of columns."""
    variables = [name for name in batch.schema.names if name not in TIMES]
    start, end = (batch[name].view(pa.int64()).to_numpy() for name in ("start", "end"))
    return Found(tuple(_column(batch[name]) for name in variables), start, end)


def _column(column: pa.Array) -> Column:
    """Ids, or lists of ids; an unbound variable is -1, or an empty list."""
    if pa.types.is_integer(column.type):
        return pc.fill_null(column, -1).to_numpy() if column.null_count else column.to_numpy()
    offsets = np.concatenate([[0], np.cumsum(pc.fill_null(pc.list_value_length(column), 0).to_numpy())])
    return Lists(offsets.astype(np.int64), column.flatten().to_numpy())


@dataclass(frozen=True, slots=True)
class Digest:
    """Matches of one query, and the sum and the xor of the hashes of its rows: row order does not matter."""

    matches: int
    total: int
    xor: int

    def to_json(self) -> dict[str, str | int]:
        return {"matches": self.matches, "checksum": f"{self.total:016x}{self.xor:016x}"}


def digests(answer: Answer) -> dict[str, Digest]:
    return {name: digest(parts) for name, parts in answer.items()}


def digest(parts: Iterable[Found]) -> Digest:
    matches, total, xor = 0, np.uint64(0), np.uint64(0)
    for part in parts:
        matches += len(part)
        for at in range(0, len(part), BLOCK):
            hashes = _row_hashes(part, slice(at, min(at + BLOCK, len(part))))
            total = np.add(total, hashes.sum(dtype=np.uint64), dtype=np.uint64)
            xor ^= np.bitwise_xor.reduce(hashes)
    return Digest(matches, int(total), int(xor))


def _row_hashes(part: Found, rows: slice) -> U64:
    hashes = np.zeros(rows.stop - rows.start, np.uint64)
    for column in (*part.columns, part.start, part.end):
        values = _list_hashes(column, rows) if isinstance(column, Lists) else _mixed(column[rows])
        hashes = _mixed(hashes * np.uint64(3) + values)
    return hashes


def _list_hashes(column: Lists, rows: slice) -> U64:
    """A hash per row of the set that its list holds, and of the list's length."""
    offsets = column.offsets[rows.start : rows.stop + 1]
    values = _mixed(column.values[offsets[0] : offsets[-1]])
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    inside = offsets - offsets[0]
    return _mixed(sums[inside[1:]] - sums[inside[:-1]] + np.diff(offsets).view(np.uint64))


def _mixed(values: npt.NDArray[np.int64] | U64) -> U64:
    """The finaliser of splitmix64, value by value."""
    z = np.ascontiguousarray(values).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def sorted_rows(parts: Sequence[Found]) -> I64:
    """The matches as the sorted rows of one matrix; lists are padded with -1, their values sorted."""
    matrices = [_matrix(part) for part in parts if len(part)]
    if not matrices:
        return np.zeros((0, 0), np.int64)
    width = max(m.shape[1] for m in matrices)
    padded = [np.pad(m, ((0, 0), (0, width - m.shape[1])), constant_values=-1) for m in matrices]
    rows = np.concatenate(padded)
    return rows[np.lexsort(rows.T[::-1])]


def _matrix(part: Found) -> I64:
    """start, end, the single columns, then the list columns with their lengths in front."""
    singles = [c for c in part.columns if not isinstance(c, Lists)]
    lists = [c for c in part.columns if isinstance(c, Lists)]
    columns = [part.start, part.end, *singles, *(np.diff(c.offsets) for c in lists)]
    return np.hstack([np.stack(columns, axis=1), *(_padded(c) for c in lists)])


def _padded(column: Lists) -> I64:
    lengths = np.diff(column.offsets)
    out = np.full((len(column), int(lengths.max(initial=0))), np.iinfo(np.int64).max)
    row = np.repeat(np.arange(len(column)), lengths)
    place = np.arange(len(row)) - np.repeat(column.offsets[:-1] - column.offsets[0], lengths)
    out[row, place] = column.values[column.offsets[0] : column.offsets[-1]]
    out.sort(axis=1)
    out[out == np.iinfo(np.int64).max] = -1
    return out


def check_digests(name: str, found: Mapping[str, Digest], expected: Mapping[str, Digest]) -> None:
    """Raise unless every query has as many matches, with the same checksum."""
    for query in sorted(found.keys() | expected.keys()):
        ours, theirs = found.get(query), expected.get(query)
        if ours != theirs:
            raise WrongAnswerError(f"{name}: {query}: found {ours}, expected {theirs}")


def check_rows(name: str, found: Answer, expected: Answer) -> None:
    """Raise unless every query has the same multiset of matches."""
    for query in sorted(found.keys() | expected.keys()):
        ours, theirs = sorted_rows(found.get(query, ())), sorted_rows(expected.get(query, ()))
        if ours.shape != theirs.shape or not np.array_equal(ours, theirs):
            raise WrongAnswerError(
                f"{name}: {query}: {len(ours):,} matches, expected {len(theirs):,}; {_difference(ours, theirs)}"
            )


def _difference(ours: I64, theirs: I64) -> str:
    n = min(len(ours), len(theirs))
    if ours.shape[1] != theirs.shape[1]:
        return "rows of different width"
    different = np.flatnonzero((ours[:n] != theirs[:n]).any(axis=1))
    at = int(different[0]) if len(different) else n
    rows = [list(map(int, m[at])) if at < len(m) else "none" for m in (ours, theirs)]
    return f"first different row {at}: found {rows[0]}, expected {rows[1]}"
