"""A plan at work: its operators, and the events that its windows can still reach."""

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stretto.engine.counters import Counters
from stretto.engine.memory.limits import Meter, TextBytes
from stretto.engine.operators.build import build
from stretto.engine.results.match_chunks import Output
from stretto.engine.results.matches import Matches
from stretto.engine.results.thinning import Thinners
from stretto.engine.rows.partitions import Ranks
from stretto.engine.rows.row_blocks import rises
from stretto.engine.snapshot import StepRange, to_arrow, with_text_ids
from stretto.engine.step_runner import StepRunner
from stretto.engine.stream.arena import Arena, Block
from stretto.engine.stream.intake import Intake
from stretto.engine.stream.scan_index import ScanIndex
from stretto.errors import EngineError
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import partition_of
from stretto.plan.dag import Plan, read_columns
from stretto.plan.ops import Emit, Scan
from stretto.schema import Kind, Special
from stretto.trends.plan import TrendPlan
from stretto.values.strings import Strings
from stretto.values.times import END_OF_TIME, START_OF_TIME
from stretto.values.vector import DTYPES, Vector

if TYPE_CHECKING:
    from stretto.engine.trends.run import Trends


class LivePlan:
    """Takes events in order of time, step by step; lateness and watermarks are not its business.

    `base`: the position of its first event. `updatable`: it keeps all attributes and all types. `history_us`: it keeps
    events at least so long. `until`: all events before this time have been run. `beside`: attributes that are kept
    although no operator reads them.
    """

    def __init__(
        self,
        plan: Plan,
        meter: Meter,
        special: Special,
        *,
        base: int = 0,
        updatable: bool = False,
        history_us: int = 0,
        strings: Strings | None = None,
        beside: Collection[str] = (),
    ) -> None:
        self.plan, self._special = plan, special
        self.until = START_OF_TIME
        self._horizon_us = max(plan.horizon_us, history_us)
        self._horizon_events = plan.horizon_events
        self.strings = Strings() if strings is None else strings
        self.index = ScanIndex(streams_of(plan), self.strings)
        self.operators = build(plan.ops, plan.placement)
        self._partitions = {name: of for name in plan.specials() if (of := partition_of(name))}
        read = read_columns(plan) | set(beside)
        kept = read | set(plan.schema.attributes) if updatable else read
        self.kinds: dict[str, Kind] = {name: plan.columns[name] for name in sorted(kept)}
        self._ranks = {name: Ranks([self.kinds[a] for a in of]) for name, of in self._partitions.items()}
        dtypes = {name: DTYPES[kind] for name, kind in self.kinds.items()}
        ranked = dict.fromkeys(self._partitions, DTYPES[Kind.INT])
        codes = self.index.codes
        self.arena = Arena(dtypes | ranked, self.strings, base, codes=codes, text_ids=plan.text_ids)
        self.intake = Intake(
            self.kinds,
            self.index.codes,
            special,
            self.strings,
            spare=frozenset(kept - read),
            learning=updatable,
            text_ids=plan.text_ids,
        )
        self.trends = None
        if plan.trends is not None:
            self.trends = _trends(plan.trends, self.kinds, self.strings, meter.limit)
        self.steps: deque[StepRange] = deque()
        self.rejected: list[pa.RecordBatch] = []
        self._told: set[int] = set()
        self._chunks: dict[str, pa.RecordBatch] = {}
        self._chunk_bytes = 0
        self._texts = TextBytes()
        self._counters = Counters.of(len(plan.ops))
        self._meter = meter
        self.runner = StepRunner(plan, self.index, self.operators, self.trends, self.arena, meter)

    # ---- events in, matches out ------------------------------------------------------------------------------

    def take(self, blocks: list[Block], until: int, matches: Matches, *, closing: bool) -> Iterator[int]:
        """Run events that lie before `until`; how many matches were added comes after each part of the step."""
        arena, start = self.arena, self.arena.end
        self.runner.need(arena.ahead(blocks), self._counters, matches)
        for block in blocks:
            arena.append(self._ranked(block))
        since = int(blocks[0].ts[0]) if blocks else self.until
        step = StepRange(start, arena.end, since, until)
        if blocks:
            self.steps.append(step)
        yield from self.runner.run(step, self._counters, matches, closing=closing)
        self.until = until
        self._set_apart(told=False)
        self._forget()

    def end_trends(self, matches: Matches) -> Iterator[int]:
        """Add the totals of all windows that are still open; events that come after this are in no trend."""
        if self.trends is None:
            return
        ending = StepRunner(self.plan, self.index, {}, self.trends, self.arena, self._meter)
        step = StepRange(self.arena.end, self.arena.end, self.until, END_OF_TIME)
        yield from ending.run(step, self._counters, matches, closing=True)
        self.runner = StepRunner(self.plan, self.index, self.operators, None, self.arena, self._meter)

    def thin(self, thinning: Thinners | None) -> None:
        """Report what is left of the matches of steps to come; None: they were reported before."""
        self.runner.thinning = thinning

    def _set_apart(self, *, told: bool) -> None:
        """Events that a user's function raised for are rejected, once, unless that was told before."""
        arena = self.arena
        if not arena.rejections:
            return
        new = sorted(arena.rejections.keys() - self._told)
        if new and not told:
            batch = self.to_arrow(arena.picked(np.array(new, np.int64)))
            reasons = pa.array([arena.rejections[position] for position in new], pa.string())
            self.rejected.append(batch.append_column("reason", reasons))
        self._told = {position for position in (*self._told, *new) if position >= arena.base}
        arena.rejections.clear()

    def take_rejected(self) -> list[pa.RecordBatch]:
        """The events that were rejected since the last call, with the column `reason`."""
        rejected, self.rejected = self.rejected, []
        return rejected

    def adopt(self, step: StepRange, chunk: pa.RecordBatch) -> None:
        """Take the events of a step that another plan kept; they are still to be run again."""
        events = self.intake.convert(chunk, 0)[0]
        ts = events.ts
        if len(events) != step.end - step.start or not rises(ts) or (len(ts) and ts[0] < step.since):
            raise EngineError(
                f"a damaged snapshot: the events of {step.name} are not those of their step"
                " (restore an older one, or start afresh)"
            )
        self.arena.append(self._ranked(events))
        self.steps.append(step)
        self._keep_chunk(step, chunk)

    def remake(self, step: StepRange, raw: pa.RecordBatch) -> StepRange:
        """Take the raw events of a step that a plan with other derived streams kept; the step they are here."""
        return self._appended(step, self.intake.convert(raw, 0)[0])

    def _appended(self, step: StepRange, events: Block) -> StepRange:
        start = self.arena.end
        self.arena.append(self._ranked(events))
        again = StepRange(start, self.arena.end, step.since, step.until)
        if len(events):
            self.steps.append(again)
        return again

    def again(self, step: StepRange, matches: Matches) -> Iterator[int]:
        """Run a step that another plan has run."""
        yield from self.runner.run(step, self._counters, matches, closing=False)
        self.until = step.until
        self._set_apart(told=True)

    def _ranked(self, block: Block) -> Block:
        """The block with the positions inside partitions as further attributes."""
        if not self._ranks:
            return block
        attributes: dict[str, Vector] = dict(block.attributes)
        for name, ranks in self._ranks.items():
            attributes[name] = ranks.step([block.attributes[a] for a in self._partitions[name]])
        return Block(block.ts, block.types, block.ids, attributes)

    def _forget(self) -> None:
        """Drop whole steps of events that no window reaches any more."""
        arena = self.arena
        reached = self._reached()
        while self.steps and self.steps[0].end <= reached:
            dropped = self._chunks.pop(self.steps.popleft().name, None)
            self._chunk_bytes -= 0 if dropped is None else dropped.nbytes
        arena.forget(self.steps[0].start if self.steps else arena.end)

    def _reached(self) -> int:
        """The position of the first event that some window still reaches."""
        arena = self.arena
        reached = arena.end
        if self._horizon_us:
            reached = self._first_at(self.until - self._horizon_us)
        if self._horizon_events:
            reached = min(reached, arena.end - self._horizon_events)
        return reached

    def _first_at(self, time: int) -> int:
        """The position of the first event that is not before a time."""
        arena = self.arena
        return arena.base + int(np.searchsorted(arena.borrowed_ts, time, side="left"))

    # ---- what there is ---------------------------------------------------------------------------------------

    @property
    def reach_us(self) -> int:
        """No match that is still to come depends on an event before this time."""
        arena, reached = self.arena, self.until
        if self._horizon_us:
            reached = max(self.until - self._horizon_us, START_OF_TIME)
        if self._horizon_events:
            first = arena.end - arena.base - self._horizon_events
            reached = min(reached, int(arena.borrowed_ts[first])) if first >= 0 else START_OF_TIME
        return reached

    @property
    def due_us(self) -> int | None:
        """The earliest time that something waits for; None: nothing waits for time to pass."""
        return self.runner.due_us

    @property
    def held(self) -> int:
        """Bytes of events, of what operators keep, and of what lies beside them."""
        return self.arena.held + sum(self._counters.held) + self.beside

    @property
    def beside(self) -> int:
        """Bytes of what is held beside events and rows: texts, and chunks of snapshots."""
        return self._chunk_bytes + self._texts.held(self.strings)

    @property
    def texts(self) -> int:
        """How many distinct texts there are, or labels of trends, if these are more."""
        return max(len(self.strings), 0 if self.trends is None else self.trends.labels)

    @property
    def counters(self) -> Counters:
        """What each operator has done so far."""
        now = self._counters
        looked = list(now.candidates)
        for number, operator in self.operators.items():
            looked[number] += operator.looked
        return Counters(list(now.rows), list(now.seconds), looked, list(now.held))

    def go_on_from(self, counters: Counters) -> None:
        """Count on from these numbers: those of this plan before its operators were built anew."""
        again = self.counters
        looked = [n - m for n, m in zip(counters.candidates, again.candidates, strict=True)]
        self._counters = Counters(counters.rows, counters.seconds, looked, again.held)

    def chunks(self) -> dict[str, pa.RecordBatch]:
        """The events of each step by its name; a chunk is made once."""
        for step in self.steps:
            if step.name not in self._chunks:
                self._keep_chunk(step, self.to_arrow(self.arena.block(step.start, step.end)))
        return dict(self._chunks)

    def _keep_chunk(self, step: StepRange, chunk: pa.RecordBatch) -> None:
        self._chunks[step.name] = chunk
        self._chunk_bytes += chunk.nbytes

    def to_arrow(self, block: Block) -> pa.RecordBatch:
        """Events as a batch that the intake takes again."""
        found = to_arrow(block, self.index.codes, self.kinds, self._special, self.strings)
        return with_text_ids(found, self._special, self.strings) if self.plan.text_ids else found


def _trends(plan: TrendPlan, kinds: Mapping[str, Kind], strings: Strings, limit: int) -> "Trends":
    from stretto.engine.trends.run import Trends  # noqa: PLC0415 - few workloads have trends

    return Trends(plan, kinds, strings, limit)


def outputs_of(plan: Plan) -> list[Output]:
    """What the matches of each query look like."""
    sides = [] if plan.front is None else [side.plan for side in plan.front.sides]
    return [
        _output(op, text_ids=plan.text_ids)
        for one in (plan, *sides)
        for op in one.ops
        if isinstance(op, Emit)
    ]


def _output(op: Emit, *, text_ids: bool) -> Output:
    members = None if op.route is None else op.route.members
    family = members is not None and members.keys is not None
    return Output(op.query, op.listed, op.lists, op.shown, family, members, text_ids)


def streams_of(plan: Plan) -> dict[int, Stream]:
    """What is scanned, by number of the operator; the nodes of trends are counted on after the operators."""
    found = {number: op.stream for number, op in enumerate(plan.ops) if isinstance(op, Scan)}
    nodes = () if plan.trends is None else plan.trends.nodes
    return found | {len(plan.ops) + number: node.stream for number, node in enumerate(nodes)}
