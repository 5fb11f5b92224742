"""Named optimizers side by side on one workload: their matches are compared, then they are timed.

Every point of an experiment is one workload on one stream. Each contestant plans it, by the same statistics and in its
own time; plans that are equal are run once. A pilot on the first events compares every match with those of `none` and
tells how many events all contestants of the point can be given; the timed runs are compared again by their digests.
Times are those of one core, from events in memory to columns of matches in memory. Output is on everyone's clock;
reading files and the first planning are not, planning anew while events come is. All is processor time, that of
planning too, so that other work on the machine changes little.
"""

import gc
import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from benchmarks.contestants.answers import (
    Answer,
    Digest,
    Found,
    answer_of,
    check_digests,
    check_rows,
    digest,
)
from benchmarks.optimizers_report import Cell, Point, say

from stretto.engine.adapt import AdaptOptions
from stretto.engine.kernels import when_to_compile
from stretto.engine.planning import optimize
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.errors import EngineError
from stretto.generate.reshuffle import Reshuffle
from stretto.generate.streams import generate
from stretto.papers.mcep.local_search import Patterns
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimizers import RECIPES
from stretto.solve.common.budget import Budget
from stretto.stats.profile import Stats

LONG = 20.0
"""Seconds; a point that may take longer has a longer pilot, so that it is met better."""
NEAR = 2.0
"""Contestants that take no more than this many times as long as the fastest one are timed on more events."""
CLOSE, LONGER = 1.4, 4.0
"""And those that are so close to it are timed again for longer: of two or three rounds the best is mostly chance."""
ROUNDS = 3
"""So many there are in any case, where there is more than one."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """An optimizer, the seconds it may take, and whether its engine adapts."""

    label: str
    optimizer: str
    budget: float = 1.0
    adapt: AdaptOptions | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A generated stream."""

    kind: str
    seed: int = 1
    rate: float | None = None
    types: int | None = None
    reshuffle: Reshuffle | None = None

    def table(self, events: int) -> pa.Table:
        return generate(self.kind, events, self.seed, self.rate, types=self.types, reshuffle=self.reshuffle)


@dataclass(frozen=True, slots=True)
class Case:
    """A workload on a stream. `limit`: seconds that the slowest may take. `batch`: events, where it matters."""

    source: Source
    text: str
    limit: float
    known: Source | None = None
    """The stream that the statistics are of, where it is another one."""
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run: events per batch and at most, events of the pilot and for the statistics, repetitions.

    `step`: events per step of the engine; None leaves it to the engine, which makes steps of at least 2**16. `long`:
    seconds that those near the fastest one are given, `enough`: those of all repetitions.
    """

    batch: int = 1 << 20
    step: int | None = None
    most: int = 1 << 21
    pilot: int = 1 << 14
    known: int = 1 << 17
    memory: int = 6 << 30
    enough: float = 1.2
    repeat: int = 9
    long: float = 0.6


@dataclass
class Bench:
    """Runs points one after another; streams are kept while they are in use, points that are equal are run once."""

    scale: Scale = field(default_factory=Scale)
    _tables: dict[Source, pa.Table] = field(default_factory=dict)
    _done: dict[tuple[Case, Contestant], Cell] = field(default_factory=dict)

    def point(self, at: str, case: Case, contestants: Sequence[Contestant]) -> Point:
        """All contestants on one workload; the first one is the measure of the gains."""
        key = _key(case, contestants)
        if all((case, one) in self._done for one in contestants):
            return Point(at, tuple(self._done[case, one] for one in contestants), key)
        workload, stats = self._known(case)
        cells: dict[str, Cell] = {}
        plans: dict[str, Plan] = {}
        for one in contestants:
            like = [o.label for o in contestants if (o.optimizer, o.budget) == (one.optimizer, one.budget)]
            if like[0] in plans:
                cells[one.label], plans[one.label] = replace(cells[like[0]], label=one.label), plans[like[0]]
                continue
            cells[one.label], plan = _planned(one, workload, stats)
            if plan is not None:
                plans[one.label] = plan
        running = [one for one in contestants if one.label in plans]
        scale, events, each = self._pilot(case, running, plans)
        self._time(case, running, plans, cells, scale, events, each)
        first = _each(next(iter(cells.values())))
        for one in contestants:
            cell = cells[one.label]
            gain = first / _each(cell) if cell.seconds else 0.0
            self._done[case, one] = cell = replace(cell, gain=gain)
            say(f"  {one.label:16} {cell.seconds:8.3f} s  {gain:7.1f}  {cell.operators:5} operators")
        return Point(at, tuple(self._done[case, one] for one in contestants), key)

    def planned(self, case: Case, contestants: Sequence[Contestant]) -> dict[str, tuple[Cell, Plan]]:
        """The plan of every contestant, to be run elsewhere."""
        workload, stats = self._known(case)
        made = {one.label: _planned(one, workload, stats) for one in contestants}
        return {label: (cell, plan) for label, (cell, plan) in made.items() if plan is not None}

    def _known(self, case: Case) -> tuple[Workload, Stats]:
        workload = Workload.parse(case.text)
        return workload, Stats.of(
            self._events(case.known or case.source, self.scale.known), workload=workload
        )

    def _events(self, source: Source, count: int) -> pa.Table:
        held = self._tables.get(source)
        if held is None or held.num_rows < count:
            if len(self._tables) > 1:
                self._tables.clear()
            held = self._tables[source] = source.table(count)
        return held.slice(0, count)

    def _pilot(
        self, case: Case, running: Sequence[Contestant], plans: Mapping[str, Plan]
    ) -> tuple[Scale, int, dict[str, float]]:
        """Compare all matches on the first events; the scale, the number of events for all, and seconds per event."""
        scale = self.scale
        while True:
            try:
                pilot, each = self._tried(case, running, plans, scale)
                slowest = running[0].label if case.limit > LONG else max(each, key=lambda label: each[label])
                events = max(pilot, min(scale.most, int(case.limit / max(each[slowest], 1e-9))))
                return scale, self._more(case, plans[slowest], scale, events), each
            except EngineError as error:
                if scale.step is not None and scale.step <= 1 << 10:
                    raise
                say(f"  smaller steps: {str(error)[:90]}")
                scale = replace(scale, step=(scale.step or 1 << 16) // 4)

    def _tried(
        self, case: Case, running: Sequence[Contestant], plans: Mapping[str, Plan], scale: Scale
    ) -> tuple[int, dict[str, float]]:
        """The events that all were given, and the seconds per event of each contestant that has a plan of its own."""
        pilot = min(scale.most, scale.pilot * (4 if case.limit > LONG else 1))
        expected, each = None, {}
        seen: list[tuple[Plan, bool]] = []
        for one in running:
            plan = plans[one.label]
            if any(plan.ops == other.ops and adapts == bool(one.adapt) for other, adapts in seen):
                continue
            seen.append((plan, bool(one.adapt)))
            run = _Run(plan, one.adapt, scale)
            batches = self._events(case.source, pilot).to_batches(max_chunksize=max(pilot // 4, 1))
            run.answer(batches[:1], None)  # kernels are loaded
            found, taken, marks = run.answer(batches, until=case.limit if expected is None else None)
            if expected is None:
                pilot, expected = taken, found
            else:
                check_rows(one.label, found, expected)
            each[one.label] = _steady(marks)
        return pilot, each

    def _more(self, case: Case, plan: Plan, scale: Scale, events: int) -> int:
        """As many events as the slowest one has time for: short pushes, as in a pilot, cost more."""
        if case.limit > LONG:
            return events
        batches = self._events(case.source, events).to_batches(max_chunksize=case.batch or scale.batch)
        seconds = _Run(plan, None, scale).timing(batches, judged=False).seconds
        if seconds > case.limit / 2:
            return events
        return min(scale.most, int(0.9 * events * case.limit / max(seconds, 1e-6)))

    def _time(
        self,
        case: Case,
        running: Sequence[Contestant],
        plans: Mapping[str, Plan],
        cells: dict[str, Cell],
        scale: Scale,
        events: int,
        each: Mapping[str, float],
    ) -> None:
        """All on the same events, slow ones of a long point on fewer; then those near the fastest one on more."""
        different = _different(running, plans)
        for one in running:
            alike = different[one.label]
            if alike != one.label:
                cells[one.label] = replace(cells[one.label], alike=alike)
        timed = [one for one in running if different[one.label] == one.label]
        once, few = replace(scale, repeat=1), int(events * LONG / case.limit / 10)
        slow = [one for one in timed[1:] if case.limit > LONG and each[one.label] * events > LONG / 2]
        self._race(case, [one for one in timed if one not in slow], plans, cells, once, events)
        if slow:  # beside the first one again, whose answers are the measure
            first = cells[timed[0].label]
            self._race(case, [timed[0], *slow], plans, cells, once, few)
            cells[timed[0].label] = first
        each = {one.label: _each(cells[one.label]) for one in timed}
        quick = [one for one in timed if each[one.label] <= NEAR * min(each.values())]
        more = min(scale.most, int(scale.long / max(each[one.label] for one in quick)))
        if more > events:
            say(f"  {', '.join(one.label for one in quick)} on {more:,} events")
        self._race(case, quick, plans, cells, scale, max(more, events))
        least = min(_each(cells[one.label]) for one in quick)
        close = [one for one in quick if _each(cells[one.label]) <= CLOSE * least]
        if len(close) > 1 and scale.repeat > 1:
            longer = replace(scale, enough=LONGER * scale.enough)
            self._race(case, close, plans, cells, longer, max(more, events))
        for one in running:
            same = cells[different[one.label]]
            found = {
                name: getattr(same, name) for name in ("events", "matches", "seconds", "output", "switches")
            }
            cells[one.label] = replace(cells[one.label], **found)

    def _race(
        self,
        case: Case,
        running: Sequence[Contestant],
        plans: Mapping[str, Plan],
        cells: dict[str, Cell],
        scale: Scale,
        events: int,
    ) -> None:
        """Everyone's best time, in rounds so that all meet the same moods of the machine; same answers."""
        batches = self._events(case.source, events).to_batches(max_chunksize=case.batch or scale.batch)
        expected: Mapping[str, Digest] | None = None
        best: dict[str, _Timing] = {}
        spent = dict.fromkeys((one.label for one in running), 0.0)
        for turn in range(scale.repeat):
            for one in running:
                if turn >= ROUNDS and spent[one.label] > scale.enough:
                    continue
                timing = _Run(plans[one.label], one.adapt, scale).timing(batches, judged=not turn)
                spent[one.label] += timing.seconds
                if not turn:
                    expected = timing.digests if expected is None else expected
                    check_digests(one.label, timing.digests, expected)
                    best[one.label] = timing
                elif timing.seconds < best[one.label].seconds:
                    best[one.label] = replace(timing, digests=best[one.label].digests)
        for label, timing in best.items():
            cells[label] = replace(
                cells[label],
                events=events,
                matches=sum(d.matches for d in timing.digests.values()),
                seconds=timing.seconds,
                output=timing.output,
                switches=timing.switches,
            )


def _different(running: Sequence[Contestant], plans: Mapping[str, Plan]) -> dict[str, str]:
    """For every contestant the first one that has the same plan and adapts alike."""
    found: dict[str, str] = {}
    for one in running:
        same = (
            other.label
            for other in running
            if plans[other.label].ops == plans[one.label].ops and bool(other.adapt) == bool(one.adapt)
        )
        found[one.label] = next(same)
    return found


def _each(cell: Cell) -> float:
    return cell.seconds / max(cell.events, 1)


def _key(case: Case, contestants: Sequence[Contestant]) -> str:
    budgets = sorted({str(one.budget) for one in contestants[1:]})
    return hashlib.sha1(repr((case, budgets)).encode()).hexdigest()


def _planned(one: Contestant, workload: Workload, stats: Stats) -> tuple[Cell, Plan | None]:
    if one.optimizer not in RECIPES:
        return Cell(one.label, one.optimizer, missing="no such optimizer"), None
    with initial_plans() as complete:
        start = time.process_time()
        plan = optimize(workload, stats, optimizer=one.optimizer, budget=one.budget)
        seconds = time.process_time() - start
    estimate = plan.estimate
    cell = Cell(one.label, one.optimizer, planning=seconds, operators=len(plan.ops))
    if one.optimizer.startswith("mcep"):  # other optimizers do not depend on such an initial plan
        cell = replace(cell, incomplete=not all(complete))
    if estimate is not None:
        cell = replace(cell, estimate=estimate.cost, gap=estimate.gap)
    return cell, plan


@contextmanager
def initial_plans() -> Iterator[list[bool]]:
    """Observe MCEP's searches: whether time was left when the initial plan of each search was complete."""
    complete: list[bool] = []
    create = Patterns.__init__

    def observed(
        patterns: Patterns, memo: Any, pricing: Any, budget: Budget, *rest: Any, **options: Any
    ) -> None:
        create(patterns, memo, pricing, budget, *rest, **options)
        complete.append(not budget.over)

    Patterns.__init__ = observed  # type: ignore[method-assign]
    try:
        yield complete
    finally:
        Patterns.__init__ = create  # type: ignore[method-assign]


def _steady(marks: Sequence[tuple[int, float]]) -> float:
    """Seconds per event over the later part of a run, when windows are full."""
    events, seconds = marks[-1]
    if len(marks) < 3:
        return seconds / max(events, 1)
    before, spent = marks[len(marks) // 2 - 1]
    return max((seconds - spent) / max(events - before, 1), seconds / max(events, 1) / 2)


@dataclass(frozen=True, slots=True)
class _Timing:
    seconds: float
    output: float
    digests: Mapping[str, Digest]
    switches: int


@dataclass(frozen=True, slots=True)
class _Run:
    """One plan on an engine of its own."""

    plan: Plan
    adapt: AdaptOptions | None
    scale: Scale

    def engine(self) -> Engine:
        when_to_compile.always = True  # so that nothing is compiled, or done by a twin, while it is timed
        return Engine(
            self.plan, memory_bytes=self.scale.memory, step=self.scale.step, adapt=self.adapt or False
        )

    def answer(
        self, batches: Sequence[pa.RecordBatch], until: float | None
    ) -> tuple[Answer, int, list[tuple[int, float]]]:
        """All matches, the events that were taken until the time was over, and how the time went by."""
        engine, parts, events, seconds = self.engine(), [], 0, 0.0
        marks: list[tuple[int, float]] = []
        for batch in [*batches, None]:
            if batch is not None and until is not None and seconds > until:
                continue
            start = time.process_time()
            parts.append(_tables(engine.flush() if batch is None else engine.push(batch)))
            seconds += time.process_time() - start
            if batch is not None:
                events += batch.num_rows
                marks.append((events, seconds))
        return _answer(parts), events, marks

    def timing(self, batches: Sequence[pa.RecordBatch], *, judged: bool = True) -> _Timing:
        """From batches of events to tables of matches; if they are judged, these become digests, off the clock.

        Planning anew while events come, and changing plans, are on the clock.
        """
        engine, seconds, writing = self.engine(), 0.0, 0.0
        totals: dict[str, Digest] = {}
        gc.collect()
        gc.disable()
        try:
            for batch in [*batches, None]:
                start = time.process_time()
                matches = engine.flush() if batch is None else engine.push(batch)
                found = time.process_time()
                tables = _tables(matches)
                written = time.process_time()
                seconds, writing = seconds + written - start, writing + written - found
                if judged:
                    for name, parts in _answer([tables]).items():
                        totals[name] = _sum(totals.get(name), digest(parts))
                del matches, tables
        finally:
            gc.enable()
        return _Timing(seconds, writing, totals, sum(a.switched for a in engine.adaptations))


def _sum(left: Digest | None, right: Digest) -> Digest:
    if left is None:
        return right
    total = (left.total + right.total) % (1 << 64)
    return Digest(left.matches + right.matches, total, left.xor ^ right.xor)


def _tables(matches: Matches) -> dict[str, pa.Table | None]:
    """The columns of matches that a query hands over; None where it has none."""
    return {name: matches[name] if count else None for name, count in matches.counts().items()}


def _answer(parts: Iterable[Mapping[str, pa.Table | None]]) -> Answer:
    found: dict[str, list[Found]] = {}
    for tables in parts:
        for name, matches in answer_of(tables).items():
            found.setdefault(name, []).extend(matches)
    return found
