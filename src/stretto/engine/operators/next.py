"""Skip till next match: runs that take, step by step, the first event that a move accepts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stretto.engine.band import coordinates
from stretto.engine.keys import MOST
from stretto.engine.moves import BEGIN, Candidates, Move, moves_from, pending_terms
from stretto.engine.sets import size_of
from stretto.engine.shape import Clock, Shape
from stretto.plan.ops import Next
from stretto.values.evaluate import holds
from stretto.values.rows import I64, UNBOUND, Bool, Column, Rows, Sets, concat_rows, empty_rows


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs at one step; `leaves`: it has enough events, and the terms on their whole set hold."""

    rows: Rows
    leaves: Bool

    def take(self, index: I64 | Bool) -> "_Runs":
        return _Runs(self.rows.take(index), self.leaves[index])


class _Stream:
    """The new events of one step of the pattern, and how each move looks them up."""

    def __init__(self, parts: list[Rows]) -> None:
        rows = concat_rows(parts) if parts else empty_rows((False,))
        (positions,) = rows.columns
        assert not isinstance(positions, Sets)
        order = np.argsort(positions, kind="stable")
        self.positions, self.ts = positions[order], rows.last[order]
        self._looked_up: dict[Move, Candidates] = {}

    def candidates(self, move: Move, clock: Clock) -> Candidates:
        if move not in self._looked_up:
            self._looked_up[move] = Candidates(move, self.positions, clock.events)
        return self._looked_up[move]


class NextOperator:
    """All runs advance in rounds: each finds its earliest event among the step's new ones, takes it, and looks on.

    A run that finds none waits for the next step's events. What a run has passed over it never looks at again.
    """

    waiting = False  # time alone completes no run
    looked = 0

    def __init__(self, op: Next, inputs: Sequence[Shape]) -> None:
        assert all(shape.single for shape in inputs)
        self._op = op
        steps = range(len(op.bounds))
        sets = tuple(bounds != (1, 1) for bounds in op.bounds)
        self.shape = Shape(sets, tuple(low == 0 for low, _ in op.bounds), single=sets == (False,))
        self._moves = {s: moves_from(op, s) for s in (BEGIN, *steps)}
        self._pending = [pending_terms(op, s) for s in steps]
        self._reports = [all(low == 0 for low, _ in op.bounds[s + 1 :]) for s in steps]
        self._waiting = [_Runs(empty_rows(sets), np.empty(0, np.bool_)) for _ in steps]

    @property
    def held(self) -> int:
        return sum(size_of(runs.rows) for runs in self._waiting)

    def step(self, inputs: Sequence[list[Rows]], clock: Clock) -> list[Rows]:
        streams = [_Stream(parts) for parts in inputs]
        out: list[Rows] = []
        looking: list[list[_Runs]] = [[] for _ in streams]
        resting: list[list[_Runs]] = [[] for _ in streams]
        for step, runs in enumerate(self._waiting):
            runs = self._inside(runs, clock)  # noqa: PLW2901 - what is left of them
            news = any(len(streams[move.target].ts) for move in self._moves[step])
            (looking if news else resting)[step].append(runs)
        for move in self._moves[BEGIN]:
            begun = self._begun(move, streams[move.target], clock)
            looking[move.target].append(self._entered(begun, move.target, clock, out))
        while any(looking):
            found: list[list[_Runs]] = [[] for _ in streams]
            for step, parts in enumerate(looking):
                if parts:
                    resting[step].append(self._advance(_joined(parts), step, streams, clock, found, out))
            looking = [[runs for runs in parts if len(runs.leaves)] for parts in found]
        before = self.held
        self._waiting = [_joined(parts) for parts in resting]
        clock.meter.charge(max(self.held - before, 0), sum(len(runs.leaves) for runs in self._waiting))
        return out

    def _begun(self, move: Move, stream: _Stream, clock: Clock) -> Rows:
        """A run for every event that a first step accepts."""
        positions, ts = stream.positions, stream.ts
        if move.terms:
            nothing = _unbound(self.shape, len(positions)).columns
            passed = holds(move.terms, (*nothing, positions), len(positions), clock.events)
            positions, ts = positions[passed], ts[passed]
        rows = _unbound(self.shape, len(positions))
        return _taken(Rows(ts, ts, rows.columns), move.target, positions, ts)

    def _entered(self, rows: Rows, step: int, clock: Clock, out: list[Rows]) -> _Runs:
        """The runs that have just taken an event into a step: what they report goes out, what can go on comes back."""
        low, high = self._op.bounds[step]
        column = rows.columns[step]
        counts = column.lengths if isinstance(column, Sets) else np.ones(len(rows), np.int64)
        leaves = counts >= low
        if self._pending[step]:
            leaves &= holds(self._pending[step], rows.columns, len(rows), clock.events)
        if self._reports[step] and leaves.any():
            report = rows.take(leaves)
            clock.meter.charge(size_of(report), len(report))
            out.append(report)
        goes_on = (
            leaves if any(not move.again for move in self._moves[step]) else np.zeros(len(rows), np.bool_)
        )
        goes_on = goes_on | (True if high is None else counts < high)
        return _Runs(rows.take(goes_on), leaves[goes_on])

    def _advance(
        self,
        runs: _Runs,
        step: int,
        streams: list[_Stream],
        clock: Clock,
        found: list[list[_Runs]],
        out: list[Rows],
    ) -> _Runs:
        """Add to `found` the runs extended by their earliest event, once for each move that accepts it.

        Back come the runs that found none.
        """
        taken = {move: self._earliest(runs, move, streams[move.target], clock) for move in self._moves[step]}
        best = np.min([np.full(len(runs.leaves), MOST), *taken.values()], axis=0)
        for move, positions in taken.items():
            takes = (positions == best) & (best < MOST)
            if takes.any():
                events = positions[takes]
                extended = _taken(
                    runs.rows.take(takes), move.target, events, clock.events.values("ts", events).data
                )
                found[move.target].append(self._entered(extended, move.target, clock, out))
        return runs.take(best == MOST)

    def _earliest(self, runs: _Runs, move: Move, stream: _Stream, clock: Clock) -> I64:
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
        window = self._op.window
        end = coordinates(rows, window)[0] + window.size
        if window.unit == "us":
            hi = np.searchsorted(stream.ts, end, side="right")
        else:
            hi = np.searchsorted(stream.positions, end, side="left")
        accepted = stream.candidates(move, clock).first_accepted(rows, lo, np.maximum(hi, lo))
        some = accepted >= 0
        result[index[some]] = stream.positions[accepted[some]]
        return result

    def _inside(self, runs: _Runs, clock: Clock) -> _Runs:
        """The runs whose window an event of this step or a later one could still be in."""
        window = self._op.window
        end = coordinates(runs.rows, window)[0] + window.size
        open_ = end >= clock.since if window.unit == "us" else end > clock.start
        return runs if open_.all() else runs.take(open_)


def _joined(parts: list[_Runs]) -> _Runs:
    if len(parts) == 1:
        return parts[0]
    return _Runs(concat_rows([runs.rows for runs in parts]), np.concatenate([runs.leaves for runs in parts]))


def _unbound(shape: Shape, n: int) -> Rows:
    """Rows that bind nothing yet."""
    none = Sets(np.zeros(n + 1, np.int64), np.empty(0, np.int64)), np.full(n, UNBOUND, np.int64)
    return Rows(none[1], none[1], tuple(none[0] if is_set else none[1] for is_set in shape.sets))


def _taken(rows: Rows, step: int, positions: I64, ts: I64) -> Rows:
    """The rows with one more event each, their latest, in the column of a step."""
    column = rows.columns[step]
    longer: Column = positions
    if isinstance(column, Sets):
        values = np.insert(column.values, column.offsets[1:], positions)
        longer = Sets(column.offsets + np.arange(len(rows) + 1), values)
    return Rows(rows.first, ts, (*rows.columns[:step], longer, *rows.columns[step + 1 :]))
