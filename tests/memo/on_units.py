"""A plan of one query on one core and stage by stage on units, against the oracle."""

from dataclasses import replace
from random import Random

from tests.exactness.test_units import UNITS, grids
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import in_batches, to_table
from tests.support.runners import RUNNERS
from tests.support.strategies import Sample

from stretto import oracle
from stretto.engine.units.staged import StagedRun
from stretto.pattern.workload import BoundWorkload
from stretto.plan.check import check
from stretto.plan.dag import Plan


def assert_finds_what_the_oracle_finds(
    plan: Plan, sample: Sample, bound: BoundWorkload, seed: int, rng: Random
) -> None:
    (query,) = bound.detections
    expected = oracle.matches(query, sample.events)
    found = RUNNERS[seed % len(RUNNERS)](plan, sample, bound.detections, rng)[query.name]
    assert_same_matches(found, expected, about=f"seed {seed}\n{sample}")
    run = StagedRun(check(replace(plan, placement=grids(plan, UNITS[seed % len(UNITS)], rng))))
    table = to_table(sorted(sample.events, key=lambda event: event.ts), ids=True)
    parts = [*(run.push(batch) for batch in in_batches(rng, table)), run.flush()]
    got = [match for part in parts for match in matches_of(part[query.name], query)]
    assert_same_matches(got, expected, about=f"units, seed {seed}\n{sample}")
