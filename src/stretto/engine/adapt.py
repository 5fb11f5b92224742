"""Following the events: what a plan was made for, compared with what its operators see, and statistics for a new one.

What the operators count anyway shows every change that matters to a plan: the rows of scans the rates of events, the
share of its candidates that a join lets through the selectivity of its terms.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import sqrt

import pyarrow as pa

from stretto.engine.counters import Counters
from stretto.pattern.nodes import Stream
from stretto.plan.dag import Plan
from stretto.plan.ops import Filter, Join, Scan
from stretto.records import dataclass
from stretto.schema import Schema, Special, sources_of
from stretto.stats.profile import Stats
from stretto.stats.sampling import good
from stretto.values.times import END_OF_TIME, START_OF_TIME

SECOND = 1_000_000
LITTLE = 0.01
"""Operators with less than this part of the work of the busiest one change no plan."""
NOISE = 4.0
"""So many standard deviations are chance."""
EXPLODES = 5.0
"""An operator that gives so many times the rows it was expected to calls for a plan before the next look is due."""
BURDEN = 0.1
"""But not one that gives fewer rows than this part of the events."""
HURRY = 16
"""So many times between two looks it is asked whether an operator explodes."""


@dataclass(frozen=True, slots=True)
class AdaptOptions:
    """How an engine follows its events.

    Every `every` events it compares rates and selectivities with those that the plan was made for. Where one has become
    more than 1 + `threshold` times what it was, or less than that part of it, the next `every` events are measured, and
    the workload is planned anew for the last `sample` of them, by `optimizer` (that of the plan, if not given) within
    `budget` seconds. Where an operator gives far more rows than it was expected to, that is noticed and measured in an
    eighth of the time. `background`: on another thread, while events are still run by the plan before.
    """

    optimizer: str | None = None
    budget: float = 1.0
    every: int = 1 << 17
    threshold: float = 0.5
    sample: int = 1 << 16
    background: bool = True


@dataclass(frozen=True, slots=True)
class Adaptation:
    """One time that a workload was planned anew: after how many events, in how many seconds, to another plan or not."""

    events: int
    seconds: float
    switched: bool


@dataclass(frozen=True, slots=True)
class _Share:
    """What an operator let through of what it looked at, and how many events of its rarest stream that was."""

    passed: int
    total: int
    events: int


@dataclass(frozen=True, slots=True)
class _Expected:
    """Rows of every operator (None: not known) that go with so many rows of all scans."""

    rows: Sequence[float | None]
    scanned: float

    @classmethod
    def of(cls, plan: Plan) -> "_Expected | None":
        """What a plan was made for, if it says so."""
        rows = [record.rows for record in plan.records]
        scanned = _scanned(plan, [row or 0.0 for row in rows])
        return cls(rows, scanned) if plan.estimate is not None and scanned > 0 else None

    def exploded(self, plan: Plan, rows: Sequence[int]) -> bool:
        """Whether an operator gave far more rows than were to be expected of so many events."""
        scanned = _scanned(plan, rows)
        scale, least = scanned / self.scanned, BURDEN * scanned
        return any(
            expected is not None and seen > EXPLODES * max(expected * scale, least)
            for expected, seen in zip(self.rows, rows, strict=True)
        )


@dataclass(slots=True)
class DriftWatch:
    """What the engine knows of the events since it last looked.

    `_rates`: rows per second of scans that the plan was made for (None: made for none in particular); `_shares`: those
    that its joins and filters let through, as first seen. `_noticed`: the events have changed, and are being measured.
    `_lately`, `_soon`: what was counted when it was last asked for explosions, and when that is asked next.
    """

    options: AdaptOptions
    special: Special
    _recent: deque[pa.RecordBatch] = field(default_factory=deque)
    _next: int = 0
    _since: int = START_OF_TIME
    _before: Counters | None = None
    _rates: dict[Stream, float] | None = None
    _shares: dict[int, _Share] = field(default_factory=dict)
    _noticed: bool = False
    _expected: _Expected | None = None
    _lately: Counters | None = None
    _soon: int = 0

    def expect(self, plan: Plan) -> None:
        """Begin with the rates that a plan was made for, as far as it says so."""
        if plan.estimate is not None:
            known = zip(plan.ops, (record.rows for record in plan.records), strict=True)
            self._rates = {op.stream: rows for op, rows in known if isinstance(op, Scan) and rows is not None}
        self._expected = _Expected.of(plan)

    def take(self, batch: pa.RecordBatch, columns: Sequence[str]) -> None:
        """Keep the last events as they came; the columns are those that the statistics need."""
        size = self.options.sample
        last = batch.slice(max(batch.num_rows - size, 0))
        last = last.select(sources_of(columns, last.schema.names))
        if self._recent and self._recent[-1].schema != last.schema:
            self._recent.clear()
        self._recent.append(last)
        kept = sum(one.num_rows for one in self._recent)
        while kept - self._recent[0].num_rows >= size:
            kept -= self._recent.popleft().num_rows

    @property
    def held(self) -> int:
        """Bytes of the events that are kept."""
        return sum(batch.nbytes for batch in self._recent)

    def due(self, events: int, until: int) -> bool:
        """Whether to look at what was counted, after so many events and at this time."""
        return events >= min(self._next, self._soon) and max(self._since, START_OF_TIME) < until < END_OF_TIME

    def calls_for_a_plan(self, plan: Plan, now: Counters, events: int, until: int) -> bool:
        """Whether the events have become others than those the plan was made for, and are known well enough."""
        lately, self._lately, self._soon = self._lately, now, events + self._shortly
        if events < self._next:
            self._look_for_explosions(plan, lately, now, events, until)
            return False
        before, seconds = self._before, (until - self._since) / SECOND
        self._before, self._since, self._next = now, until, events + self.options.every
        if before is None:
            return False
        rates = {
            op.stream: (now.rows[i] - before.rows[i]) / seconds
            for i, op in enumerate(plan.ops)
            if isinstance(op, Scan)
        }
        shares = _shares_of(plan, before, now)
        if self._rates is None or self._noticed:
            self._rates, self._shares, self._noticed = rates, shares, False
            # If the plan stays, what it does now is no surprise any more.
            rows = _since(before, now)
            self._expected = _Expected(rows, _scanned(plan, rows)) if any(rows) else None
            return True
        self._noticed = self._changed(rates, shares, seconds)
        if self._noticed:
            self._recent.clear()
            self._next = events + min(self.options.sample, self.options.every)  # more is not kept of them
        self._rates = rates | self._rates  # streams and operators that were added are known from now on
        self._shares = shares | self._shares
        return False

    @property
    def _shortly(self) -> int:
        return max(self.options.every // HURRY, 1)

    def _look_for_explosions(
        self, plan: Plan, before: Counters | None, now: Counters, events: int, until: int
    ) -> None:
        """Have the next few events measured if an operator has begun to give far more rows than expected."""
        if before is None or self._noticed or self._expected is None:
            return
        if self._expected.exploded(plan, _since(before, now)):
            self._noticed = True
            self._recent.clear()
            self._before, self._since, self._next = now, until, events + self._shortly

    def switched(self, plan: Plan, events: int, until: int) -> None:
        """Another plan runs, after so many events and at this time: its operators count from zero, from now on."""
        self._shares = {}
        self._expected = _Expected.of(plan)
        self._lately = None
        if self._before is not None:
            self._before, self._since = Counters.of(len(plan.ops)), until
            self._next, self._soon = events + self.options.every, events + self._shortly

    def stats(self, schema: Schema) -> Stats | None:
        """The statistics of the last events; None if there are none to speak of."""
        table = pa.Table.from_batches(list(self._recent)) if self._recent else None
        if table is None or not {self.special.ts, self.special.type} <= set(table.column_names):
            return None
        table = good(table, self.special)
        if not table.num_rows:
            return None
        found = Stats.of(table, self.special)
        # Types that have not been seen lately are rare, but may come again.
        rare = 1.0 / found.seconds if found.seconds > 0 else 1.0
        rates = dict.fromkeys(sorted(schema.types or ()), rare) | dict(found.rates)
        return replace(found, schema=schema, rates=rates)

    def _changed(self, rates: Mapping[Stream, float], shares: Mapping[int, _Share], seconds: float) -> bool:
        known, threshold = self._rates or {}, self.options.threshold
        return any(
            _counts_differ(rate * seconds, known[stream] * seconds, threshold)
            for stream, rate in rates.items()
            if stream in known
        ) or any(
            _shares_differ(share, self._shares[number], threshold)
            for number, share in shares.items()
            if number in self._shares
        )


def _since(before: Counters, now: Counters) -> list[int]:
    """Rows of every operator between two moments."""
    return [after - earlier for after, earlier in zip(now.rows, before.rows, strict=True)]


def _scanned(plan: Plan, rows: Sequence[float]) -> float:
    """Rows of all scans."""
    return sum(row for op, row in zip(plan.ops, rows, strict=True) if isinstance(op, Scan))


def _shares_of(plan: Plan, before: Counters, now: Counters) -> dict[int, _Share]:
    """What the joins and filters let through between two moments."""
    found: dict[int, _Share] = {}
    fewest: list[int] = []  # per operator: events of the rarest stream beneath it
    for number, op in enumerate(plan.ops):
        rows = now.rows[number] - before.rows[number]
        fewest.append(min((fewest[source] for source in op.inputs), default=rows))
        if isinstance(op, Join):
            looked = now.candidates[number] - before.candidates[number]
        elif isinstance(op, Filter):
            looked = now.rows[op.input] - before.rows[op.input]
        else:
            continue
        found[number] = _Share(rows, looked, fewest[-1])
    least = max(LITTLE * max((share.total for share in found.values()), default=0), 1)
    return {number: share for number, share in found.items() if share.total >= least}


def _counts_differ(one: float, other: float, threshold: float) -> bool:
    """Whether two counts differ by more than the threshold and more than chance."""
    return abs(one - other) > threshold * min(one, other) + NOISE * sqrt(max(one, other))


def _shares_differ(one: _Share, other: _Share, threshold: float) -> bool:
    """The same of shares. Pairs of one event are no independent trials, so chance goes by the number of events."""
    shares = [share.passed / share.total for share in (one, other)]
    trials = [max(min(share.events, share.total), 1) for share in (one, other)]
    both = (shares[0] * trials[0] + shares[1] * trials[1] + 1) / (sum(trials) + 2)
    chance = sqrt(both * (1 - both) * (1 / trials[0] + 1 / trials[1]))
    return max(shares) - min(shares) > threshold * min(shares) + NOISE * chance
