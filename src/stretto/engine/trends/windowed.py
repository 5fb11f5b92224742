"""Totals of units with conditions: every window is computed when it is closed, and all of its events are known.

Events are kept until their last window is closed, whatever the number of queries. Where members share a part, its
values are kept for each MatState while these are few, and for the members side by side where they are not.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.memory.limits import TooMuch
from stretto.engine.trends.assembly import Rankings, Weighed, totals
from stretto.engine.trends.cells import Cells, cells_of, windows_between
from stretto.engine.trends.conditions import looks_of
from stretto.engine.trends.executor import FREE, TOTAL_BYTES, Results, TakenEvents, concat_results, no_results
from stretto.engine.trends.kept_events import KeptEvents
from stretto.engine.trends.lanes import columns_of as weight_columns
from stretto.engine.trends.lanes import shared_measures, split
from stretto.engine.trends.matstates import MatStates, matstates_of, worth_sharing
from stretto.engine.trends.numbers import Values, take_values
from stretto.engine.trends.program import UnitProgram, program_of
from stretto.pattern.nodes import TrendQuery
from stretto.pattern.predicates import Ref, walk
from stretto.records import dataclass
from stretto.trends.plan import TrendUnit
from stretto.values.evaluate import Events
from stretto.values.rows import I64, Bool

BATCH = 1 << 20
"""Events of windows that are computed together; a single window may have more."""
ROOM = 1 << 27
"""Bytes for the values of members side by side; more members take turns."""
MOST = 1 << 29
"""Bytes for the values by MatStates; a cell that needs more has its members side by side."""
MOST_PATTERNS = 8
"""Sets of parts that are computed for MatStates, in the cells of one batch."""
ROW = 20
"""Bytes of one linear lane."""
CELL_BYTES = 320
"""What an event takes in each window that is computed together with others, beside values."""


class Windowed:
    """The executor of one unit, whose members all have the same windows.

    `matstates` and `shared_cells` tell how often the shared part was computed for MatStates, of `cells` in all.
    """

    def __init__(self, unit: TrendUnit, queries: Sequence[TrendQuery]) -> None:
        mine = [queries[member.query] for member in unit.members]
        self._unit = unit
        self._window, self._slide = mine[0].window_us, mine[0].slide_us
        assert all((q.window_us, q.slide_us) == (self._window, self._slide) for q in mine)
        measures = [measure for member in unit.members for measure in member.measures]
        self._columns = weight_columns(measures)
        parts = [split(member.measures) for member in unit.members]
        self._lanes = (1 + max(len(p[0]) for p in parts), max(len(p[1]) for p in parts))
        self._shared_lanes = [1 + len(shared_measures(unit, part)) for part in unit.parts]
        self._kept = KeptEvents(_attributes(unit) | {m.attribute for m in measures if m.attribute})
        self._stores = frozenset(look.store for edge in unit.edges for look in looks_of(edge))
        self._programs: dict[tuple[tuple[int, ...], tuple[int, ...]], UnitProgram] = {}
        self._next: int | None = None
        self._aggregates = 1 + max(len(member.measures) for member in unit.members)  # at most
        self.matstates = self.shared_cells = self.cells = 0

    def take(self, taken: TakenEvents, events: Events) -> None:
        if len(taken):
            self._kept.take(taken, events)

    def ahead(self, taken: TakenEvents | None, until: int, partitions: int) -> int:
        count = len(self._kept) + (0 if taken is None else len(taken))
        size = 0 if taken is None else self._kept.ahead(taken)
        times = self._kept.borrowed_ts if taken is None or not len(taken) else taken.ts
        latest = int(times[-1]) if len(times) else None
        last = (until - self._window) // self._slide
        if latest is None or (self._next is not None and last < self._next):
            return size
        ends = min(last, latest // self._slide)
        overlap = -(-self._window // self._slide)
        cells = count * overlap
        if self._next is not None:
            cells = min(cells, partitions * max(ends - self._next + 1, 0))
        each = 2 * (ROW * self._lanes[0] + 8 * self._lanes[1] + 20) + TOTAL_BYTES * self._aggregates
        return size + cells * len(self._unit.members) * each

    def close(self, until: int, room: int = FREE) -> Results:
        last = (until - self._window) // self._slide
        if self._next is not None and last < self._next:
            return no_results(*self._lanes)
        results = [no_results(*self._lanes)]
        ts = self._kept.borrowed_ts
        ts = ts[: np.searchsorted(ts, _bounded(last * self._slide + self._window))]
        if len(ts):
            latest = min(last, int(ts[-1]) // self._slide)
            numbers = windows_between(ts, self._window, self._slide, self._next, latest)
            batches = self._batches(numbers, room)
            results += [found for starts in batches for found in self._windows(starts, room)]
        # Windows before `_next` are closed for good; an event is kept for as long as one from there on holds it.
        self._next = last + 1
        self._kept.forget(int(np.searchsorted(self._kept.borrowed_ts, _bounded(self._next * self._slide))))
        return concat_results(results)

    @property
    def sharing(self) -> tuple[int, int, int]:
        return self.matstates, self.shared_cells, self.cells if self._unit.shared else 0

    @property
    def held(self) -> int:
        return self._kept.held

    def _batches(self, numbers: I64, room: int) -> Iterator[I64]:
        """Starts of windows that have so many events together as are to be computed at once."""
        starts, ts = numbers * self._slide, self._kept.borrowed_ts
        sizes = np.searchsorted(ts, starts + self._window) - np.searchsorted(ts, starts)
        before = np.concatenate([[0], np.cumsum(sizes)])
        batch = min(BATCH, room // (4 * CELL_BYTES))
        if sizes.max(initial=0) * CELL_BYTES > room:
            raise TooMuch
        first = 0
        while first < len(starts):
            last = max(int(np.searchsorted(before, before[first] + batch, side="right")) - 1, first + 1)
            yield starts[first:last]
            first = last

    def _windows(self, starts: I64, left: int) -> Iterator[Results]:
        cells = cells_of(self._kept, starts, self._window, len(self._unit.nodes))
        first = int(cells.event.min())
        numbers = np.arange(first, int(cells.event.max()) + 1)
        weighed = Weighed(first, self._columns.weights(numbers, self._kept), self._columns.any)
        self.cells += len(cells)
        if len(self._unit.members) > 1 and self._unit.parts:
            parted = self._parted(cells, min(MOST, left // 4))
            for parts, chosen in parted.patterns():
                yield from self._by_matstates(cells, chosen, parts, parted, min(MOST, left // 4), weighed)
            cells = cells.only(np.logical_not(parted.chosen.any(axis=0)))
        if len(cells):
            yield from self._by_members(cells, weighed, min(ROOM, left // 4))

    def _parted(self, cells: Cells, most: int) -> "_Parted":
        """Which parts are computed for MatStates, cell by cell."""
        unit, own = self._unit, sum(self._lanes)
        states = [matstates_of(unit, part, cells, self._kept) for part in unit.parts]
        events = np.bincount(cells.cell, minlength=len(cells))
        worth, room = [], []
        for part, some, lanes in zip(unit.parts, states, self._shared_lanes, strict=True):
            worth.append(worth_sharing(unit, part, cells, some, own, lanes))
            room.append(2 * events * some.count * ROW * lanes)
        taken = np.cumsum(np.where(worth, room, 0), axis=0)
        return _Parted(states, _commonest(np.array(worth) & (taken <= most)), np.array(room))

    def _by_matstates(
        self,
        cells: Cells,
        chosen: Bool,
        parts: tuple[int, ...],
        parted: "_Parted",
        most: int,
        weighed: Weighed,
    ) -> Iterator[Results]:
        """As many cells at a time as there is room for their values."""
        program = self._program(tuple(range(len(self._unit.members))), parts)
        room = np.where(chosen, parted.room[list(parts)].sum(axis=0), 0)
        turn = np.where(chosen, np.cumsum(room) // max(most, 1), -1)
        states = [parted.states[part] for part in parts]
        of = np.maximum.reduce([some.of for some in states])
        for number in np.unique(turn[chosen]):
            mine = turn == number
            self.matstates += sum(int(some.count[mine].sum()) for some in states)
            self.shared_cells += int(mine.sum())
            some = cells.only(mine)
            values = totals(program, Rankings(some, self._kept), weighed, of[mine[cells.cell]], self._lanes)
            yield self._results(some, program, values)

    def _by_members(self, cells: Cells, weighed: Weighed, room: int) -> Iterator[Results]:
        """As many members at a time as there is room for their values."""
        rankings = Rankings(cells, self._kept)
        bytes_each = 2 * len(cells.event) * (ROW * self._lanes[0] + 8 * self._lanes[1])
        members = range(len(self._unit.members))
        many = min(max(room // bytes_each, 1), len(members))
        none = np.full(len(cells.event), -1, np.int64)
        for first in range(0, len(members), many):
            program = self._program(tuple(members[first : first + many]))
            yield self._results(cells, program, totals(program, rankings, weighed, none, self._lanes))
            rankings.keep_only(self._stores)

    def _program(self, chosen: tuple[int, ...], parts: tuple[int, ...] = ()) -> UnitProgram:
        """The program of some members; with MatStates of some parts, of all."""
        known = chosen, parts
        if known not in self._programs:
            self._programs[known] = program_of(self._unit, chosen, self._columns, parts)
        return self._programs[known]

    @staticmethod
    def _results(cells: Cells, program: UnitProgram, found: Values) -> Results:
        rows = np.flatnonzero(found.f[:, 0])
        cell, place = np.divmod(rows, len(program.chosen))
        member = np.array(program.chosen, np.int32)[place]
        return Results(member, cells.start[cell], cells.key[cell], take_values(found, rows))


@dataclass(frozen=True, slots=True)
class _Parted:
    """Per part the MatStates of cells; `chosen` and `room`, by part and cell: whether it is computed for them, and the
    bytes that this takes.
    """

    states: list[MatStates]
    chosen: Bool
    room: I64

    def patterns(self) -> Iterator[tuple[tuple[int, ...], Bool]]:
        """Sets of parts that are computed for MatStates together, each with the cells in which they are."""
        patterns, of = np.unique(self.chosen, axis=1, return_inverse=True)
        for number, pattern in enumerate(patterns.T):
            if pattern.any():
                yield tuple(np.flatnonzero(pattern).tolist()), of.reshape(-1) == number


def _commonest(chosen: Bool) -> Bool:
    """The same choices, but none in cells whose set of parts is rare among many: every set is a run of its own."""
    _, of, count = np.unique(chosen, axis=1, return_inverse=True, return_counts=True)
    kept = np.argsort(-count, kind="stable")[:MOST_PATTERNS]
    found: Bool = chosen & np.isin(of.reshape(-1), kept)
    return found


def _bounded(ts: int) -> int:
    """The nearest time that there is."""
    return min(max(ts, -(2**63)), 2**63 - 1)


def _attributes(unit: TrendUnit) -> set[str]:
    """The attributes that conditions read."""
    edges = [*unit.edges, *(edge for member in unit.members for edge in member.edges)]
    entries = [entry for member in unit.members for entry in (*member.starts, *member.ends)]
    conditions = [edge.condition for edge in edges] + [entry.condition for entry in entries]
    terms = {term for condition in conditions for terms in condition or () for term in terms}
    return {node.attribute for term in terms for node in walk(term) if isinstance(node, Ref)}
