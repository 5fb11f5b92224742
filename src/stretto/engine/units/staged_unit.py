"""One unit of a staged plan: it takes rows of earlier ones, holds them until their time comes, and gives its own."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import field
from time import thread_time

import numpy as np
import pyarrow as pa

from stretto.engine.memory.limits import Meter, TooMuch
from stretto.engine.operators.build import maker, only_emitted
from stretto.engine.operators.emit import EmitOperator
from stretto.engine.operators.forbid import ForbidOperator
from stretto.engine.operators.protocol import Clock, Operator, RowShape
from stretto.engine.results.match_chunks import MatchChunk
from stretto.engine.rows.next_moves import EVENT
from stretto.engine.stream.arena import Arena, Block
from stretto.engine.stream.intake import Intake
from stretto.engine.units.carried import Carried
from stretto.engine.units.divided import UnitCounts
from stretto.engine.units.parcels import Packing, Parcel, split_at
from stretto.engine.units.routing import Router
from stretto.engine.units.unit_state import UnitState, UnitStep
from stretto.errors import EngineError
from stretto.plan.dag import Plan
from stretto.plan.ops import Scan
from stretto.plan.placement.fragments import Fragment, fragments
from stretto.records import dataclass
from stretto.values.rows import I64, Rows
from stretto.values.strings import Strings
from stretto.values.times import START_OF_TIME
from stretto.values.vector import DTYPES

UNIT_BYTES = 2 << 30
STEP_ROWS = 1 << 16
"""Rows that a unit takes in one step, about."""


class StagedPlan:
    """A placed plan cut into fragments, with what all of its units have in common."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.fragments = plan, fragments(plan)
        self.special, self.text_ids = plan.schema.special, plan.text_ids
        emitted = only_emitted(plan.ops)
        self.shapes: list[RowShape] = []
        self.makers = {}
        for number, op in enumerate(plan.ops):
            if isinstance(op, Scan):
                self.shapes.append(EVENT)
                continue
            make = maker(op, [self.shapes[k] for k in op.inputs], last=number in emitted)
            self.makers[number] = make
            self.shapes.append(make().shape)
        self.readers: defaultdict[int, list[tuple[Fragment, int]]] = defaultdict(list)
        for fragment in self.fragments[1:]:
            assert fragment.head is not None
            for side, source in enumerate(plan.ops[fragment.head].inputs):
                self.readers[source].append((fragment, side))

    @property
    def stages(self) -> list[list[Fragment]]:
        """The fragments of each stage but the first, which takes events in."""
        last = max(fragment.stage for fragment in self.fragments)
        return [[f for f in self.fragments if f.stage == stage] for stage in range(1, last + 1)]

    def packing(self, fragment: Fragment) -> Packing:
        """What is written of events that go to the units of a fragment."""
        kinds = {name: self.plan.columns[name] for name in sorted(fragment.attributes)}
        return Packing(kinds, self.special, self.text_ids)

    def arena(self, fragment: Fragment) -> Arena:
        kinds = self.packing(fragment).kinds
        return Arena({name: DTYPES[kind] for name, kind in kinds.items()}, Strings())


class Sending:
    """Routes what the operators of a fragment make to the units that read it."""

    def __init__(self, staged: StagedPlan, fragment: Fragment) -> None:
        self._edges: dict[int, list[tuple[Router, Packing, int, int]]] = {}
        for number in fragment.ops:
            for reader, side in staged.readers[number]:
                assert reader.head is not None
                router = Router(
                    staged.plan.ops[reader.head],
                    side,
                    staged.shapes[number],
                    reader.grid,
                    text_ids=staged.text_ids,
                )
                self._edges.setdefault(number, []).append(
                    (router, staged.packing(reader), reader.number, side)
                )

    def parcels(self, number: int, made: Iterable[Rows], since: int, arena: Arena) -> Iterator[Parcel]:
        """The rows that an operator made in a step which began at a time, by who reads them where."""
        for router, packing, fragment, side in self._edges.get(number, ()):
            for rows in map(Rows.with_whole_times, made):
                for unit, part in router.parts(rows, arena) if len(rows) else ():
                    yield Parcel(fragment, unit, side, *packing.packed(part, since, arena))


@dataclass(slots=True)
class Given:
    """What a unit, or the source of all rows, gives: parcels for units of later stages, and matches.

    `rejected`: bad events, which a source sets apart, with the reason; `good`: the rows of the others, None: all.
    """

    parcels: list[Parcel] = field(default_factory=list)
    matches: list[tuple[str, list[MatchChunk]]] = field(default_factory=list)
    rejected: list[pa.RecordBatch] = field(default_factory=list)
    good: I64 | None = None


class StagedUnit:
    """One unit of a fragment. Rows come in parcels, in any order, and are run when the watermark has passed them.

    `memory_bytes`: the most that it holds. `until`: all rows that were let go before this time have been run.
    """

    def __init__(self, staged: StagedPlan, fragment: Fragment, memory_bytes: int = UNIT_BYTES) -> None:
        assert fragment.head is not None
        self._running: dict[int, Operator | EmitOperator] = {n: staged.makers[n]() for n in fragment.ops}
        self._carried = Carried(staged.arena(fragment))
        self._meter = Meter(memory_bytes)
        self._ahead: list[Parcel] = []
        self._steps: deque[UnitStep] = deque()
        self._counts = UnitCounts()
        self._horizon_us = staged.plan.horizon_us
        self.late = 0  # rows that came behind the watermark; they are dropped
        self.until = START_OF_TIME
        self.belong(staged, fragment)

    def belong(self, staged: StagedPlan, fragment: Fragment) -> None:
        """Be a unit of this fragment: for one that comes out of a file, which holds nothing of the plan."""
        self._staged, self._fragment, self._sending = staged, fragment, Sending(staged, fragment)
        strings = self._carried.arena.strings
        kinds = staged.packing(fragment).kinds
        self._intake = Intake(kinds, {}, staged.special, strings, kept=True, text_ids=staged.text_ids)

    def __getstate__(self) -> dict[str, object]:
        """All but what the plan says, and steps that have been taken."""
        apart = ("_staged", "_fragment", "_sending", "_intake")
        kept = {name: value for name, value in self.__dict__.items() if name not in apart}
        return kept | {"_steps": deque()}

    # ---- rows in, rows out -------------------------------------------------------------------------------------

    def take(self, parcels: Iterable[Parcel]) -> None:
        """Take rows; those behind the watermark are dropped and counted."""
        late, ahead = split_at(list(parcels), self.until)
        self.late += sum(parcel.rows.num_rows for parcel in late)
        self._ahead += ahead

    def advance(self, until: int, *, closing: bool = False) -> Given:
        """No row that is let go before this time comes any more: run all that were. `closing`: none comes at all."""
        given = Given()
        if until <= self.until and not closing:
            return given
        ready, self._ahead = split_at(self._ahead, until)
        for parcels, then in _cut(ready, until):
            self._step(UnitStep(self.until, then, tuple(parcels)), given, closing=closing and then == until)
        return given

    def _step(self, step: UnitStep, given: Given, *, closing: bool) -> None:
        begun = thread_time()
        if step.parcels or any(one.waiting for one in self._running.values()):
            try:
                self._run(step, given, closing=closing)
            except TooMuch:
                raise self._too_much() from None
        self.until = step.until
        if step.parcels:
            self._steps.append(step)
        reached = max(step.until - self._horizon_us, START_OF_TIME)
        while self._steps and self._steps[0].until <= reached:
            self._steps.popleft()
        self._carried.forget(reached)
        self._counts.seconds += thread_time() - begun

    def _run(self, step: UnitStep, given: Given, *, closing: bool) -> None:
        arena, plan = self._carried.arena, self._staged.plan
        self._meter.begin(arena.held + sum(one.held for one in self._running.values()))
        start = arena.end
        blocks = [self._block(parcel) for parcel in step.parcels]
        places = self._carried.take(blocks, step.until)
        rows: dict[int, list[Rows]] = {}
        inputs: list[list[Rows]] = [[] for _ in plan.ops[self._fragment.ops[0]].inputs]
        for parcel, positions in zip(step.parcels, places, strict=True):
            inputs[parcel.side].append(parcel.columns(positions))
            self._counts.rows_in += parcel.rows.num_rows
        clock = Clock(arena, start, arena.end, step.since, step.until, closing, self._meter)
        for number, running in self._running.items():
            op = plan.ops[number]
            if number != self._fragment.head:
                inputs = [rows.get(source, []) for source in op.inputs]
            if not (running.waiting or any(inputs)):
                continue
            self._meter.at = number
            if isinstance(running, EmitOperator):
                chunks = running.step(inputs, clock, arena)
                given.matches.append((running.query, chunks))
                self._counts.rows_out += sum(map(len, chunks)) if number == self._fragment.head else 0
            else:
                rows[number] = running.step(inputs, clock)
                self._counts.rows_out += sum(map(len, rows[number])) if number == self._fragment.head else 0
                given.parcels += self._sending.parcels(number, rows[number], step.since, arena)

    def _block(self, parcel: Parcel) -> Block:
        return self._intake.convert(parcel.events, 0)[0]

    def _too_much(self) -> EngineError:
        meter = self._meter
        what = self._staged.plan.pieces[meter.at]
        return EngineError(
            f"out of memory: the limit of a unit is {meter.limit:,} bytes, and operator n{meter.at} ({what}) went past"
            " it. Give more units, more memory, a shorter window, or a more selective pattern."
        )

    # ---- what there is -----------------------------------------------------------------------------------------

    @property
    def counts(self) -> UnitCounts:
        """What it has done so far, and holds now."""
        found = self._counts
        found.candidates = sum(one.looked for one in self._running.values())
        found.held = sum(one.held for one in self._running.values())
        return found

    @property
    def peak_bytes(self) -> int:
        """The most that it held at once."""
        return self._meter.peak

    @property
    def due_us(self) -> int | None:
        """The earliest time that something waits for: rows that were not run, or that a negation holds back."""
        times = [int(parcel.at.min()) for parcel in self._ahead]
        waiting = (one.due_us for one in self._running.values() if isinstance(one, ForbidOperator))
        return min([*times, *(due for due in waiting if due is not None)], default=None)

    def state(self) -> UnitState:
        """What the unit can be made again from."""
        return UnitState(self.until, tuple(self._steps), tuple(self._ahead))

    def restore(self, state: UnitState) -> None:
        """Go on where another unit of the same fragment was; what its steps made was given before."""
        nothing = Given()
        for step in state.steps:
            self.until = step.since
            self._step(step, nothing, closing=False)
        if state.until > self.until:
            self._step(UnitStep(self.until, state.until, ()), nothing, closing=False)
        self._ahead = list(state.ahead)


def _cut(parcels: list[Parcel], until: int) -> Iterator[tuple[list[Parcel], int]]:
    """The rows in steps of bounded size, with the time at which each ends: rows of one time stay together."""
    total = sum(parcel.rows.num_rows for parcel in parcels)
    if total > STEP_ROWS:
        at = np.sort(np.concatenate([parcel.at for parcel in parcels]))
        for then in np.unique(at[STEP_ROWS::STEP_ROWS]).tolist():
            if then > at[0]:
                early, parcels = split_at(parcels, then)
                yield early, then
    yield parcels, until
