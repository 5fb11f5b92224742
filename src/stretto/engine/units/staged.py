"""A plan on units, stage by stage, in one process: every unit has its own events and rows, as on a cluster."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from stretto.engine.live_plan import outputs_of, streams_of
from stretto.engine.memory.limits import Meter
from stretto.engine.operators.emit import EmitOperator
from stretto.engine.operators.protocol import Clock
from stretto.engine.results.matches import Matches
from stretto.engine.snapshot import Counts
from stretto.engine.stream.intake import Intake
from stretto.engine.stream.reorder import late_mask
from stretto.engine.stream.scan_index import ScanIndex
from stretto.engine.units.divided import UnitCounts
from stretto.engine.units.parcels import Parcel
from stretto.engine.units.staged_unit import UNIT_BYTES, Given, Sending, StagedPlan, StagedUnit
from stretto.engine.units.unit_state import UnitState
from stretto.plan.dag import Plan
from stretto.values.rows import Rows
from stretto.values.times import END_OF_TIME, START_OF_TIME


class StagedSource:
    """Events to rows of scans, on their way to units; it remembers nothing, so that events may come to many of it."""

    def __init__(self, staged: StagedPlan) -> None:
        self._staged, self._fragment = staged, staged.fragments[0]
        self._sending = Sending(staged, self._fragment)

    def rows(self, events: pa.RecordBatch, arrived: int = 0) -> Given:
        """What units need of some events, which are in no order; without ids they are counted from `arrived` on.

        Bad events are left out.
        """
        staged, given = self._staged, Given()
        arena = staged.arena(self._fragment)
        index = ScanIndex(streams_of(staged.plan), arena.strings)
        kinds = staged.packing(self._fragment).kinds
        intake = Intake(kinds, index.codes, staged.special, arena.strings, text_ids=staged.text_ids)
        block = intake.convert(events, arrived)[0]
        arena.append(block.take(np.argsort(block.ts, kind="stable")))
        meter = Meter(UNIT_BYTES)
        clock = Clock(arena, 0, arena.end, START_OF_TIME, END_OF_TIME, False, meter)
        rows: dict[int, list[Rows]] = dict(index.step(clock, arena.borrowed_types, arena.borrowed_ts))
        for number in self._fragment.ops:
            if number in staged.makers:
                running = staged.makers[number]()
                inputs = [rows.get(source, []) for source in staged.plan.ops[number].inputs]
                if isinstance(running, EmitOperator):
                    given.matches.append((running.query, running.step(inputs, clock, arena)))
                    continue
                rows[number] = running.step(inputs, clock)
            given.parcels += self._sending.parcels(number, rows[number], START_OF_TIME, arena)
        return given


class StagedRun:
    """All units of a plan, driven stage by stage. Events that come later than the lateness allows are left out."""

    def __init__(self, plan: Plan, *, lateness_us: int = 0, memory_bytes: int = UNIT_BYTES) -> None:
        self.staged, self._memory = StagedPlan(plan), memory_bytes
        self._outputs = outputs_of(plan)
        self._source = StagedSource(self.staged)
        self.units = {
            (fragment.number, unit): StagedUnit(self.staged, fragment, memory_bytes)
            for fragment in self.staged.fragments[1:]
            for unit in range(fragment.grid.units)
        }
        self._lateness, self._greatest = lateness_us, START_OF_TIME
        self.counts = Counts()

    def push(self, events: pa.RecordBatch | pa.Table) -> Matches:
        """Take more events; give the matches that they made certain."""
        matches = Matches(self._outputs)
        for batch in events.to_batches() if isinstance(events, pa.Table) else [events]:
            ts = batch.column(self.staged.special.ts).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
            late, self._greatest = late_mask(ts, self._greatest, self._lateness)
            kept = batch if late is None else batch.filter(pa.array(~late))
            given = self._source.rows(kept, self.counts.events)
            self.counts = self.counts.plus(events=batch.num_rows, late=0 if late is None else int(late.sum()))
            self._deliver(given, matches)
        self._advance(max(self._greatest - self._lateness, START_OF_TIME), matches, closing=False)
        return matches

    def flush(self) -> Matches:
        """The input has ended."""
        matches = Matches(self._outputs)
        self._advance(END_OF_TIME, matches, closing=True)
        return matches

    def _advance(self, until: int, matches: Matches, *, closing: bool) -> None:
        """Stage after stage: each has all rows of those before it when its turn comes."""
        for stage in self.staged.stages:
            for fragment in stage:
                for unit in range(fragment.grid.units):
                    given = self.units[fragment.number, unit].advance(until, closing=closing)
                    self._deliver(given, matches)

    def _deliver(self, given: Given, matches: Matches) -> None:
        for query, chunks in given.matches:
            matches.add(query, chunks)
        parcels: dict[tuple[int, int], list[Parcel]] = {}
        for parcel in given.parcels:
            parcels.setdefault((parcel.fragment, parcel.unit), []).append(parcel)
        for address, own in parcels.items():
            self.units[address].take(own)

    @property
    def unit_counts(self) -> dict[int, list[UnitCounts]]:
        """What the units of every fragment did, by the operator that it begins with."""
        return {
            fragment.head: [self.units[fragment.number, unit].counts for unit in range(fragment.grid.units)]
            for fragment in self.staged.fragments[1:]
            if fragment.head is not None
        }

    def restart(self, chosen: Iterable[tuple[int, int]]) -> None:
        """Replace some units by new ones that are made from their states, as after a failure."""
        for address in chosen:
            state = UnitState.from_bytes(self.units[address].state().to_bytes())
            unit = StagedUnit(self.staged, self.staged.fragments[address[0]], self._memory)
            unit.restore(state)
            self.units[address] = unit
