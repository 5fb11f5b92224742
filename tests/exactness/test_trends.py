"""Totals of trends are what the oracle counts, whatever the workload, the sharing, the batches and their order.

STRETTO_TRENDS says how many random workloads are tried, STRETTO_SEED from which seed on; a failure names the seed of
its workload, so that `STRETTO_SEED=n STRETTO_TRENDS=1` runs it again.
"""

import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from tests.support.loops import WAYS, loops
from tests.support.random_events import in_batches, out_of_order, to_table
from tests.support.strategies import Sample
from tests.support.trend_comparison import Row, assert_same_totals, rows_of
from tests.support.trend_strategies import random_trends

from stretto.engine.run import Engine
from stretto.engine.whole_table import run
from stretto.oracle.trends import totals
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

WORKLOADS = int(os.environ.get("STRETTO_TRENDS", "200"))
SEED = int(os.environ.get("STRETTO_SEED", "20260601"))
CHUNK = 25  # workloads of one test

Runner = Callable[[Plan, Sample, Random], pa.Table]


def whole(plan: Plan, sample: Sample, rng: Random) -> pa.Table:
    """The table at once."""
    return run(plan, to_table(sample.events, ids=rng.random() < 0.5)).totals()


def batched(plan: Plan, sample: Sample, rng: Random) -> pa.Table:
    """Batches in any order within the lateness; now and then the engine is put aside between two of them."""
    lateness = rng.choice((0, 1, 3, 10))
    engine = Engine(plan, lateness_us=lateness, step=rng.choice((1, 4, 1000)))
    table = to_table(out_of_order(rng, sorted(sample.events, key=lambda event: event.ts), lateness))
    parts = []
    for batch in in_batches(rng, table):
        parts.append(engine.push(batch).totals())
        if rng.random() < 0.2:
            engine = pickle.loads(pickle.dumps(engine))
    return pa.concat_tables([*parts, engine.flush().totals()])


def restored(plan: Plan, sample: Sample, rng: Random) -> pa.Table:
    """As batched, but the engine is rebuilt from the events in its window between two batches."""
    lateness = rng.choice((0, 2, 10))
    engine = Engine(plan, lateness_us=lateness)
    table = to_table(out_of_order(rng, sorted(sample.events, key=lambda event: event.ts), lateness))
    parts = []
    for batch in in_batches(rng, table):
        parts.append(engine.push(batch).totals())
        if rng.random() < 0.5:
            engine = Engine.restore(plan, pickle.loads(pickle.dumps(engine.snapshot())))
    return pa.concat_tables([*parts, engine.flush().totals()])


def in_all_loops(runner: Runner, plan: Plan, sample: Sample, rng: Random) -> Iterator[tuple[str, list[Row]]]:
    """Yield the ways of loops with the rows that each finds; every way gets the same batches."""
    state, patience = rng.getstate(), Random(len(sample.text))
    for way in WAYS:
        rng.setstate(state)
        with loops(way, patience):
            rows = rows_of(runner(plan, sample, rng))
        yield way, rows


def plan_of(sample: Sample, workload: Workload, rng: Random) -> Plan:
    """By what is known of the events, or by nothing; shared or not."""
    known = sample.schema
    if sample.events and rng.random() < 0.5:
        table = to_table(sample.events)
        measured = Stats.of_batches(table.to_batches(), sample.schema, table.num_rows)
        known = replace(measured, schema=sample.schema)
    return optimize(workload, known, rng.choice(("auto", "muse", "none", "greta")), budget=0.1)


def check(seed: int) -> None:
    rng = Random(seed)
    sample = random_trends(rng)
    workload = Workload.parse(sample.text)
    queries = workload.bind(sample.schema).trends
    expected = [total for query in queries for total in totals(query, sample.events)]
    groups = {query.name: query.groups for query in queries}
    runners: tuple[Runner, ...] = (whole, batched, restored)
    for runner in runners:
        plan = plan_of(sample, workload, rng)
        for way, found in in_all_loops(runner, plan, sample, rng):
            about = f"STRETTO_SEED={seed} STRETTO_TRENDS=1, {runner.__name__}, {plan.optimizer}, {way}"
            assert_same_totals(found, expected, groups, f"{about}\n{sample.text}")


@pytest.mark.parametrize("first", range(SEED, SEED + WORKLOADS, CHUNK))
def test_totals_are_those_of_the_oracle(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEED + WORKLOADS)):
        check(seed)
