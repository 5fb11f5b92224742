"""Totals of trends by every spread: together the targets report what the oracle counts, each total once.

STRETTO_TRENDS says how many random workloads are tried; a failure names the seed of its workload.
"""

import os
from random import Random

import pyarrow as pa
import pytest
from tests.plan.spread.test_targets import plan_of, times_of_events
from tests.spark.stream.trend_cases import assert_totals, expected_totals, grouped
from tests.support.random_events import in_batches, to_table
from tests.support.strategies import Sample
from tests.support.trend_strategies import random_trends

from stretto.engine.results.totals import TOTALS
from stretto.errors import StrettoError
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.choice import choose
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.partition_keys import tying_attributes
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import ByKey, ByTime, Spread, Whole
from stretto.plan.spread.time_slices import Times
from stretto.schema import Special
from stretto.spark.batch.worker import Share, Work, chunks_of
from stretto.spark.packed import METRICS, TRENDS, from_payload

WORKLOADS = int(os.environ.get("STRETTO_TRENDS", "40"))
CHUNK = 20
SEED = 20261201
SPECIAL = Special()
COUNT = "WITHIN 10 us RETURN COUNT(*)"


def spread_out(plan: Plan, spread: Spread, table: pa.Table, rng: Random) -> pa.Table:
    """What all targets report together."""
    assert spread.check(plan) is None
    parts: dict[int, list[pa.RecordBatch]] = {}
    for batch in in_batches(rng, table):
        for target, part in spread.parts(batch, SPECIAL):
            parts.setdefault(target, []).append(part)
    found = []
    for target, batches in parts.items():
        runs = [pa.Table.from_batches(batches)]
        for rows in chunks_of(Work(plan, SPECIAL), runs, Share.of(spread, target), None):
            found += [from_payload(row["payload"]) for row in rows.to_pylist() if row["kind"] == TRENDS]
    return pa.Table.from_batches(found, TOTALS)


def check(sample: Sample, plan: Plan, spreads: list[Spread], rng: Random, seed: int) -> int:
    """Compare every spread with the oracle; the number of totals."""
    expected = expected_totals(sample)
    for spread in spreads:
        found = spread_out(plan, spread, to_table(sample.events), rng)
        assert_totals(found, sample, expected, f"seed {seed} by {spread}")
    return len(expected)


def planned(sample: Sample, rng: Random) -> Plan:
    return optimize(Workload.parse(sample.text), sample.schema, rng.choice(("auto", "none")), 0.1)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_slices_of_time_count_what_the_oracle_counts(start: int) -> None:
    counts = []
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        rng = Random(seed)
        sample = random_trends(rng)
        plan = planned(sample, rng)
        times = times_of_events(sample, rng.choice((1, 2, 5)))
        spreads = [Whole(), ByTime.of(plan, times, 2), ByTime.of(plan, times, 200)]
        counts.append(check(sample, plan, spreads, rng, seed))
    assert sum(count > 0 for count in counts) > len(counts) // 2, "too few workloads count anything"


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_buckets_of_keys_count_what_the_oracle_counts(start: int) -> None:
    counts = []
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        rng = Random(seed)
        sample = grouped(random_trends(rng))
        plan = planned(sample, rng)
        attributes = tying_attributes(plan)
        assert "k" in attributes
        counts.append(check(sample, plan, [ByKey(("k",), 2), ByKey(attributes, 7)], rng, seed))
    assert sum(count > 0 for count in counts) > len(counts) // 3, "too few workloads count anything"


# ---- single cases ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clauses", "attributes"),
    [
        ("GROUP BY k", {"k"}),
        ("GROUP BY k, s", {"k", "s"}),
        ("WHERE [k]", set()),
        ("WHERE [k] GROUP BY s", {"s"}),
        ("", set()),
    ],
)
def test_only_groups_tie_totals(clauses: str, attributes: set[str]) -> None:
    plan = plan_of(f"QUERY q PATTERN SEQ(A a, B b+) {clauses} {COUNT};")
    assert set(tying_attributes(plan)) == attributes


def test_matches_and_totals_are_tied_together() -> None:
    pairs = "QUERY pairs PATTERN SEQ(A a, B b) WHERE [k] AND [s] WITHIN 5 us;"
    plan = plan_of(f"{pairs} QUERY count PATTERN A a+ GROUP BY k {COUNT};")
    assert tying_attributes(plan) == ("k",)


@pytest.mark.parametrize(
    ("clauses", "reason"),
    [
        ("WHERE [k]", "query `q` adds up trends of all values of `k`; write `GROUP BY k`"),
        ("GROUP BY s", "query `q` adds up trends over all values of `k`; write `GROUP BY s, k`"),
    ],
)
def test_a_key_that_is_no_group_is_refused_with_what_to_write(clauses: str, reason: str) -> None:
    plan = plan_of(f"QUERY q PATTERN A a+ {clauses} {COUNT};")
    assert ByKey(("k",), 2).check(plan) == reason
    if not tying_attributes(plan):
        with pytest.raises(StrettoError, match="cannot spread by key: query `q` adds up trends"):
            choose(plan, EventLoad(Times.of([(0, 100, 1000)])), 2, "key")


def test_totals_reach_as_far_as_their_windows() -> None:
    plan = plan_of(
        f"QUERY p PATTERN SEQ(A a, B b) WITHIN 7 us; QUERY q PATTERN A a+ {COUNT} SLIDE 3 us;".replace(
            "RETURN COUNT(*) SLIDE 3 us", "SLIDE 3 us RETURN COUNT(*)"
        )
    )
    assert MatchReach.of(plan) == MatchReach(0, 10, 0, 0)
    short = plan_of("QUERY p PATTERN SEQ(A a, B b) WITHIN 7 us;")
    spread = ByTime.of(short, Times.of([(0, 1000, 1000)]), 4)
    assert "less than the longest window" in spread.check(plan)
    assert ByTime.of(plan, Times.of([(0, 1000, 1000)]), 4).check(plan) is None


def test_a_few_totals_of_each_aggregate_are_kept_and_all_are_counted() -> None:
    plan = plan_of(f"QUERY q PATTERN A a {COUNT}, COUNT(a); QUERY r PATTERN B b {COUNT};")
    ts = pa.array(range(0, 2000, 10), pa.timestamp("us"))
    events = pa.table({"ts": ts, "type": ["A", "B"] * 100})
    rows = [
        row
        for batch in chunks_of(Work(plan, SPECIAL), [events], Share.of(Whole(), 0), 5)
        for row in batch.to_pylist()
    ]
    totals = [
        total for row in rows if row["kind"] == TRENDS for total in from_payload(row["payload"]).to_pylist()
    ]
    assert [total["query"] for total in totals] == ["q"] * 10 + ["r"] * 5
    assert [b'"totals": 300' in row["payload"] for row in rows if row["kind"] == METRICS] == [True]
