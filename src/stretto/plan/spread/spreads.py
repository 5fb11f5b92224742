"""How events get to targets, each of which runs the whole plan on its part of them, and which target reports what.

Four ways: everything on one target; by the values of attributes on which all events of a match agree; by slices of
time that overlap by what a match may reach; by cells, which have all events but for parts of some types. Every match is
reported by exactly one target, and so are the totals of every window and group.
"""

from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from stretto.plan.dag import Plan, attributes_of
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.key_buckets import buckets_of
from stretto.plan.spread.partition_keys import of_single_events, why_thinned, why_untied
from stretto.plan.spread.reach import MatchReach, Slice
from stretto.plan.spread.staged import Staged
from stretto.plan.spread.time_slices import Times
from stretto.records import dataclass
from stretto.schema import Kind, Special
from stretto.values.convert import as_kind, plain
from stretto.values.rows import F64, I64
from stretto.values.times import END_OF_TIME, START_OF_TIME, in_time

ALWAYS: Final = (START_OF_TIME, END_OF_TIME)
TOO_LITTLE: Final = "the slices overlap by less than the longest window"


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

    def loads(self, load: EventLoad) -> F64:
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

    def loads(self, load: EventLoad) -> F64:
        """About how many events each target gets: the commonest key makes one of them heavier."""
        heaviest = min((load.heaviest.get(name, 0.0) for name in self.attributes), default=0.0)
        rest = load.times.total * (1.0 - heaviest) / self.buckets
        found = np.full(self.buckets, rest)
        found[0] += load.times.total * heaviest
        return found


@dataclass(frozen=True, slots=True)
class ByTime:
    """Slices of time that follow each other; an event goes to every slice that sees it.

    The totals of a window are reported by the slice in which it begins.
    """

    slices: tuple[Slice, ...]

    @classmethod
    def of(cls, plan: Plan, times: Times, count: int) -> Self:
        """At most so many slices of about equal size, which overlap by as much as the plan's matches reach."""
        reach = MatchReach.of(plan)
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
        # Slices overlap, so an event can go to several targets; each reports only what begins in the stretch it owns,
        # and these stretches do not overlap: every result comes from exactly one target.
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
        thinned = why_thinned(plan)
        if thinned is not None:
            return thinned
        reach = MatchReach.of(plan)
        for part in self.slices:
            short = part.start > max(part.low - reach.before_us, START_OF_TIME)
            if short or part.stop < min(part.high + reach.after_us, END_OF_TIME):
                return TOO_LITTLE
        return None

    def loads(self, load: EventLoad) -> F64:
        """About how many events each target gets."""
        starts = np.array([part.start for part in self.slices], np.int64)
        stops = np.array([part.stop for part in self.slices], np.int64)
        return load.times.before(stops) - load.times.before(starts)


TargetSpread = Whole | ByKey | ByTime | ByCell
"""Every target runs the whole plan."""
Spread = TargetSpread | Staged
"""How a batch is spread."""


def read_attributes(plan: Plan, spread: object) -> frozenset[str]:
    """The attributes that a plan reads, or what spreads its events."""
    return attributes_of(plan) | frozenset(spread.attributes if isinstance(spread, ByKey) else ())


def times_of(batch: pa.RecordBatch, special: Special) -> tuple[I64, Any]:
    """The events' times in microseconds, and a mask of those that have none (None: all have one)."""
    vector = plain(as_kind(batch.column(special.ts), Kind.TIME))
    ts = vector.data.astype(np.int64, copy=False)
    bad = ~in_time(ts)
    if vector.valid is not None:
        bad |= ~vector.valid
    return ts, (bad if bad.any() else None)
