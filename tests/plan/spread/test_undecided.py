"""Undecided matches by every spread: the end is that of the whole input, not of the events of one target."""

import os
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from tests.plan.spread.test_targets import SPECIAL, keyed, planned, times_of_events
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, in_batches, to_table
from tests.support.strategies import Sample, random_workload
from tests.support.variations import sharing_workload

from stretto import oracle
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import ByKey, ByTime, TargetSpread, Whole
from stretto.spark.batch.last_time import LastTime, needs_last_time
from stretto.spark.batch.worker import Aside, Share, Work
from stretto.spark.batch.worker import matches_of as found_by_target

WORKLOADS = int(os.environ.get("STRETTO_WORKLOADS", "120"))
CHUNK = 40
SEED = 20261120
WAITING = "QUERY late PATTERN SEQ(A a, NOT(C n)) WHERE [k] WITHIN 6 us;"


def by_targets(plan: Plan, spread: TargetSpread, table: pa.Table, rng: Random) -> tuple[dict, Counter[str]]:
    """The matches that all targets report, undecided ones left out, and how many of these they count."""
    assert spread.check(plan) is None
    parts: dict[int, list[pa.RecordBatch]] = {}
    ends: list[int] = []
    for batch in in_batches(rng, table):
        last = LastTime(plan, SPECIAL)  # as tasks have it, each for events of its own
        last.see(batch)
        ends.append(last.us)
        for target, part in spread.parts(batch, SPECIAL):
            parts.setdefault(target, []).append(part)
    last_us = max(ends) if needs_last_time(plan, spread) else None
    queries = plan.workload.bind(plan.schema).detections
    found = {query.name: [] for query in queries}
    undecided: Counter[str] = Counter()
    for target, batches in parts.items():
        aside, work = Aside(), Work(plan, SPECIAL, undecided="drop")
        runs = [pa.Table.from_batches(batches)]
        for matches in found_by_target(work, runs, Share.of(spread, target), aside, last_us):
            for query in queries:
                found[query.name] += matches_of(matches[query.name], query)
        undecided += aside.undecided
    return found, undecided


def check(sample: Sample, plan: Plan, spreads: list[TargetSpread], rng: Random) -> int:
    """Compare every spread with the oracle; the number of undecided matches."""
    queries, last = plan.workload.bind(plan.schema).detections, max(event.ts for event in sample.events)
    decided = {query.name: oracle.matches(query, sample.events, last) for query in queries}
    expected = Counter(
        {
            query.name: len(oracle.matches(query, sample.events)) - len(decided[query.name])
            for query in queries
        }
    )
    for spread in spreads:
        found, undecided = by_targets(plan, spread, to_table(sample.events), rng)
        for name, matches in decided.items():
            assert_same_matches(found[name], matches, about=f"{name} by {spread}\n{sample}")
        assert undecided == +expected, f"{spread}\n{sample}"
    return (+expected).total()


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_every_spread_knows_the_end_of_the_whole_input(start: int) -> None:
    total = 0
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        sample = random_workload(rng) if seed % 2 else sharing_workload(rng)
        sample = Sample(f"{sample.text}\n{WAITING}", sample.schema, sample.events)
        plan = planned(sample)
        if plan is not None and sample.events:
            times = times_of_events(sample, rng.choice((1, 2, 5)))
            spreads = [Whole(), ByTime.of(plan, times, 2), ByTime.of(plan, times, 200)]
            total += check(sample, plan, spreads, rng)
        sample = keyed(sample)
        plan = planned(sample)
        if plan is not None and sample.events:
            total += check(sample, plan, [ByKey(("k",), 2), ByKey(("k",), 7)], rng)
    assert total > CHUNK


def test_bad_events_are_no_end_of_the_input() -> None:
    """The engine rejects an event without a type, or with an attribute out of range: the end is before it."""
    plan = optimize(
        Workload.parse("QUERY q PATTERN SEQ(A a, NOT(C n)) WHERE a.n > 0 WITHIN 6 us;"), SCHEMA, "none"
    )
    ts = pa.array([1, 5, None, *range(7, 90), 95], pa.timestamp("us"))
    types = ["A", "B", "A", *[None] * 83, "A"]
    large = pa.array([1, 1, 1, *[1] * 83, 2**64 - 1], pa.uint64())
    (batch,) = pa.table({"ts": ts, "type": types, "n": large, "id": range(len(types))}).to_batches()
    last = LastTime(plan, SPECIAL)
    last.see(batch)
    assert last.us == 5
    last.see(batch.slice(0, 1))
    assert last.us == 5
