"""Following the events: what a plan was made for, compared with what its operators see, and statistics for a new one.

The rows that the operators give per second show every change that matters to a plan: those of scans the rates of
events, those of joins the selectivities of terms. They are counted anyway.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.reorder import END_OF_TIME, START_OF_TIME
from stretto.pattern.nodes import Stream
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Scan
from stretto.schema import Schema, Special
from stretto.stats.profile import Stats

SECOND = 1_000_000
ROWS = 1_000
"""So many rows of a join must come in a period before their number says something: they come in clusters."""
NOISE = 4.0
"""So many standard deviations of a Poisson count are chance."""


@dataclass(frozen=True, slots=True)
class AdaptOptions:
    """How an engine follows its events.

    Every `every` events it compares the rates with those that the plan was made for. Where one has become more than
    1 + `threshold` times what it was, or less than that part of it, the workload is planned anew, by `optimizer` (that
    of the plan, if not given) within `budget` seconds, for the rates and selectivities of the last `sample` events.
    """

    optimizer: str | None = None
    budget: float = 1.0
    every: int = 1 << 17
    threshold: float = 0.5
    sample: int = 1 << 16


@dataclass(frozen=True, slots=True)
class Adaptation:
    """One time that a workload was planned anew: after how many events, in how many seconds, to another plan or not."""

    events: int
    seconds: float
    switched: bool


@dataclass(slots=True)
class _Period:
    """Where the present period began: the stream's time, and the rows of each operator by then."""

    since: int
    rows: list[int]


@dataclass(slots=True)
class Watch:
    """What the engine knows of the events since it last looked.

    `_rates`: rows per second of scans that the plan was made for (None: made for none in particular); `_others`: those
    of the other operators, as first seen.
    """

    options: AdaptOptions
    special: Special
    _recent: deque[pa.RecordBatch] = field(default_factory=deque)
    _next: int = 0
    _period: _Period | None = None
    _rates: dict[Stream, float] | None = None
    _others: list[float] | None = None

    def expect(self, plan: Plan) -> None:
        """Begin with the rates that a plan was made for, as far as it says so."""
        if plan.estimate is not None:
            pairs = zip(plan.ops, plan.estimate.rows, strict=True)
            self._rates = {op.stream: rows for op, rows in pairs if isinstance(op, Scan) and rows is not None}

    def take(self, batch: pa.RecordBatch, columns: Sequence[str]) -> None:
        """Keep the last events as they came; the columns are those that the statistics need."""
        size = self.options.sample
        last = batch.slice(max(batch.num_rows - size, 0))
        last = last.select([name for name in dict.fromkeys(columns) if name in last.schema.names])
        if self._recent and self._recent[-1].schema != last.schema:
            self._recent.clear()
        self._recent.append(last)
        kept = sum(one.num_rows for one in self._recent)
        while kept - self._recent[0].num_rows >= size:
            kept -= self._recent.popleft().num_rows

    def drifted(self, plan: Plan, rows: Sequence[int], events: int, until: int) -> bool:
        """Whether, after so many events and at this time, the rates are others than those the plan was made for."""
        if self._period is None:
            if START_OF_TIME < until < END_OF_TIME:
                self._period, self._next = _Period(until, list(rows)), events + self.options.every
            return False
        seconds = (until - self._period.since) / SECOND
        if events < self._next or seconds <= 0:
            return False
        made = [now - before for now, before in zip(rows, self._period.rows, strict=True)]
        drift = self._rates is None or self._changed(plan, made, seconds)
        scans = {op.stream: n / seconds for op, n in zip(plan.ops, made, strict=True) if isinstance(op, Scan)}
        if drift:
            self._rates, self._others = scans, None
        else:
            self._rates = scans | (self._rates or {})  # streams that were added are known from now on
            self._others = self._others or [n / seconds for n in made]
        self._period, self._next = _Period(until, list(rows)), events + self.options.every
        return drift

    def switched(self, plan: Plan) -> None:
        """Another plan runs: its operators count from zero."""
        self._others = None
        if self._period is not None:
            self._period.rows = [0] * len(plan.ops)

    def stats(self, schema: Schema) -> Stats | None:
        """The statistics of the last events; None if there are none to speak of."""
        table = pa.Table.from_batches(list(self._recent)) if self._recent else None
        table = None if table is None else _sound(table, self.special)
        if table is None or not table.num_rows:
            return None
        found = Stats.of(table, self.special)
        # Types that have not been seen lately are rare, but may come again.
        rare = 1.0 / found.seconds if found.seconds > 0 else 1.0
        rates = dict.fromkeys(sorted(schema.types or ()), rare) | dict(found.rates)
        return replace(found, schema=schema, rates=rates)

    def _changed(self, plan: Plan, made: Sequence[int], seconds: float) -> bool:
        assert self._rates is not None
        for number, op in enumerate(plan.ops):
            if isinstance(op, Scan):
                rate = self._rates.get(op.stream)
                if rate is not None and _differ(made[number], rate * seconds, self.options.threshold):
                    return True
            elif self._others is not None and not isinstance(op, Emit):
                expected = self._others[number] * seconds
                # Rows of pairs change with the square of what the rates do.
                threshold = (1 + self.options.threshold) ** 2 - 1
                if max(expected, made[number]) >= ROWS and _differ(made[number], expected, threshold):
                    return True
        return False


def _differ(one: float, other: float, threshold: float) -> bool:
    """Whether two counts differ by more than the threshold and more than chance."""
    return abs(one - other) > threshold * min(one, other) + NOISE * sqrt(max(one, other))


def _sound(table: pa.Table, special: Special) -> pa.Table | None:
    """The events with a time and a type; None if the columns are not there."""
    if special.ts not in table.column_names or special.type not in table.column_names:
        return None
    return table.filter(pc.and_(pc.is_valid(table[special.ts]), pc.is_valid(table[special.type])))
