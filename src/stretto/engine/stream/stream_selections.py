"""The selections of one stream as their terms say, in one index.

Comparisons of an expression with constants are looked up; every other term is a residual, evaluated on the events that
pass the rest, once for all selections that have it.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import cast

import numpy as np

from stretto.engine.kernels.order_keys import LEAST, MOST
from stretto.engine.rows.join_keys import order_keys
from stretto.engine.stream.scan_index import Ranges, ranges_of
from stretto.engine.stream.selection_index import Passed, SelectionIndex
from stretto.engine.stream.selection_terms import IndexedSelection, RangeTerm
from stretto.engine.stream.text_labels import TextLabels
from stretto.pattern.comparisons import RANGES, flipped
from stretto.pattern.predicates import Apply, Const, Expr, columns_of
from stretto.schema import Kind
from stretto.values.evaluate import Events, holds, value
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.vector import Vector

ORDER = "order"
"""Texts are looked up by code where they are compared for equality, and by label where they are put in order."""
NOWHERE = Vector(np.zeros(0, np.int64))


class StreamSelections:
    """Terms are over column 0, the event. Members are numbers that callers choose."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self._labels = TextLabels(strings)
        self._index = SelectionIndex()
        self._wheres: dict[int, tuple[Expr, ...]] = {}
        self._numbers: dict[tuple[Expr, Kind | str], int] = {}
        self._ranges: dict[Expr, Ranges | None] = {}

    def update(self, added: Mapping[int, Sequence[Expr]], removed: Sequence[int] = ()) -> None:
        """Take members away, then add others, each with the terms of its selection."""
        for member in removed:
            del self._wheres[member]
        self._wheres |= {member: tuple(where) for member, where in added.items()}
        texts = [_text_order(term) for where in added.values() for term in where if self.ranges(term) is None]
        if self._labels.add(found[2] for found in texts if found):
            self._index = (
                SelectionIndex()
            )  # labels have changed: there was no room for a text between two others
            added, removed = self._wheres, ()
        self._index.update({member: self._selection(where) for member, where in added.items()}, removed)

    def step(self, positions: I64, events: Events) -> Passed:
        """The classes of events, by their places among the positions: of all selections that they pass."""
        n = len(positions)
        used = self._index.attributes
        keys = [
            self._keys(value(of, (positions,), n, events), kind) if number in used else NOWHERE
            for (of, kind), number in self._numbers.items()
        ]

        def passes(residual: Hashable, rows: I64) -> Bool:
            terms = cast("tuple[Expr, ...]", residual)
            return holds(terms, (positions[rows],), len(rows), events)

        return self._index.step(keys, n, passes)

    def ranges(self, term: Expr) -> Ranges | None:
        """The term as ranges of keys, if it compares an expression of the event with constants."""
        if term not in self._ranges:
            self._ranges[term] = ranges_of(term, self._strings)
        return self._ranges[term]

    def members(self, number: int) -> I64:
        """The members of a class, ascending."""
        return self._index.members(number)

    def _keys(self, found: Vector, kind: Kind | str) -> Vector:
        if isinstance(kind, Kind):
            return Vector(*order_keys(found, kind))
        return Vector(self._labels.keys(found.data), found.valid)

    def _selection(self, where: Sequence[Expr]) -> IndexedSelection:
        terms: list[RangeTerm] = []
        residual: list[Expr] = []
        for term in where:
            if (found := self.ranges(term)) is not None:
                ranges = tuple(zip(found.low, found.high, strict=True))
                terms.append(RangeTerm(self._number(found.of, found.kind), ranges))
            elif (text := _text_order(term)) is not None:
                of, op, constant = text
                ranges = (_range(op, self._labels.label(constant)),)
                terms.append(RangeTerm(self._number(of, ORDER), ranges))
            else:
                residual.append(term)
        return IndexedSelection(tuple(terms), tuple(residual) or None)

    def _number(self, of: Expr, kind: Kind | str) -> int:
        return self._numbers.setdefault((of, kind), len(self._numbers))


def _text_order(term: Expr) -> tuple[Expr, str, str] | None:
    """An expression, an operator and a constant, if the term puts texts in order."""
    if not isinstance(term, Apply) or term.op not in RANGES or term.op == "=":
        return None
    if isinstance(term.arguments[0], Const):
        term = flipped(term)
    of, other = term.arguments
    if not isinstance(other, Const) or not isinstance(other.value, str) or not columns_of(of):
        return None
    return of, term.op, other.value


def _range(op: str, label: int) -> tuple[int, int]:
    """The keys that compare so with a constant; they are one apart from its label at least."""
    low, high = (LEAST, label) if op in ("<", "<=") else (label, MOST)
    return low + (op == ">"), high - (op == "<")
