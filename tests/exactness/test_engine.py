"""The engine finds what the oracle finds, whatever the workload, the batches and the order of arrival.

STRETTO_WORKLOADS says how many random workloads are tried, STRETTO_SEED from which seed on; a failure names the
seed of its workload, so that `STRETTO_SEED=n STRETTO_WORKLOADS=1` runs it again.
"""

import os
from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.keeps import with_keeps
from tests.support.random_events import to_table
from tests.support.runners import RUNNERS, Found, Runner, batched, disordered, in_all_loops, restored
from tests.support.strategies import Sample, random_workload, with_ties, workloads

from stretto import oracle
from stretto.engine.whole_table import run
from stretto.errors import QueryError
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize

WORKLOADS = int(os.environ.get("STRETTO_WORKLOADS", "300"))
SEED = int(os.environ.get("STRETTO_SEED", "20240601"))
CHUNK = 25  # workloads of one test
REFUSED_AT_MOST = 0.05  # the share of workloads that may be refused, and how a refusal reads
REFUSALS = ("not supported yet", "cannot be planned")


def check(sample: Sample, seed: int = 0, runners: Iterable[Runner] = RUNNERS) -> int:
    """Compare every runner with the oracle on a workload; the number of matches, -1 if it is refused."""
    try:
        workload = Workload.parse(sample.text)
        queries = workload.bind(sample.schema).detections
        plan = optimize(workload, sample.schema, optimizer="none")
    except QueryError as refused:
        if not any(text in str(refused) for text in REFUSALS):
            raise AssertionError(f"seed {seed}\n{sample}") from refused
        return -1
    expected = {query.name: oracle.matches(query, sample.events) for query in queries}
    for runner in runners:
        about = f"seed {seed}, {runner.__name__}\n{sample}"
        try:
            found = runner(plan, sample, queries, Random(seed + 1))
        except Exception as error:
            error.add_note(about)
            raise
        for query in queries:
            assert_same_matches(found[query.name], expected[query.name], about=f"{query.name} of {about}")
    return sum(map(len, expected.values()))


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_engine_finds_what_the_oracle_finds(start: int) -> None:
    seeds = range(start, min(start + CHUNK, SEED + WORKLOADS))
    counts = []
    for seed in seeds:
        sample = random_workload(Random(seed))
        counts.append(check(sample if seed % 3 else with_keeps(Random(seed), sample), seed))
    refused = sum(count < 0 for count in counts)
    assert refused <= max(2, REFUSED_AT_MOST * len(counts)), f"{refused} of {len(counts)} workloads refused"


@in_all_loops
def whole_with_ids(plan: Plan, sample: Sample, queries: tuple[Query, ...], rng: Random) -> Found:
    """The table at once, as the events arrived."""
    found = run(plan, to_table(sample.events))
    return {query.name: matches_of(found[query.name], query) for query in queries}


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 4, CHUNK))
def test_events_of_one_time_stand_in_the_order_of_their_ids(start: int) -> None:
    """Positions decide about windows in EVENTS, STRICT and NEXT, and ids about positions: not the order of arrival."""
    runners = (whole_with_ids, batched, disordered, restored)
    counts = []
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        counts.append(check(with_ties(rng, random_workload(rng)), seed, runners))
    assert sum(count > 0 for count in counts) > CHUNK // 3


@given(workloads())
@settings(max_examples=20, deadline=None, database=None)
def test_the_same_with_examples_that_shrink(sample: Sample) -> None:
    check(sample)
