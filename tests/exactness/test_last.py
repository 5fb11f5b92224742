"""SELECT LAST: the engine finds what the oracle finds, however events come in and wherever the work is cut.

STRETTO_LAST says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from dataclasses import replace
from random import Random

import pytest
from tests.exactness import test_derived_streams, test_random_families
from tests.exactness.test_engine import check, whole_with_ids
from tests.exactness.test_switching import switch_plans, update_queries
from tests.plan.spread import test_targets
from tests.support.last_strategies import last_workload, reading_last
from tests.support.random_events import SCHEMA
from tests.support.runners import RUNNERS
from tests.support.strategies import with_ties
from tests.support.stream_strategies import random_streams

from stretto.pattern.workload import Workload
from stretto.plan.spread.partition_keys import tying_attributes
from stretto.plan.spread.spreads import ByKey, ByTime

WORKLOADS = int(os.environ.get("STRETTO_LAST", "60"))
COMMON = 7_100_000
SEED = int(os.environ.get("STRETTO_SEED", COMMON))
CHUNK = 20
ROWS = test_random_families.rows_of(Random(2))


def need(found: int, least: int) -> None:
    """Twenty workloads try something at all; those of other seeds have little of it now and then, by chance."""
    assert found >= (least if SEED == COMMON else 1)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_last_is_what_the_oracle_says(start: int) -> None:
    found = []
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        rng = Random(seed)
        sample = last_workload(rng)
        runners = RUNNERS
        if seed % 2:
            sample, runners = with_ties(rng, sample), (whole_with_ids, *RUNNERS[1:])
        found.append(check(sample, seed, runners))
    assert -1 not in found
    need(sum(count > 0 for count in found), CHUNK // 4)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 2, CHUNK))
def test_slices_of_time_and_keys_cut_nothing(start: int) -> None:
    """What a partial match is depends on nothing that began before it: docs/laws.md, L20."""
    found, keyed = 0, 0
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        sample = last_workload(rng, keep=False)
        plan = test_targets.planned(sample, "auto" if seed % 2 else "none")
        times = test_targets.times_of_events(sample, rng.choice((1, 2, 5)))
        keys = tying_attributes(plan)
        spreads = [ByTime.of(plan, times, 2), ByTime.of(plan, times, 200)]
        found += test_targets.check(sample, plan, [*spreads, *([ByKey(keys, 3)] if keys else [])], rng)
        keyed += bool(keys)
    need(found, CHUNK + 1)
    need(keyed, 3)


@pytest.mark.parametrize("kind", [switch_plans, update_queries])
@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 3, CHUNK))
def test_plans_and_queries_that_change(kind, start: int) -> None:
    found = 0
    for seed in range(start, start + CHUNK):
        found += kind(last_workload(Random(seed), keep=False), seed) > 0
    need(found, CHUNK // 6)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 2, CHUNK))
def test_over_derived_streams_and_in_families(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def streams(rng: Random):
        nonlocal read
        sample = random_streams(rng)
        text = reading_last(
            sample.text, lambda text: replace(sample, text=text).workload().bind(sample.schema)
        )
        read += text.count("SELECT LAST")
        return replace(sample, text=text)

    family = test_random_families.random_family

    def families(rng: Random) -> str:
        text = family(rng)
        return reading_last(text, lambda text: Workload.parse(text).table("rows", ROWS).bind(SCHEMA))

    monkeypatch.setattr(test_derived_streams, "random_streams", streams)
    monkeypatch.setattr(test_random_families, "random_family", families)
    for seed in range(start, start + CHUNK):
        test_derived_streams.check(seed)
        test_random_families.check(seed)
    need(read, CHUNK // 2)
