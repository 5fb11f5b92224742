"""Plans by statistics of wild events: one comes out of every optimizer, its figures are finite, its matches are right.

STRETTO_WILD says how many random workloads are tried, STRETTO_SEED from which seed on; a failure names the seed, so
that `STRETTO_SEED=n STRETTO_WILD=1` runs it again.
"""

import os
from collections.abc import Iterable
from math import isfinite
from random import Random

import pytest
from tests.exactness.test_trends import in_all_loops
from tests.exactness.test_trends import whole as all_totals
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events
from tests.support.runners import whole
from tests.support.strategies import Sample, random_workload
from tests.support.trend_comparison import assert_same_totals
from tests.support.trend_strategies import random_trends
from tests.support.variations import sharing_workload
from tests.support.wild import CHARACTERS, statistics, wild

from stretto import oracle
from stretto.errors import QueryError
from stretto.oracle.trends import totals
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import FOR_TRENDS, optimize
from stretto.plan.optimizers import RECIPES
from stretto.trends.estimate import estimated

WORKLOADS = int(os.environ.get("STRETTO_WILD", "48"))
SEED = int(os.environ.get("STRETTO_SEED", "20270101"))
CHUNK = 12
EACH = 4  # optimizers that are tried on a workload
BUDGET_S = 0.02
NAMES = (*RECIPES, *FOR_TRENDS)

FOUND = {  # texts that could not be planned once
    "an equality beside STRICT in partitions": (
        "SEQ(B p, C q, C r) WHERE q.x = r.x AND [s] WITHIN 5 us SELECT STRICT"
    ),
    "an average of integers less a double": "B b+ WHERE AVG(b.k) - LAST(b).x > 1 WITHIN 5 us",
    "a step that may take nothing": "SEQ(A p, C q*) WHERE COUNT(q) = 0 WITHIN 5 us SELECT NEXT",
    "a set compared with its last": "SEQ(A a, B b+) WHERE LAST(b).x >= b.x WITHIN 5 us",
    "a conjunction denied twice": "SEQ(A a, B b+) WHERE NOT (NOT (a.x < b.x AND SUM(b.n) > 1)) WITHIN 5 us",
    "alternatives of alternatives": "SEQ(ANY(ANY(A a, A b), AND(B c, A d)){0,2}, C e) WITHIN 5 us",
}


def check(sample: Sample, rng: Random, names: Iterable[str], about: str) -> int:
    """Compare plans with the oracle on a workload; the number of matches, -1 if it is refused."""
    workload = Workload.parse(sample.text)
    try:
        queries = workload.bind(sample.schema).detections
        optimize(workload, sample.schema, "none")
    except QueryError:
        return -1
    expected = {query.name: oracle.matches(query, sample.events) for query in queries}
    for name in names:
        kind, known = statistics(rng, sample, workload)
        told = f"{about}, {name}, {kind}\n{sample}"
        try:
            plan = optimize(workload, known, name, budget=BUDGET_S)
            found = whole(plan, sample, queries, Random(0))
        except Exception as error:
            error.add_note(told)
            raise
        assert all(map(isfinite, figures(plan))), told
        for query in queries:
            assert_same_matches(found[query.name], expected[query.name], about=f"{query.name} of {told}")
    return sum(map(len, expected.values()))


def figures(plan: Plan) -> list[float]:
    """Everything that a plan says of itself in numbers."""
    estimate = plan.estimate
    assert estimate is not None
    own = (figure for record in plan.records for figure in (record.rows, record.cost))
    found = (*own, estimate.cost, estimate.alone, estimate.lower_bound)
    return [figure for figure in found if figure is not None]


@pytest.mark.parametrize("character", CHARACTERS)
@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_what_could_not_be_planned_once(text: str, character: str) -> None:
    rng = Random(character)
    sample = wild(
        rng, Sample(f"QUERY q PATTERN {text};", SCHEMA, random_events(Random(8), "ABC", most=12)), character
    )
    check(sample, rng, rng.sample(NAMES, 2), character)


@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_plans_what_could_not_be_planned_once(name: str) -> None:
    texts = (f"QUERY q{i} PATTERN {text};" for i, text in enumerate(FOUND.values()))
    sample = Sample("\n".join(texts), SCHEMA, random_events(Random(8), "ABC", most=12))
    assert check(wild(Random(2), sample, "some NaN"), Random(2), [name], name) > 0


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_plans_by_wild_statistics_find_what_the_oracle_finds(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        rng = Random(seed)
        character = rng.choice([*CHARACTERS])
        sample = wild(rng, random_workload(rng) if seed % 3 else sharing_workload(rng), character)
        check(sample, rng, rng.sample(NAMES, EACH), f"seed {seed}, {character}")


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 2, CHUNK))
def test_so_do_plans_of_trends(start: int) -> None:
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS // 2)):
        rng = Random(seed)
        character = rng.choice([*CHARACTERS])
        sample = wild(rng, random_trends(rng), character)
        workload = Workload.parse(sample.text)
        queries = workload.bind(sample.schema).trends
        expected = [total for query in queries for total in totals(query, sample.events)]
        for name in ("auto", "muse", "greta"):
            kind, known = statistics(rng, sample, workload)
            told = f"seed {seed}, {character}, {name}, {kind}\n{sample}"
            plan = optimize(workload, known, name, budget=BUDGET_S)
            assert plan.trends is not None
            found = estimated(plan.trends, known)
            assert isfinite(found.cost), told
            assert isfinite(found.alone), told
            groups = {query.name: query.groups for query in queries}
            for way, totalled in in_all_loops(all_totals, plan, sample, rng):
                assert_same_totals(totalled, expected, groups, f"{way}, {told}")
