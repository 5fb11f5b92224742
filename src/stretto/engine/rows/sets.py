"""Columns seen as sets of events, and rows whose columns have no event in common."""

import numpy as np

from stretto.values.rows import I64, UNBOUND, Bool, Column, Rows, Sets, take_column, take_sets


def as_sets(column: Column) -> Sets:
    """A single column as sets of one, unbound ones as empty sets."""
    if isinstance(column, Sets):
        return column
    bound = column != UNBOUND
    offsets = np.zeros(len(column) + 1, np.int64)
    np.cumsum(bound, out=offsets[1:])
    return Sets(offsets, column if offsets[-1] == len(column) else column[bound])


def sliced(rows: Rows, part: slice) -> Rows:
    """Some rows in a row, in the same memory where that can be."""
    if part.start == 0 and part.stop == len(rows):
        return rows
    columns = tuple(
        take_sets(column, np.arange(part.start, part.stop)) if isinstance(column, Sets) else column[part]
        for column in rows.columns
    )
    return Rows(rows.first[part], rows.last[part], columns)


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
    apart = differs(left.values, Sets(*_repeated(right, rows)))
    result = np.ones(len(left), np.bool_)
    result[rows[~apart]] = False
    return result


def _repeated(sets: Sets, rows: I64) -> tuple[I64, I64]:
    taken = take_column(sets, rows)
    assert isinstance(taken, Sets)
    return taken.offsets, taken.values
