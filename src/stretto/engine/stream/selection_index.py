"""All selections of a stream at once: per event, classes of selections that it passes.

A class stands for a set of selections, which is listed for those who ask. An event has at most one class per shape of
selections and layer of it, so what a step gives does not grow with how many selections an event passes.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np

from stretto.engine.stream.box_cells import BoxCells, Boxes, concat_boxes
from stretto.engine.stream.selection_terms import IndexedSelection, KeyBox, RangeTerm, Shape, boxes
from stretto.records import dataclass
from stretto.values.rows import I64, Bool
from stretto.values.vector import Vector

Passes = Callable[[Hashable, I64], Bool]
"""Which of some events, by their places in the step, pass a residual."""
SEVERAL = np.iinfo(np.int64).min
"""In place of a member, for an entry with more than one."""
CELL_BITS = 40
"""Of the number of a class: its cell; above is its layer."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Pairs of events, by their places in the step, and classes; by shape, and ascending by event within a shape."""

    events: I64
    classes: I64


class SelectionIndex:
    """Members are numbers that callers choose; members with equal selections are one entry.

    The numbers of classes are good until members change.
    """

    def __init__(self) -> None:
        self._entries: dict[IndexedSelection, int] = {}
        self._members: dict[int, set[int]] = {}
        self._selections: dict[int, IndexedSelection] = {}
        self._shapes: dict[Shape, Layers] = {}
        self._given = 0
        self._only: I64 = np.zeros(0, np.int64)  # by entry, its member if it has one alone
        self._layers: list[tuple[Shape, BoxCells]] = []
        self._attributes: frozenset[int] = frozenset()

    def update(self, added: Mapping[int, IndexedSelection], removed: Sequence[int] = ()) -> None:
        """Take members away, then add others. Only boxes of selections that are new, or gone, are touched."""
        self._remove(removed)
        new: defaultdict[Shape, list[tuple[KeyBox, int]]] = defaultdict(list)
        changed: set[int] = set()
        for member, selection in added.items():
            assert member not in self._selections, member
            self._selections[member] = selection
            entry = self._entries.get(selection)
            if entry is None:
                entry = self._entries[selection] = self._given
                self._given += 1
                for shape, box in boxes(selection):
                    new[shape].append((box, entry))
            self._members.setdefault(entry, set()).add(member)
            changed.add(entry)
        self._note_only(changed)
        for shape, found in new.items():
            self._shapes.setdefault(shape, Layers()).add(_boxes(shape, found))
        self._attributes = frozenset(a for shape in self._shapes for a in shape.attributes)
        self._layers = [(shape, layer) for shape, layers in self._shapes.items() for layer in layers.layers]

    @property
    def attributes(self) -> frozenset[int]:
        """The attributes that are read."""
        return self._attributes

    def step(self, keys: Sequence[Vector], n: int, passes: Passes | None = None) -> Passed:
        """The classes of `n` events, given by order keys of their attributes: null where nothing compares.

        `passes` is asked about residuals, once for each that is there, with the events that pass all else.
        """
        events: list[I64] = [np.zeros(0, np.int64)]
        classes: list[I64] = [np.zeros(0, np.int64)]
        for number, (shape, layer) in enumerate(self._layers):
            cells = layer.find([keys[a] for a in shape.values], [keys[a] for a in shape.ranges], n)
            rows = np.flatnonzero(cells >= 0)
            for term in shape.rest:
                rows = rows[_within(keys[term.attribute].take(rows), term)]
            if shape.residual is not None and len(rows):
                assert passes is not None, "a residual is there, and nobody to judge it"
                rows = rows[passes(shape.residual, rows)]
            events.append(rows)
            classes.append(cells[rows] | (number << CELL_BITS))
        return Passed(np.concatenate(events), np.concatenate(classes))

    def members(self, number: int) -> I64:
        """The members of a class, ascending."""
        _, layer = self._layers[number >> CELL_BITS]
        entries = layer.owners(number & ((1 << CELL_BITS) - 1))
        alone = self._only[entries]
        several = entries[alone == SEVERAL].tolist()
        listed = [member for entry in several for member in self._members[entry]]
        return np.sort(np.concatenate([alone[alone != SEVERAL], np.array(listed, np.int64)]))

    def _note_only(self, entries: set[int]) -> None:
        """Take down the members of entries that have changed."""
        if len(self._only) < self._given:
            more = np.full(2 * self._given, SEVERAL, np.int64)
            more[: len(self._only)] = self._only
            self._only = more
        for entry in entries:
            members = self._members[entry]
            self._only[entry] = next(iter(members)) if len(members) == 1 else SEVERAL

    def _remove(self, removed: Sequence[int]) -> None:
        gone: list[int] = []
        fewer: set[int] = set()
        shapes: set[Shape] = set()
        for member in removed:
            selection = self._selections.pop(member)
            entry = self._entries[selection]
            self._members[entry].remove(member)
            fewer.add(entry)
            if not self._members[entry]:
                del self._members[entry], self._entries[selection]
                gone.append(entry)
                shapes.update(shape for shape, _ in boxes(selection))
        self._note_only(fewer.difference(gone))
        for shape in shapes:
            self._shapes[shape].remove(np.array(gone, np.int64))
            if not self._shapes[shape].layers:
                del self._shapes[shape]


class Layers:
    """Boxes of one shape, in layers of which each has less than half of the boxes of the one before.

    The logarithmic method (Bentley and Saxe, Decomposable searching problems I, 1980): what is new is a layer of its
    own, merged with those that are not much larger, so a box is built into a layer a logarithmic number of times.
    """

    def __init__(self) -> None:
        self.layers: list[BoxCells] = []

    def add(self, new: Boxes) -> None:
        parts = [new]
        size = len(new.owners)
        while self.layers and len(self.layers[-1]) < 2 * size:
            last = self.layers.pop()
            parts.append(last.boxes.take(last.alive))
            size += int(np.count_nonzero(last.alive))
        self.layers.append(BoxCells(concat_boxes(parts)))

    def remove(self, owners: I64) -> None:
        """Take boxes away; a layer that is half empty is built anew."""
        kept: list[BoxCells] = []
        small: list[BoxCells] = []
        for layer in self.layers:
            layer.remove(owners)
            half_empty = 2 * int(np.count_nonzero(layer.alive)) < len(layer)
            (small if half_empty else kept).append(layer)
        self.layers = kept
        left = [layer.boxes.take(layer.alive) for layer in small if layer.alive.any()]
        if left:
            self.add(concat_boxes(left))


def _boxes(shape: Shape, found: Sequence[tuple[KeyBox, int]]) -> Boxes:
    n = len(found)
    values = np.array([box.values for box, _ in found], np.int64).reshape(n, len(shape.values))
    ranges = np.array([box.ranges for box, _ in found], np.int64).reshape(n, len(shape.ranges), 2)
    return Boxes(values, ranges[:, :, 0], ranges[:, :, 1], np.array([owner for _, owner in found], np.int64))


def _within(keys: Vector, term: RangeTerm) -> Bool:
    """Which keys are in one of the term's ranges, which do not overlap and ascend."""
    low, high = np.array(term.ranges, np.int64).T
    at = np.searchsorted(low, keys.data, side="right") - 1
    inside: Bool = (at >= 0) & (keys.data <= high[at])
    return inside if keys.valid is None else inside & keys.valid
