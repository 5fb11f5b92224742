"""How well the cost model predicts on sets of real events: plan by plan, and by the kind of operator."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import process_time

import numpy as np
import pyarrow as pa
from benchmarks.real_workloads import SETS, events_of, workload_over

from stretto.engine.planning import optimize
from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.stats.profile import Stats

OPTIMIZERS = ("auto", "reorder", "share", "none")
EVENTS = 60_000
QUERIES = (5, 15)
NANOSECONDS = 1e9
Seconds = tuple[float, float]
"""Predicted and measured."""


@dataclass(frozen=True, slots=True)
class SetRun:
    """One plan over events of one set: seconds predicted and measured, of the whole and by kind of operator."""

    data: str
    workload: int
    optimizer: str
    predicted: float
    measured: float
    kinds: Mapping[str, Seconds] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Measured by predicted."""
        return self.measured / max(self.predicted, 1e-9)


def runs_on_sets(folder: Path, workloads: int, seed: int, repeat: int) -> Iterator[SetRun]:
    """Plans of several optimizers for random workloads over every set that the folder has."""
    for name in (name for name, file in SETS.items() if (folder / file).exists()):
        for number in range(workloads):
            random = Random(f"{name} {seed} {number}")
            table = events_of(folder, name, EVENTS, random)
            text = workload_over(table, Stats.of(table), random, random.randint(*QUERIES))
            if text:
                yield from runs_of(name, number, table, Workload.parse(text), repeat)


def runs_of(name: str, number: int, table: pa.Table, workload: Workload, repeat: int) -> Iterator[SetRun]:
    """The plans of one workload."""
    stats = Stats.of(table, workload=workload)
    for optimizer in OPTIMIZERS:
        plan = optimize(workload, stats, optimizer)
        assert plan.estimate is not None
        timed = [_timed(plan, table) for _ in range(repeat)]
        kinds = by_kind(plan, timed, stats.seconds)
        predicted = plan.estimate.cost * stats.seconds / NANOSECONDS
        yield SetRun(name, number, optimizer, predicted, min(seconds for seconds, _ in timed), kinds)


def by_kind(plan: Plan, timed: Sequence[tuple[float, Sequence[float]]], span: float) -> dict[str, Seconds]:
    """Seconds of all operators of a kind; a computation of several operators counts as its last one."""
    found: dict[str, Seconds] = {}
    least = np.min([worked for _, worked in timed], axis=0)
    for op, record, worked in zip(plan.ops, plan.records, least.tolist(), strict=True):
        kind = type(op).__name__.lower()
        predicted, measured = found.get(kind, (0.0, 0.0))
        found[kind] = predicted + (record.cost or 0.0) * span / NANOSECONDS, measured + worked
    return found


def _timed(plan: Plan, table: pa.Table) -> tuple[float, Sequence[float]]:
    """CPU seconds of a run, and what each operator took of them by the clock."""
    engine = Engine(plan)
    began = process_time()
    for batch in table.to_batches(max_chunksize=1 << 17):
        for _ in engine.pushing(batch):
            pass  # matches are made, and not kept
    engine.flush()
    return process_time() - began, engine.counters.seconds


def spread(runs: Sequence[SetRun]) -> float:
    """The slowest by the fastest plan of a workload, at the median: where it is near 1 their ranks are chance."""
    by_number = [[run.measured for run in runs if run.workload == n] for n in {run.workload for run in runs}]
    return float(np.median([max(some) / max(min(some), 1e-9) for some in by_number]))


def set_lines(runs: Sequence[SetRun], correlation: Mapping[str, float]) -> Iterator[str]:
    """A line for each set, and below it one for each kind of operator."""
    yield (
        f"{'set':9} {'plans':>5} {'rank corr.':>10} {'slowest/fastest':>15} "
        f"{'measured/predicted: median':>27} {'2.5%':>6} {'97.5%':>6}"
    )
    for name in dict.fromkeys(run.data for run in runs):
        here = [run for run in runs if run.data == name]
        low, middle, high = np.quantile([run.ratio for run in here], [0.025, 0.5, 0.975])
        yield (
            f"{name:9} {len(here):5} {correlation[name]:10.3f} {spread(here):15.2f} "
            f"{middle:27.2f} {low:6.2f} {high:6.2f}"
        )
        for kind in sorted({kind for run in here for kind in run.kinds}):
            pairs = [run.kinds[kind] for run in here if kind in run.kinds]
            predicted, measured = map(sum, zip(*pairs, strict=True))
            yield f"  {kind:7} {len(pairs):5} {'':26} {measured / max(predicted, 1e-9):27.2f}"
