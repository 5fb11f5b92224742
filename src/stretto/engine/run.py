"""The engine: events in, in batches of any size; matches out, as soon as they are certain."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from time import perf_counter, thread_time
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from stretto.engine.adapt import Adaptation, AdaptOptions, DriftWatch
from stretto.engine.calls import GIVEN_IN_PARTS, EngineCall, EngineCalls
from stretto.engine.counters import Counters
from stretto.engine.derived.fronted_plan import FrontedPlan
from stretto.engine.kept_events import derived_names, has_same_derived_events, require_kept, without_types
from stretto.engine.live_plan import LivePlan, outputs_of
from stretto.engine.memory.available import default_memory_bytes
from stretto.engine.memory.limits import Meter
from stretto.engine.pace import STEP, Pace
from stretto.engine.planner import Planner
from stretto.engine.planning import optimize
from stretto.engine.results.match_limit import MatchLimit
from stretto.engine.results.matches import Matches
from stretto.engine.results.thinning import Thinners
from stretto.engine.results.undecided import Undecided, need_undecided
from stretto.engine.snapshot import Counts, Snapshot, StepRange, damage_named, need_waiting
from stretto.engine.stream.arena import Block
from stretto.engine.stream.intake import set_apart
from stretto.engine.stream.reorder import Reorder, late_mask
from stretto.engine.stream.repeated_ids import RepeatedIds
from stretto.engine.units.divided import UnitCounts, divided, heavy_events
from stretto.errors import EngineError, StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan, need_plan
from stretto.plan.placement.heavy import HeavyEvent
from stretto.schema import Special
from stretto.trends.work import TrendWork
from stretto.values.hashing import LANES
from stretto.values.rows import I64, Bool
from stretto.values.tables import batches_of
from stretto.values.times import END_OF_TIME, START_OF_TIME

STRINGS_FROM = 1 << 21
"""So many distinct strings are kept before the engine starts afresh with those in its window."""


class Engine:
    """Runs a plan. Results depend neither on how the input is cut into batches nor on the order within the lateness.

    An engine takes one call at a time. After a call that ended half-way (an interrupt, an error, matches of `pushing`
    that were not read to the end) it refuses every further call: restore a new one from the last snapshot.

    `adapt`: plan the workload anew when the events are no longer those that the plan was made for; the results stay
    the same. `updatable`: keep all attributes and all types of the events in the window, so that `update` can add any
    query, and `history_us`: keep events at least so long for that. `workload`: what is planned anew, if the plan does
    not say it itself. `watermark`: follows from the events that were seen and the lateness, or is given from outside:
    `push` then only takes events in, and `advance` runs them. `base`: the position of the first event; ids that count
    on from there cost nothing. `memory_bytes`: the most that it holds, with the results of a call and those of earlier
    ones that the caller says are kept, `kept_bytes`; a step that takes more is undone and run again in parts. The
    default is half of the memory that is available when the engine is made. `max_matches`: EngineError when a query has
    more matches than that, counted since the engine was made or restored. `undecided`: whether `flush` reports the
    matches that wait for a time after the last event (`keep`) or leaves them out (`drop`). Either way `undecided`
    counts them by query.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        lateness_us: int = 0,
        memory_bytes: int | None = None,
        special: Special | None = None,
        step: int | None = None,
        adapt: AdaptOptions | bool = False,
        updatable: bool = False,
        history_us: int = 0,
        workload: Workload | None = None,
        watermark: Literal["seen", "given"] = "seen",
        base: int = 0,
        max_matches: int | None = None,
        undecided: Undecided = "keep",
    ) -> None:
        self.plan = need_plan(plan)
        self._drops = need_undecided(undecided) == "drop"
        self.undecided: Counter[str] = Counter()
        self._given = watermark == "given"
        self.counts, self._calls = Counts(), EngineCalls()
        self.adaptations: list[Adaptation] = []
        self._workload = workload or plan.workload
        self._updatable, self._history_us = updatable, history_us
        self._special = special or plan.schema.special
        self._meter = Meter(memory_bytes or default_memory_bytes())
        self._pace = Pace(step or STEP, fixed=step is not None)
        self._limit = None if max_matches is None else MatchLimit(max_matches)
        self.kept_bytes = 0
        self._reorder, self.repeats = Reorder(lateness_us), RepeatedIds()
        self._late: list[pa.RecordBatch] = []
        self._rejected: list[pa.RecordBatch] = []
        self._outputs, self._thinning = outputs_of(plan), Thinners()
        self._thinning.switch(plan)
        self._begin(plan, base)
        self._watch: DriftWatch | None = None
        self._planner: Planner | None = None
        if adapt:
            self._watch = DriftWatch(AdaptOptions() if adapt is True else adapt, self._special)
            self._watch.expect(plan)
            self._needed_workload()

    def __repr__(self) -> str:
        return f"<Engine of {self.plan!r}>"

    @property
    def counters(self) -> Counters:
        """What each operator of the plan has done so far."""
        return self._live.counters

    def count_processor_time(self) -> None:
        """Count the processor time of every operator from now on, where elapsed time is counted else.

        Estimates are processor time. To look at that clock takes ten times as long.
        """
        self._live.runner.timer = thread_time
        if self._live.trends is not None:
            self._live.trends.timer = thread_time

    @property
    def unit_counts(self) -> dict[int, list[UnitCounts]]:
        """What each unit of every operator that can have several has done so far; nothing without a placement."""
        return {number: running.work for number, running in divided(self._live.operators)}

    def heavy_events(self, least: float) -> dict[int, tuple[HeavyEvent, ...]]:
        """Of joins that are watched, the shared events that at least such a share of the rows of an input holds."""
        return heavy_events(self._live.operators, least)

    @property
    def step_size(self) -> int:
        """How many events the next step has, about."""
        return self._pace.size

    @property
    def trend_work(self) -> TrendWork | None:
        """What the nodes and units of the trend queries have done so far; None: there are no such queries."""
        trends = self._live.trends
        return None if trends is None else trends.work

    def _begin(self, plan: Plan, base: int) -> None:
        """Empty operators, and room for events whose first will have the position `base`."""
        kind = LivePlan if plan.front is None else FrontedPlan
        self._live = kind(
            plan,
            self._meter,
            self._special,
            base=base,
            updatable=self._updatable,
            history_us=self._history_us,
        )
        self._strings_limit = STRINGS_FROM
        if plan.text_ids:
            self._reorder.ranks = self._live.strings.ranks_among

    # ---- events in, matches out ------------------------------------------------------------------------------

    def nothing(self) -> Matches:
        """A result without matches and totals."""
        return Matches(self._outputs, self._limit)

    def push(self, events: pa.RecordBatch | pa.Table, *, latest_us: int = END_OF_TIME - 1) -> Matches:
        """Take more events; give the matches that they made certain.

        `latest_us`: events after this time are rejected, such as those that lie far ahead of a clock: one that is years
        ahead would make all that follow late.
        """
        matches = self.nothing()
        for _ in self._in_parts("push", partial(self._pushed, batches_of(events), latest_us, matches)):
            pass
        return matches

    def pushing(
        self, events: pa.RecordBatch | pa.Table, *, latest_us: int = END_OF_TIME - 1
    ) -> Iterator[Matches]:
        """As `push`, but the matches come step by step, so that they need not all be held.

        Read it to its end: an engine whose matches were not read to the end refuses every further call. Matches that
        the caller still holds when it asks for more are not in the memory that the engine counts.
        """
        matches = self.nothing()
        for _ in self._in_parts("pushing", partial(self._pushed, batches_of(events), latest_us, matches)):
            if matches.held:
                yield matches.drain()

    def _pushed(
        self, batches: Iterable[pa.RecordBatch], latest_us: int, matches: Matches, call: EngineCall
    ) -> Iterator[None]:
        for batch in batches:
            yield from self._take(batch, matches, latest_us, call)
        if self._watch is not None:
            self._adapt(self._watch)

    def _in_parts(self, name: str, parts: Callable[[EngineCall], Iterator[None]]) -> Iterator[None]:
        """Run a call; after each part of a step, its reader can take the matches away.

        If the call fails, `counts` does not count the matches that were found and never given out.
        """
        with self._calls.begin(name) as call:
            given_out = self.counts.matches
            try:
                for _ in parts(call):
                    if name in GIVEN_IN_PARTS:
                        given_out = self.counts.matches
                    yield
            except BaseException:
                self.counts = replace(self.counts, matches=given_out)
                raise

    def advance(self, until_us: int) -> Matches:
        """No event before this time comes any more: run all that lie before it. A time that has passed changes nothing.

        Only where the watermark is given.
        """
        if not self._given:
            raise EngineError(
                'the watermark of this engine follows its events; build it with watermark="given"'
            )
        matches = self.nothing()
        for _ in self._in_parts("advance", partial(self._advanced, until_us, matches)):
            pass
        return matches

    def _advanced(self, until_us: int, matches: Matches, call: EngineCall) -> Iterator[None]:
        call.has_changed = True
        if until_us > self._live.until:
            yield from self._advance(self._reorder.release(until_us), until_us, matches, closing=False)

    @property
    def until_us(self) -> int:
        """All events before this time have been run."""
        return self._live.until

    @property
    def due_us(self) -> int | None:
        """The earliest time that something waits for: an event that was not run, or a match that is certain only when
        the watermark has passed that time. None: nothing waits for time to pass.
        """
        times = [int(block.ts.min()) for block in self._reorder.pending]
        waiting = (self._live.due_us, self._thinning.due_us)
        return min((*times, *(time for time in waiting if time is not None)), default=None)

    @property
    def dropped(self) -> dict[str, int]:
        """How many matches were found and not reported, by the queries that have KEEP or LIMIT."""
        return self._thinning.dropped

    @property
    def kept_state(self) -> str:
        """What KEEP and LIMIT remember, as a text; an empty one where no query has them."""
        return self._thinning.to_text()

    @kept_state.setter
    def kept_state(self, text: str) -> None:
        self._thinning.from_text(text)

    @property
    def reach_us(self) -> int:
        """No match that is still to come depends on an event before this time."""
        return self._live.reach_us

    def flush(self) -> Matches:
        """The input has ended: report what that decides and, unless they are dropped, the undecided matches."""
        matches = self.nothing()
        for _ in self._in_parts("flush", partial(self._ended, matches)):
            pass
        matches.undecided = Counter(self.undecided)
        return matches

    def flushing(self) -> Iterator[Matches]:
        """As `flush`, but the matches come step by step."""
        matches = self.nothing()
        for _ in self._in_parts("flushing", partial(self._ended, matches)):
            if matches.held:
                yield matches.drain()

    def settle(self, last_us: int = START_OF_TIME) -> Matches:
        """The input has ended: report the matches that its last event decides. `release` reports the others.

        `last_us`: the time of the last event of the whole input, where this engine has only a part of the events.
        """
        matches = self.nothing()
        for _ in self._in_parts("settle", partial(self._settled, matches, last_us)):
            pass
        return matches

    def release(self) -> Matches:
        """Report the undecided matches after `settle`: those that wait for a time after the last event."""
        matches = self.nothing()
        for _ in self._in_parts("release", partial(self._released, matches)):
            pass
        return matches

    def _released(self, matches: Matches, call: EngineCall) -> Iterator[None]:
        call.has_changed = True
        yield from self._advance([], END_OF_TIME, matches, closing=True)

    def _ended(self, matches: Matches, call: EngineCall) -> Iterator[None]:
        """Run what `flush` runs; the reader can take the matches away after each part of a step."""
        front = self.plan.front
        if front is not None and front.stream_horizon_events and not self._drops:
            # Positions that never come let a stream make events at the time of the last event. All events of one time
            # are in one step, so here it is another engine that tells how many matches are decided.
            again = {"special": self._special, "memory_bytes": self._meter.limit}
            decided = Engine.restore(self.plan, self._snapshot(), undecided="drop", **again).settle().counts()
            yield from self._closed(self._reorder.flush(), matches)
            self.undecided -= Counter(decided)
            return
        yield from self._settled(matches, START_OF_TIME, call)
        if not self._drops:
            yield from self._closed([], matches)
            return
        counts, thinned, kept_bytes = self.counts, self._thinning.dropped, self.kept_bytes
        self.kept_bytes += matches.held
        waited = Matches(self._outputs)  # matches that are not reported have no limit
        for _ in self._closed([], waited):
            waited.drain()
            yield
        self.counts, self.kept_bytes = counts, kept_bytes
        self._thinning.count_again(thinned)

    def _closed(self, released: list[Block], matches: Matches) -> Iterator[None]:
        """Run the last step, after which nothing waits, and count what it finds as undecided."""
        before = Counter(matches.counts())
        for _ in self._advance(released, END_OF_TIME, matches, closing=True):
            self.undecided += Counter(matches.counts()) - before
            yield
            before = Counter(matches.counts())

    def _settled(self, matches: Matches, last_us: int, call: EngineCall) -> Iterator[None]:
        """Run all events, and let their times pass but no later time."""
        call.has_changed = True
        if self._reorder.greatest > START_OF_TIME:
            until = max(self._reorder.greatest + 1, last_us + 1, self._live.until)
            yield from self._advance(self._reorder.flush(), until, matches, closing=False)
        if self._drops:
            # Before events that undecided matches make: they are in no trend.
            for _ in self._live.end_trends(matches):
                yield

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

    def _take(
        self, batch: pa.RecordBatch, matches: Matches, latest_us: int, call: EngineCall
    ) -> Iterator[None]:
        try:
            block, rows, bad = self._live.intake.convert(batch, self.counts.events, latest_us)
        except StrettoError:
            # The batch lacks a column, or a column is of another kind. Only earlier batches have changed anything.
            call.is_undone = not call.has_changed
            raise
        call.has_changed = True
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
            self._watch.take(batch, (special.ts, special.type, *self._live.kinds))
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
        late = ts < self._live.until
        return (late if late.any() else None), int(ts.max(initial=greatest))

    def _advance(
        self, released: list[Block], until: int, matches: Matches, *, closing: bool
    ) -> Iterator[None]:
        """Run released events, which lie before `until`, in steps that are cut between different times."""
        self._meter.outside = self._around(released)
        if not released and (closing or until > self._live.until):
            yield from self._step([], until, matches, closing=closing)
        for blocks, then in self._pace.cut(released):
            yield from self._step(
                blocks, until if then is None else then, matches, closing=closing and then is None
            )
        self._live.arena.settle()
        # Only now: the blocks of all steps were written in the codes of one set of strings.
        if self._live.texts > self._strings_limit:
            self._rebuild(self._snapshot(), self.plan, self.counters)

    def _around(self, released: list[Block]) -> int:
        """Bytes of what lies around the operators: events that come in, wait or are set apart, texts, snapshots."""
        blocks = sum(block.nbytes for block in (*released, *self._reorder.pending))
        apart: int = sum(batch.nbytes for batch in (*self._late, *self._rejected))
        recent = 0 if self._watch is None else self._watch.held
        return blocks + apart + recent + self.kept_bytes + self._live.beside + self._thinning.held

    def _step(self, blocks: list[Block], until: int, matches: Matches, *, closing: bool) -> Iterator[None]:
        for block in blocks:
            self.repeats.take(self._known_ids(block.ids), block.ts)
        live = self._live
        live.thin(self._thinning)
        for found in live.take(blocks, until, matches, closing=closing):
            if found:
                self.counts = self.counts.plus(matches=found)
            yield
        for batch in live.take_rejected():
            self._rejected.append(batch)
            self.counts = self.counts.plus(rejected=batch.num_rows)
        events, runner = sum(map(len, blocks)), live.runner
        self._pace.follow(events, runner.turns, runner.seconds, self._meter.limit)

    def _known_ids(self, ids: I64 | range) -> I64 | range:
        """Ids as numbers that stay the same for as long as the engine runs: of texts their hashes."""
        if not self.plan.text_ids or isinstance(ids, range):
            return ids
        return self._live.strings.hashes(ids, LANES[0]).view(np.int64)

    # ---- other plans and queries -----------------------------------------------------------------------------

    def update(self, workload: Workload, optimizer: str | None = None, budget: float | None = None) -> None:
        """Go on with the queries of another workload; those of the same name and meaning know no break.

        A query that is added sees the events that are still kept, as if the stream had begun with them, and reports
        what becomes certain from now on. Without `updatable` only such queries can be added that read no more
        attributes and types than the others; EngineError says what is missing.
        """
        with self._calls.begin("update") as call:
            call.is_undone = True
            known = self._watch.stats(self.plan.schema) if self._watch else None
            chosen = optimizer or self.plan.optimizer
            plan = optimize(workload, known or self.plan.schema, chosen, budget)
            self._switch(plan, call)
            self._workload = workload

    def switch(self, plan: Plan) -> None:
        """Go on with another plan; what its queries have in common with those before is neither lost nor repeated.

        Its operators are built from the raw events in the window. Where its derived streams are others, so are theirs:
        events are kept for as long as streams and queries together look back, so those that are still there are made
        again as they were. If that fails, the engine is as it was.
        """
        with self._calls.begin("switch") as call:
            call.is_undone = True
            self._switch(plan, call)

    def _switch(self, plan: Plan, call: EngineCall | None = None) -> None:
        """Switch to a plan, or leave the engine as it was; the call then says whether it is."""
        kinds = self._live.kinds
        made = None if has_same_derived_events(self.plan, plan, kinds) else derived_names(self.plan)
        types = None if self._updatable else self._live.index.codes
        require_kept(plan, kinds, types, made)
        snapshot, before = self._snapshot(), vars(self).copy()
        if call is not None:
            call.is_undone = False
        try:
            self.plan, self._outputs = plan, outputs_of(plan)
            thinning = Thinners()
            thinning.thinners = dict(self._thinning.thinners)
            thinning.switch(plan)
            self._thinning = thinning
            self._rebuild(snapshot, plan, Counters.of(len(plan.ops)), made)
        except BaseException:
            vars(self).update(before)
            if call is not None:
                call.is_undone = True
            raise
        if self._watch is not None:
            self._watch.switched(plan, self.counts.events, self._live.until)

    def _adapt(self, watch: DriftWatch) -> None:
        """Plan anew if the events have changed; go on with that plan when it is made, if it is another one."""
        if self._planner is None:
            events, until = self.counts.events, self._live.until
            if watch.due(events, until) and watch.calls_for_a_plan(self.plan, self.counters, events, until):
                stats = watch.stats(self.plan.schema)
                if stats is not None:
                    options, optimizer = watch.options, watch.options.optimizer or self.plan.optimizer
                    task = partial(optimize, self._needed_workload(), stats, optimizer, options.budget)
                    self._planner = Planner(task, self._needed_workload(), background=options.background)
        planner = self._planner
        if planner is None or not planner.done:
            return
        self._planner = None
        if planner.workload is not self._workload:  # other queries have come meanwhile
            return
        plan, begun = planner.plan(), perf_counter()
        switched = plan.ops != self.plan.ops
        if switched:
            try:
                self._switch(plan)
            except EngineError:  # it needs more memory than there is
                switched = False
        took = planner.seconds + perf_counter() - begun
        self.adaptations.append(Adaptation(self.counts.events, took, switched))

    def _needed_workload(self) -> Workload:
        if self._workload is None:
            raise EngineError("to plan anew the engine needs the workload: its plan does not know it")
        return self._workload

    # ---- state -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """All that is needed to go on from here: the raw events in the window. The engine can go on too.

        EngineError after a call that ended half-way, and while a call is open.
        """
        with self._calls.begin("snapshot") as call:
            call.is_undone = True  # it changes nothing
            return self._snapshot()

    def _snapshot(self) -> Snapshot:
        live, reorder = self._live, self._reorder
        chunks = live.chunks()
        pending = tuple(map(live.to_arrow, reorder.pending))
        # Ids that follow the arrival order are in the events; the count goes on from `counts.events`.
        times = (reorder.greatest, live.until, reorder.lateness_us)
        return Snapshot(tuple(live.steps), chunks, pending, *times, self.counts, kept=self.kept_state)

    @classmethod
    def restore(cls, plan: Plan, snapshot: Snapshot, **options: Any) -> Self:
        """An engine for the same plan that goes on where the snapshot was taken; `options` as for a new one."""
        engine = cls(plan, **({"lateness_us": snapshot.lateness_us} | options))
        with damage_named():
            engine._rebuild(snapshot, plan, engine.counters)
            engine.counts = snapshot.counts
            engine.kept_state = snapshot.kept
        arena = engine._live.arena
        ids = engine._known_ids(arena.ids(np.arange(arena.base, arena.end)))
        engine.repeats.remember(np.asarray(ids, np.int64))
        return engine

    def _rebuild(
        self, snapshot: Snapshot, plan: Plan, counters: Counters, made: Collection[str] | None = None
    ) -> None:
        """Start afresh and run the window's events again; what they complete was reported before.

        `counters`: what the operators have done before, if they are the same ones. `made`: the derived streams of the
        snapshot, where they are others than those of the plan.
        """
        trends = self._live.trends
        before = None if trends is None else (trends.plan, trends.work)
        self._begin(plan, snapshot.steps[0].start if snapshot.steps else self._live.arena.end)
        live = self._live
        for step in snapshot.steps:
            chunk = snapshot.chunks[step.name]
            if made is None:
                live.adopt(step, chunk)
                self._again(step)
            else:
                self._again(live.remake(step, without_types(chunk, self._special.type, made)))
        # Time may have moved on without events since, and let waiting matches out.
        end = live.arena.end
        self._again(StepRange(end, end, snapshot.until, snapshot.until))
        pending = [live.intake.convert(batch, 0)[0] for batch in snapshot.pending]
        need_waiting(snapshot, pending)
        ranks = live.strings.ranks_among if plan.text_ids else None
        self._reorder = Reorder(self._reorder.lateness_us, snapshot.greatest, pending, ranks)
        live.go_on_from(counters)
        if live.trends is not None and before is not None and before[0] is live.trends.plan:
            live.trends.go_on_from(before[1])
        self._strings_limit = max(STRINGS_FROM, 2 * len(live.strings))

    def _again(self, step: StepRange) -> None:
        """Run a step whose matches were reported before."""
        matches = Matches(self._outputs)
        self._meter.outside = self._around([])
        self._live.thin(None)
        for _ in self._live.again(step, matches):
            matches.drain()
