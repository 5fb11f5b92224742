"""Which spread a batch takes: the cheapest of those that give the right results."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from heapq import heapify, heapreplace
from typing import Final

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.cell_choice import MOVED, cells_for, work_share
from stretto.plan.spread.event_load import MOST_ROWS, EventLoad
from stretto.plan.spread.partition_keys import key_attributes, of_single_events, why_thinned, why_untied
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import ByKey, ByTime, Spread, Whole
from stretto.plan.spread.staged import Staged, share_of, staged_for
from stretto.values.rows import F64

NAMES: Final = ("auto", "key", "time", "whole", "units")
BUCKETS: Final = 8
"""Buckets per core, so that a heavy one does not keep the others waiting."""

# Seconds, roughly, on one core: what it costs to read an event from a file, to run it where the plan has no estimate,
# to take it in at least, to start a task, and to wait for one more stage.
READ: Final = 0.1e-6
RUN: Final = 0.4e-6
TAKEN: Final = RUN / 4
TASK: Final = 0.03
HOP: Final = 0.3
DOUBLINGS: Final = 10


def choose(plan: Plan, load: EventLoad, cores: int, name: str = "auto", units: int | None = None) -> Spread:
    """The spread of a name, `auto`: the cheapest one; StrettoError says why a name cannot be, and what can.

    `units`: so many cells, where they are asked for; as many as cores, if no number is given.
    """
    if units is not None and name != "units":
        raise StrettoError(f"a number of units is for spread `units`, not for `{name}`")
    if name not in NAMES:
        raise StrettoError(f"unknown spread `{name}`; there are: {', '.join(NAMES)}")
    try:
        return _cheapest(plan, load, cores, name, units)
    except StrettoError as error:
        raise StrettoError(f"{error} (spread by {_others(plan)} instead)") from None


def _cheapest(plan: Plan, load: EventLoad, cores: int, name: str, units: int | None = None) -> Spread:
    """The cheapest spread of a name; StrettoError says why there is none."""
    ways: dict[str, Callable[[Plan, EventLoad, int], list[Spread]]] = {
        "auto": candidates,
        "key": lambda *given: [by_key(*given)],
        "time": slicings,
        "whole": lambda *_: [Whole()],
        "units": lambda plan, _, cores: by_units(plan, cores if units is None else units),
    }
    return min(ways[name](plan, load, cores), key=lambda spread: seconds(spread, plan, load, cores))


def _others(plan: Plan) -> str:
    """The simple spreads that give a plan's results."""
    by_key = ["key"] if key_attributes(plan) else []
    return " or ".join([*by_key, "time" if why_thinned(plan) is None else "whole"])


def candidates(plan: Plan, load: EventLoad, cores: int) -> list[Spread]:
    """Every spread that gives the right results, simple ones first."""
    found: list[Spread] = [Whole()] if load.fits(load.times.total) else []
    attributes = key_attributes(plan)
    if attributes:
        found.append(ByKey(attributes, _buckets(load, cores)))
    if why_thinned(plan) is not None:
        return found or [Whole()]
    found += slicings(plan, load, cores)
    with suppress(StrettoError):
        found += by_units(plan, cores) if cores > 1 else []
    return found


def by_units(plan: Plan, units: int) -> list[Spread]:
    """Cells, where a type can be divided, and staged units; StrettoError says why there are neither.

    Where nothing is known of the rows between operators, cells alone.
    """
    found: list[Spread] = [staged_for(plan, units)]
    with suppress(StrettoError):
        cells = cells_for(plan, units)
        found = [cells] if plan.estimate is None else [cells, *found]
    return found


def by_key(plan: Plan, load: EventLoad, cores: int) -> ByKey:
    """The spread over all attributes that tie the events; StrettoError says what stands against it."""
    attributes = key_attributes(plan)
    if not attributes and not of_single_events(plan):
        names = sorted(plan.schema.attributes)
        reasons = dict.fromkeys(filter(None, (why_untied(plan, (name,)) for name in names)))
        why = "; ".join(list(reasons)[:3]) or "the events have no attributes"
        raise StrettoError(f"cannot spread by key: {why}")
    return ByKey(attributes, _buckets(load, cores))


def slicings(plan: Plan, load: EventLoad, cores: int) -> list[Spread]:
    """Spreads by time with more and more slices, as far as their targets are too large."""
    thinned = why_thinned(plan)
    if thinned is not None:
        raise StrettoError(f"cannot spread by time: {thinned}")
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
    in_place = load.in_place and isinstance(spread, Whole | ByTime)
    moved = 0.0 if in_place else MOVED * float(loads.sum()) / cores
    read = _read_again(spread, load) / cores
    tasks = TASK * -(-spread.targets // cores)
    if isinstance(spread, Staged):
        # Rows are taken in by the units that they go to, and every stage waits for the one before.
        work = load.times.total * share_of(plan, spread, cores) * _run_seconds(plan, load)
        taken = float(loads.sum()) * TAKEN / cores
        return work + taken + moved + (HOP + TASK * -(-max(spread.units) // cores)) * spread.last_stage
    if isinstance(spread, ByCell):
        # An event that is copied is taken in by each cell, and meets a part of the others there: the plan's work is
        # what is divided.
        work = load.times.total * work_share(plan, spread) * _run_seconds(plan, load)
        return busiest(loads * TAKEN + work, cores) + moved + tasks + HOP
    return busiest(loads, cores) * _run_seconds(plan, load) + moved + read + tasks


def rejected(plan: Plan, load: EventLoad, cores: int, chosen: Spread) -> str:
    """One line: what stands against each of the other spreads, or about how long it would take."""
    ways: dict[str, Callable[[], Spread]] = {
        name: partial(_cheapest, plan, load, cores, name) for name in ("whole", "key", "time")
    }
    ways |= {"cells": lambda: cells_for(plan, cores), "staged": lambda: staged_for(plan, cores)}
    found = []
    for name, way in ways.items():
        if name == name_of(chosen):
            continue
        try:
            spread = way()
        except StrettoError as error:
            reason = str(error).removeprefix(f"cannot spread by {name}: ")
            found.append(f"{name} ({reason.removeprefix('cannot spread by units: ')})")
            continue
        if not load.fits(float(spread.loads(load).max())):
            found.append(f"{name} (more events than fit one target)")
        elif name_of(spread) == name:
            found.append(f"{name} (about {seconds(spread, plan, load, cores):.2g} s)")
    return f"about {seconds(chosen, plan, load, cores):.2g} s; rejected: {', '.join(found)}"


def name_of(spread: Spread) -> str:
    """What a spread is called; cells and staged units are both asked for as `units`."""
    names: dict[type, str] = {
        Whole: "whole",
        ByKey: "key",
        ByTime: "time",
        ByCell: "cells",
        Staged: "staged",
    }
    return names[type(spread)]


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
    return max(TAKEN, plan.estimate.cost * 1e-9 * max(load.times.seconds, 1.0) / load.times.total)


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
    what = name_of(spread)
    if isinstance(spread, Staged):
        counts = ", ".join(
            f"{len(spread.addresses(stage))} in stage {stage}" for stage in range(1, spread.last_stage + 1)
        )
        moved = f"{float(loads.sum()) / total:.3g} rows moved per event" if spread.taken and total else ""
        return f"spread: by staged units, {counts}" + (f", {moved}" if moved else "")
    of = f" ({', '.join(spread.attributes) or 'id'})" if isinstance(spread, ByKey) else ""
    if isinstance(spread, ByCell):
        of = f" ({' x '.join(f'{name} in {parts}' for name, parts in spread.anchors)})"
    replication = float(loads.sum()) / total if total else 1.0
    skew = float(loads.max()) / float(loads.mean()) if loads.sum() else 1.0
    unit = {"key": "buckets", "time": "slices", "cells": "cells"}[what]
    what = "units" if what == "cells" else what
    return f"spread: by {what}{of}, {spread.targets:,} {unit}, replication {replication:.3g}, skew {skew:.3g}"
