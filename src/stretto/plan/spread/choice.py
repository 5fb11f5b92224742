"""Which spread a batch takes: the cheapest of those that give the right results."""

from collections.abc import Callable
from heapq import heapify, heapreplace
from typing import Final

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.spread.partition_keys import key_attributes, of_single_events, why_untied
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import MOST_ROWS, ByKey, ByTime, EventLoad, Spread, Whole
from stretto.values.rows import F64

BUCKETS: Final = 8
"""Buckets per core, so that a heavy one does not keep the others waiting."""

# Seconds, roughly, on one core: what it costs to move an event to another process, to read it from a file, to run it
# where the plan has no estimate, and to start a task.
MOVED: Final = 0.7e-6
READ: Final = 0.1e-6
RUN: Final = 0.4e-6
TASK: Final = 0.03
DOUBLINGS: Final = 10


def choose(plan: Plan, load: EventLoad, cores: int, name: str = "auto") -> Spread:
    """The spread of a name, `auto`: the cheapest one; StrettoError says why a name cannot be."""
    if name == "units":
        raise StrettoError("spread `units` is not supported yet; there are: auto, key, time, whole")
    ways: dict[str, Callable[[Plan, EventLoad, int], list[Spread]]] = {
        "auto": candidates,
        "key": lambda *given: [by_key(*given)],
        "time": slicings,
        "whole": lambda *_: [Whole()],
    }
    if name not in ways:
        raise StrettoError(f"unknown spread `{name}`; there are: {', '.join(ways)}")
    return min(ways[name](plan, load, cores), key=lambda spread: seconds(spread, plan, load, cores))


def candidates(plan: Plan, load: EventLoad, cores: int) -> list[Spread]:
    """Every spread that gives the right results, simple ones first."""
    found: list[Spread] = [Whole()] if load.fits(load.times.total) else []
    attributes = key_attributes(plan)
    if attributes:
        found.append(ByKey(attributes, _buckets(load, cores)))
    return [*found, *slicings(plan, load, cores)]


def by_key(plan: Plan, load: EventLoad, cores: int) -> ByKey:
    """The spread over all attributes that tie the events; StrettoError says what stands against it."""
    attributes = key_attributes(plan)
    if not attributes and not of_single_events(plan):
        names = sorted(plan.schema.attributes)
        reasons = dict.fromkeys(filter(None, (why_untied(plan, (name,)) for name in names)))
        why = "; ".join(list(reasons)[:3]) or "the events have no attributes"
        raise StrettoError(f"cannot spread by key: {why} (spread by time instead)")
    return ByKey(attributes, _buckets(load, cores))


def slicings(plan: Plan, load: EventLoad, cores: int) -> list[Spread]:
    """Spreads by time with more and more slices, as far as their targets are too large."""
    if MatchReach.of(plan).after_events and not load.exact:
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


def _buckets(load: EventLoad, cores: int) -> int:
    return max(BUCKETS * cores, -(-2 * load.times.total // MOST_ROWS))


def seconds(spread: Spread, plan: Plan, load: EventLoad, cores: int) -> float:
    """About how long a spread takes: the busiest core's events, moving them, and starting tasks."""
    loads = spread.loads(load)
    moved = 0.0 if load.in_place and not isinstance(spread, ByKey) else MOVED * float(loads.sum()) / cores
    read = _read_again(spread, load) / cores
    return (
        busiest(loads, cores) * _run_seconds(plan, load) + moved + read + TASK * -(-spread.targets // cores)
    )


def _read_again(spread: Spread, load: EventLoad) -> float:
    """Seconds for what is read by two slices, as it is cut in the middle."""
    if not isinstance(spread, ByTime) or not len(load.times.edges):
        return 0.0
    cut = sum(part.low not in load.times.edges for part in spread.slices[1:])
    return READ * cut * load.times.total / len(load.times.edges)


def _run_seconds(plan: Plan, load: EventLoad) -> float:
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


def describe(spread: Spread, load: EventLoad) -> str:
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
