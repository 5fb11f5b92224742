"""A plan at work behind its front: derived events stand among the raw ones, in order of time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from stretto.engine.derived.front import FrontRunner, empty_block
from stretto.engine.derived.read_streams import source_types
from stretto.engine.live_plan import LivePlan, outputs_of, streams_of
from stretto.engine.memory.limits import Meter
from stretto.engine.results.matches import Matches
from stretto.engine.results.thinning import Thinners
from stretto.engine.snapshot import StepRange
from stretto.engine.stream.arena import Block, concat_blocks
from stretto.engine.stream.intake import Intake
from stretto.plan.dag import Plan
from stretto.plan.families.paired_runs import with_paired_runs
from stretto.schema import Special
from stretto.values.times import END_OF_TIME


class FrontedPlan(LivePlan):
    """Chunks of snapshots hold derived events too: they are adopted as they were. The raw ones among them build up the
    front again, so events are kept for as long as it looks back.
    """

    def __init__(self, plan: Plan, meter: Meter, special: Special, **options: Any) -> None:
        plan = with_paired_runs(plan)
        front = plan.front
        assert front is not None
        super().__init__(plan, meter, special, beside=front.raw, **options)
        codes = self.index.codes
        for name in source_types(front):
            codes.setdefault(name, len(codes) + 1)
        self._kept_in = replace(self.intake, kept=True)
        raw = {name: kind for name, kind in self.kinds.items() if name in front.attributes}
        self.intake = Intake(
            raw,
            codes,
            special,
            self.strings,
            spare=self.intake.spare & raw.keys(),
            learning=self.intake.learning,
        )
        self._none = empty_block(raw)
        read = streams_of(plan).values()
        self._front = FrontRunner(front, codes, self.kinds, self.strings, meter, special, read)

    def take(self, blocks: list[Block], until: int, matches: Matches, *, closing: bool) -> Iterator[int]:
        raw = concat_blocks(blocks) if blocks else self._none
        before = len(matches)
        events = self._front.step(raw, until, matches, closing=closing)
        if len(matches) > before:
            yield len(matches) - before
        yield from super().take([events] if len(events) else [], until, matches, closing=closing)

    def derived(self, blocks: list[Block]) -> pa.RecordBatch:
        """Return all events of a finished stream, raw and derived ones, in order of time."""
        raw = concat_blocks(blocks) if blocks else self._none
        return self.to_arrow(self._front.step(raw, END_OF_TIME, Matches(outputs_of(self.plan)), closing=True))

    def thin(self, thinning: Thinners | None) -> None:
        super().thin(thinning)
        self._front.thin(thinning)

    def adopt(self, step: StepRange, chunk: pa.RecordBatch) -> None:
        block = self._kept_in.convert(chunk, 0)[0]
        self.arena.append(self._ranked(block))
        self.steps.append(step)
        self._keep_chunk(step, chunk)
        self._rebuild(self._front.raw(block), step.until)

    def remake(self, step: StepRange, raw: pa.RecordBatch) -> StepRange:
        events = self.intake.convert(raw, 0)[0]
        found = Matches(outputs_of(self.plan))  # by sides; they were reported before
        return self._appended(step, self._front.step(events, step.until, found, closing=False))

    def again(self, step: StepRange, matches: Matches) -> Iterator[int]:
        if step.start == step.end:
            self._rebuild(self._none, step.until)
        yield from super().again(step, matches)

    def _rebuild(self, raw: Block, until: int) -> None:
        """Bring the front up to a time again; what it finds was reported before."""
        self._front.step(raw, until, Matches(outputs_of(self.plan)), closing=False)

    def _reached(self) -> int:
        reached, since = super()._reached(), self._front.since
        front = self.plan.front
        assert front is not None
        return reached if since is None else min(reached, self._first_at(since - front.reach_us))

    def to_arrow(self, block: Block) -> pa.RecordBatch:
        return super().to_arrow(self._front.padded(block))

    @property
    def due_us(self) -> int | None:
        dues = (super().due_us, self._front.due_us)
        return min((due for due in dues if due is not None), default=None)

    @property
    def beside(self) -> int:
        return super().beside + self._front.held
