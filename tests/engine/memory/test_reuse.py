"""With reused memory filled as soon as it is free, results are the same; and a view that is kept too long shows."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.exactness import test_engine, test_optimizers, test_trends
from tests.support.random_events import random_events, to_table
from tests.support.strategies import random_workload
from tests.support.variations import sharing_workload

from stretto.engine.kernels import when_to_compile
from stretto.engine.memory import reuse
from stretto.engine.operators.stateless import FilterOperator
from stretto.engine.run import Engine
from stretto.engine.stream.arena import Growing
from stretto.engine.whole_table import run
from stretto.errors import QueryError
from stretto.pattern.workload import Workload
from stretto.plan.ops import Filter
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats
from stretto.values.rows import Rows, Sets

SEED = 20261101


@pytest.fixture(autouse=True)
def _debug(monkeypatch):
    monkeypatch.setattr(reuse, "debug", True)


# ---- the checker is checked --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64, np.bool_])
def test_what_was_borrowed_is_nonsense_after_a_change(dtype):
    array = Growing(dtype)
    array.append(np.ones(4, dtype), 4)
    before, first = array.borrowed, array.borrowed[:2]
    array.forget(2)
    assert not (first == 1).any()
    array.append(np.ones(1, dtype), 1)
    assert not (before == 1).any()
    assert array.borrowed.tolist() == [1, 1, 1]


def test_it_is_known_whose_memory_an_array_is():
    array = Growing(np.int64)
    array.append(np.arange(4), 4)
    own, borrowed = array.borrowed.copy(), array.borrowed[1:3][:1]
    sets = Sets(own, own)
    reuse.check_rows([Rows(own, own[1:], (own.reshape(2, 2)[0], sets))])
    reuse.check_owned(sets, own, None)
    for first, last, column in (
        (borrowed, own, own),
        (own, borrowed, own),
        (own, own, borrowed),
        (own, own, Sets(borrowed, own)),
        (own, own, Sets(own, borrowed)),
    ):
        with pytest.raises(AssertionError, match="used again"):
            reuse.check_rows([Rows(first, last, (own, column))])


def test_an_operator_that_gives_borrowed_rows_is_found(monkeypatch):
    def borrowing(self, inputs, clock):
        ts = clock.events.borrowed_ts
        return [Rows(ts[-len(rows) :], rows.last, rows.columns) for rows in inputs[0]]

    monkeypatch.setattr(FilterOperator, "step", borrowing)
    workload = Workload.parse(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 9 us; QUERY r PATTERN SEQ(A a, B b) WITHIN 4 us;"
    )
    events = to_table(random_events(Random(1), ("A", "B"), 30))
    plan = optimize(workload, Stats.of(events), "motto-paper")
    assert any(isinstance(op, Filter) for op in plan.ops), "the narrower window is a filter on the wider one"
    with pytest.raises(AssertionError, match="used again"):
        run(plan, events)


# ---- results are the same ----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(SEED, SEED + 40, 10))
def test_matches_are_those_of_the_oracle(first, monkeypatch):
    for seed in range(first, first + 10):
        monkeypatch.setattr(when_to_compile, "always", seed % 3 != 0)
        test_engine.check(random_workload(Random(seed)), seed)


def test_so_they_are_by_every_optimizer(monkeypatch):
    for seed in range(SEED, SEED + 8):
        monkeypatch.setattr(when_to_compile, "always", seed % 3 != 0)
        test_optimizers.check(sharing_workload(Random(seed)), seed)


def test_so_are_totals():
    for seed in range(SEED, SEED + 15):
        test_trends.check(seed)


@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_results_that_are_read_again_are_the_same(seed, monkeypatch):
    """One event per step; every result is read when it comes and at the end, and is that of one step."""
    monkeypatch.setattr(when_to_compile, "always", seed % 3 != 0)
    rng = Random(seed)
    sample = sharing_workload(rng) if seed % 2 else random_workload(rng)
    events = sorted(random_events(rng, most=400), key=lambda event: event.ts)
    table = to_table([replace(event, id=i) for i, event in enumerate(events)], ids=seed % 4 < 2)
    workload = Workload.parse(sample.text)
    try:
        plan = optimize(workload, sample.schema, ("none", "auto")[seed % 3 > 0], budget=0.05)
    except QueryError:
        pytest.skip("refused")
    engine = Engine(plan, step=1)
    parts, tables, read = [], [], []
    for batch in [*table.to_batches(max_chunksize=1), None]:
        parts.append(engine.flush() if batch is None else engine.push(batch))
        tables.append({query: parts[-1][query] for query in parts[-1].counts()})
        read.append({query: found.to_pylist() for query, found in tables[-1].items()})
    monkeypatch.setattr(reuse, "debug", False)
    expected = run(plan, table)
    for query in expected.counts():
        assert [part[query].to_pylist() for part in parts] == [then[query] for then in read]
        assert [found[query].to_pylist() for found in tables] == [then[query] for then in read]
        rows = sorted(repr(row) for then in read for row in then[query])
        assert rows == sorted(map(repr, expected[query].to_pylist()))
