"""Members of families and HAVING in the engine, judged by the oracle; nulls and NaN are among the constants."""

from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table

import stretto
from stretto import oracle
from stretto.pattern.workload import Workload

FAMILIES = (
    "SEQ(A a, B b) WHERE a.x < r.low AND b.n >= r.least AND [k]",
    "SEQ(A a, B b) WHERE a.x + r.low > b.x OR a.s = r.name",
    "SEQ(A a, NOT(C c), B b+) WHERE c.x > r.low AND b[i].x >= b[i-1].x AND a.k = r.k",
    "AND(A a, B b) WHERE NOT (a.x > r.low) AND a.k IN (r.k, 2)",
    "A a+ WHERE a.x BETWEEN r.low AND r.high AND COUNT(a) >= r.k",
    "SEQ(A a, B b) WHERE a.n * r.k = b.n AND (r.name IS NULL OR a.s != r.name)",
    "OR(A a, B b) WHERE a.x != r.low AND b.f = r.flag",
)


def rows_of(rng: Random, number: int) -> pa.Table:
    def some(*values: object) -> list[object]:
        return [rng.choice((*values, None)) for _ in range(number)]

    return pa.table(
        {
            "id": pa.array([f"m{i}" for i in range(number)]),
            "low": pa.array(some(-1.5, 0.5, 1.0, 2.0, float("nan"), float("inf")), pa.float64()),
            "high": pa.array(some(0.5, 2.0, 3.0), pa.float64()),
            "least": pa.array(some(-1, 0, 2, 2**63 - 1), pa.int64()),
            "k": pa.array(some(0, 1, 1, 2), pa.int64()),
            "name": pa.array(some("a", "b", "ü"), pa.string()),
            "flag": pa.array(some(True, False), pa.bool_()),
            "horizon": pa.array([rng.choice((3, 6, 10)) for _ in range(number)], pa.duration("us")),
        }
    )


@pytest.mark.parametrize("seed", range(14))
def test_members_match_as_the_oracle_says(seed: int) -> None:
    rng = Random(seed)
    text = f"QUERY q FOR EACH rows r KEY r.id PATTERN {FAMILIES[seed % len(FAMILIES)]} "
    text += "WITHIN r.horizon RETURN r.id AS id, r.low AS low, r.k + 1 AS more;"
    workload = Workload.parse(text).table("rows", rows_of(rng, 5))
    events = random_events(rng, ("A", "B", "C"), most=12)
    bound = workload.bind(SCHEMA)
    (family,) = bound.families
    expected = oracle.family_matches(family, events)
    found = stretto.run(stretto.optimize(workload, SCHEMA), to_table(events))["q"]
    for member, wanted in expected.items():
        own = found.filter(pc.equal(found["member"], member)).drop_columns(["member"])
        assert_same_matches(matches_of(own, family.template), wanted, f"{member}: {text}")
    assert found.num_rows == sum(map(len, expected.values()))


@pytest.mark.parametrize("policy", ["ANY", "STRICT"])
@pytest.mark.parametrize("seed", range(4))
def test_having_is_where_in_the_engine(policy: str, seed: int) -> None:
    text = f"QUERY q PATTERN SEQ(A a, B b+) HAVING b[i].x > b[i-1].x AND a.k = LAST(b).k WITHIN 8 us SELECT {policy};"
    events = random_events(Random(seed), ("A", "B"), most=14)
    workload = Workload.parse(text)
    (query,) = workload.bind(SCHEMA).detections
    found = stretto.run(stretto.optimize(workload, SCHEMA), to_table(events))
    assert_same_matches(matches_of(found["q"], query), oracle.matches(query, events))


def test_keep_is_for_each_member() -> None:
    text = "QUERY q FOR EACH t r KEY r.x PATTERN SEQ(A a, B b) WHERE a.x = r.x WITHIN 9 us KEEP FIRST FOR 100 us;"
    plan = stretto.optimize(Workload.parse(text).table("t", {"x": [1.0, 2.0]}), SCHEMA)
    assert "one query per row: KEEP and LIMIT go by the matches of each member" in plan.explain()
    events = pa.table(
        {
            "ts": pa.array([1, 2, 3, 4, 5], pa.timestamp("us")),
            "type": ["A", "A", "B", "A", "B"],
            "x": [1.0, 2.0, 0.0, 1.0, 0.0],
        }
    )
    assert stretto.run(plan, events).members("q") == {"1": 1, "2": 1}
