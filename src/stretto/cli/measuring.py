"""A run of a plan that keeps what every operator did, and no matches."""

from collections import Counter
from dataclasses import replace
from itertools import chain, islice
from time import perf_counter, process_time
from typing import Any, NamedTuple

import pyarrow.compute as pc

from stretto.cli.results.running import progress
from stretto.data.files import EventFile
from stretto.engine.run import Engine
from stretto.explain.units import MeasuredUnit
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.explanation import Measured
from stretto.plan.placement.heavy import HeavyEvent

BATCH = 1 << 17
MICROSECONDS = 1e6


def measured(plan: Plan, source: EventFile, *, quiet: bool) -> Measured:
    """What the operators of a plan do over all events of a file.

    A first run over the first batch is not counted: it loads the kernels.
    """
    run = _run(plan, source, quiet=quiet)
    done, count = run.engine.counters, run.engine.counts.events
    return Measured(
        tuple(done.rows),
        tuple(done.seconds),
        count,
        run.span,
        run.elapsed,
        run.engine.trend_work,
        run.totals,
        worked=run.worked,
    )


class MeasuredUnits(NamedTuple):
    """What each unit of every operator did, the seconds of stream, and shared events that are in many rows."""

    units: dict[int, list[MeasuredUnit]]
    span: float
    heavy: dict[int, tuple[HeavyEvent, ...]]


def measured_units(plan: Plan, source: EventFile, *, quiet: bool) -> MeasuredUnits:
    """What each unit of a placed plan did over all events of a file, one after another.

    Heavy are shared events that are in more rows of an input than a unit has if all have alike.
    """
    assert plan.placement is not None
    watched = replace(plan, placement=replace(plan.placement, watched=True))
    run = _run(watched, source, quiet=quiet)
    counts = run.engine.unit_counts.items()
    units = {
        number: [MeasuredUnit(one.rows_in, one.candidates, one.held, one.seconds) for one in own]
        for number, own in counts
    }
    return MeasuredUnits(units, run.span or 1.0, run.engine.heavy_events(1.0 / max(plan.placement.units, 2)))


class _Run(NamedTuple):
    engine: Engine
    span: float
    elapsed: float
    worked: float
    totals: Counter[str]


def _run(plan: Plan, source: EventFile, *, quiet: bool) -> _Run:
    events = source.select(attributes_of(plan))
    lateness = source.disorder_us()
    for batch in islice(events.batches(BATCH), 1):
        Engine(plan, lateness_us=lateness, special=source.special).push(batch)
    engine = Engine(plan, lateness_us=lateness, special=source.special)
    engine.count_processor_time()
    times: list[int] = []
    totals: Counter[str] = Counter()
    elapsed = worked = 0.0
    with progress(source.rows, quiet=quiet) as advance:
        for batch in chain(events.batches(BATCH), [None]):
            if batch is not None:
                times += _bounds(batch.column(source.special.ts))
            start, begun = perf_counter(), process_time()
            found = engine.flush() if batch is None else engine.push(batch)
            elapsed += perf_counter() - start
            worked += process_time() - begun
            for part in found.total_batches():  # each of one query
                totals[part.column("query")[0].as_py()] += part.num_rows
            advance(engine.counts)
    span = (max(times) - min(times)) / MICROSECONDS if times else 0.0
    return _Run(engine, span, elapsed, worked, totals)


def _bounds(times: Any) -> list[int]:
    """The earliest and the latest time, in microseconds; empty if there are no times."""
    found = pc.min_max(times.cast("int64")).as_py()
    return [] if found["min"] is None else [found["min"], found["max"]]
