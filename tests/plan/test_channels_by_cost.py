"""Channels in `auto`: taken where the disjunction is cheaper than its members, left where it is not."""

import numpy as np
import pyarrow as pa
import pytest

import stretto
from stretto import Stats
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit
from stretto.plan.optimize import optimize

rng = np.random.default_rng(5)
SIZE = 4_000
EVENTS = pa.table(
    {
        "ts": pa.array(np.arange(SIZE) * 250_000, pa.timestamp("us")),
        "type": rng.choice(["cpu", "T", "U"], SIZE),
        "pid": pa.array(rng.integers(0, 9, SIZE)),
        "load": pa.array(rng.integers(0, 100, SIZE).astype(float)),
    }
)
STATS = Stats.of(EVENTS)


def plan_of(text: str, optimizer: str = "auto") -> Plan:
    return stretto.optimize(Workload.parse(text), STATS, optimizer, budget=0.5)


def rules_of(plan: Plan) -> set[str]:
    front = set() if plan.front is None else set(plan.front.because.values())
    return front | {record.because for record in plan.records}


def assert_same_as_none(text: str, plan: Plan) -> int:
    """The number of matches, which `none` finds too."""
    one, other = (stretto.run(found, EVENTS).to_arrow() for found in (plan, plan_of(text, "none")))
    ids = [sorted(table["match_id"].to_pylist()) for table in (one, other)]
    assert ids[0] == ids[1]
    return len(ids[0])


def runs(count: int, width: int) -> str:
    """NEXT queries that begin with other loads of one process each."""
    return "".join(
        f"QUERY q{i} PATTERN SEQ(cpu a, T b) WHERE a.load >= {i} AND a.load < {i + width} AND a.pid = b.pid "
        f"WITHIN {9 + i} SECONDS SELECT NEXT;"
        for i in range(count)
    )


def aggregates(count: int, where: str, read: str) -> str:
    return "".join(
        f"CREATE STREAM d{i} AS SELECT pid, AVG(load) AS load FROM cpu WHERE {where.format(i, i + 1)} GROUP BY pid "
        f"WITHIN 9 SECONDS; QUERY q{i} PATTERN {read.format(i)};"
        for i in range(count)
    )


def test_runs_that_begin_with_the_same_events_are_a_channel() -> None:
    text = runs(12, 60)
    plan = plan_of(text)
    assert "s_sigma" in rules_of(plan)
    assert len(plan.queries) == 1
    assert_same_as_none(text, plan)


def test_filters_before_one_aggregate_are_a_channel() -> None:
    text = aggregates(12, "load >= {}", "d{} x WHERE x.load > 60 WITHIN 1 SECOND")
    plan = plan_of(text)
    assert "c_alpha" in rules_of(plan)
    assert assert_same_as_none(text, plan) > 0


@pytest.mark.parametrize("read", ["SEQ(d{0} x, d{0} y) WHERE x.load > 50 + {0} WITHIN 1 SECOND"])
def test_what_would_be_decoded_again_is_left_as_it_is(read: str) -> None:
    """Two selections that have next to nothing in common, read by queries that are not alike."""
    text = aggregates(2, "load > {0}9 AND load < {1}1", read)
    plan = plan_of(text)
    assert rules_of(plan).isdisjoint({"s_sigma", "c_alpha", "c_pi"})
    assert "c_alpha" in rules_of(plan_of(text, "rumor"))
    assert_same_as_none(text, plan)


def test_any_matches_are_left_to_the_memo() -> None:
    """What begins two sequences of raw events is shared by the memo, whose joins are cheaper than a channel's."""
    text = "".join(
        f"QUERY q{i} PATTERN SEQ(cpu a, T b, U c) WHERE a.load >= 9{i} AND a.pid = b.pid WITHIN {5 + i} SECONDS;"
        for i in range(3)
    )
    plan = plan_of(text)
    assert rules_of(plan).isdisjoint({"s_sigma", "c_seq"})
    assert assert_same_as_none(text, plan) > 0


def test_one_workload_may_use_the_techniques_of_several_papers() -> None:
    shared = "".join(
        f"QUERY m{i} PATTERN SEQ(cpu a, T b, U c) WHERE a.load > 97 AND b.load > 97 AND [pid] AND c.load > {i} "
        f"WITHIN {20 + i} SECONDS;"
        for i in range(3)
    )
    family = "".join(
        f"QUERY f{i} PATTERN SEQ(U a, T b) WHERE a.load = {i} AND b.pid = {i % 5} WITHIN 5 SECONDS;"
        for i in range(80)
    )
    text = runs(12, 60) + aggregates(6, "load >= {}", "d{} x WHERE x.load > 60 WITHIN 1 SECOND").replace(
        "QUERY q", "QUERY a"
    )
    text += shared + family
    plan = plan_of(text)
    rules = rules_of(plan)
    assert {"s_sigma", "c_alpha"} <= rules, "RUMOR's channels"
    shares = [
        op for number, op in enumerate(plan.ops) if sum(q.startswith("m") for q in plan.serves(number)) > 1
    ]
    assert shares, "MOTTO's and MCEP's: what three sequences have in common is one"
    routes = [op.route for op in plan.ops if isinstance(op, Emit) and op.route is not None]
    assert 80 in [len(route.members) for route in routes], "a family"
    assert assert_same_as_none(text, plan) > 0


def test_a_rule_can_be_left_out() -> None:
    text = aggregates(12, "load >= {}", "d{} x WHERE x.load > 60 WITHIN 1 SECOND")
    plan = optimize(Workload.parse(text), STATS, "auto", without=["c_alpha"])
    assert "c_alpha" not in rules_of(plan)
    assert_same_as_none(text, plan)
