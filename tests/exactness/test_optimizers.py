"""Every optimizer's plan finds what the oracle finds, on random workloads and on such that have much to share.

STRETTO_OPTIMIZED says how many workloads are tried, STRETTO_SEED from which seed on; a failure names the seed.
"""

import os
from dataclasses import replace
from random import Random

import pytest
from tests.exactness.test_engine import RUNNERS
from tests.support.comparison import assert_same_matches
from tests.support.keeps import with_keeps
from tests.support.random_events import to_table
from tests.support.strategies import Sample, random_workload
from tests.support.variations import sharing_workload

from stretto import oracle
from stretto.errors import QueryError
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.plan.optimizers import RECIPES
from stretto.solve.quick.as_written import none
from stretto.stats.profile import Stats

WORKLOADS = int(os.environ.get("STRETTO_OPTIMIZED", "140"))
SEED = int(os.environ.get("STRETTO_SEED", "20250301"))
CHUNK = 10
BUDGET_S = 0.05
NAMES = [name for name, recipe in RECIPES.items() if name == "none" or recipe.solve is not none]
"""Rivals that differ from `none` by how they give units alone have its plan."""
ALWAYS = ("auto", "units")


def check(sample: Sample, seed: int) -> int:
    """Compare all optimizers with the oracle on one workload; -1 if it is refused."""
    workload = Workload.parse(sample.text)
    try:
        queries = workload.bind(sample.schema).detections
        optimize(workload, sample.schema, optimizer="none")
    except QueryError:
        return -1
    expected = {query.name: oracle.matches(query, sample.events) for query in queries}
    known = _stats(sample) if seed % 2 else sample.schema
    for number, name in enumerate(_in_turn(seed)):
        runner = RUNNERS[(seed + number) % len(RUNNERS)]
        about = f"seed {seed}, {name}, {runner.__name__}\n{sample}"
        try:
            plan = optimize(workload, known, optimizer=name, budget=BUDGET_S)
            about = f"{about}\n{plan}"
            found = runner(plan, sample, queries, Random(seed + 1))
        except Exception as error:
            error.add_note(about)
            raise
        for query in queries:
            assert_same_matches(found[query.name], expected[query.name], about=f"{query.name} of {about}")
    return sum(map(len, expected.values()))


def _in_turn(seed: int) -> list[str]:
    """`auto`, `units` and half of the others: every optimizer has its share of the workloads, at half of the time."""
    others = [name for name in NAMES if name not in ALWAYS]
    return [*ALWAYS, *Random(seed).sample(others, len(others) // 2)]


def _stats(sample: Sample) -> Stats:
    """Statistics of the events, which may lack some of the types."""
    return replace(Stats.of(to_table(sample.events)), schema=sample.schema)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_every_optimizer_finds_what_the_oracle_finds(start: int) -> None:
    counts = []
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        rng = Random(seed)
        sample = random_workload(rng) if seed % 4 == 0 else sharing_workload(rng)
        counts.append(check(sample if seed % 3 else with_keeps(rng, sample), seed))
    assert sum(count > 0 for count in counts) >= len(counts) // 2, "too few workloads find anything"
