"""Random workloads with random small bounds on memory: the whole result, or the error that names what went past."""

import re
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.engine.memory import bounded
from tests.engine.memory.bounded import QUERIES, found, plan_of
from tests.fuzz.sized_streams import sized_workload
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, in_batches, to_table
from tests.support.strategies import random_workload
from tests.support.trend_strategies import random_trends

from stretto import oracle
from stretto.engine.memory import reuse
from stretto.engine.run import Engine
from stretto.errors import EngineError, QueryError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Next, Scan
from stretto.plan.optimize import optimize

STOPPED = re.compile(r"out of memory: the limit is [\d,]+ bytes, and .* went past it")
NAMED = re.compile(r"operator n(\d+) \(.*\) went past it with [\d,]+ rows in one step; it serves q\.")


def bounded_or_stopped(plan: Plan, table: pa.Table, part: float) -> bool:
    """Whether a run with a part of the memory that the free run takes comes to its end; what it finds is right."""
    expected, free, _ = found(plan, table, 1 << 40, batch=700)
    state = sum(op.held for op in Engine(plan)._live.operators.values())
    bound = state + int((free.peak_bytes - state) * part)
    try:
        rows, engine, _ = found(plan, table, bound, batch=700)
    except EngineError as error:
        assert STOPPED.match(str(error)), error  # noqa: PT017 - either outcome is right
        return False
    assert rows.equals(expected)
    assert engine.peak_bytes <= 1.25 * bound
    return True


def test_sized_workloads_find_all_or_stop():
    ended = []
    for seed in range(5):
        rng = Random(seed)
        sized = sized_workload(rng)
        sized = sized.only(rng.sample(sorted(sized.queries), 4))
        plan = optimize(sized.workload(), SCHEMA, optimizer=rng.choice(("none", "share")))
        ended.append(bounded_or_stopped(plan, to_table(sized.events), rng.uniform(0.05, 1.0)))
    assert {True, False} == set(ended)


def test_trends_find_all_or_stop():
    ended = []
    for seed in range(3, 13):
        rng = Random(seed)
        sample = random_trends(rng)
        plan = optimize(Workload.parse(sample.text), sample.schema, optimizer="none")
        events = sorted(sample.events, key=lambda event: event.ts)
        many = [replace(event, ts=event.ts + 97 * i) for i in range(30) for event in events]
        many.sort(key=lambda event: event.ts)
        ended.append(bounded_or_stopped(plan, to_table(many, ids=False), rng.uniform(0.75, 1.25)))
    assert {True, False} == set(ended)


@pytest.mark.parametrize(("kind", "operator", "n"), [("scan", Scan, 40_000), ("next", Next, 6_000)])
def test_scans_and_runs_are_named_where_one_time_does_not_fit(kind, operator, n):
    """Less and less memory: before the events themselves do not fit, the operator's rows do not."""
    table = bounded.events(n, times=3)
    plan = plan_of(QUERIES[kind], table)
    bound, named = found(plan, table, 1 << 40)[1].peak_bytes, set()
    while bound > 100_000:
        bound = bound * 15 // 16
        try:
            found(plan, table, bound)
        except EngineError as error:
            assert STOPPED.match(str(error)), error  # noqa: PT017 - what it names is collected
            if match := NAMED.search(str(error)):
                named.add(type(plan.ops[int(match[1])]))
    assert operator in named


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_random_workloads_find_the_oracles_matches_or_stop(start, monkeypatch):
    stopped = done = 0
    for seed in range(start, start + 20):
        rng, sample = Random(seed), random_workload(Random(seed))
        monkeypatch.setattr(reuse, "debug", seed % 2 == 0)
        try:
            workload = Workload.parse(sample.text)
            plan = optimize(workload, sample.schema, optimizer="none")
        except QueryError:
            continue
        table = to_table(sample.events)
        table = table.take(np.lexsort((table["id"].to_numpy(), table["ts"].cast("int64").to_numpy())))
        engine = Engine(plan)
        state = sum(op.held for op in engine._live.operators.values())
        engine = Engine(plan, memory_bytes=state + int(10 ** rng.uniform(3.5, 6)))
        queries = workload.bind(sample.schema).detections
        matches = {query.name: [] for query in queries}
        try:
            for batch in in_batches(rng, table):
                for part in engine.pushing(batch):
                    for query in queries:
                        matches[query.name] += matches_of(part[query.name], query)
            for part in engine.flushing():
                for query in queries:
                    matches[query.name] += matches_of(part[query.name], query)
        except EngineError as error:
            assert str(error).startswith("out of memory: the limit is")  # noqa: PT017 - either outcome is right
            stopped += 1
            continue
        done += 1
        for query in queries:
            expected = oracle.matches(query, sample.events)
            assert_same_matches(matches[query.name], expected, about=f"seed {seed}, {query.name}")
    assert stopped
    assert done
