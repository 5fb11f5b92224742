"""What trend aggregation is compared with, on the same code base: two-step, and flat.

`greta`, each query online and alone, is an optimizer (`optimize(workload, stats, "greta")`).
"""

from collections.abc import Callable

import pyarrow as pa
from benchmarks.baselines.flat import MOST, Flat, flatten
from benchmarks.baselines.two_step import MEMORY_BYTES, STEP, aggregate_matches, detections

from stretto.engine.whole_table import run
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.schema import Schema
from stretto.stats.profile import Stats

__all__ = ["Flat", "aggregate_matches", "detections", "flat", "flatten", "two_step"]


def two_step(
    workload: Workload,
    known: Stats | Schema,
    events: pa.Table,
    optimizer: str = "auto",
    *,
    step: int = STEP,
    memory_bytes: int = MEMORY_BYTES,
    stop: Callable[[], bool] = lambda: False,
) -> pa.Table:
    """The totals of a workload's trend queries: all trends are detected, then aggregated."""
    plan = optimize(detections(workload), known, optimizer)
    return aggregate_matches(workload, plan, events, step=step, memory_bytes=memory_bytes, stop=stop)


def flat(workload: Workload, known: Stats | Schema, events: pa.Table, most: int = MOST) -> pa.Table:
    """The same, by sequences of every length that is possible in these events, each counted online on its own."""
    schema = known.schema if isinstance(known, Stats) else known
    flattened = flatten(workload, schema, events, most)
    plan = optimize(flattened.workload, known, "greta")
    return flattened.totals(run(plan, events).totals())
