"""Skip till next match: runs that take, step by step, the first event that a move accepts."""

from collections.abc import Sequence

import numpy as np

from stretto.engine.kernels.order_keys import MOST
from stretto.engine.memory.limits import Meter, Undo, size_of
from stretto.engine.operators.protocol import Bookkeeping, Clock, RowShape
from stretto.engine.rows.coordinates import coordinates, last_inside
from stretto.engine.rows.linked_sets import LinkedNodes, LinkedSets, no_events
from stretto.engine.rows.next_moves import BEGIN, Candidates, Move, moves_from, pending_having, pending_terms
from stretto.engine.rows.running_reductions import running_reductions
from stretto.plan.ops import Next
from stretto.records import dataclass
from stretto.values.evaluate import Events, holds
from stretto.values.rows import I64, UNBOUND, Bool, Column, Rows, Sets, concat_rows, empty_rows

MERGED = 1 << 16
"""Parts of so many runs are merged no more: that would take as much memory again."""


@dataclass(frozen=True, slots=True)
class _OpenRuns:
    """Runs at one step; `leaves`: it has enough events, and the terms on their whole set hold."""

    rows: Rows
    leaves: Bool

    def take(self, index: I64 | Bool) -> "_OpenRuns":
        return _OpenRuns(self.rows.take(index), self.leaves[index])

    def __len__(self) -> int:
        return len(self.leaves)

    def renumbered(self, numbers: I64) -> "_OpenRuns":
        """The same runs over nodes that have other numbers now."""
        rows = self.rows
        columns = (one.renumbered(numbers) if isinstance(one, LinkedSets) else one for one in rows.columns)
        return _OpenRuns(Rows(rows.first, rows.last, tuple(columns)), self.leaves)

    @property
    def size(self) -> int:
        return size_of(self.rows) + self.leaves.nbytes


class _Stream:
    """The new events of one step of the pattern, and how each move looks them up."""

    def __init__(self, parts: list[Rows]) -> None:
        rows = concat_rows(parts) if parts else empty_rows((False,))
        (positions,) = rows.columns
        assert not isinstance(positions, Sets)
        order = np.argsort(positions, kind="stable")
        self.positions, self.ts = positions[order], rows.last[order]
        self._looked_up: dict[Move, Candidates] = {}

    def candidates(self, move: Move, clock: Clock, asking: Sequence[Rows] | None) -> Candidates:
        """`asking`: all runs that will make this move among these events, if they are known."""
        if move not in self._looked_up:
            self._looked_up[move] = Candidates(move, self.positions, clock.events, asking)
        return self._looked_up[move]


class NextOperator(Bookkeeping):
    """All runs advance in rounds: each finds its earliest event among the step's new ones, takes it, and looks on.

    A run that finds none waits for the next step's events. What a run has passed over it never looks at again. Sets of
    a run are chains, so that taking one more event costs the same however many there are.
    """

    def __init__(self, op: Next, inputs: Sequence[RowShape]) -> None:
        assert all(shape.single for shape in inputs[op.begun > 1 :])
        self._op = op
        self._start = op.begun - 1
        steps = range(len(op.bounds))
        sets = tuple(bounds != (1, 1) for bounds in op.bounds)
        self.shape = RowShape(sets, tuple(low == 0 for low, _ in op.bounds), single=sets == (False,))
        self._moves = {s: moves_from(op, s) for s in (BEGIN, *steps)}
        self._pending = [pending_terms(op, s) for s in steps]
        self._pending_having = [pending_having(op, s) for s in steps]
        self._reports = [all(low == 0 for low, _ in op.bounds[s + 1 :]) for s in steps]
        # Per step; parts are never written to, so a step is undone by having the lists from before it.
        self._waiting: list[list[_OpenRuns]] = [[] for _ in steps]
        self._nodes = LinkedNodes(running_reductions((*op.terms, *op.having)))
        self._beginning: list[Rows] | None = None

    @property
    def held(self) -> int:
        return self._nodes.held + sum(runs.size for parts in self._waiting for runs in parts)

    def mark(self) -> Undo:
        waiting, forget = self._waiting, self._nodes.mark()

        def undo() -> None:
            self._waiting = waiting
            forget()

        return undo

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        # The steps that rows come with take no more events.
        done: list[list[Rows]] = [[] for _ in range(self._start + 1)] if self._start else []
        streams = [_Stream(parts) for parts in (*done, *inputs[self._start > 0 :])]
        ledger = _Ledger(clock.meter, self._nodes, self._waiting)
        out: list[Rows] = []
        looking: list[list[_OpenRuns]] = [[] for _ in streams]
        resting: list[list[_OpenRuns]] = [[] for _ in streams]
        for step, parts in enumerate(self._waiting):
            inside = [self._inside(runs, clock) for runs in parts]
            news = any(len(streams[move.target].ts) for move in self._moves[step])
            (looking if news else resting)[step] += inside
            ledger.rest([] if news else inside)
        if self._start:
            begun = self._continued(inputs[0])
            looking[self._start].append(self._entered(begun, self._start, clock, out))
        for move in () if self._start else self._moves[BEGIN]:
            begun = self._begun(move, streams[move.target], clock)
            looking[move.target].append(self._entered(begun, move.target, clock, out))
        # Nobody comes back to a first step of one event: who looks on from there is known now.
        is_one = self._op.bounds[self._start] == (1, 1)
        self._beginning = [runs.rows for runs in looking[self._start]] if is_one else None
        while any(looking):
            found: list[list[_OpenRuns]] = [[] for _ in streams]
            for step, parts in enumerate(looking):
                for runs in parts:
                    rest = self._advance(runs, step, streams, clock, found, out)
                    if len(rest):
                        resting[step].append(rest)
                        ledger.rest([rest])
            looking = [[runs for runs in parts if len(runs)] for parts in found]
            ledger.settle(looking)
        self._beginning = None
        self._waiting = self._compacted([_merged(parts) for parts in resting])
        ledger.close(self._waiting)
        return out

    def _compacted(self, waiting: list[list[_OpenRuns]]) -> list[list[_OpenRuns]]:
        """The runs, over nodes of which most are needed."""
        columns = [runs.rows.columns for parts in waiting for runs in parts]
        heads = [column.heads for one in columns for column in one if isinstance(column, LinkedSets)]
        numbers = self._nodes.compacted(np.concatenate([*heads, np.zeros(0, np.int64)]))
        if numbers is None:
            return waiting
        return [[runs.renumbered(numbers) for runs in parts] for parts in waiting]

    def _begun(self, move: Move, stream: _Stream, clock: Clock) -> Rows:
        """A run for every event that a first step accepts."""
        positions, ts = stream.positions, stream.ts
        if move.terms:
            nothing = self._unbound(len(positions)).columns
            passed = holds(move.terms, (*nothing, positions), len(positions), clock.events)
            positions, ts = positions[passed], ts[passed]
        rows = self._unbound(len(positions))
        if move.judged:
            passed = _goes_on(move, rows, positions, clock)
            positions, ts = positions[passed], ts[passed]
            rows = self._unbound(len(positions))
        return _taken(Rows(ts, ts, rows.columns), move.target, positions, ts, clock.events)

    def _continued(self, parts: list[Rows]) -> Rows:
        """The runs that rows over the first steps begin, those that are inside of the window."""
        if not parts:
            return self._unbound(0)
        rows = concat_rows(parts)
        inside = coordinates(rows, self._op.window)[1] <= last_inside(rows, self._op.window)
        rows = rows if inside.all() else rows.take(inside)
        more = self._unbound(len(rows)).columns[self._start + 1 :]
        return Rows(rows.first, rows.last, (*rows.columns, *more))

    def _unbound(self, n: int) -> Rows:
        """Rows that bind nothing yet."""
        none = np.full(n, UNBOUND, np.int64)
        sets = no_events(self._nodes, n)
        return Rows(none, none, tuple(sets if is_set else none for is_set in self.shape.sets))

    def _entered(self, rows: Rows, step: int, clock: Clock, out: list[Rows]) -> _OpenRuns:
        """The runs that have just taken an event into a step: what they report goes out, what can go on comes back."""
        low, high = self._op.bounds[step]
        column = rows.columns[step]
        counts = column.lengths if isinstance(column, Sets) else np.ones(len(rows), np.int64)
        leaves = counts >= low
        if self._pending[step]:
            leaves &= holds(self._pending[step], rows.columns, len(rows), clock.events)
        if self._reports[step] and leaves.any():
            report = rows if leaves.all() else rows.take(leaves)
            if self._pending_having[step]:
                report = report.take(
                    holds(self._pending_having[step], report.columns, len(report), clock.events)
                )
            report = _written_out(report, clock.meter)
            clock.meter.charge(size_of(report), len(report))
            out.append(report)
        goes_on = (
            leaves if any(not move.again for move in self._moves[step]) else np.zeros(len(rows), np.bool_)
        )
        goes_on = goes_on | (True if high is None else counts < high)
        return _OpenRuns(rows.take(goes_on), leaves[goes_on])

    def _advance(
        self,
        runs: _OpenRuns,
        step: int,
        streams: list[_Stream],
        clock: Clock,
        found: list[list[_OpenRuns]],
        out: list[Rows],
    ) -> _OpenRuns:
        """Add to `found` the runs extended by their earliest event, once for each move that accepts it.

        Back come the runs that found none.
        """
        # Those that take an event, with it and then those of them that go on, and those that rest.
        clock.meter.reserve(2 * runs.size + 64 * len(runs) * len(self._moves[step]), len(runs))
        taken = {move: self._earliest(runs, move, streams[move.target], clock) for move in self._moves[step]}
        best = np.min([np.full(len(runs.leaves), MOST), *taken.values()], axis=0)
        for move, positions in taken.items():
            takes = (positions == best) & (best < MOST)
            if takes.any():
                events, rows = positions[takes], runs.rows.take(takes)
                if move.judged or move.left:
                    # Those that fail have taken the event too: they are neither among the found nor among the rest.
                    kept = _goes_on(move, rows, events, clock)
                    events, rows = events[kept], rows.take(kept)
                ts = clock.events.values("ts", events).data
                extended = _taken(rows, move.target, events, ts, clock.events)
                found[move.target].append(self._entered(extended, move.target, clock, out))
        rest = best == MOST
        return runs if rest.all() else runs.take(rest)

    def _earliest(self, runs: _OpenRuns, move: Move, stream: _Stream, clock: Clock) -> I64:
        """Per run, the position of the first new event that the move accepts; MOST if there is none."""
        result = np.full(len(runs.leaves), MOST)
        high = self._op.bounds[move.target][1]
        column = runs.rows.columns[move.target]
        able = runs.leaves
        if move.again:
            assert isinstance(column, Sets)
            able = np.ones(len(able), np.bool_) if high is None else column.lengths < high
        if not len(stream.ts) or not able.any():
            return result
        index = np.flatnonzero(able)
        rows = runs.rows if len(index) == len(able) else runs.rows.take(index)
        lo = np.searchsorted(stream.ts, rows.last, side="right")
        by_time = self._op.window.unit == "us"
        last = last_inside(rows, self._op.window)
        hi = np.searchsorted(stream.ts if by_time else stream.positions, last, side="right")
        asking = self._beginning if move.source == self._start else None
        candidates = stream.candidates(move, clock, asking)
        accepted = candidates.first_accepted(rows, lo, np.maximum(hi, lo), clock.meter)
        some = accepted >= 0
        result[index[some]] = stream.positions[accepted[some]]
        return result

    def _inside(self, runs: _OpenRuns, clock: Clock) -> _OpenRuns:
        """The runs whose window an event of this step or a later one could still be in."""
        window = self._op.window
        open_ = last_inside(runs.rows, window) >= (clock.since if window.unit == "us" else clock.start)
        return runs if open_.all() else runs.take(open_)


def _goes_on(move: Move, rows: Rows, events: I64, clock: Clock) -> Bool:
    """Which runs HAVING lets go on with the events that they take."""
    kept = np.ones(len(events), np.bool_)
    if move.judged:
        kept &= holds(move.judged, (*rows.columns, events), len(events), clock.events)
    if move.left:
        kept &= holds(move.left, rows.columns, len(events), clock.events)
    return kept


class _Ledger:
    """What a step has made that is still there: each part is counted once, when it comes to rest."""

    def __init__(self, meter: Meter, nodes: LinkedNodes, before: list[list[_OpenRuns]]) -> None:
        self._meter, self._nodes, self._held = meter, nodes, nodes.held
        self._before = {id(runs) for parts in before for runs in parts}
        self._resting = self._counted = 0

    def rest(self, parts: list[_OpenRuns]) -> None:
        """These runs stay as they are until the step ends."""
        self._resting += sum(runs.size for runs in parts if id(runs) not in self._before)

    def settle(self, looking: list[list[_OpenRuns]]) -> None:
        """A round is over, and these runs go on."""
        runs = [one for parts in looking for one in parts]
        self._count(self._resting + sum(one.size for one in runs), sum(map(len, runs)))

    def close(self, waiting: list[list[_OpenRuns]]) -> None:
        """The step is over, and these runs are kept."""
        kept = [runs for parts in waiting for runs in parts if id(runs) not in self._before]
        self._count(sum(runs.size for runs in kept), 0)

    def _count(self, size: int, rows: int) -> None:
        size += self._nodes.held - self._held
        self._meter.release(self._counted)
        self._counted = size
        self._meter.charge(size, rows)


def _merged(parts: list[_OpenRuns]) -> list[_OpenRuns]:
    """The same runs in few parts: small ones become one, large ones stay as they are."""
    large = [runs for runs in parts if len(runs) >= MERGED]
    small = [runs for runs in parts if 0 < len(runs) < MERGED]
    if len(small) > 1:
        rows = concat_rows([runs.rows for runs in small])
        small = [_OpenRuns(rows, np.concatenate([runs.leaves for runs in small]))]
    return large + small


def _written_out(rows: Rows, meter: Meter) -> Rows:
    """The rows with sets that are read as a whole."""
    chains = [column for column in rows.columns if isinstance(column, LinkedSets)]
    meter.reserve(sum(8 * int(column.lengths.sum()) for column in chains), len(rows))
    plain = (column.plain() if isinstance(column, LinkedSets) else column for column in rows.columns)
    return Rows(rows.first, rows.last, tuple(plain))


def _taken(rows: Rows, step: int, positions: I64, ts: I64, events: Events) -> Rows:
    """The rows with one more event each, their latest, in the column of a step."""
    column = rows.columns[step]
    longer: Column = column.extended(positions, events) if isinstance(column, LinkedSets) else positions
    return Rows(rows.first, ts, (*rows.columns[:step], longer, *rows.columns[step + 1 :]))
