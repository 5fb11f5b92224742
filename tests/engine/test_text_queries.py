"""Queries over texts, times, lists and structs find what the oracle finds, in every way to run them."""

from random import Random

import pytest
from tests.support import text_terms
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.strategies import in_batches

from stretto import Engine, Workload, optimize, oracle, run

PARTS = 4


def check(seed: int) -> None:
    """One workload, run at once and in batches with a restored snapshot between them."""
    rng = Random(seed)
    text = "\n".join(text_terms.random_text_query(rng, f"q{i}") for i in range(rng.choice((1, 2, 3))))
    events = text_terms.random_events(rng, rng.randint(0, 14))
    table = text_terms.to_table(events)
    workload = Workload.parse(text)
    plan = optimize(workload, text_terms.SCHEMA, rng.choice(("none", "share")))
    whole = run(plan, table)
    engine, parts = Engine(plan), []
    for batch in in_batches(rng, table):
        parts.append(engine.push(batch))
        if rng.random() < 0.3:
            engine = Engine.restore(plan, engine.snapshot())
    parts.append(engine.flush())
    for query in workload.bind(text_terms.SCHEMA).detections:
        expected = oracle.matches(query, events)
        assert_same_matches(matches_of(whole[query.name], query), expected, f"{seed}\n{text}")
        found = [match for part in parts for match in matches_of(part[query.name], query)]
        assert_same_matches(found, expected, f"{seed} in batches\n{text}")


@pytest.mark.parametrize("part", range(PARTS))
def test_random_text_queries_find_what_the_oracle_finds(part: int) -> None:
    for seed in range(part, 100, PARTS):
        check(seed)
