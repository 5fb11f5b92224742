"""A run of a plan that keeps what every operator did, and no matches."""

from collections import Counter
from time import perf_counter
from typing import Any

import pyarrow.compute as pc

from stretto.cli.running import progress
from stretto.data.files import EventFile
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.explanation import Measured

BATCH = 1 << 17
MICROSECONDS = 1e6


def measured(plan: Plan, source: EventFile, *, quiet: bool) -> Measured:
    """What the operators of a plan do over all events of a file.

    A first run over the first batch is not counted: it loads the kernels.
    """
    events = source.select(attributes_of(plan))
    lateness = source.disorder_us()
    _warm_up(Engine(plan, lateness_us=lateness, special=source.special), events)
    engine = Engine(plan, lateness_us=lateness, special=source.special)
    times: list[int] = []
    totals: Counter[str] = Counter()
    elapsed = 0.0
    with progress(source.rows, quiet=quiet) as advance:
        for batch in events.batches(BATCH):
            times += _bounds(batch.column(source.special.ts))
            start = perf_counter()
            found = engine.push(batch)
            elapsed += perf_counter() - start
            _count(found, totals)
            advance(engine.counts)
        start = perf_counter()
        found = engine.flush()
        elapsed += perf_counter() - start
        _count(found, totals)
    span = (max(times) - min(times)) / MICROSECONDS if times else 0.0
    done, count = engine.counters, engine.counts.events
    return Measured(tuple(done.rows), tuple(done.seconds), count, span, elapsed, engine.trend_work, totals)


def _warm_up(engine: Engine, events: EventFile) -> None:
    for batch in events.batches(BATCH):
        engine.push(batch)
        return


def _count(found: Matches, totals: Counter[str]) -> None:
    """Add the rows of each query's totals; a batch holds those of one query."""
    for batch in found.total_batches():
        totals[batch.column("query")[0].as_py()] += batch.num_rows


def _bounds(times: Any) -> list[int]:
    """The earliest and the latest time, in microseconds; empty if there are no times."""
    found = pc.min_max(times.cast("int64")).as_py()
    return [] if found["min"] is None else [found["min"], found["max"]]
