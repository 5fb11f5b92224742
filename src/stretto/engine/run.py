"""The engine: events in, in batches of any size; matches out, as soon as they are certain."""

from collections import deque
from collections.abc import Iterator
from time import perf_counter
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from stretto.engine.adapt import Adaptation, AdaptOptions, DriftWatch
from stretto.engine.counters import Counters
from stretto.engine.memory.limits import Meter, TextBytes
from stretto.engine.operators.build import build
from stretto.engine.operators.forbid import ForbidOperator
from stretto.engine.results.matches import Matches, Output
from stretto.engine.snapshot import Counts, Snapshot, StepRange, to_arrow
from stretto.engine.step_runner import StepRunner
from stretto.engine.stream.arena import Arena, Block
from stretto.engine.stream.intake import Intake, set_apart
from stretto.engine.stream.partition_ranks import Ranks
from stretto.engine.stream.reorder import Reorder, late_mask
from stretto.engine.stream.repeated_ids import RepeatedIds
from stretto.engine.stream.scan_index import ScanIndex
from stretto.engine.trends.run import Trends
from stretto.errors import EngineError
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import partition_of
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.ops import Emit, Scan
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Special
from stretto.trends.work import TrendWork
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.times import END_OF_TIME, START_OF_TIME
from stretto.values.vector import DTYPES, Vector

STEP = 1 << 16
LARGE_STEP = 1 << 20
IDLE_S = 500e-6
"""Calling an operator takes about a tenth of this. Those that take less in a step, on average: the next is longer."""
EVENT_BYTES = 1 << 10
"""Of the memory that there is, for each event of a long step."""
BUSY_S = 2e-3
"""Operators that take more than this make many rows: the next step is half as long, down to the usual one."""
MEMORY_BYTES = 8 << 30
STRINGS_FROM = 1 << 21
"""So many distinct strings are kept before the engine starts afresh with those in its window."""


class Engine:
    """Runs a plan. Results depend neither on how the input is cut into batches nor on the order within the lateness.

    `adapt`: plan the workload anew when the events are no longer those that the plan was made for; the results stay
    the same. `updatable`: keep all attributes and all types of the events in the window, so that `update` can add any
    query, and `history_us`: keep events at least so long for that. `workload`: what is planned anew, if the plan does
    not say it itself. `watermark`: follows from the events that were seen and the lateness, or is given from outside:
    `push` then only takes events in, and `advance` runs them. `base`: the position of the first event; ids that count
    on from there cost nothing. `memory_bytes`: the most that it holds, with the results of a call and those of earlier
    ones that the caller says are kept, `kept_bytes`; a step that takes more is undone and run again in parts.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        lateness_us: int = 0,
        memory_bytes: int = MEMORY_BYTES,
        special: Special | None = None,
        step: int | None = None,
        adapt: AdaptOptions | bool = False,
        updatable: bool = False,
        history_us: int = 0,
        workload: Workload | None = None,
        watermark: Literal["seen", "given"] = "seen",
        base: int = 0,
    ) -> None:
        self.plan = plan
        self._given = watermark == "given"
        self.counts = Counts()
        self.adaptations: list[Adaptation] = []
        self._workload = workload or plan.workload
        self._updatable, self._history_us = updatable, history_us
        self._special = special or plan.schema.special
        self._meter, self._fixed_step, self.step_size = Meter(memory_bytes), step is not None, step or STEP
        self.kept_bytes = 0
        self._reorder = Reorder(lateness_us)
        self._until = START_OF_TIME
        self.repeats = RepeatedIds()
        self._late: list[pa.RecordBatch] = []
        self._rejected: list[pa.RecordBatch] = []
        self._outputs = _outputs(plan)
        self._counters = Counters.of(len(plan.ops))
        self._begin(base)
        self._watch: DriftWatch | None = None
        if adapt:
            self._watch = DriftWatch(AdaptOptions() if adapt is True else adapt, self._special)
            self._watch.expect(plan)
            self._needed_workload()

    @property
    def counters(self) -> Counters:
        """What each operator of the plan has done so far."""
        now = self._counters
        looked = list(now.candidates)
        for number, operator in self._operators.items():
            looked[number] += operator.looked
        return Counters(list(now.rows), list(now.seconds), looked, list(now.held))

    @property
    def trend_work(self) -> TrendWork | None:
        """What the nodes and units of the trend queries have done so far; None: there are no such queries."""
        return None if self._trends is None else self._trends.work

    def _begin(self, base: int) -> None:
        """Empty operators and an empty arena whose first event will have the position `base`."""
        plan = self.plan
        self._horizon_us = max(plan.horizon_us, self._history_us)
        self._horizon_events = plan.horizon_events
        self._strings = Strings()
        self._strings_limit = STRINGS_FROM
        self._index = ScanIndex(_streams(plan), self._strings)
        self._operators = build(plan.ops)
        partitions = {name: partition_of(name) for name in plan.specials() if partition_of(name)}
        read = attributes_of(plan)
        kept = read | set(plan.schema.attributes) if self._updatable else read
        self._kinds: dict[str, Kind] = {name: plan.schema.attributes[name] for name in sorted(kept)}
        self._partitions = partitions
        self._ranks = {name: Ranks([self._kinds[a] for a in of]) for name, of in partitions.items()}
        dtypes = {name: DTYPES[kind] for name, kind in self._kinds.items()} | dict.fromkeys(
            partitions, DTYPES[Kind.INT]
        )
        self._arena = Arena(dtypes, self._strings, base)
        self._intake = Intake(
            self._kinds,
            self._index.codes,
            self._special,
            self._strings,
            spare=frozenset(kept - read),
            learning=self._updatable,
        )
        self._trends = None if plan.trends is None else Trends(plan.trends, self._kinds, self._strings)
        self._steps: deque[StepRange] = deque()
        self._chunks: dict[str, pa.RecordBatch] = {}
        self._chunk_bytes = 0
        self._texts = TextBytes()
        self._turns = StepRunner(plan, self._index, self._operators, self._trends, self._arena, self._meter)

    # ---- events in, matches out ------------------------------------------------------------------------------

    def nothing(self) -> Matches:
        """A result without matches and totals."""
        return Matches(self._outputs)

    def push(self, events: pa.RecordBatch | pa.Table, *, latest_us: int = END_OF_TIME - 1) -> Matches:
        """Take more events; give the matches that they made certain.

        `latest_us`: events after this time are rejected, such as those that lie far ahead of a clock: one that is years
        ahead would make all that follow late.
        """
        matches = self.nothing()
        for _ in self._pushed(events, matches, latest_us):
            pass
        return matches

    def pushing(
        self, events: pa.RecordBatch | pa.Table, *, latest_us: int = END_OF_TIME - 1
    ) -> Iterator[Matches]:
        """As `push`, but the matches come step by step, so that they need not all be held; to be read to its end.

        Whoever still has the ones before when it asks for more holds them beside what the engine counts.
        """
        matches = self.nothing()
        for _ in self._pushed(events, matches, latest_us):
            if matches.held:
                yield matches.drain()

    def _pushed(self, events: pa.RecordBatch | pa.Table, matches: Matches, latest_us: int) -> Iterator[None]:
        """Take more events; whoever reads this can take the matches away after each part of a step."""
        for batch in events.to_batches() if isinstance(events, pa.Table) else [events]:
            yield from self._take(batch, matches, latest_us)
        if self._watch is not None:
            self._adapt(self._watch)

    def advance(self, until_us: int) -> Matches:
        """No event before this time comes any more: run all that lie before it. A time that has passed changes nothing.

        Only where the watermark is given.
        """
        if not self._given:
            raise EngineError(
                'the watermark of this engine follows its events; build it with watermark="given"'
            )
        matches = self.nothing()
        if until_us > self._until:
            for _ in self._advance(self._reorder.release(until_us), until_us, matches, closing=False):
                pass
        return matches

    @property
    def until_us(self) -> int:
        """All events before this time have been run."""
        return self._until

    @property
    def due_us(self) -> int | None:
        """The earliest time that something waits for: an event that was not run, or a match that is certain only when
        the watermark has passed that time. None: nothing waits for time to pass.
        """
        times = [int(block.ts.min()) for block in self._reorder.pending]
        waiting = [op.due_us for op in self._operators.values() if isinstance(op, ForbidOperator)]
        if self._trends is not None:
            waiting.append(self._trends.due_us)
        return min((*times, *(time for time in waiting if time is not None)), default=None)

    @property
    def reach_us(self) -> int:
        """No match that is still to come depends on an event before this time."""
        arena, reached = self._arena, self._until
        if self._horizon_us:
            reached = max(self._until - self._horizon_us, START_OF_TIME)
        if self._horizon_events:
            first = arena.end - arena.base - self._horizon_events
            reached = min(reached, int(arena.borrowed_ts[first])) if first >= 0 else START_OF_TIME
        return reached

    def flush(self) -> Matches:
        """The input has ended: everything that waited is decided now."""
        matches = self.nothing()
        for _ in self._advance(self._reorder.flush(), END_OF_TIME, matches, closing=True):
            pass
        return matches

    def flushing(self) -> Iterator[Matches]:
        """As `flush`, but the matches come step by step."""
        matches = self.nothing()
        for _ in self._advance(self._reorder.flush(), END_OF_TIME, matches, closing=True):
            if matches.held:
                yield matches.drain()

    @property
    def peak_bytes(self) -> int:
        """The most that was held at once so far, as it is counted."""
        return self._meter.peak

    def take_late(self) -> list[pa.RecordBatch]:
        """The late events since the last call, as they arrived."""
        late, self._late = self._late, []
        return late

    def take_rejected(self) -> list[pa.RecordBatch]:
        """The bad events since the last call, as they arrived, with the column `reason`."""
        rejected, self._rejected = self._rejected, []
        return rejected

    def _take(self, batch: pa.RecordBatch, matches: Matches, latest_us: int) -> Iterator[None]:
        block, rows, bad = self._intake.convert(batch, self.counts.events, latest_us)
        self.repeats.given |= self._special.id in batch.schema.names
        self._rejected += set_apart(batch, bad)
        late, greatest = self._behind(block.ts)
        if late is not None:
            index = np.flatnonzero(late) if rows is None else rows[late]
            self._late.append(batch.take(pa.array(index)))
            block = block.take(np.flatnonzero(~late))
        self._reorder.greatest = greatest
        if self._watch is not None:
            special = self._special
            self._watch.take(batch, (special.ts, special.type, *self._kinds))
        self.counts = self.counts.plus(
            events=batch.num_rows,
            late=0 if late is None else int(late.sum()),
            rejected=sum(len(index) for index, _ in bad),
        )
        if self._given:
            self._reorder.hold(block)
        else:
            yield from self._advance(
                self._reorder.push(block), self._reorder.watermark, matches, closing=False
            )

    def _behind(self, ts: I64) -> tuple[Bool | None, int]:
        """Which events are behind the watermark (None: none is), and the greatest time seen after them."""
        greatest = self._reorder.greatest
        if not self._given:
            return late_mask(ts, greatest, self._reorder.lateness_us)
        late = ts < self._until
        return (late if late.any() else None), int(ts.max(initial=greatest))

    def _advance(
        self, released: list[Block], until: int, matches: Matches, *, closing: bool
    ) -> Iterator[None]:
        """Run released events, which lie before `until`, in steps that are cut between different times."""
        self._meter.outside = self._around(released)
        if not released and (closing or until > self._until):
            yield from self._step([], until, matches, closing=closing)
        for blocks, then in self._cut(released):
            yield from self._step(
                blocks, until if then is None else then, matches, closing=closing and then is None
            )
        # Only now: the blocks of all steps were written in the codes of one set of strings.
        labels = 0 if self._trends is None else self._trends.labels
        if max(len(self._strings), labels) > self._strings_limit:
            self._rebuild(self.snapshot())

    def _around(self, released: list[Block]) -> int:
        """Bytes of what lies around the operators: events that come in, wait or are set apart, texts, snapshots."""
        blocks = sum(block.nbytes for block in (*released, *self._reorder.pending))
        apart: int = sum(batch.nbytes for batch in (*self._late, *self._rejected))
        recent = 0 if self._watch is None else self._watch.held
        kept: int = self._chunk_bytes + self.kept_bytes
        return blocks + apart + recent + kept + self._texts.held(self._strings)

    def _cut(self, blocks: list[Block]) -> Iterator[tuple[list[Block], int | None]]:
        """Blocks in time order as lists of about `step_size` events, with the time of the next event, if there is one.

        Events of one time stay together.
        """
        part: list[Block] = []
        count = 0
        for block in blocks:
            at = 0
            while at < len(block):
                then = int(block.ts[at])
                if count >= self.step_size and then != part[-1].ts[-1]:
                    yield part, then
                    part, count = [], 0
                end = min(len(block), at + max(self.step_size - count, 1))
                end = int(np.searchsorted(block.ts, block.ts[end - 1], side="right"))
                part.append(block.take(slice(at, end)))
                count += end - at
                at = end
        if part:
            yield part, None

    def _step(self, blocks: list[Block], until: int, matches: Matches, *, closing: bool) -> Iterator[None]:
        arena, start = self._arena, self._arena.end
        self._turns.need(arena.ahead(sum(map(len, blocks))), self._counters, matches)
        for block in blocks:
            arena.append(self._ranked(block))
            self.repeats.take(block.ids, block.ts)
        since = int(blocks[0].ts[0]) if blocks else self._until
        step = StepRange(start, arena.end, since, until)
        if blocks:
            self._steps.append(step)
        yield from self._run(step, matches, closing=closing)
        self._until = until
        self._forget()

    def _run(self, step: StepRange, matches: Matches, *, closing: bool) -> Iterator[None]:
        """Run a step, in parts if it has to be."""
        for found in self._turns.run(step, self._counters, matches, closing=closing):
            if found:
                self.counts = self.counts.plus(matches=found)
            yield
        self._set_pace(step.end - step.start, self._turns.turns, self._turns.seconds)

    def _ranked(self, block: Block) -> Block:
        """The block with the positions inside partitions as further attributes."""
        if not self._ranks:
            return block
        attributes: dict[str, Vector] = dict(block.attributes)
        for name, ranks in self._ranks.items():
            attributes[name] = ranks.step([block.attributes[a] for a in self._partitions[name]])
        return Block(block.ts, block.types, block.ids, attributes)

    def _set_pace(self, events: int, turns: int, seconds: float) -> None:
        """Longer steps where calling operators is most of the work, shorter ones where they have much to do."""
        if self._fixed_step:
            return
        if events >= self.step_size and seconds < IDLE_S * turns:
            much = 2 if seconds > IDLE_S * turns / 2 else 4
            most = min(max(self._meter.limit // EVENT_BYTES, STEP), LARGE_STEP)
            self.step_size = min(much * self.step_size, most)
        elif seconds > BUSY_S * turns:
            self.step_size = max(self.step_size // 2, STEP)

    def _forget(self) -> None:
        """Drop whole steps of events that no window reaches any more."""
        arena = self._arena
        reached = arena.end
        if self._horizon_us:
            before = self._until - self._horizon_us
            reached = arena.base + int(np.searchsorted(arena.borrowed_ts, before, side="left"))
        if self._horizon_events:
            reached = min(reached, arena.end - self._horizon_events)
        while self._steps and self._steps[0].end <= reached:
            dropped = self._chunks.pop(self._steps.popleft().name, None)
            self._chunk_bytes -= 0 if dropped is None else dropped.nbytes
        arena.forget(self._steps[0].start if self._steps else arena.end)

    # ---- other plans and queries -----------------------------------------------------------------------------

    def update(self, workload: Workload, optimizer: str | None = None, budget: float | None = None) -> None:
        """Go on with the queries of another workload; those of the same name and meaning know no break.

        A query that is added sees the events that are still kept, as if the stream had begun with them, and reports
        what becomes certain from now on. Without `updatable` only such queries can be added that read no more
        attributes and types than the others; EngineError says what is missing.
        """
        known = self._watch.stats(self.plan.schema) if self._watch else None
        chosen = optimizer or self.plan.optimizer
        plan = optimize(workload, known or self.plan.schema, chosen, budget)
        self.switch(plan)
        self._workload = workload

    def switch(self, plan: Plan) -> None:
        """Go on with another plan; what its queries have in common with those before is neither lost nor repeated.

        Its operators are built from the raw events in the window. If that fails, the engine is as it was.
        """
        self._require(plan)
        snapshot, before = self.snapshot(), vars(self).copy()
        try:
            self.plan, self._outputs = plan, _outputs(plan)
            self._counters = Counters.of(len(plan.ops))
            self._operators = {}
            self._rebuild(snapshot)
        except BaseException:
            vars(self).update(before)
            raise
        if self._watch is not None:
            self._watch.switched(plan)

    def _require(self, plan: Plan) -> None:
        """EngineError unless the events that were kept have all that a plan reads."""
        kinds = {name: plan.schema.attributes[name] for name in sorted(attributes_of(plan))}
        missing = [f"attribute `{name}`" for name, kind in kinds.items() if self._kinds.get(name) is not kind]
        if not self._updatable:
            types = {stream.type for stream in _streams(plan).values()}
            missing += [f"type `{name}`" for name in sorted(types - set(self._index.codes))]
        if missing:
            raise EngineError(
                f"the engine kept no {', no '.join(missing)} of the events in its window: "
                "build it with updatable=True to add queries that read more than those it began with"
            )

    def _adapt(self, watch: DriftWatch) -> None:
        """Plan anew if the events have changed, and go on with that plan if it is another one."""
        events, until = self.counts.events, self._until
        if not watch.due(events, until) or not watch.calls_for_a_plan(
            self.plan, self.counters, events, until
        ):
            return
        stats = watch.stats(self.plan.schema)
        if stats is None:
            return
        begun = perf_counter()
        options = watch.options
        plan = optimize(
            self._needed_workload(), stats, options.optimizer or self.plan.optimizer, options.budget
        )
        switched = plan.ops != self.plan.ops
        if switched:
            try:
                self.switch(plan)
            except EngineError:  # it needs more memory than there is
                switched = False
        self.adaptations.append(Adaptation(self.counts.events, perf_counter() - begun, switched))

    def _needed_workload(self) -> Workload:
        if self._workload is None:
            raise EngineError("to plan anew the engine needs the workload: its plan does not know it")
        return self._workload

    # ---- state -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """All that is needed to go on from here: the raw events in the window. The engine can go on too."""
        for step in self._steps:
            if step.name not in self._chunks:
                block = self._arena.block(step.start, step.end)
                self._keep_chunk(step, self._to_arrow(block))
        pending = tuple(self._to_arrow(block) for block in self._reorder.pending)
        # Ids that follow the arrival order are in the events; the count goes on from `counts.events`.
        times = (self._reorder.greatest, self._until, self._reorder.lateness_us)
        return Snapshot(tuple(self._steps), dict(self._chunks), pending, *times, self.counts)

    def _keep_chunk(self, step: StepRange, chunk: pa.RecordBatch) -> None:
        self._chunks[step.name] = chunk
        self._chunk_bytes += chunk.nbytes

    def _to_arrow(self, block: Block) -> pa.RecordBatch:
        return to_arrow(block, self._index.codes, self._kinds, self._special, self._strings)

    @classmethod
    def restore(cls, plan: Plan, snapshot: Snapshot, **options: Any) -> Self:
        """An engine for the same plan that goes on where the snapshot was taken; `options` as for a new one."""
        engine = cls(plan, **({"lateness_us": snapshot.lateness_us} | options))
        engine._rebuild(snapshot)
        engine.counts = snapshot.counts
        arena = engine._arena
        engine.repeats.remember(arena.ids(np.arange(arena.base, arena.end)))
        return engine

    def _rebuild(self, snapshot: Snapshot) -> None:
        """Start afresh and run the window's events again; what they complete was reported before."""
        counts, counters, trends = self.counts, self.counters, self._trends
        self._counters = Counters.of(len(self.plan.ops))
        self._begin(snapshot.steps[0].start if snapshot.steps else self._arena.end)
        for step in snapshot.steps:
            batch = snapshot.chunks[step.name]
            self._arena.append(self._ranked(self._intake.convert(batch, 0)[0]))
            self._steps.append(step)
            self._keep_chunk(step, batch)
            self._run_again(step)
        # Time may have moved on without events since, and let waiting matches out.
        end = self._arena.end
        self._run_again(StepRange(end, end, snapshot.until, snapshot.until))
        self._until = snapshot.until
        pending = [self._intake.convert(batch, 0)[0] for batch in snapshot.pending]
        self._reorder = Reorder(self._reorder.lateness_us, snapshot.greatest, pending)
        self.counts = counts
        self._go_on_from(counters)
        if self._trends is not None and trends is not None and trends.plan is self._trends.plan:
            self._trends.go_on_from(trends.work)
        self._strings_limit = max(STRINGS_FROM, 2 * len(self._strings))

    def _run_again(self, step: StepRange) -> None:
        """Run a step whose matches were reported before."""
        matches = self.nothing()
        self._meter.outside = self._around([])
        for _ in self._run(step, matches, closing=False):
            matches.drain()

    def _go_on_from(self, counters: Counters) -> None:
        """Count on from these numbers: those of this plan before its operators were built anew."""
        again = self.counters
        looked = [n - m for n, m in zip(counters.candidates, again.candidates, strict=True)]
        self._counters = Counters(counters.rows, counters.seconds, looked, again.held)


def _streams(plan: Plan) -> dict[int, Stream]:
    """What is scanned, by number of the operator; the nodes of trends are counted on after the operators."""
    found = {number: op.stream for number, op in enumerate(plan.ops) if isinstance(op, Scan)}
    nodes = () if plan.trends is None else plan.trends.nodes
    return found | {len(plan.ops) + number: node.stream for number, node in enumerate(nodes)}


def _outputs(plan: Plan) -> list[Output]:
    return [Output(op.query, op.variables, op.kleene, op.returns) for op in plan.ops if isinstance(op, Emit)]
