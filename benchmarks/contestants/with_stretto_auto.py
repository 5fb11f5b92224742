"""Stretto with the plan that `auto` makes from the first events, off the clock, as the databases are tuned on them."""

from collections.abc import Callable, Sequence

import pyarrow as pa
from benchmarks.contestants.tuning import PREFIX
from benchmarks.contestants.with_stretto import Result, answer, missing, running
from benchmarks.contestants.workloads import Workload

from stretto.engine.planning import optimize
from stretto.pattern.workload import Workload as Parsed
from stretto.stats.profile import Stats

__all__ = ["answer", "load", "missing"]


def load(batches: Sequence[pa.RecordBatch], workload: Workload) -> Callable[[], Result]:
    """As Stretto's own plans: from Arrow batches to matches that are complete in memory."""
    parsed = Parsed.parse(workload.text)
    first = pa.Table.from_batches(batches).slice(0, PREFIX)
    return running(optimize(parsed, Stats.of(first, workload=parsed), "auto"), batches)
