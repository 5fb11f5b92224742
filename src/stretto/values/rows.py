"""Rows of partial matches, column by column: event positions, and the first and last time of each row."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stretto.records import dataclass

if TYPE_CHECKING:
    from stretto.pattern.predicates import Reduce
    from stretto.values.vector import Vector

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

UNBOUND = -1


@dataclass(frozen=True, slots=True)
class Sets:
    """A column of sets: row i holds the positions `values[offsets[i]:offsets[i + 1]]`, in time order."""

    offsets: I64
    values: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> I64:
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes + self.values.nbytes

    def firsts(self, rows: I64) -> I64:
        """The earliest event of each of these rows, none of which is empty."""
        found: I64 = self.values[self.offsets[rows]]
        return found

    def lasts(self, rows: I64) -> I64:
        """The latest event of each of these rows, none of which is empty."""
        found: I64 = self.values[self.offsets[rows + 1] - 1]
        return found

    def take(self, index: I64) -> "Sets":
        """The sets of these rows."""
        starts = self.offsets[index]
        lengths = self.offsets[index + 1] - starts
        offsets = np.zeros(len(index) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return Sets(offsets, self.values[spread(starts, lengths, offsets)])

    def reduced(self, node: "Reduce") -> "Vector | None":
        """What a reduction gives for each row, where the column knows it without looking at all events."""
        del node
        return None

    def followed_by(self, others: "Sequence[Sets]") -> "Sets":
        """These sets, then those of other columns of the same kind."""
        sets = [self, *others]
        shifts = np.cumsum([0] + [len(s.values) for s in sets])
        parts = [self.offsets[:1] * 0] + [s.offsets[1:] + d for s, d in zip(sets, shifts, strict=False)]
        return Sets(np.concatenate(parts), np.concatenate([s.values for s in sets]))


Column = I64 | Sets


@dataclass(frozen=True, slots=True)
class Rows:
    """`n` rows. A single column holds positions, -1 where unbound; an unbound set is empty.

    Positions are 64-bit integers; rows on their way into matches may have 32-bit ones.
    `first` and `last` are the times of the row's earliest and latest event, counted from `since`. That is 0 but for
    rows on their way into matches, whose times may have 32 bits: frame-of-reference coding (Goldstein, Ramakrishnan
    and Shaft, Compressing relations and indexes, 1998).
    """

    first: I64
    last: I64
    columns: tuple[Column, ...]
    since: int = 0

    def __len__(self) -> int:
        return len(self.first)

    def take(self, index: npt.NDArray[Any]) -> "Rows":
        """The rows at these numbers, or where a boolean mask is true."""
        if index.dtype == np.bool_:
            index = np.flatnonzero(index)
        columns = tuple(take_column(c, index) for c in self.columns)
        return Rows(self.first[index], self.last[index], columns, self.since)

    def with_whole_times(self) -> "Rows":
        """The same with times in 64 bits that are counted from nothing."""
        if self.first.dtype == np.int64:
            return self
        return Rows(whole_times(self.first, self.since), whole_times(self.last, self.since), self.columns)


def whole_times(times: npt.NDArray[Any], since: int) -> I64:
    """Times in 64 bits; those in 32 bits are counted from `since`."""
    return times if times.dtype == np.int64 else times + np.int64(since)


def take_column(column: Column, index: I64) -> Column:
    return column.take(index) if isinstance(column, Sets) else column[index]


def spread(starts: I64, lengths: I64, offsets: I64) -> I64:
    """The numbers starts[i], starts[i] + 1, .. (lengths[i] of them) for every i, one after another."""
    return np.arange(offsets[-1], dtype=np.int64) + np.repeat(starts - offsets[:-1], lengths)


def concat_columns(columns: Sequence[Column]) -> Column:
    """Columns of one shape, one after another."""
    if isinstance(columns[0], Sets):
        sets = [c for c in columns if isinstance(c, Sets)]
        assert len(sets) == len(columns)
        return sets[0].followed_by(sets[1:])
    singles = [c for c in columns if not isinstance(c, Sets)]
    assert len(singles) == len(columns)
    return np.concatenate(singles)


def concat_rows(parts: Sequence[Rows]) -> Rows:
    """Rows of one shape, one after another (at least one part; the caller keeps the order by `last`)."""
    if len(parts) == 1:
        return parts[0]
    columns = tuple(concat_columns([p.columns[i] for p in parts]) for i in range(len(parts[0].columns)))
    return Rows(np.concatenate([p.first for p in parts]), np.concatenate([p.last for p in parts]), columns)


def empty_rows(sets: Sequence[bool]) -> Rows:
    """No rows; `sets` says which columns hold sets."""
    none = np.zeros(0, np.int64)
    columns = tuple(Sets(np.zeros(1, np.int64), none) if is_set else none for is_set in sets)
    return Rows(none, none, columns)
