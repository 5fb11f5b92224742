"""Plans are tried on sampled events: what was counted decides, and EXPLAIN says so."""

import json
from math import inf

import pytest
from tests.plan.bursts import bursty, queries

from stretto.engine.planning import optimize
from stretto.engine.trial import TRIED_STEP, Tryout
from stretto.engine.whole_table import run
from stretto.explain.model import Tried
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize as by_estimates
from stretto.plan.optimizers import model_of
from stretto.plan.trials import trying
from stretto.plan.trials.counted_work import WorkOf
from stretto.plan.trials.full_windows import FullWindows
from stretto.stats.profile import Stats

EVENTS = 6_000
OTHERS = ("none", "share", "reorder", "mcep")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small inputs are worth trying too."""
    monkeypatch.setattr(trying, "FEWEST_EVENTS", EVENTS // 2)
    monkeypatch.setattr(trying, "LEAST_NS", 0.0)


def planned(seed: int, optimizer: str = "auto") -> tuple[Plan, Stats, Workload]:
    table = bursty(EVENTS, seed)
    workload = Workload.parse(queries(seed, 6))
    stats = Stats.of(table)
    return optimize(workload, stats, optimizer, 5.0), stats, workload


def looked_through(plan: Plan, seed: int) -> int:
    """Candidates examined and rows made in all events."""
    counters = run(plan, bursty(EVENTS, seed)).counters
    assert counters is not None
    return sum(counters.candidates) + sum(counters.rows)


def tried_of(plan: Plan) -> Tried:
    assert plan.estimate is not None
    assert plan.estimate.tried is not None
    return plan.estimate.tried


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_auto_looks_through_no_more_than_others(seed: int) -> None:
    plan, stats, workload = planned(seed)
    assert plan.estimate is not None
    assert plan.estimate.tried is not None
    best = min(looked_through(by_estimates(workload, stats, name, 5.0), seed) for name in OTHERS)
    assert looked_through(plan, seed) <= 1.3 * best


def test_a_plan_is_tried_on_a_part_and_told_with_both_figures() -> None:
    plan, *_ = planned(1)
    assert plan.estimate is not None
    tried = plan.estimate.tried
    assert tried is not None
    assert 0 < tried.events <= EVENTS
    assert tried.plans >= 2
    assert plan.estimate.cost == tried.counted
    text = plan.explain()
    assert (
        f"tried on {tried.events:,} events of the sample, the best of {tried.plans} plans: estimated " in text
    )
    assert json.loads(plan.explain("json"))["tried"] == {
        "events": tried.events,
        "plans": tried.plans,
        "estimated": tried.estimated,
        "counted": tried.counted,
    }


def test_the_same_input_has_the_same_plan() -> None:
    assert planned(2)[0].ops == planned(2)[0].ops


def test_records_hold_the_rows_that_were_counted() -> None:
    plan, stats, workload = planned(1)
    assert plan.estimate is not None
    assert plan.estimate.tried is not None
    events, length = trying.sampled(by_estimates(workload, stats, "auto", 5.0), stats)
    *_, counted = Tryout(events)(plan)
    filled = FullWindows(plan, length, stats.total_rate).filled(counted, counted.events)
    scale = stats.total_rate / counted.events
    sure = [i for i, rows in enumerate(counted.rows) if rows >= trying.KNOWN_ROWS]
    assert sure
    assert [plan.records[i].rows for i in sure] == pytest.approx([filled.rows[i] * scale for i in sure])
    assert [filled.rows[i] for i in sure] == pytest.approx([counted.rows[i] for i in sure], rel=0.05)


def test_nothing_is_tried_where_there_is_little_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "FEWEST_EVENTS", EVENTS + 1)
    plan, *_ = planned(1)
    assert plan.estimate is not None
    assert plan.estimate.tried is None
    assert "tried" not in plan.explain()


@pytest.mark.parametrize(
    ("short", "surprising", "raced"), [(inf, inf, False), (inf, 0.0, True), (0.0, inf, True)]
)
def test_a_short_run_that_does_as_estimated_has_no_race(
    monkeypatch: pytest.MonkeyPatch, short: float, surprising: float, raced: bool
) -> None:
    monkeypatch.setattr(trying, "SHORT_NS", short)
    monkeypatch.setattr(trying, "SURPRISING", surprising)
    raced_plan, stats, workload = planned(1)
    plan = optimize(workload, stats, "auto", 5.0, once=True)
    alone, others = (tried_of(one) for one in (plan, raced_plan))
    assert alone.plans == (others.plans if raced else 1)
    assert others.plans > 1


def test_events_that_are_converted_once_serve_every_plan() -> None:
    plan, stats, workload = planned(1)
    others = [plan, by_estimates(workload, stats, "none", 5.0)]
    few = by_estimates(Workload.parse(queries(1, 1)), stats, "none", 5.0)
    events = bursty(3 * TRIED_STEP, 1)
    tryout = Tryout(events)
    for one in (*others, few, plan):
        assert list(tryout(one)) == list(Tryout(events)(one))


def test_other_optimizers_try_nothing() -> None:
    plan, *_ = planned(1, "reorder")
    assert plan.estimate is not None
    assert plan.estimate.tried is None


def test_a_trial_can_be_ended_after_each_step() -> None:
    plan, stats, _ = planned(1)
    first = next(Tryout(bursty(3 * TRIED_STEP, 1))(plan))
    assert TRIED_STEP <= first.events < 2 * TRIED_STEP
    work = WorkOf(plan, model_of(stats).estimator).all(first)
    assert len(work) == len(plan.ops)
    assert any(sum(one) > 0 for one in work)


@pytest.mark.parametrize(("pattern", "calls"), [("SEQ(A a, B b)", 1.0), ("AND(A a, B b)", 2.0)])
def test_a_join_whose_sides_both_look_counts_twice_as_in_the_estimate(pattern: str, calls: float) -> None:
    table = bursty(EVENTS, 1)
    stats = Stats.of(table)
    plan = by_estimates(Workload.parse(f"QUERY q PATTERN {pattern} WITHIN 1 SECOND"), stats, "none")
    found = list(Tryout(table)(plan))[-1]
    assert WorkOf(plan, model_of(stats).estimator).calls(found) == [0.5, 0.5, calls, 0.5]


def test_what_a_plan_computes_does_not_depend_on_the_order_of_its_operators() -> None:
    table = bursty(EVENTS, 1)
    texts = queries(1, 2).splitlines()
    one, other, less = (
        by_estimates(Workload.parse("\n".join(chosen)), Stats.of(table), "none")
        for chosen in (texts, texts[::-1], texts[:1])
    )
    assert one.ops != other.ops
    assert trying.computations(one) == trying.computations(other)
    assert trying.computations(less) < trying.computations(one)
