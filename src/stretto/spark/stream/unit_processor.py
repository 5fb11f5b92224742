"""The stateful operator of a stage: one staged unit per address, the rows of its window in Spark's state store.

A unit is as far as the watermark of the micro-batch, no further: so a stage has all rows of the one before when it
moves on, and which events are late is the same question at every unit. What is for units of other stages passes
through.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, TimerValues

from stretto.engine.results.match_limit import check_counts
from stretto.engine.results.matches import Matches
from stretto.engine.units.parcels import split_at
from stretto.engine.units.staged_unit import StagedUnit
from stretto.plan.spread.spreads import times_of
from stretto.records import dataclass
from stretto.schema import Special
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.packed import (
    ARROW,
    EVENTS,
    LATE,
    MATCHES,
    METRICS,
    REJECTED,
    Packed,
    from_payload,
    joined,
    to_payload,
)
from stretto.spark.plans import query_names
from stretto.spark.stream import processor
from stretto.spark.stream.engine_cache import EngineCache
from stretto.spark.stream.metrics import TargetMetrics
from stretto.spark.stream.state import Head, TargetState
from stretto.spark.task_memory import TaskMemory
from stretto.spark.unit_rows import ROWS, SCANNED, UnitsOfPlan, parcel_payload
from stretto.values.rows import Bool
from stretto.values.times import START_OF_TIME

SMALL: Final = 1 << 12
"""So many rows of a window are run again sooner than a unit is read back."""


@dataclass(frozen=True, slots=True)
class UnitSettings:
    """What units are to do. `stream` names this stream where Spark does not; `version`: its workload.

    `kinds`: what to give out beside results and metrics. `max_matches`: the most matches of a query in a micro-batch
    at a unit.
    """

    units: UnitsOfPlan
    special: Special
    version: int = 0
    kinds: frozenset[str] = frozenset()
    memory: TaskMemory = TaskMemory()
    stream: str = "stream"
    max_matches: int | None = None


class UnitProcessor(StatefulProcessor):
    """Takes packed rows for units of its stage, gives packed rows for those of later stages, and matches."""

    def __init__(self, settings: UnitSettings) -> None:
        self._settings = settings

    def init(self, handle: Any) -> None:
        self._window = TargetState(handle)

    def close(self) -> None:
        """Nothing is open between two batches."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803 - Spark's names
        if int(key[0]) < 0:
            return (processor.PACKED_ROW(*(row[name] for name in ARROW.names)) for row in rows)
        with self._at_work(key):
            return iter(self._turn(key, timerValues).take(list(rows)))

    def handleExpiredTimer(self, key: Any, timerValues: TimerValues, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002 - Spark's names
        with self._at_work(key):
            return iter(self._turn(key, timerValues).wake())

    def _turn(self, key: Any, times: TimerValues) -> "UnitTurn":
        cache = EngineCache.of_task(self._settings.stream)
        return UnitTurn(int(key[0]), self._settings, self._window, cache, times.getCurrentWatermarkInMs())

    def _at_work(self, key: Any) -> Any:
        units = self._settings.units
        about = f"finding matches at unit {key[0]} of {units.staged.targets}"
        return at_work(about, query_names(units.plan))


@dataclass(frozen=True, slots=True)
class Came:
    """Events that are counted at a unit, of all kinds, and those of them that are late or bad."""

    events: int = 0
    late: int = 0
    rejected: int = 0


class UnitTurn:
    """One micro-batch at one unit. All that it does follows from its state, its rows and the watermark."""

    def __init__(
        self, address: int, settings: UnitSettings, window: TargetState, cache: EngineCache, watermark_ms: int
    ) -> None:
        self._begun = perf_counter()
        self._address, self._settings, self._window, self._cache = address, settings, window, cache
        self._watermark_ms, self._watermark_us = watermark_ms, processor.us_of(watermark_ms)
        self._source = ""
        self._head = self._known_head()

    def _known_head(self) -> Head:
        spread = repr(self._settings.units.staged)
        head = self._window.head()
        if head is None:
            return Head(spread=spread, version=self._settings.version)
        if head.spread != spread:
            raise StrettoSparkError(
                f"the checkpoint's units were {head.spread}, and now they are {spread}: "
                "go on with the former, or start with a new checkpoint"
            )
        return replace(head, timer_ms=head.timer_ms if head.timer_ms > self._watermark_ms else -1)

    def take(self, rows: Sequence[Row]) -> list[Row]:
        """Run what came, as far as the watermark lets it."""
        unit = self._unit()
        for row in rows:
            if row["kind"] in (SCANNED, ROWS):
                self._take(unit, row["kind"], bytes(row["payload"]), int(row["version"]))
        events, rejected = self._came(rows, EVENTS), self._came(rows, REJECTED)
        late = [batch.filter(pa.array(self._is_late(batch))) for batch in events]
        single = [batch.filter(self._on_time(batch)) for batch in self._came(rows, MATCHES)]
        counts = {
            kind: sum(row["rows"] for row in rows if row["kind"] == kind) for kind in (EVENTS, REJECTED)
        }
        came = Came(
            counts[EVENTS] + counts[REJECTED], sum(batch.num_rows for batch in late), counts[REJECTED]
        )
        return [
            *self._rows(MATCHES, single, sum(batch.num_rows for batch in single)),
            *self._rows(LATE, late if LATE in self._settings.kinds else (), came.late),
            *self._rows(REJECTED, rejected if REJECTED in self._settings.kinds else (), came.rejected),
            *self._run(unit, came),
        ]

    def wake(self) -> list[Row]:
        """Time has passed without rows: run what waited for it, and drop what no window reaches any more."""
        head = self._head
        if head.due_us is not None and head.due_us < self._watermark_us:
            return self._run(self._unit(), Came())
        head = self._window.drop(replace(head, floor_us=self._floor(max(head.until_us, self._watermark_us))))
        self._window.write(self._window.set_timer(head, self._watermark_ms))
        return []

    # ---- what comes in -----------------------------------------------------------------------------------------

    def _take(self, unit: StagedUnit, kind: str, payload: bytes, side: int) -> None:
        """Give a unit the rows of a parcel, and keep them; those of late events are left out."""
        parcel = self._settings.units.parcel(self._address, payload, side)
        kept = [parcel]
        if kind == SCANNED:
            _, kept = split_at([parcel], self._watermark_us)
        for one in kept:
            at = one.at
            written = payload if one is parcel else parcel_payload(one)
            self._head = self._window.append(
                self._head, _with_side(side, written), int(at.min()), int(at.max()), len(at)
            )
            unit.take([one])

    def _came(self, rows: Sequence[Row], kind: str) -> list[pa.RecordBatch]:
        """What packed rows of a kind hold, where it is more than their number."""
        return [from_payload(bytes(row["payload"])) for row in rows if row["kind"] == kind and row["payload"]]

    def _is_late(self, events: pa.RecordBatch) -> Bool:
        """Which events are before the watermark."""
        late: Bool = times_of(events, self._settings.special)[0] < self._watermark_us
        return late

    def _on_time(self, matches: pa.RecordBatch) -> pa.Array:
        """Which matches of single events are not of late ones."""
        return pc.greater_equal(matches.column("start").cast(pa.int64()), pa.scalar(self._watermark_us))

    # ---- the unit ----------------------------------------------------------------------------------------------

    def _unit(self) -> StagedUnit:
        """The unit as it was after the last batch."""
        found = self._cache.load(self._address, self._head.counter, StagedUnit)
        if found is not None:
            self._source = "cache"
            return self._settings.units.resumed(found, self._address)
        head, units = self._head, self._settings.units
        self._source = "rebuilt" if head.next else "new"
        unit = units.unit(self._address, self._settings.memory.bytes_here)
        for payload in self._window.payloads(head):
            unit.take([units.parcel(self._address, payload[1:], payload[0])])
        unit.advance(head.until_us)  # what it finds was given before
        return unit

    def _run(self, unit: StagedUnit, came: Came) -> list[Row]:
        begun = perf_counter()
        given = unit.advance(max(self._head.until_us, self._watermark_us))
        spent = perf_counter() - begun
        matches = self._settings.units.matches(given)
        if self._settings.max_matches is not None:
            check_counts(matches.counts(), self._settings.max_matches)
        head = replace(
            self._head,
            counter=self._head.counter + 1,
            until_us=unit.until,
            floor_us=self._floor(unit.until),
            due_us=unit.due_us,
            horizon_us=self._settings.units.plan.horizon_us,
            counts=self._head.counts.plus(
                events=came.events, late=came.late, rejected=came.rejected, matches=len(matches)
            ),
        )
        head = self._window.drop(head)
        if spent >= processor.WORTH_S or head.rows >= SMALL:
            self._cache.store(self._address, head.counter, unit)
        self._head = self._window.set_timer(head, self._watermark_ms)
        self._window.write(self._head)
        rows = map(processor.as_row, self._settings.units.rows(given, ROWS))
        return [
            *rows,
            *self._rows(MATCHES, list(matches.batches()), len(matches)),
            self._report(came, matches),
        ]

    def _floor(self, until_us: int) -> int:
        """Rows that were let go before this are reached by nothing any more."""
        horizon = self._settings.units.plan.horizon_us
        return max(until_us - horizon, START_OF_TIME) if until_us > START_OF_TIME + horizon else START_OF_TIME

    # ---- what goes out -----------------------------------------------------------------------------------------

    def _rows(self, kind: str, batches: Sequence[pa.RecordBatch], rows: int) -> Iterator[Row]:
        """Batches as packed rows; without any their number, if there is one, is enough."""
        filled = [batch for batch in batches if batch.num_rows]
        if filled:
            for batch in joined(filled).to_batches():
                yield self._row(kind, to_payload(batch), batch.num_rows)
        elif rows:
            yield self._row(kind, b"", rows)

    def _report(self, came: Came, matches: Matches) -> Row:
        head = self._head
        report = TargetMetrics(
            target=self._address,
            version=head.version,
            events=came.events,
            late=came.late,
            rejected=came.rejected,
            matches={query: count for query, count in matches.counts().items() if count},
            state_rows=head.rows,
            state_bytes=head.bytes,
            until_us=head.until_us,
            seconds=perf_counter() - self._begun,
            engine=self._source,
        )
        return self._row(METRICS, report.to_json().encode(), 1)

    def _row(self, kind: str, payload: bytes, rows: int) -> Row:
        return processor.as_row(Packed(self._address, kind, payload, rows, self._head.version or 0))


def _with_side(side: int, payload: bytes) -> bytes:
    return bytes([side]) + payload
