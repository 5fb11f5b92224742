"""Columns seen as sets of events, and the times at which some columns of a row begin and end."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.band import coordinates
from stretto.engine.keys import LEAST, MOST
from stretto.pattern.nodes import Window
from stretto.values.evaluate import Events
from stretto.values.rows import I64, UNBOUND, Bool, Column, Rows, Sets, take_sets

_BY_POSITION = Window(1, "events")


def as_sets(column: Column) -> Sets:
    """A single column as sets of one, unbound ones as empty sets."""
    if isinstance(column, Sets):
        return column
    bound = column != UNBOUND
    offsets = np.zeros(len(column) + 1, np.int64)
    np.cumsum(bound, out=offsets[1:])
    return Sets(offsets, column if offsets[-1] == len(column) else column[bound])


def times(rows: Rows, columns: Sequence[int], events: Events) -> tuple[I64, I64, Bool]:
    """Per row: times of the earliest and the latest event of these columns, and whether there is any."""
    chosen = Rows(rows.first, rows.last, tuple(rows.columns[c] for c in columns))
    first, last = coordinates(chosen, _BY_POSITION)
    bound = last != UNBOUND
    if bound.all():
        return events.values("ts", first).data, events.values("ts", last).data, bound
    starts, ends = np.full(len(rows), MOST), np.full(len(rows), LEAST)
    starts[bound] = events.values("ts", first[bound]).data
    ends[bound] = events.values("ts", last[bound]).data
    return starts, ends, bound


def sliced(rows: Rows, part: slice) -> Rows:
    """Some rows in a row, in the same memory where that can be."""
    if part.start == 0 and part.stop == len(rows):
        return rows
    columns = tuple(
        take_sets(column, np.arange(part.start, part.stop)) if isinstance(column, Sets) else column[part]
        for column in rows.columns
    )
    return Rows(rows.first[part], rows.last[part], columns)
