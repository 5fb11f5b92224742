"""The stateful operator: one engine per target, its window in Spark's state store, timers for what waits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, TimerValues

from stretto.engine.results.match_limit import check_counts
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.engine.stream.intake import set_apart
from stretto.errors import StrettoError
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.spreads import times_of
from stretto.plan.spread.stream_slices import Slices, TargetStream
from stretto.records import dataclass
from stretto.schema import Special, column_of
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.hash_partitions import keys_apart
from stretto.spark.packed import (
    ARROW,
    EVENTS,
    FAR,
    LATE,
    MATCHES,
    METRICS,
    REJECTED,
    TRENDS,
    WORKLOAD,
    Packed,
    from_payload,
    to_payload,
)
from stretto.spark.plans import query_names
from stretto.spark.stream.arrivals import Arrivals, Numbering, arrivals
from stretto.spark.stream.engine_cache import EngineCache
from stretto.spark.stream.metrics import TargetMetrics
from stretto.spark.stream.state import Head, TargetState, from_floor
from stretto.spark.stream.versions import Version
from stretto.spark.task_memory import TaskMemory
from stretto.spark.user_functions import know_functions
from stretto.text.values import duration_text
from stretto.values.rows import Bool
from stretto.values.times import END_OF_TIME, START_OF_TIME

PACKED_ROW = Row(*ARROW.names)
WORTH_S: Final = 0.01
"""An engine whose window is run again in less is not kept: writing it and reading it back takes longer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator is to do. `version`: the workload it begins with; `follows`: others come with the stream.

    `stream` names this stream where Spark does not. `kinds`: what to give out beside results and metrics.
    `max_matches`: the most matches of a query in a micro-batch at a target.
    """

    version: Version
    spread: TargetStream
    special: Special
    lateness_us: int = 0
    ahead_us: int | None = None
    follows: bool = False
    kinds: frozenset[str] = frozenset()
    memory: TaskMemory = TaskMemory()
    stream: str = "stream"
    max_matches: int | None = None


def target_keys(spread: TargetStream) -> Sequence[int]:
    """The key that Spark groups rows of a target by."""
    return keys_apart(spread.targets) if isinstance(spread, ByCell) else range(spread.targets)


class MatchProcessor(StatefulProcessor):
    """Takes packed events and versions of the workload, gives packed matches and totals."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: Any) -> None:
        self._window = TargetState(handle)

    def close(self) -> None:
        """Nothing is open between two batches."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803 - Spark's names
        with self._at_work(key):
            return iter(self._turn(key, timerValues).take(list(rows)))

    def handleExpiredTimer(self, key: Any, timerValues: TimerValues, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002 - Spark's names
        with self._at_work(key):
            return iter(self._turn(key, timerValues).wake())

    def _turn(self, key: Any, times: TimerValues) -> "Turn":
        cache, now_ms = EngineCache.of_task(self._settings.stream), times.getCurrentWatermarkInMs()
        return Turn(self._target(key), self._settings, self._window, cache, now_ms)

    def _target(self, key: Any) -> int:
        """The number of the target with this key."""
        return target_keys(self._settings.spread).index(key[0])

    def _at_work(self, key: Any) -> Any:
        queries = query_names(self._settings.version.plan)
        targets = self._settings.spread.targets
        return at_work(f"finding matches in target {self._target(key)} of {targets}", queries)


class Turn:
    """One micro-batch at one target. All that it does follows from its state, its rows and the watermark."""

    def __init__(
        self, target: int, settings: Settings, window: TargetState, cache: EngineCache, watermark_ms: int
    ) -> None:
        self._begun = perf_counter()
        self._target, self._settings, self._window, self._cache = target, settings, window, cache
        self._shared = settings.spread if isinstance(settings.spread, Slices | ByCell) else None
        self._watermark_ms = watermark_ms
        self._watermark_us = us_of(watermark_ms)
        self._head = self._known_head()
        self._source = ""
        self._refused = ""

    def _known_head(self) -> Head:
        spread = repr(self._settings.spread)  # equal for those that send every event to the same target
        head = self._window.head()
        if head is None:
            return Head(spread=spread)
        if head.spread != spread:
            raise StrettoSparkError(
                f"the checkpoint's events were spread {head.spread}, and now they are spread {spread}: "
                "go on with the former, or start with a new checkpoint"
            )
        return replace(head, timer_ms=head.timer_ms if head.timer_ms > self._watermark_ms else -1)

    # ---- events ------------------------------------------------------------------------------------------------

    def take(self, rows: Sequence[Row]) -> list[Row]:
        """Run what came; another version of the workload runs it already."""
        self._refuse_other_watermarks()
        engine = self._engine(self._new_version([row for row in rows if row["kind"] == WORKLOAD]))
        head = self._head
        came = arrivals(
            [bytes(row["payload"]) for row in rows if row["kind"] == EVENTS],
            self._settings.special,
            max(head.until_us, self._watermark_us),
            Numbering(head.given, self._target, self._settings.spread.targets),
            None if self._shared is None else self._counted,
        )
        return self._run(engine, self._with_far(came, rows))

    def _with_far(self, came: Arrivals, rows: Sequence[Row]) -> Arrivals:
        """The arrivals with the events that are too far ahead of the clock as rejected ones."""
        reason = why_far(self._settings.special, self._settings.ahead_us)
        far = [from_payload(bytes(row["payload"])) for row in rows if row["kind"] == FAR]
        apart = [b for batch in far for b in set_apart(batch, [(np.arange(batch.num_rows), reason)])]
        return replace(
            came, rejected=(*came.rejected, *apart), rows=came.rows + sum(batch.num_rows for batch in far)
        )

    def _with_misfits(self, came: Arrivals, rejected: Iterable[pa.RecordBatch]) -> Arrivals:
        """The arrivals with the events that the engine rejected, for an attribute that it reads, where they count."""
        mine = rejected
        if self._shared is not None:
            mine = (batch.filter(pa.array(self._counted(batch))) for batch in rejected)
        return replace(came, rejected=(*came.rejected, *(batch for batch in mine if batch.num_rows)))

    def wake(self) -> list[Row]:
        """Time has passed without events: run what waited for it, and drop what no window reaches any more."""
        head = self._head
        if head.due_us is not None and head.due_us < self._watermark_us:
            return self._run(self._engine(None), Arrivals())
        if head.horizon_us is not None and self._watermark_us > START_OF_TIME:
            head = replace(head, floor_us=max(head.floor_us, self._watermark_us - head.horizon_us))
        head = self._window.drop(head)
        self._window.write(self._window.set_timer(head, self._watermark_ms))
        return []

    def _run(self, engine: Engine, came: Arrivals) -> list[Row]:
        head = self._head
        if self._shared is not None:
            engine.repeats.counts = partial(self._shared.repeats, self._target)
        before, repeated, begun = engine.counters.rows, engine.repeats.found, perf_counter()
        if came.events is not None:
            engine.take_rejected()  # of a window that was run again
            engine.push(as_read(came.events, engine.plan))
            came = self._with_misfits(came, engine.take_rejected())
            head = replace(head, greatest_us=max(head.greatest_us, int(came.ts[-1])))
        found = engine.advance(max(head.until_us, self._watermark_us, self._decided_us(head.greatest_us)))
        # Those that a function of the user's raised for.
        came = self._with_misfits(came, engine.take_rejected())
        event_s = (perf_counter() - begun) / max(len(came.ts), 1)
        found = self._reported(found, engine.plan)
        if self._settings.max_matches is not None:
            check_counts(found.counts(), self._settings.max_matches)
        counts = head.counts.plus(
            events=came.rows, late=came.late_rows, rejected=came.rejected_rows, matches=len(found)
        )
        head = replace(
            head,
            counter=head.counter + 1,
            until_us=engine.until_us,
            floor_us=max(head.floor_us, engine.reach_us),
            due_us=engine.due_us,
            kept=engine.kept_state,
            horizon_us=None if engine.plan.horizon_events else engine.plan.horizon_us,
            given=head.given + len(came.ts),
            counts=counts,
        )
        head = self._window.drop(self._kept(head, came))
        # The file of an engine is named by the counter that the head is written with. A micro-batch that is run again
        # begins with the head before it, so it never finds an engine that has seen its events already.
        if head.rows * event_s >= WORTH_S:
            self._cache.store(self._target, head.counter, engine)
        self._head = self._window.set_timer(head, self._watermark_ms)
        self._window.write(self._head)
        done = [now - then for now, then in zip(engine.counters.rows, before, strict=True)]
        repeated = engine.repeats.found - repeated
        return [*self._results(found), *self._set_apart(came), self._report(came, found, done, repeated)]

    def _reported(self, found: Matches, plan: Plan) -> Matches:
        """What this target reports of all that it found."""
        match self._shared:
            case Slices() as slices:
                return found.beginning(partial(slices.begin_at, self._target))
            case ByCell() as cells:
                return found.under(cells.reports(plan, self._target))
        return found

    def _decided_us(self, greatest_us: int) -> int:
        """What lies before this is decided by the greatest time seen here.

        An event may go to several slices or cells, which see other greatest times: all must take it as late, or none.
        They go by the watermark that Spark will have after this batch, as far as it is known here.
        """
        late_us = self._settings.lateness_us
        if self._shared is None:
            return max(greatest_us - late_us, START_OF_TIME)
        return us_of(greatest_us // 1000 - delay_ms(late_us))

    def _refuse_other_watermarks(self) -> None:
        """Slices and cells rely on a watermark that no other column of the stream holds back."""
        if self._shared is not None and self._head.until_us > self._watermark_us:
            raise StrettoSparkError(
                "the watermark of the stream is behind its own events, so another one holds it back: "
                "a stream with several watermarks cannot be spread by time or units"
            )

    def _counted(self, batch: pa.RecordBatch) -> Bool:
        assert self._shared is not None
        return self._shared.counted(self._target, batch, self._settings.special)

    def _kept(self, head: Head, came: Arrivals) -> Head:
        """Add those of the new events that a window can still reach."""
        if came.events is None:
            return head
        gone = from_floor(came.ts, head.floor_us)
        if not gone:
            return self._window.add(head, came.events, came.ts, came.payload)
        return self._window.add(head, came.events.slice(gone), came.ts[gone:])

    # ---- the engine --------------------------------------------------------------------------------------------

    def _new_version(self, rows: Sequence[Row]) -> Version | None:
        """The version of the workload to go on with, if it is another one than before."""
        known, own = self._head.version, self._settings.version
        if not self._settings.follows:
            return None if known == own.number else own
        newest = max(rows, key=lambda row: row["version"], default=None)
        if newest is None or (known is not None and newest["version"] <= known):
            return own if known is None else None
        return Version.from_bytes(bytes(newest["payload"]))

    def _engine(self, version: Version | None) -> Engine:
        """The engine as it was after the last batch, or one for another version, if that can be run."""
        if version is None:
            return self._engine_as_before()
        know_functions(version.plan.functions)
        try:
            wrong = self._settings.spread.check(version.plan)
            if wrong is not None:
                raise StrettoSparkError(f"the workload does not fit the stream: {wrong}")
            engine = self._rebuilt(version.plan)
        except StrettoError as error:
            if self._head.version is None or not self._settings.follows:
                raise
            self._refused = str(error)  # the stream keeps what it has
            return self._engine_as_before()
        if self._settings.follows:
            self._window.set_workload(version.number, version.to_bytes())
        self._head = replace(self._head, version=version.number)
        return engine

    def _engine_as_before(self) -> Engine:
        engine = self._cache.load(self._target, self._head.counter, Engine)
        if engine is None:
            return self._rebuilt(self._running_plan())
        know_functions(engine.plan.functions)
        self._source = "cache"
        return engine

    def _rebuilt(self, plan: Plan) -> Engine:
        """An engine that has seen the window's events. What those before `until_us` complete was reported before."""
        head, settings = self._head, self._settings
        self._source = "rebuilt" if head.next else "new"
        know_functions(plan.functions)
        engine = Engine(
            plan, watermark="given", memory_bytes=settings.memory.bytes_here, special=settings.special
        )
        for batch in self._window.batches(head):
            ts, _ = times_of(batch, settings.special)
            seen = batch.slice(from_floor(ts, head.floor_us))
            if seen.num_rows:
                engine.push(as_read(seen, plan))
        engine.advance(head.until_us)
        engine.kept_state = head.kept
        return engine

    def _running_plan(self) -> Plan:
        if not self._settings.follows:
            return self._settings.version.plan
        payload = self._window.workload()
        if payload is None:
            raise StrettoSparkError("the checkpoint is damaged: it holds no workload")
        return Version.from_bytes(payload).plan

    # ---- what goes out -----------------------------------------------------------------------------------------

    def _results(self, found: Matches) -> Iterator[Row]:
        for kind, batches in ((MATCHES, found.batches()), (TRENDS, found.total_batches())):
            for batch in batches:
                yield self._row(kind, to_payload(batch), batch.num_rows)

    def _set_apart(self, came: Arrivals) -> Iterator[Row]:
        for kind, batches in ((LATE, came.late), (REJECTED, came.rejected)):
            for batch in batches:
                # Without a reader for them their number is enough.
                payload = to_payload(batch) if kind in self._settings.kinds else b""
                yield self._row(kind, payload, batch.num_rows)

    def _report(self, came: Arrivals, found: Matches, done: Sequence[int], repeated: int) -> Row:
        head = self._head
        report = TargetMetrics(
            self._target,
            head.version,
            came.rows,
            came.late_rows,
            came.rejected_rows,
            {query: count for query, count in found.counts().items() if count},
            {f"n{number}": rows for number, rows in enumerate(done) if rows},
            head.rows,
            head.bytes,
            head.until_us,
            head.greatest_us,
            perf_counter() - self._begun,
            self._source,
            self._refused,
            found.totals().num_rows,
            repeated,
        )
        return self._row(METRICS, report.to_json().encode(), 1)

    def _row(self, kind: str, payload: bytes, rows: int) -> Row:
        return as_row(Packed(self._target, kind, payload, rows, self._head.version or 0))


def as_row(packed: Packed) -> Row:
    """A packed row as Spark takes it."""
    return PACKED_ROW(*(getattr(packed, name) for name in ARROW.names))


def as_read(events: pa.RecordBatch, plan: Plan) -> pa.RecordBatch:
    """The events with all attributes that a plan reads; those that came before an attribute existed have nulls."""
    missing = [name for name in sorted(attributes_of(plan)) if column_of(events, name) is None]
    for name in missing:
        events = events.append_column(name, pa.nulls(events.num_rows, plan.schema.attributes[name].arrow))
    return events


def us_of(watermark_ms: int) -> int:
    """Spark's watermark in microseconds; it begins with 0, which says nothing about events before 1970."""
    return min(watermark_ms * 1000, END_OF_TIME) if watermark_ms > 0 else START_OF_TIME


def why_far(special: Special, ahead_us: int | None) -> str:
    """The reason for which an event that is too far ahead is rejected."""
    far = "" if ahead_us is None else f"more than {duration_text(ahead_us).lower()} "
    return f"{special.ts} is {far}ahead of the clock"


def delay_ms(lateness_us: int) -> int:
    """Spark counts in milliseconds, so a lateness is rounded up: its watermark is never ahead of the true one."""
    return -(-lateness_us // 1000)
