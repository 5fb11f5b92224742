"""Boxes of one shape, and the cell of each event: the events of a cell are in the same boxes.

Boxes with the same values are a group, found by a hash. Within a group, the ends of the boxes' ranges cut each axis
into elementary intervals; the rank of an event's value among the ends is found by one search. A cell is a group and a
rank on every axis. So whatever the boxes are, an event has one cell, and the boxes of a cell are looked up by those who
want them.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.engine.derived.group_numbers import OUTSIDE, GroupNumbers
from stretto.engine.kernels.order_keys import MOST
from stretto.engine.kernels.segmented_search import (
    any_box_covers,
    any_box_covers_reference,
    seek_in_segments,
    seek_in_segments_reference,
)
from stretto.engine.kernels.when_to_compile import is_due
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

MOST_KNOWN = 1 << 20
"""So many cells over two axes or more are remembered."""
UNKNOWN, EMPTY, FILLED = -1, 0, 1


@dataclass(frozen=True, slots=True)
class Boxes:
    """Rows: a value per attribute that is one, a range (both ends included) per attribute that is not; the owner."""

    values: I64
    low: I64
    high: I64
    owners: I64

    def take(self, rows: I64 | Bool) -> "Boxes":
        return Boxes(self.values[rows], self.low[rows], self.high[rows], self.owners[rows])


def concat_boxes(parts: Sequence[Boxes]) -> Boxes:
    return Boxes(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
        np.concatenate([part.owners for part in parts]),
    )


@dataclass(frozen=True, slots=True)
class Axis:
    """The ends of ranges, group by group, and the ranks that every box has: `low`..`high` - 1."""

    edges: I64
    starts: I64
    low: I64
    high: I64


class BoxCells:
    """What events are looked up in. Owners may be removed; others are added by building anew."""

    def __init__(self, boxes: Boxes) -> None:
        self._numbers = GroupNumbers([Kind.INT] * boxes.values.shape[1])
        groups = self._numbers.enter(_vectors(boxes.values), len(boxes.owners))
        count = int(groups.max()) + 1
        axes = [_axis(groups, boxes.low[:, j], boxes.high[:, j], count) for j in range(boxes.low.shape[1])]
        # The axis on which boxes cover the least comes first: a search for boxes goes along it.
        shares = [float(np.mean((axis.high - axis.low) / np.diff(axis.starts)[groups])) for axis in axes]
        self._order = np.argsort(shares, kind="stable").tolist()
        self._axes = [axes[j] for j in self._order]
        order = np.lexsort((self._axes[0].low, groups)) if axes else np.argsort(groups, kind="stable")
        self.boxes = boxes.take(order)
        self.alive: Bool = np.ones(len(order), np.bool_)
        self._groups: I64 = groups[order]
        self._starts: I64 = np.searchsorted(self._groups, np.arange(count + 1))
        ranks = (len(order), len(axes))
        self._low: I64 = np.array([axis.low[order] for axis in self._axes]).T.reshape(ranks).copy()
        self._high: I64 = np.array([axis.high[order] for axis in self._axes]).T.reshape(ranks).copy()
        self._reach = self._running_reach()
        self._counts: I64 = self._covered(np.arange(len(order)))
        self._cells = GroupNumbers([])
        self._judged: npt.NDArray[np.int8] = np.zeros(0, np.int8)
        self._forget_cells()

    def __len__(self) -> int:
        return len(self.alive)

    def find(self, values: Sequence[Vector], ranges: Sequence[Vector], n: int) -> I64:
        """The cells of `n` events, given by order keys; OUTSIDE for an event that is in no box."""
        groups = self._numbers.find(values, n)
        for vector in ranges:
            if vector.valid is not None:
                groups[~vector.valid] = OUTSIDE
        ranks = [
            _ranks(axis, groups, ranges[j].data) for axis, j in zip(self._axes, self._order, strict=True)
        ]
        if len(ranks) > 1:
            return self._known_cells(groups, ranks)
        cells = groups if not ranks else np.where(groups < 0, OUTSIDE, self._cell(groups, ranks[0]))
        # An event in no group reads the last count, and its cell is OUTSIDE whatever that is.
        return np.where(self._counts[cells] > 0, cells, OUTSIDE)

    def owners(self, cell: int) -> I64:
        """The owners of the boxes that a cell is in."""
        if len(self._axes) > 1:
            words = [int(vector.data[0]) for vector in self._cells.keys(np.array([cell]))]
            group, ranks = words[0], np.array(words[1:])
        elif self._axes:
            begins = self._axes[0].starts + np.arange(len(self._axes[0].starts))
            group = int(np.searchsorted(begins, cell, side="right")) - 1
            ranks = np.array([cell - begins[group]])
        else:
            group, ranks = cell, np.zeros(0, np.int64)
        own = slice(self._starts[group], self._starts[group + 1])
        covers = (self._low[own] <= ranks) & (ranks < self._high[own])
        found: I64 = self.boxes.owners[own][covers.all(axis=1) & self.alive[own]]
        return found

    def remove(self, owners: I64) -> None:
        """Take the boxes of these owners away."""
        rows = np.flatnonzero(self.alive & np.isin(self.boxes.owners, owners))
        self.alive[rows] = False
        if len(self._axes) < 2:
            self._counts -= self._covered(rows)
        else:
            self._judged[self._judged == FILLED] = UNKNOWN

    def _cell(self, groups: I64, ranks: I64) -> I64:
        cells: I64 = self._axes[0].starts[groups] + groups + ranks
        return cells

    def _covered(self, rows: I64) -> I64:
        """How many of these boxes every cell is in; nothing over two axes or more, where cells are not numbered."""
        groups = self._groups[rows]
        if not self._axes:
            return np.bincount(groups, minlength=len(self._starts) - 1)
        if len(self._axes) > 1:
            return np.zeros(0, np.int64)
        size = len(self._axes[0].edges) + len(self._starts)
        first = np.bincount(self._cell(groups, self._low[rows, 0]), minlength=size)
        last = np.bincount(self._cell(groups, self._high[rows, 0]), minlength=size)
        return np.cumsum(first - last)

    def _running_reach(self) -> I64:
        if not self._axes:
            return np.zeros(0, np.int64)
        size = int(self._high[:, 0].max()) + 1
        return np.maximum.accumulate(self._groups * size + self._high[:, 0]) - self._groups * size

    def _known_cells(self, groups: I64, ranks: Sequence[I64]) -> I64:
        """Numbers of cells over several axes, given as they come up; OUTSIDE for one that is in no box."""
        if self._cells.capacity > MOST_KNOWN:
            self._forget_cells()
        inside = groups >= 0
        cells = self._cells.enter([Vector(groups, inside), *map(Vector, ranks)], len(groups))
        if len(self._judged) < self._cells.capacity:
            known = self._judged
            self._judged = np.full(self._cells.capacity, UNKNOWN, np.int8)
            self._judged[: len(known)] = known
        rows = np.flatnonzero(inside & (self._judged[cells] == UNKNOWN))
        if len(rows):
            new, first = np.unique(cells[rows], return_index=True)
            rows = rows[first]
            due = is_due(any_box_covers, len(rows) * len(self))
            judge = any_box_covers if due else any_box_covers_reference
            at = np.stack([rank[rows] for rank in ranks], axis=1)
            self._judged[new] = judge(
                self._low, self._high, self._reach, self._starts, self.alive, at, groups[rows]
            )
        return np.where(inside & (self._judged[cells] == FILLED), cells, OUTSIDE)

    def _forget_cells(self) -> None:
        self._cells = GroupNumbers([Kind.INT] * (1 + len(self._axes)))
        self._judged = np.full(self._cells.capacity, UNKNOWN, np.int8)


def _ranks(axis: Axis, groups: I64, keys: I64) -> I64:
    due = is_due(seek_in_segments, len(keys))
    seek = seek_in_segments if due else seek_in_segments_reference
    ranks: I64 = seek(axis.edges, axis.starts, groups, keys)
    return ranks


def _axis(groups: I64, low: I64, high: I64, count: int) -> Axis:
    """Where ranges begin and where they have ended, group by group; a range up to MOST does not end."""
    ends = high < MOST
    keys = np.concatenate([low, high[ends] + 1])
    of = np.concatenate([groups, groups[ends]])
    order = np.lexsort((keys, of))
    keys, of = keys[order], of[order]
    new = np.ones(len(keys), np.bool_)
    new[1:] = (keys[1:] != keys[:-1]) | (of[1:] != of[:-1])
    starts = np.searchsorted(of[new], np.arange(count + 1))
    ranks = np.empty(len(keys), np.int64)
    ranks[order] = np.cumsum(new) - starts[of]
    last = np.diff(starts)[groups] + 1
    last[ends] = ranks[len(low) :]
    return Axis(keys[new], starts, ranks[: len(low)], last)


def _vectors(words: I64) -> list[Vector]:
    return [Vector(words[:, j]) for j in range(words.shape[1])]
