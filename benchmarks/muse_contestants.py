"""The contestants of `muse`: each prepares a workload and then runs it over events; answers are compared row by row."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.baselines.trends import aggregate_matches, detections, flatten
from benchmarks.contestants.answers import WrongAnswerError
from benchmarks.muse_report import AUTO, FLAT, GRETA, MUSE, SHARON, TWO_STEP

from stretto.engine.kernels import when_to_compile
from stretto.engine.run import Engine
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

BATCH = 1 << 18
STEP = 16
"""Events per step of two-step: it holds the trends of a step, of which there may be very many."""
NEAR = 1e-9
KEYS = ("query", "window_start", "window_end", "group", "name")

Run = Callable[[pa.Table], pa.Table]
"""Events to totals."""


@dataclass(frozen=True, slots=True)
class Task:
    """A workload with what is known of its stream. `limit`: seconds after which `two-step` gives up, about."""

    workload: Workload
    stats: Stats
    limit: float = 60.0
    memory_bytes: int = 8 << 30


def statistics(events: pa.Table, workload: Workload) -> Stats:
    """What is known of a stream by some of its events; types that happen not to be among them exist all the same."""
    known = Stats.of(events)
    types = events["type"].combine_chunks().dictionary.to_pylist()
    rates = {name: known.rates.get(name, 0.0) for name in sorted(types)}
    return replace(known, schema=replace(known.schema, types=frozenset(types)), rates=rates).measured(
        workload
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    run: Run
    plan: Plan


def prepare(label: str, task: Task, events: pa.Table) -> Prepared:
    """Everything that is done before events come; `flat` must know those of one run, to know how long they are."""
    when_to_compile.always = True  # so that nothing is compiled, or done by a twin, while it is timed
    if label in (MUSE, AUTO, GRETA):
        plan = optimize(task.workload, task.stats, label)
        return Prepared(lambda table: _totals(plan, table), plan)
    if label == TWO_STEP:
        plan = optimize(detections(task.workload), task.stats.schema, "auto", budget=2.0)
        return Prepared(lambda table: _two_step(task, plan, table), plan)
    assert label in (FLAT, SHARON)
    flattened = flatten(task.workload, task.stats.schema, events)
    # Sharon shares parts of sequences online; which of them, the benefit of MUSE decides, of which Kleene is no part.
    plan = optimize(flattened.workload, task.stats, GRETA if label == FLAT else MUSE)
    return Prepared(lambda table: flattened.totals(_totals(plan, table)), plan)


def _totals(plan: Plan, table: pa.Table) -> pa.Table:
    engine = Engine(plan)
    found = engine.nothing()
    for batch in table.to_batches(max_chunksize=BATCH):
        found.extend(engine.push(batch))
    found.extend(engine.flush())
    return found.totals()


def _two_step(task: Task, plan: Plan, table: pa.Table) -> pa.Table:
    until = time.perf_counter() + task.limit
    return aggregate_matches(
        task.workload,
        plan,
        table,
        step=STEP,
        memory_bytes=task.memory_bytes,
        stop=lambda: time.perf_counter() > until,
    )


@dataclass(frozen=True, slots=True)
class Timed:
    seconds: float
    totals: pa.Table = field(repr=False)


def timed(run: Run, events: pa.Table) -> Timed:
    """Seconds of one core, and what was found."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        found = run(events)
        return Timed(time.process_time() - start, found)
    finally:
        gc.enable()


def check_totals(label: str, found: pa.Table, expected: pa.Table) -> None:
    """WrongAnswerError unless two results have the same rows: digits equal, doubles but for 1e-9 of them."""
    if found.num_rows != expected.num_rows:
        raise WrongAnswerError(f"{label}: {found.num_rows:,} rows, expected {expected.num_rows:,}")
    order = [(name, "ascending") for name in KEYS]
    found, expected = found.sort_by(order), expected.sort_by(order)
    for name in (*KEYS, "exact"):
        differ = _differ(found[name], expected[name])
        if differ is not None:
            raise WrongAnswerError(_message(label, name, found, expected, differ))
    for name in ("value", "log2_count"):
        one, other = (column[name].to_numpy(zero_copy_only=False) for column in (found, expected))
        with np.errstate(invalid="ignore"):
            near = np.abs(one - other) <= NEAR * np.maximum(np.abs(other), 1.0 if name != "value" else 0.0)
        wrong = np.flatnonzero(~(near | (one == other) | (np.isnan(one) & np.isnan(other))))
        if len(wrong):
            raise WrongAnswerError(_message(label, name, found, expected, int(wrong[0])))


def _differ(one: pa.ChunkedArray, other: pa.ChunkedArray) -> int | None:
    """The first row in which two columns differ; two nulls do not."""
    if one.equals(other):
        return None
    if pa.types.is_string(one.type):
        one, other = pc.fill_null(one, ""), pc.fill_null(other, "")
    differ = np.flatnonzero(pc.not_equal(one, other).to_numpy())
    return int(differ[0]) if len(differ) else None


def _message(label: str, name: str, found: pa.Table, expected: pa.Table, row: int) -> str:
    place = " ".join(str(expected[key][row].as_py()) for key in ("query", "window_start", "group", "name"))
    return (
        f"{label}: {place}: {name} is {found[name][row].as_py()!r}, expected {expected[name][row].as_py()!r}"
    )
