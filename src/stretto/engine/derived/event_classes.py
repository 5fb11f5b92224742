"""Of which members events are, as classes: sets of members by the code of their text."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stretto.engine.stream.selection_index import CELL_BITS
from stretto.engine.stream.stream_selections import StreamSelections
from stretto.pattern.predicates import Expr
from stretto.values.evaluate import Events, holds
from stretto.values.member_sets import AT_ONCE, MemberSets, distinct_rows, member_sets
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings

UNKNOWN = -1
MANY = 4
"""Selections that compare the same from which on they are looked up, if there are as many other kinds."""


class EventClasses:
    """The classes of events by the selections of members.

    Selections that compare with constants are looked up; those that do not are asked one by one.
    """

    def __init__(self, members: Sequence[tuple[Expr, ...]], strings: Strings) -> None:
        selections = StreamSelections(strings)
        shapes = [_shape(where, selections) for where in members]
        counts = Counter(shapes)
        found = [shape is not None and (counts[shape] >= MANY or len(counts) <= MANY) for shape in shapes]
        self._looked_up = _LookedUp(
            {number: where for number, where in enumerate(members) if found[number]}, selections, strings
        )
        self._asked = _Asked(
            {number: where for number, where in enumerate(members) if not found[number]}, strings
        )
        self._sets = member_sets(strings)

    def step(self, positions: I64, events: Events) -> I64:
        """The class of each event; that of the empty set where no member selects it."""
        one, other = self._looked_up.step(positions, events), self._asked.step(positions, events)
        if one is None or other is None:
            found = one if other is None else other
            return np.full(len(positions), self._sets.empty) if found is None else found
        return self._sets.union(one, other)


def _shape(where: tuple[Expr, ...], selections: StreamSelections) -> frozenset[Expr] | None:
    """What is compared with constants; None where something else is asked."""
    ranges = [selections.ranges(term) for term in where]
    known = [found.of for found in ranges if found is not None]
    return frozenset(known) if len(known) == len(ranges) else None


class _LookedUp:
    """An event has a class in the index for each shape of selections."""

    def __init__(
        self, members: dict[int, tuple[Expr, ...]], selections: StreamSelections, strings: Strings
    ) -> None:
        self._selections = selections
        self._selections.update(members)
        self._some = bool(members)
        self._sets: MemberSets = member_sets(strings)
        self._codes: dict[int, I64] = {}  # by layer of the index, the codes of its cells

    def step(self, positions: I64, events: Events) -> I64 | None:
        if not self._some:
            return None
        passed = self._selections.step(positions, events)
        found = np.full(len(positions), self._sets.empty, np.int64)
        layers = passed.classes >> CELL_BITS  # the events of one stand together
        cuts = np.flatnonzero(np.diff(layers)) + 1
        for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(layers)], strict=True):
            if start == end:
                continue
            rows, classes = passed.events[start:end], passed.classes[start:end]
            layer = int(layers[start])
            codes = self._codes_of(layer, classes)
            before = found[rows]
            is_first = (before == self._sets.empty).all()
            found[rows] = codes if is_first else self._sets.union(before, codes)
        return found

    def _codes_of(self, layer: int, classes: I64) -> I64:
        cells = classes & ((1 << CELL_BITS) - 1)
        known = self._codes.get(layer, np.zeros(0, np.int64))
        size = int(cells.max(initial=-1)) + 1
        if size > len(known):
            known = np.concatenate([known, np.full(2 * size - len(known), UNKNOWN)])
            self._codes[layer] = known
        found: I64 = known[cells]
        missing = found == UNKNOWN
        if missing.any():
            for cell in np.flatnonzero(np.bincount(cells[missing])).tolist():
                members = self._selections.members(cell | (layer << CELL_BITS))
                known[cell] = self._sets.code_of(members)
            found = known[cells]
        return found


class _Asked:
    """Every member is asked about every event; events with the same answers are one class."""

    def __init__(self, members: dict[int, tuple[Expr, ...]], strings: Strings) -> None:
        self._wheres = list(members.values())
        self._numbers = np.array(list(members), np.int64)
        self._sets = member_sets(strings)
        self._codes: dict[bytes, int] = {}

    def step(self, positions: I64, events: Events) -> I64 | None:
        if not self._wheres:
            return None
        size = max(1, AT_ONCE // len(self._wheres))
        parts = [
            self._part(positions[start : start + size], events) for start in range(0, len(positions), size)
        ]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _part(self, positions: I64, events: Events) -> I64:
        n = len(positions)
        answers = np.empty((len(self._wheres), n), np.bool_)
        for number, where in enumerate(self._wheres):
            answers[number] = holds(where, (positions,), n, events)
        distinct, index = distinct_rows(answers.T)
        return np.array([self._code(one) for one in distinct], np.int64)[index]

    def _code(self, answers: Bool) -> int:
        key = answers.tobytes()
        if key not in self._codes:
            self._codes[key] = self._sets.code_of(self._numbers[answers])
        return self._codes[key]
