"""Streams and queries that are alike, merged by every choice and order of rules, judged by the oracle.

STRETTO_ALIKE says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from dataclasses import replace
from random import Random

import pytest
from tests.exactness.test_derived_streams import expected_of
from tests.exactness.test_engine import REFUSALS
from tests.support.alike_streams import alike_streams
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA
from tests.support.runners import RUNNERS
from tests.support.stream_strategies import StreamSample

from stretto.errors import QueryError, StrettoError
from stretto.oracle.detections import Event
from stretto.papers.rumor.rules import PRIORITIES, RULES
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize, planned, recipe_of
from stretto.solve.common.budget import Budget

WORKLOADS = int(os.environ.get("STRETTO_ALIKE", "48"))
SEED = int(os.environ.get("STRETTO_SEED", "0"))
CHUNK = 12


def plan_by_chance(workload: Workload, rng: Random) -> Plan:
    """All rules, none over channels, all but some, or all in another order."""
    if rng.random() < 0.3:
        rules = tuple(rng.sample(PRIORITIES, len(PRIORITIES)))
        return planned(workload, SCHEMA, "rumor", replace(recipe_of("rumor"), mops=rules), Budget(0.5))
    if rng.random() < 0.3:
        return optimize(workload, SCHEMA, "rumor", 0.5, without=rng.sample(sorted(RULES), rng.choice((1, 2))))
    return optimize(workload, SCHEMA, rng.choice(("rumor", "rumor", "auto", "rumor-no-channels")), 0.5)


def check(seed: int) -> tuple[int, bool]:
    """The number of matches, and whether something was merged; both 0 for a workload that is refused."""
    sample, rng = alike_streams(Random(seed)), Random(seed + 1)
    workload = sample.workload()
    expected = expected_of(workload.bind(SCHEMA), sample)
    queries = tuple(query for query, _ in expected.values())
    about = f"seed {seed}\n{sample}"
    try:
        plan = plan_by_chance(workload, rng)
    except QueryError as refused:
        if not any(text in str(refused) for text in (*REFUSALS, "several kinds")):
            raise AssertionError(about) from refused
        return 0, False
    for runner in RUNNERS:
        found = runner(plan, sample, queries, Random(seed + 1))
        for name, (_, matches) in expected.items():
            assert_same_matches(found[name], matches, about=f"{name} of {about} {runner.__name__}")
    merged = plan.front is not None and bool(plan.front.because)
    merged |= any(record.because in RULES for record in plan.records)
    return sum(len(matches) for _, matches in expected.values()), merged


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_merged_streams_and_queries_are_what_the_oracle_says(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for seed in range(start, start + CHUNK):
        found.append(check(seed))
    assert sum(matches > 0 for matches, _ in found) >= CHUNK // 4
    assert sum(merged for _, merged in found) >= CHUNK // 3


def test_streams_of_runs_over_a_channel_judge_what_they_report() -> None:
    """A term on the last event of a run is no less a part of it where runs of several streams are one."""
    text = "".join(
        f"""CREATE STREAM s{n} AS SELECT k, x FROM A WHERE x > {n - 1};
        CREATE STREAM r{n} AS PATTERN SEQ(s{n} a, B b+) WHERE a.k = b.k HAVING LAST(b).x > 0.5
        WITHIN 20 us SELECT NEXT RETURN a.k AS k, LAST(b).x AS x;
        QUERY q{n} PATTERN SEQ(r{n} p, B c) WITHIN 9 us;"""
        for n in range(2)
    )
    values = [("A", 1.0), ("B", 0.1), ("B", 2.0), ("A", 0.0), ("B", 0.2), ("B", 3.0), ("B", 0.0)]
    events = tuple(Event(at, at, kind, {"k": 0, "x": x}) for at, (kind, x) in enumerate(values))
    sample = StreamSample(text, SCHEMA, events, {})
    expected = expected_of(sample.workload().bind(SCHEMA), sample)
    for optimizer in ("rumor", "auto"):
        plan = optimize(sample.workload(), SCHEMA, optimizer, 0.5)
        assert optimizer == "auto" or "c_mu" in plan.explain()
        for runner in RUNNERS:
            found = runner(plan, sample, tuple(query for query, _ in expected.values()), Random(1))
            for name, (_, matches) in expected.items():
                assert matches
                assert_same_matches(found[name], matches, about=f"{name}, {optimizer}, {runner.__name__}")


def test_an_unknown_rule_is_told_which_there_are() -> None:
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;")
    with pytest.raises(StrettoError, match=r"unknown rule `c_nu`; there are: s_sigma, .*c_mu"):
        optimize(workload, SCHEMA, "rumor", without=["c_nu"])
    with pytest.raises(StrettoError, match="this optimizer has none that can be left out"):
        optimize(workload, SCHEMA, "none", without=["c_mu"])


def test_a_query_that_thins_out_its_matches_is_left_alone() -> None:
    texts = [
        f"QUERY q{i} PATTERN SEQ(A a, B b) WHERE a.x > {i} WITHIN 9 us KEEP FIRST PER a.k FOR 1 HOUR;"
        for i in range(2)
    ]
    plan = optimize(Workload.parse("\n".join(texts)), SCHEMA, "rumor")
    assert set(plan.queries) == {"q0", "q1"}
