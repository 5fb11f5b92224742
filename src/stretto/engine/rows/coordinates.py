"""Where rows begin and end: in time, or for windows that count events in positions."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from stretto.engine.kernels.order_keys import LEAST, MOST
from stretto.engine.operators.protocol import Clock
from stretto.pattern.nodes import Window
from stretto.values.evaluate import Events
from stretto.values.rows import I64, UNBOUND, Bool, Rows, Sets

_BY_POSITION = Window(1, "events")


class RangeEnd(NamedTuple):
    """One end of a range of rows: where the last coordinate, or time, is >= (left) or > (right) each of the values."""

    values: I64
    side: Literal["left", "right"]
    by_time: bool = False


def coordinates(rows: Rows, window: Window) -> tuple[I64, I64]:
    """First and last coordinate of each row: its times, or for count windows its positions."""
    if window.unit == "us":
        return rows.first, rows.last
    first = np.full(len(rows), MOST, np.int64)
    last = np.full(len(rows), UNBOUND, np.int64)
    for column in rows.columns:
        if isinstance(column, Sets):
            bound = np.flatnonzero(column.lengths)
            first[bound] = np.minimum(first[bound], column.firsts(bound))
            last[bound] = np.maximum(last[bound], column.lasts(bound))
        else:
            np.minimum(first, column, out=first, where=column != UNBOUND)
            np.maximum(last, column, out=last)
    return first, last


def reach(last: I64, window: Window) -> I64:
    """The least first coordinate that is inside the window of a row with this last coordinate."""
    return last - window.size if window.unit == "us" else last - (window.size - 1)


def last_inside(rows: Rows, window: Window) -> I64:
    """The last coordinate that the window of each row reaches, from its first event on."""
    return coordinates(rows, window)[0] + (window.size if window.unit == "us" else window.size - 1)


def beyond(clock: Clock, window: Window) -> int:
    """Rows whose last coordinate is less than this are in no window with a row that ends in this step or later."""
    return max(clock.since - window.size, LEAST) if window.unit == "us" else clock.start - (window.size - 1)


def times(rows: Rows, columns: Sequence[int], events: Events) -> tuple[I64, I64, Bool]:
    """Per row: times of the earliest and the latest event of these columns, and whether there is any."""
    starts, ends = np.full(len(rows), MOST), np.full(len(rows), LEAST)
    bound = np.zeros(len(rows), np.bool_)
    for column in columns:
        # By time, not by position: where rows are given to a unit, positions are in the order in which they came.
        chosen = Rows(rows.first, rows.last, (rows.columns[column],))
        first, last = coordinates(chosen, _BY_POSITION)
        here = last != UNBOUND
        if here.all() and len(columns) == 1:
            return events.values("ts", first).data, events.values("ts", last).data, here
        starts[here] = np.minimum(starts[here], events.values("ts", first[here]).data)
        ends[here] = np.maximum(ends[here], events.values("ts", last[here]).data)
        bound |= here
    return starts, ends, bound


def any_bound(rows: Rows, columns: Sequence[int]) -> Bool:
    """Return for each row whether it binds an event in at least one of these columns."""
    bound = np.zeros(len(rows), np.bool_)
    for number in columns:
        column = rows.columns[number]
        bound |= column.lengths > 0 if isinstance(column, Sets) else column != UNBOUND
    return bound
