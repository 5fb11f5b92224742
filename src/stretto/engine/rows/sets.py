"""Columns seen as sets of events, and rows whose columns have no event in common."""

from collections.abc import Iterable, Sequence

import numpy as np

from stretto.engine.operators.protocol import RowShape
from stretto.records import dataclass
from stretto.values.rows import I64, UNBOUND, Bool, Column, Rows, Sets


def as_sets(column: Column) -> Sets:
    """A single column as sets of one, unbound ones as empty sets."""
    if isinstance(column, Sets):
        return column
    bound = column != UNBOUND
    offsets = np.zeros(len(column) + 1, np.int64)
    np.cumsum(bound, out=offsets[1:])
    return Sets(offsets, column if offsets[-1] == len(column) else column[bound])


def is_bound(column: Column) -> Bool:
    """Per row: whether the column holds an event."""
    found: Bool = column.lengths > 0 if isinstance(column, Sets) else column != UNBOUND
    return found


def narrowed(sets: Sets) -> I64:
    """Sets of at most one event as that event, empty ones as unbound: a step of NEXT that may be left out."""
    column = np.full(len(sets), UNBOUND, np.int64)
    column[sets.lengths > 0] = sets.values
    return column


@dataclass(frozen=True, slots=True)
class PartColumns:
    """How the columns of several parts become those of one result: part k's column i is column `columns[k][i]` of it.

    `sets` says which columns of the result hold sets; `sources`: per part, where each of them comes from.
    """

    sets: tuple[bool, ...]
    sources: tuple[dict[int, int], ...]

    @classmethod
    def of(cls, columns: Iterable[Sequence[int]], sets: Sequence[bool]) -> "PartColumns":
        sources = (dict(zip(some, range(len(some)), strict=True)) for some in columns)
        return cls(tuple(sets), tuple(sources))

    def optional(self, parts: Sequence[RowShape]) -> tuple[bool, ...]:
        """Which columns of the result may be unbound: those that some part lacks, or may leave so."""
        both = list(zip(self.sources, parts, strict=True))
        return tuple(
            any(c not in source or shape.optional[source[c]] for source, shape in both)
            for c in range(len(self.sets))
        )

    def moved(self, rows: Rows, part: int) -> Rows:
        """A part's rows over the columns of the result; those that it lacks are unbound."""
        source = self.sources[part]
        columns: list[Column] = []
        for c, is_set in enumerate(self.sets):
            column: Column = rows.columns[source[c]] if c in source else np.full(len(rows), UNBOUND, np.int64)
            if isinstance(column, Sets) != is_set:
                column = narrowed(column) if isinstance(column, Sets) else as_sets(column)
            columns.append(column)
        return Rows(rows.first, rows.last, tuple(columns), rows.since)


def sliced(rows: Rows, part: slice) -> Rows:
    """Some rows in a row, in the same memory where that can be."""
    if part.start == 0 and part.stop == len(rows):
        return rows
    columns = tuple(
        column.take(np.arange(part.start, part.stop)) if isinstance(column, Sets) else column[part]
        for column in rows.columns
    )
    return Rows(rows.first[part], rows.last[part], columns, rows.since)


# ---- rows without an event in common ---------------------------------------------------------------------------


def differs(left: Column, right: Column) -> Bool:
    """Per row: whether no event is in both; an unbound column has none."""
    if isinstance(left, Sets) and isinstance(right, Sets):
        return _none_shared(left, right)
    if isinstance(left, Sets):
        left, right = right, left
    if not isinstance(right, Sets):
        assert not isinstance(left, Sets)
        apart: Bool = (left != right) | (left == UNBOUND)
        return apart
    assert not isinstance(left, Sets)
    hit = np.repeat(left, right.lengths) == right.values
    rows = np.repeat(np.arange(len(right)), right.lengths)
    result = np.ones(len(right), np.bool_)
    result[rows[hit]] = False
    return result


def _none_shared(left: Sets, right: Sets) -> Bool:
    """For each row every event of `left` beside the whole set of `right`."""
    rows = np.repeat(np.arange(len(left)), left.lengths)
    apart = differs(left.values, right.take(rows))
    result = np.ones(len(left), np.bool_)
    result[rows[~apart]] = False
    return result
