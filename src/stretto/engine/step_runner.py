"""One step through all operators: run, undone where it does not fit into memory, and run again in parts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stretto.engine.counters import Counters
from stretto.engine.memory import reuse
from stretto.engine.memory.limits import Meter, TooMuch, Undo
from stretto.engine.operators.emit import EmitOperator
from stretto.engine.operators.forbid import ForbidOperator
from stretto.engine.operators.protocol import Clock, Operator
from stretto.engine.operators.sieving import sieving_joins
from stretto.engine.results.match_chunks import MatchChunk
from stretto.engine.results.matches import Matches
from stretto.engine.results.thinning import Thinners
from stretto.engine.rows.sieve import Sieve
from stretto.engine.snapshot import StepRange
from stretto.engine.stream.arena import Arena
from stretto.engine.stream.scan_index import ScanIndex
from stretto.errors import EngineError
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit
from stretto.records import dataclass
from stretto.values.rows import Rows
from stretto.values.times import START_OF_TIME

if TYPE_CHECKING:
    from stretto.engine.trends.run import Trends

SHOWN = 8
"""Queries that an error names."""


@dataclass(slots=True)
class _Attempt:
    """What one attempt at a step has done so far; nothing of it is known elsewhere before all is done."""

    undo: list[tuple[int, Undo]] = field(default_factory=list)
    made: list[tuple[int, int]] = field(default_factory=list)
    found: list[tuple[str, list[MatchChunk]]] = field(default_factory=list)
    sieves: dict[str, Sieve] = field(default_factory=dict)


class StepRunner:
    """The operators of a plan, each of which has its turn in every step, inputs first.

    `turns` and `seconds` tell how many operators had one in the last step, and how long they took.
    """

    def __init__(
        self,
        plan: Plan,
        index: ScanIndex,
        operators: Mapping[int, Operator | EmitOperator],
        trends: "Trends | None",
        arena: Arena,
        meter: Meter,
    ) -> None:
        self._plan, self._index, self._operators = plan, index, operators
        self._trends, self._arena, self._meter = trends, arena, meter
        self._order = [(number, op, plan.ops[number].inputs) for number, op in operators.items()]
        self._queries = {op.query for op in plan.ops if isinstance(op, Emit)}
        self._sieving = sieving_joins(plan.ops, operators)
        self.thinning: Thinners | None = None  # none where what is found was reported before
        self._fits: int | None = None  # events of a step that fitted, after one that did not
        self.turns = 0
        self.seconds = 0.0
        self.timer = perf_counter

    def run(self, step: StepRange, done: Counters, matches: Matches, *, closing: bool) -> Iterator[int]:
        """Run a step and add what it finds to the matches; how many it found comes after each part of it.

        What the operators know and count afterwards does not depend on the parts. EngineError where the events of one
        time do not fit into memory.
        """
        self.turns, self.seconds = 0, 0.0
        rest: StepRange | None = step
        while rest is not None:
            # What is before `part` is done, `rest` comes after it; together they are what is left of the step.
            part, rest = self._begun(rest)
            while isinstance(
                found := self._tried(part, done, matches, closing and rest is None), EngineError
            ):
                halves = self._halved(part)
                if halves is None:
                    raise found
                part, second = halves
                rest = second if rest is None else StepRange(second.start, rest.end, second.since, rest.until)
                # Later steps begin with a part of this size, and grow by a quarter: one failure is not met every time.
                self._fits = max(part.end - part.start, 1)
            if self._fits is not None and part.end - part.start >= self._fits:
                self._fits += self._fits // 4 + 1
            yield found

    def need(self, size: int, done: Counters, matches: Matches) -> None:
        """EngineError unless there is room for so much more of events."""
        if not size:
            return
        try:
            self._begin(done, matches)
            self._meter.reserve(size)
        except TooMuch:
            raise self._too_much(done, matches, "the events in the window went past it") from None

    @property
    def due_us(self) -> int | None:
        """The earliest time that a row or a total waits for; None: nothing waits for time to pass."""
        dues = [op.due_us for op in self._operators.values() if isinstance(op, ForbidOperator)]
        dues += [] if self._trends is None else [self._trends.due_us]
        return min((due for due in dues if due is not None), default=None)

    # ---- parts of a step ---------------------------------------------------------------------------------------

    def _begun(self, step: StepRange) -> tuple[StepRange, StepRange | None]:
        """The first part of a step, no longer than what fitted, and the rest of it."""
        if self._fits is None or step.end - step.start <= self._fits:
            return step, None
        return self._cut(step, step.start + self._fits) or (step, None)

    def _cut(self, step: StepRange, position: int) -> tuple[StepRange, StepRange] | None:
        """A step in two, at this position or near it, where the times on both sides differ; None: they are all one."""
        # Events of one time stay together: operators take what comes in a later step as strictly later.
        ts = self._arena.borrowed_ts[step.start - self._arena.base : step.end - self._arena.base]
        then = ts[position - step.start]
        at = int(np.searchsorted(ts, then, side="left")) or int(np.searchsorted(ts, then, side="right"))
        if at == len(ts):
            return None
        time, at = int(ts[at]), at + step.start
        return StepRange(step.start, at, step.since, time), StepRange(at, step.end, time, step.until)

    def _halved(self, step: StepRange) -> tuple[StepRange, StepRange] | None:
        """A step in two, both shorter than it: events of different times, or events and the time that passes."""
        if step.start < step.end:
            halves = self._cut(step, (step.start + step.end) // 2)
            if halves is not None:
                return halves
            time = int(self._arena.borrowed_ts[step.end - 1 - self._arena.base]) + 1
        else:
            # Only time passes here, and lets out what waited for it: before the first due time there is nothing to cut.
            due = self.due_us
            begin = max(step.since, step.until if due is None else due)
            time = begin + (step.until - begin) // 2
        if not step.since < time < step.until:
            return None
        return StepRange(step.start, step.end, step.since, time), StepRange(
            step.end, step.end, time, step.until
        )

    # ---- one attempt -------------------------------------------------------------------------------------------

    def _tried(self, step: StepRange, done: Counters, matches: Matches, closing: bool) -> int | EngineError:
        """How many matches a step has; where it does not fit, nothing has happened, and back comes the error."""
        meter, attempt = self._meter, _Attempt()
        clock = Clock(self._arena, step.start, step.end, step.since, step.until, closing, meter)
        try:
            self._begin(done, matches)
            scanned = self._scan(clock, attempt, done)
            self._take_turns(scanned, clock, attempt, done)
            totals = self._total(scanned, step, clock, done, matches)
        except TooMuch:
            error = self._too_much(done, matches)
            # An operator marks its state before its turn, so also the one that failed half-way is undone.
            for number, undo in reversed(attempt.undo):
                undo()
                done.held[number] = self._operators[number].held
            return error
        # From here on nothing fails: counters and matches change together, or not at all.
        for number, count in attempt.made:
            done.rows[number] += count
        found = attempt.found if self.thinning is None else self._thinned(self.thinning, attempt, step)
        for query, chunks in found:
            matches.add(query, chunks)
        matches.add_totals(totals)
        return sum(len(chunk) for _, chunks in found for chunk in chunks)

    def _thinned(
        self, thinning: Thinners, attempt: _Attempt, step: StepRange
    ) -> list[tuple[str, list[MatchChunk]]]:
        """What is reported of what was found, and of what time has made certain."""
        found = attempt.found
        if not thinning.thinners:
            return found
        reach = step.until - self._plan.horizon_us if not self._plan.horizon_events else START_OF_TIME
        # Of some nothing is left where it was found, and of others something is certain by now.
        still = (self._queries & {*thinning.waiting, *attempt.sieves}) - {query for query, _ in found}
        return [
            (query, thinning.take(query, chunks, step.until, reach, attempt.sieves.get(query)))
            for query, chunks in (*found, *((query, []) for query in sorted(still)))
        ]

    def _begin(self, done: Counters, matches: Matches) -> None:
        held, trends = done.held, self._trends
        self._meter.at = max(range(len(held)), key=held.__getitem__, default=0)
        state = self._arena.held + sum(held) + (0 if trends is None else trends.held)
        self._meter.begin(state + matches.held)

    def _scan(self, clock: Clock, attempt: _Attempt, done: Counters) -> dict[int, list[Rows]]:
        begun, arena = self.timer(), self._arena
        at = slice(clock.start - arena.base, clock.end - arena.base)
        scanned = self._index.step(clock, arena.borrowed_types[at], arena.borrowed_ts[at])
        share = (self.timer() - begun) / max(len(scanned), 1)
        for number, parts in scanned.items():
            if number < len(self._plan.ops):
                attempt.made.append((number, sum(map(len, parts))))
                done.seconds[number] += share
                if reuse.debug:
                    reuse.check_rows(parts)
        return scanned

    def _take_turns(
        self, scanned: Mapping[int, list[Rows]], clock: Clock, attempt: _Attempt, done: Counters
    ) -> None:
        """Every operator that has something to do once, inputs first."""
        meter, seconds, held = clock.meter, done.seconds, done.held
        rows: list[list[Rows]] = [[]] * len(self._plan.ops)
        for number, parts in scanned.items():
            if number < len(rows):
                rows[number] = parts
        timer = self.timer
        begun = time = timer()
        for number, operator, sources in self._order:
            if not (operator.waiting or any(map(rows.__getitem__, sources))):
                continue
            self.turns += 1
            meter.at, meter.rows = number, 0
            attempt.undo.append((number, operator.mark()))
            inputs = [rows[k] for k in sources]
            if isinstance(operator, EmitOperator):
                sieve = attempt.sieves.get(operator.query)
                chunks = operator.step(
                    inputs, clock if sieve is None else replace(clock, sieve=sieve), self._arena
                )
                attempt.found.append((operator.query, chunks))
                attempt.made.append((number, sum(map(len, chunks))))
            else:
                sieve = self._sieve(number, attempt)
                rows[number] = operator.step(inputs, clock if sieve is None else replace(clock, sieve=sieve))
                attempt.made.append((number, sum(map(len, rows[number]))))
                if sieve is not None:  # counted as if they had been reported and dropped
                    attempt.made += [(number, sieve.left_out), (self._sieving[number].emit, sieve.left_out)]
                if reuse.debug:
                    reuse.check_rows(rows[number])
            held[number] = operator.held
            now = timer()
            seconds[number] += now - time
            time = now
        self.seconds += time - begun

    def _sieve(self, number: int, attempt: _Attempt) -> Sieve | None:
        """What an operator need not write of what it finds."""
        found, thinning = self._sieving.get(number), self.thinning
        if found is None or thinning is None or found.query not in thinning.thinners:
            return None
        sieve = thinning.thinners[found.query].sieve(found, self._arena)
        if sieve is not None:
            attempt.sieves[found.query] = sieve
        return sieve

    def _total(
        self,
        scanned: Mapping[int, Sequence[Rows]],
        step: StepRange,
        clock: Clock,
        done: Counters,
        matches: Matches,
    ) -> list[pa.RecordBatch]:
        """Count the new events in, and give the windows that no event can change any more.

        What was counted in cannot be taken back. So it is known before how much it may take, at most, and a step that
        can be cut is, if that is too much.
        """
        trends, meter = self._trends, self._meter
        if trends is None:
            return []
        first = len(self._plan.ops)
        rows = {number - first: parts for number, parts in scanned.items() if number >= first}
        meter.at, meter.rows = first, 0
        gathered = trends.gathered(rows, clock.start, clock.events)
        before = trends.held
        if trends.ahead(gathered, clock.until) > meter.left and self._halved(step) is not None:
            raise TooMuch
        totals: list[pa.RecordBatch] = []
        try:
            trends.take(gathered, clock.events)
            meter.charge(trends.held - before)
            for batch in trends.close(clock.until, meter):
                meter.charge(batch.nbytes)
                totals.append(batch)
        except TooMuch:
            raise self._too_much(done, matches) from None
        return totals

    def _too_much(self, done: Counters, matches: Matches, what: str = "") -> EngineError:
        """What went past the bound, what is held, and what to do."""
        meter, trends = self._meter, self._trends
        totals = 0 if trends is None else trends.held
        held = (
            f"{self._arena.held:,} bytes are events in the window, {sum(done.held) + totals:,} what operators keep, "
            f"{matches.held:,} results, and {meter.outside:,} results that are kept, texts and events on their way"
        )
        return EngineError(
            f"out of memory: the limit is {meter.limit:,} bytes, and {what or self._at_work()}. "
            f"Of what is held, {held}. "
            f"Give more memory, a shorter window, {'fewer groups, ' if totals else ''}or a more selective pattern."
        )

    def _at_work(self) -> str:
        meter, number = self._meter, self._meter.at
        if number >= len(self._plan.ops):
            return "the totals of trends went past it"
        queries = self._plan.serves(number)
        more = f" and {len(queries) - SHOWN} more" if len(queries) > SHOWN else ""
        return (
            f"operator n{number} ({self._plan.pieces[number]}) went past it with {meter.rows:,} rows in one step; "
            f"it serves {', '.join(queries[:SHOWN])}{more}"
        )
