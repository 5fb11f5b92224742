"""From the rows of a family's template to the members whose matches they are."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.kernels.segmented_search import seek_in_segments, seek_in_segments_reference
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.operators.protocol import RowShape
from stretto.engine.results.class_members import ClassMembers
from stretto.engine.results.routed import Routed
from stretto.engine.stream.constants import WithConstants, vectors
from stretto.engine.stream.pair_index import PairIndex, pair_index
from stretto.pattern.nodes import Return
from stretto.pattern.predicates import Param, walk
from stretto.plan.families.members import Route
from stretto.schema import Kind
from stretto.values.evaluate import Events, kind_of, value
from stretto.values.member_sets import member_sets
from stretto.values.rows import I64, Rows, Sets
from stretto.values.strings import Strings
from stretto.values.vector import Vector


class MemberRouter:
    """`shape`: that of the rows. Where `returns` reads constants of members, each row has one member."""

    def __init__(self, route: Route, shape: RowShape, returns: Sequence[Return]) -> None:
        self._route, self._shape = route, shape
        self._single = any(isinstance(node, Param) for item in returns for node in walk(item.value))
        self._strings: Strings | None = None
        self._index: PairIndex | None = None
        self._classes: ClassMembers | None = None
        self._constants: dict[str, Vector] = {}

    def routed(self, rows: Rows, events: Events) -> tuple[I64, Routed]:
        """Numbers of rows that are a match of some member, maybe several times, and whose match each is."""
        self._read(events.strings)
        at, entries, last = self._entries(rows, events)
        listed = self._classes or self._route.members
        low, high = listed.starts[entries], listed.starts[last + 1]
        if listed.windows is not None:
            extent = (rows.last - rows.first)[at]
            due = is_due(seek_in_segments, len(at))
            seek = seek_in_segments if due else seek_in_segments_reference
            low = low + seek(listed.windows, listed.starts, entries, extent - 1)
        there = np.flatnonzero(low < high)
        if len(there) < len(at):
            at, low, high = at[there], low[there], high[there]
        routed = Routed(self._route.members, low, high, listed.order)
        if self._single and not routed.single:
            again, routed = next(routed.one_by_one(len(routed)))
            at = at[again]
        return at, routed

    def constants(self, events: Events) -> Events:
        """The events, with constants of members by their numbers."""
        return WithConstants(events, self._constants)

    def _entries(self, rows: Rows, events: Events) -> tuple[I64, I64, I64]:
        """Rows and the entries that they pass the terms of, from the first to the last of several in a row."""
        n = len(rows)
        if self._route.carried:
            carried = rows.columns[-1]
            assert not isinstance(carried, Sets)
            return np.arange(n), carried, carried
        if self._index is not None:
            at, entries = self._index.pairs(rows.columns, n, events)
            return at, entries, entries
        entry = self._route.entry
        if entry is None:
            return np.arange(n), np.zeros(n, np.int64), np.zeros(n, np.int64)
        found: I64 = value(entry, rows.columns, n, events).data
        if kind_of(entry) is not Kind.STRING:
            return np.arange(n), found, found
        if self._classes is not None:
            segments = self._classes.segments(found)
            return np.arange(n), segments, segments
        most = len(self._route.entries) - 1  # a class may also list members that are no queries of this route
        at, first, last = member_sets(events.strings).ranges(found)
        mine = first <= most
        return at[mine], first[mine], np.minimum(last[mine], most)

    def _read(self, strings: Strings) -> None:
        """Constants in the codes of these texts."""
        if self._strings is strings:
            return
        route, self._strings = self._route, strings
        self._constants = vectors(route.returned, strings)
        by_class = route.entry is not None and kind_of(route.entry) is Kind.STRING
        if by_class and route.members.windows is not None:
            # The windows of an entry ascend, those of a class have to be put in order.
            self._classes = ClassMembers(route.members, member_sets(strings))
        if route.entry is None and route.terms:
            self._index = pair_index(route.terms, self._shape, route.entries, strings)
