"""The selections of one stream as their terms say, in one index.

Comparisons of an expression with constants are looked up; every other term is a residual, evaluated on the events that
pass the rest, once for all selections that have it.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import cast

from stretto.engine.rows.join_keys import order_keys
from stretto.engine.stream.scan_index import ranges_of
from stretto.engine.stream.selection_index import Passed, SelectionIndex
from stretto.engine.stream.selection_terms import RangeTerm, Selection
from stretto.pattern.predicates import Expr
from stretto.schema import Kind
from stretto.values.evaluate import Events, holds, value
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.vector import Vector


class StreamSelections:
    """Terms are over column 0, the event. Members are numbers that callers choose."""

    def __init__(self, strings: Strings) -> None:
        self._strings = strings
        self._index = SelectionIndex()
        self._numbers: dict[tuple[Expr, Kind], int] = {}

    def update(self, added: Mapping[int, Sequence[Expr]], removed: Sequence[int] = ()) -> None:
        """Take members away, then add others, each with the terms of its selection."""
        self._index.update({member: self._selection(where) for member, where in added.items()}, removed)

    def step(self, positions: I64, events: Events) -> Passed:
        """The classes of events; an event, by its place among the positions, is in those whose selections it passes."""
        n = len(positions)
        keys = [Vector(*order_keys(value(of, (positions,), n, events), kind)) for of, kind in self._numbers]

        def passes(residual: Hashable, rows: I64) -> Bool:
            terms = cast("tuple[Expr, ...]", residual)
            return holds(terms, (positions[rows],), len(rows), events)

        return self._index.step(keys, n, passes)

    def members(self, number: int) -> I64:
        """The members of a class, ascending."""
        return self._index.members(number)

    def _selection(self, where: Sequence[Expr]) -> Selection:
        terms: list[RangeTerm] = []
        residual: list[Expr] = []
        for term in where:
            found = ranges_of(term, self._strings)
            if found is None:
                residual.append(term)
                continue
            number = self._numbers.setdefault((found.of, found.kind), len(self._numbers))
            terms.append(RangeTerm(number, tuple(zip(found.low, found.high, strict=True))))
        return Selection(tuple(terms), tuple(residual) or None)
