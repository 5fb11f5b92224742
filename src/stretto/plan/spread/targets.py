"""How events get to targets, each of which runs the whole plan on its part of them, and which target reports what.

Three ways: everything on one target; by the values of attributes on which all events of a match agree; by slices of
time that overlap by what a match may reach. Every match is reported by exactly one target, and so are the totals of
every window and group.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from stretto.errors import StrettoError
from stretto.pattern.piece import Place
from stretto.plan.dag import Plan, attributes_of, window_of
from stretto.plan.ops import Filter, Forbid, Next, Union
from stretto.plan.spread.key_buckets import buckets_of
from stretto.plan.spread.partition_keys import key_attributes, of_single_events, why_untied
from stretto.plan.spread.time_slices import Times
from stretto.schema import Kind, Special
from stretto.values.convert import as_kind, plain
from stretto.values.rows import F64, I64
from stretto.values.times import END_OF_TIME, START_OF_TIME, in_time

ALWAYS: Final = (START_OF_TIME, END_OF_TIME)
MOST_ROWS: Final = 1 << 22
"""Events that one target may have to hold in memory at a time."""
TOO_LITTLE: Final = "the slices overlap by less than the longest window"
BUCKETS: Final = 8
"""Buckets per core, so that a heavy one does not keep the others waiting."""

# Seconds, roughly, on one core: what it costs to move an event to another process, to read it from a file, to run it
# where the plan has no estimate, and to start a task.
MOVED: Final = 0.7e-6
READ: Final = 0.1e-6
RUN: Final = 0.4e-6
TASK: Final = 0.03
DOUBLINGS: Final = 10


@dataclass(frozen=True, slots=True)
class Whole:
    """All events on one target."""

    @property
    def targets(self) -> int:
        return 1

    def parts(self, batch: pa.RecordBatch, special: Special) -> list[tuple[int, pa.RecordBatch]]:  # noqa: ARG002 - as the others
        """The targets that need events of the batch, each with those events in their order."""
        return [(0, batch)] if batch.num_rows else []

    def owned(self, target: int) -> tuple[int, int]:  # noqa: ARG002 - as the others
        """The microseconds [low, high): a target reports the matches and the windows that begin there."""
        return ALWAYS

    def check(self, plan: Plan) -> str | None:  # noqa: ARG002 - as the others
        """Why a plan's results would be wrong; None if they are right."""
        return None

    def loads(self, load: "Load") -> F64:
        """About how many events each target gets."""
        return np.array([load.times.total], np.float64)


@dataclass(frozen=True, slots=True)
class ByKey:
    """Events with the same values of the attributes on the same target; nulls count as one value.

    Without attributes they go by their ids: single events need no others beside them.
    """

    attributes: tuple[str, ...]
    buckets: int

    @property
    def targets(self) -> int:
        return self.buckets

    def parts(self, batch: pa.RecordBatch, special: Special) -> list[tuple[int, pa.RecordBatch]]:
        """The targets that need events of the batch, each with those events in their order."""
        if not batch.num_rows:
            return []
        bucket = buckets_of(batch, self.attributes or (special.id,), self.buckets)
        order = np.argsort(bucket, kind="stable")
        ordered = batch.take(pa.array(order))
        ends = np.cumsum(np.bincount(bucket, minlength=self.buckets))
        return [
            (target, ordered.slice(start, end - start))
            for target, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))
            if start < end
        ]

    def owned(self, target: int) -> tuple[int, int]:  # noqa: ARG002 - as the others
        """The microseconds [low, high): a target reports the matches and the windows that begin there."""
        return ALWAYS

    def check(self, plan: Plan) -> str | None:
        """Why a plan's results would be wrong; None if they are right."""
        if not self.attributes and not of_single_events(plan):
            return "no attribute ties all events of every query"
        return why_untied(plan, self.attributes)

    def loads(self, load: "Load") -> F64:
        """About how many events each target gets: the commonest key makes one of them heavier."""
        heaviest = min((load.heaviest.get(name, 0.0) for name in self.attributes), default=0.0)
        rest = load.times.total * (1.0 - heaviest) / self.buckets
        found = np.full(self.buckets, rest)
        found[0] += load.times.total * heaviest
        return found


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of time [low, high) whose results a target reports, and the one [start, stop) that it sees."""

    low: int
    high: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class ByTime:
    """Slices of time that follow each other; an event goes to every slice that sees it.

    The totals of a window are reported by the slice in which it begins.
    """

    slices: tuple[Slice, ...]

    @classmethod
    def of(cls, plan: Plan, times: Times, count: int) -> Self:
        """At most so many slices of about equal size, which overlap by as much as the plan's matches reach."""
        reach = Reach.of(plan)
        borders = [START_OF_TIME, *times.cuts(count), END_OF_TIME]
        return cls(tuple(reach.slice(low, high, times) for low, high in pairwise(borders)))

    @property
    def targets(self) -> int:
        return len(self.slices)

    def parts(self, batch: pa.RecordBatch, special: Special) -> list[tuple[int, pa.RecordBatch]]:
        """The targets that need events of the batch, each with those events in their order.

        Events without a time go to the first target, which rejects them.
        """
        if not batch.num_rows:
            return []
        ts, timeless = times_of(batch, special)
        known = ts if timeless is None else ts[~timeless]
        low, high = (int(known.min()), int(known.max())) if len(known) else ALWAYS[::-1]
        is_sorted = timeless is None and bool((ts[1:] >= ts[:-1]).all())
        found: list[tuple[int, pa.RecordBatch]] = []
        for target, part in enumerate(self.slices):
            strays = target == 0 and timeless is not None
            if not strays and (part.stop <= low or high < part.start):
                continue
            if is_sorted:
                start, end = np.searchsorted(ts, [part.start, part.stop], side="left").tolist()
                inside = batch.slice(start, end - start)
            else:
                mask = (ts >= part.start) & (ts < part.stop)
                if timeless is not None:
                    mask = mask | timeless if strays else mask & ~timeless
                inside = batch.filter(pa.array(mask))
            if inside.num_rows:
                found.append((target, inside))
        return found

    def owned(self, target: int) -> tuple[int, int]:
        """The microseconds [low, high): a target reports the matches and the windows that begin there."""
        return self.slices[target].low, self.slices[target].high

    def check(self, plan: Plan) -> str | None:
        """Why a plan's results would be wrong; None if they are right."""
        reach = Reach.of(plan)
        for part in self.slices:
            short = part.start > max(part.low - reach.before_us, START_OF_TIME)
            if short or part.stop < min(part.high + reach.after_us, END_OF_TIME):
                return TOO_LITTLE
        return None

    def loads(self, load: "Load") -> F64:
        """About how many events each target gets."""
        starts = np.array([part.start for part in self.slices], np.int64)
        stops = np.array([part.stop for part in self.slices], np.int64)
        return load.times.before(stops) - load.times.before(starts)


Spread = Whole | ByKey | ByTime


def read_attributes(plan: Plan, spread: object) -> frozenset[str]:
    """The attributes that a plan reads, or what spreads its events."""
    return attributes_of(plan) | frozenset(spread.attributes if isinstance(spread, ByKey) else ())


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a match may look: before its first event, and from there on; in time and in numbers of events.

    A match ends, and its negations do, at most one window after its first event. Only a negation that stands first
    looks further back: at most one window before the last event, which is no earlier than the first one. The totals of
    a window reach from its beginning to its end.
    """

    before_us: int
    after_us: int
    before_events: int
    after_events: int

    @classmethod
    def of(cls, plan: Plan) -> Self:
        kept = [window for op in plan.ops if (window := window_of(op)) is not None]
        back = [op.window for op in plan.ops if isinstance(op, Forbid) and _looks_back(op, plan)]
        totals = () if plan.trends is None else plan.trends.queries
        return cls(
            max((w.size for w in back if w.unit == "us"), default=0),
            max((*(w.size for w in kept if w.unit == "us"), *(q.window_us for q in totals)), default=0),
            max((w.size for w in back if w.unit == "events"), default=0),
            max((w.size for w in kept if w.unit == "events"), default=0),
        )

    def slice(self, low: int, high: int, times: Times) -> Slice:
        """What a target must see to report the matches and windows that begin in [low, high)."""
        start = stop = None
        if low > START_OF_TIME:
            start = min(low - self.before_us, times.since(low, self.before_events))
        if high < END_OF_TIME:
            stop = max(high + self.after_us, times.until(high, self.after_events))
        return Slice(
            low,
            high,
            START_OF_TIME if start is None else max(start, START_OF_TIME),
            END_OF_TIME if stop is None else min(stop, END_OF_TIME),
        )


def _looks_back(op: Forbid, plan: Plan) -> bool:
    """Whether the interval may begin before the first event: also where NEXT may leave out the steps before it."""
    if op.place is not Place.BETWEEN:
        return op.place is Place.FIRST
    under = plan.ops[op.input]
    while isinstance(under, Filter | Forbid):
        under = plan.ops[under.input]
    return isinstance(under, Next | Union)


def times_of(batch: pa.RecordBatch, special: Special) -> tuple[I64, Any]:
    """The events' times in microseconds, and a mask of those that have none (None: all have one)."""
    vector = plain(as_kind(batch.column(special.ts), Kind.TIME))
    ts = vector.data.astype(np.int64, copy=False)
    bad = ~in_time(ts)
    if vector.valid is not None:
        bad |= ~vector.valid
    return ts, (bad if bad.any() else None)


# ---- choosing ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be spread: when events come, and the share of the commonest value of attributes.

    `in_place`: a slice of time is read by the process that runs it, so that its events need not be moved. `exact`: all
    events that were counted are there when they are run, none of them is rejected then. `held`: so many events at most
    are held at a time, however large a slice is; None: all of them.
    """

    times: Times
    heaviest: Mapping[str, float] = field(default_factory=dict)
    in_place: bool = False
    exact: bool = True
    held: int | None = None

    def fits(self, target: float) -> bool:
        """Whether a target of so many events has room."""
        return (target if self.held is None else min(target, self.held)) <= MOST_ROWS


def choose(plan: Plan, load: Load, cores: int, name: str = "auto") -> Spread:
    """The spread of a name, `auto`: the cheapest one; StrettoError says why a name cannot be."""
    if name == "units":
        raise StrettoError("spread `units` is not supported yet; there are: auto, key, time, whole")
    ways: dict[str, Callable[[Plan, Load, int], list[Spread]]] = {
        "auto": candidates,
        "key": lambda *given: [by_key(*given)],
        "time": slicings,
        "whole": lambda *_: [Whole()],
    }
    if name not in ways:
        raise StrettoError(f"unknown spread `{name}`; there are: {', '.join(ways)}")
    return min(ways[name](plan, load, cores), key=lambda spread: seconds(spread, plan, load, cores))


def candidates(plan: Plan, load: Load, cores: int) -> list[Spread]:
    """Every spread that gives the right results, simple ones first."""
    found: list[Spread] = [Whole()] if load.fits(load.times.total) else []
    attributes = key_attributes(plan)
    if attributes:
        found.append(ByKey(attributes, _buckets(load, cores)))
    return [*found, *slicings(plan, load, cores)]


def by_key(plan: Plan, load: Load, cores: int) -> ByKey:
    """The spread over all attributes that tie the events; StrettoError says what stands against it."""
    attributes = key_attributes(plan)
    if not attributes and not of_single_events(plan):
        names = sorted(plan.schema.attributes)
        reasons = dict.fromkeys(filter(None, (why_untied(plan, (name,)) for name in names)))
        why = "; ".join(list(reasons)[:3]) or "the events have no attributes"
        raise StrettoError(f"cannot spread by key: {why} (spread by time instead)")
    return ByKey(attributes, _buckets(load, cores))


def slicings(plan: Plan, load: Load, cores: int) -> list[Spread]:
    """Spreads by time with more and more slices, as far as their targets are too large."""
    if Reach.of(plan).after_events and not load.exact:
        return [Whole()]  # how far a number of events reaches is known only when they are read
    # Spark moves targets to partitions by a hash: several for each core even out what it does not.
    # Slices that are read in place go to the core that is free: two for each even out what one is slower by.
    counts = [cores << doubling for doubling in range(1 if load.in_place else 2, DOUBLINGS)]
    total = load.times.total
    enough = next((i for i, count in enumerate(counts) if load.fits(8 * total / count)), len(counts))
    whole = len(load.times.edges)  # as many slices as there are row groups, or half as many, or ..
    counts = sorted({*counts[: enough + 1], *(-(-whole // k) for k in range(1, 9) if whole >= cores * k)})
    found: list[Spread] = [ByTime.of(plan, load.times, count) for count in counts]
    fitting = [spread for spread in found if load.fits(float(spread.loads(load).max()))]
    return fitting or found[-1:]


def _buckets(load: Load, cores: int) -> int:
    return max(BUCKETS * cores, -(-2 * load.times.total // MOST_ROWS))


def seconds(spread: Spread, plan: Plan, load: Load, cores: int) -> float:
    """About how long a spread takes: the busiest core's events, moving them, and starting tasks."""
    loads = spread.loads(load)
    moved = 0.0 if load.in_place and not isinstance(spread, ByKey) else MOVED * float(loads.sum()) / cores
    read = _read_again(spread, load) / cores
    return (
        busiest(loads, cores) * _run_seconds(plan, load) + moved + read + TASK * -(-spread.targets // cores)
    )


def _read_again(spread: Spread, load: Load) -> float:
    """Seconds for what is read by two slices, as it is cut in the middle."""
    if not isinstance(spread, ByTime) or not len(load.times.edges):
        return 0.0
    cut = sum(part.low not in load.times.edges for part in spread.slices[1:])
    return READ * cut * load.times.total / len(load.times.edges)


def _run_seconds(plan: Plan, load: Load) -> float:
    """Seconds of work per event."""
    if plan.estimate is None or not load.times.total:
        return RUN
    return max(RUN / 4, plan.estimate.cost * 1e-9 * max(load.times.seconds, 1.0) / load.times.total)


def busiest(loads: F64, cores: int) -> float:
    """What the core with most work gets, if every target goes to the one that is free first, large ones first."""
    given = [0.0] * cores
    heapify(given)
    for load in sorted(loads.tolist(), reverse=True):
        heapreplace(given, given[0] + load)
    return max(given)


def describe(spread: Spread, load: Load) -> str:
    """One line: how events are spread, how often each is sent on average, and how uneven the targets are."""
    loads = spread.loads(load)
    total = load.times.total
    if isinstance(spread, Whole):
        return f"spread: whole, {total:,} events on one target"
    what = "key" if isinstance(spread, ByKey) else "time"
    of = f" ({', '.join(spread.attributes) or 'id'})" if isinstance(spread, ByKey) else ""
    replication = float(loads.sum()) / total if total else 1.0
    skew = float(loads.max()) / float(loads.mean()) if loads.sum() else 1.0
    unit = "buckets" if isinstance(spread, ByKey) else "slices"
    return f"spread: by {what}{of}, {spread.targets:,} {unit}, replication {replication:.3g}, skew {skew:.3g}"
