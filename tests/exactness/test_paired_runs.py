"""An event and the next one of a family, found without the pairs: what the oracle says, however the stream is cut."""

from random import Random

import pytest
from tests.exactness.test_derived_streams import expected_of
from tests.exactness.test_random_families import rows_of
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events
from tests.support.runners import RUNNERS
from tests.support.stream_strategies import StreamSample

from stretto.plan.families.paired_runs import with_paired_runs
from stretto.plan.ops import PairedNext
from stretto.plan.optimize import optimize

FIRST = ("a.k = r.k", "a.s = r.name", "a.x = r.low", "a.k IN (r.k, r.least)", "a.k = r.k AND a.s = r.name")
SECOND = ("b.k = r.least", "b.s = r.name", "r.high = b.x", "b.n = r.k AND b.x = r.low")
OTHERS = (
    "SEQ(A a, B b) WHERE a.k = r.k AND b.x > r.low",
    "SEQ(A a, B b) WHERE a.k = r.k AND b.k IN (r.k, r.least)",
    "SEQ(A a, B b) WHERE a.k = r.k AND b.k = r.least AND a.x < b.x",
    "SEQ(A a, B b) WHERE a.x > r.low AND b.k = r.k",
    "SEQ(A a, B b+) WHERE a.k = r.k AND b.k = r.least",
    "SEQ(A a, B b, C c) WHERE a.k = r.k AND b.k = r.least",
    "SEQ(A a, B b) WHERE a.k = r.k AND b.k + r.k = r.least",
)


RETURNED = ("", "RETURN a.x AS x, r.low AS low", "RETURN r.k + 1 AS more, b.s AS s")


def sample_of(pattern: str, rng: Random, returned: str = "") -> StreamSample:
    window = rng.choice(("r.horizon", "8 us"))
    text = f"QUERY q FOR EACH rows r PATTERN {pattern} WITHIN {window} SELECT NEXT {returned};"
    return StreamSample(text, SCHEMA, tuple(random_events(rng, ("A", "B", "C"), most=20)), rows_of(rng))


def has_paired_runs(sample: StreamSample) -> bool:
    plan = with_paired_runs(optimize(sample.workload(), SCHEMA))
    return any(isinstance(op, PairedNext) for op in plan.ops)


@pytest.mark.parametrize("seed", range(50))
def test_runs_are_what_the_oracle_says(seed: int) -> None:
    rng = Random(seed)
    types = rng.choice(("A a, B b", "A a, A b"))
    more = rng.choice(("", " AND a.x IS NOT NULL", " AND b.k >= 0"))
    second = rng.choice((*SECOND, "b.k IN (r.k, r.least)"))
    where = f"{rng.choice(FIRST)} AND {second}{more}"
    sample = sample_of(f"SEQ({types}) WHERE {where}", rng, rng.choice(RETURNED))
    workload = sample.workload()
    expected = expected_of(workload.bind(SCHEMA), sample)
    queries = tuple(query for query, _ in expected.values())
    plan = optimize(workload, SCHEMA)
    for runner in RUNNERS:
        found = runner(plan, sample, queries, Random(seed + 1))
        for name, (_, matches) in expected.items():
            assert_same_matches(found[name], matches, f"{name}, {runner.__name__}\n{sample}")


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("second", SECOND)
def test_equalities_with_constants_need_no_pairs(first: str, second: str) -> None:
    assert has_paired_runs(sample_of(f"SEQ(A a, B b) WHERE {first} AND {second}", Random(1)))


@pytest.mark.parametrize("pattern", OTHERS)
def test_other_runs_stay_as_they_are(pattern: str) -> None:
    assert not has_paired_runs(sample_of(pattern, Random(1)))
