"""Where estimates fail a plan is made without them, and it is a right one."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table

from stretto import Engine, oracle
from stretto.engine.whole_table import run
from stretto.memo.cost import CostModel
from stretto.oracle.detections import Event
from stretto.papers.partial_matches import PaperCost
from stretto.pattern import functions
from stretto.pattern.functions import register_function
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Kind
from stretto.stats import safe_estimates
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats
from stretto.stats.selectivity import Selectivities
from stretto.trends.rates import Rates

NAN = float("nan")
EVENTS = random_events(Random(56), "ABCD", most=24)


def stats_of(events: Sequence[Event]) -> Stats:
    """Some types may be missing."""
    return replace(Stats.of(to_table(events)), schema=SCHEMA)


TEXT = """
QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND a.k = c.k AND b.n > 0 WITHIN 6 us;
QUERY r PATTERN SEQ(A a, B b+, NOT(D d)) WHERE [k] AND d.x > a.x WITHIN 5 us;
QUERY s PATTERN AND(SEQ(A a, B b){1,2}, C c) WITHIN 5 us;
QUERY t PATTERN SEQ(A a, B b*) WHERE COUNT(b) < 3 WITHIN 5 us SELECT NEXT;
"""
SABOTAGED = [
    (Estimator, "_counted"),
    (Estimator, "_selectivity"),
    (Estimator, "_placed"),
    (Estimator, "_equal"),
    (Selectivities, "_measure"),
    (Selectivities, "drawn"),
    (Selectivities, "_seen"),
    (Selectivities, "agreement"),
    (CostModel, "work"),
    (CostModel, "price"),
    (PaperCost, "alive"),
    (PaperCost, "_instances"),
]


def check(plan: Plan, workload: Workload) -> None:
    """The plan's figures are finite, and it finds what the oracle finds."""
    assert plan.estimate is not None
    own = (figure for record in plan.records for figure in (record.rows, record.cost))
    figures = (plan.estimate.cost, plan.estimate.alone, *own)
    assert all(figure is None or 0.0 <= figure < float("inf") for figure in figures)
    found = run(plan, to_table(EVENTS))
    for query in workload.bind(SCHEMA).detections:
        assert_same_matches(matches_of(found[query.name], query), oracle.matches(query, EVENTS))


@pytest.mark.parametrize(("owner", "name"), SABOTAGED, ids=lambda one: getattr(one, "__name__", one))
@pytest.mark.parametrize("failure", [ZeroDivisionError("division by zero"), NAN], ids=repr)
def test_plans_are_made_without_what_fails(monkeypatch, owner: type, name: str, failure: object) -> None:
    def fails(*_: object) -> object:
        if isinstance(failure, Exception):
            raise failure
        return failure

    workload, stats = Workload.parse(TEXT), stats_of(EVENTS)
    monkeypatch.setattr(safe_estimates, "strict", False)
    monkeypatch.setattr(owner, name, fails)
    for optimizer in ("auto", "motto"):
        check(optimize(workload, stats, optimizer, budget=0.02), workload)


@pytest.mark.parametrize("name", ["_counted", "_any", "_order"])
@pytest.mark.parametrize("optimizer", ["auto", "muse"])
def test_so_are_plans_of_trends(monkeypatch, name: str, optimizer: str) -> None:
    text = """
    QUERY t PATTERN SEQ(A a, B b+) WHERE [k] WITHIN 9 us RETURN COUNT(*);
    QUERY u PATTERN SEQ(C c, B b+) WHERE [k] WITHIN 9 us RETURN COUNT(*);
    """

    def fails(*_: object) -> float:
        raise IndexError(name)

    monkeypatch.setattr(safe_estimates, "strict", False)
    monkeypatch.setattr(Rates, name, fails)
    plan = optimize(Workload.parse(text), stats_of(EVENTS * 10), optimizer)
    assert plan.trends is not None
    assert len(plan.trends.queries) == 2


def test_a_function_that_fails_on_the_sample_rejects_events_where_it_is_run(monkeypatch) -> None:
    def root(values: np.ndarray) -> np.ndarray:
        if (values < 0).any():
            raise ValueError("a negative number")
        return np.sqrt(values)

    assert any(event.type == "A" and (event.attributes["x"] or 0) < 0 for event in EVENTS)
    monkeypatch.setattr(functions, "_registered", {})
    register_function("root", root, [Kind.FLOAT], Kind.FLOAT)
    workload = Workload.parse(
        "QUERY q PATTERN SEQ(A a, B b) WHERE root(a.x) < 2 AND root(b.x) < root(a.x) WITHIN 5 us;"
    )
    stats = stats_of(EVENTS).measured(workload)
    plan = optimize(workload, stats)
    engine = Engine(plan)
    parts = [*(engine.push(batch) for batch in to_table(EVENTS).to_batches()), engine.flush()]
    reasons = {reason for one in engine.take_rejected() for reason in one["reason"].to_pylist()}
    assert reasons == {"ROOT: ValueError: a negative number"}
    fine = [event for event in EVENTS if not (event.attributes["x"] or 0) < 0]
    found = [(row["a"], row["b"]) for part in parts for row in part["q"].to_pylist()]
    assert len(found) == run(plan, to_table(fine))["q"].num_rows
