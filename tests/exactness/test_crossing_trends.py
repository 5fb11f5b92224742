"""Queries that share one repetition with some queries and another with others: totals are what the oracle counts."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from tests.exactness.test_trends import Runner, batched, in_all_loops, restored, whole
from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import Sample
from tests.support.trend_comparison import assert_same_totals

from stretto.oracle.trends import totals
from stretto.oracle.values import Event
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.trends.plan import TrendPlan

RETURNS = ("COUNT(*)", "COUNT(*), SUM(b.x)", "COUNT(a), MIN(a.x)", "AVG(a.x), MAX(b.x)")
SHAPES = (
    "SEQ({a} a+, {b} b+)",
    "SEQ({s} s, {a} a+, {b} b+)",
    "SEQ({a} a+, {s} s, {b} b+)+",
    "SEQ({a} a+, {b} b+)+",
)
TERMS = ("", "", "WHERE b[i].x >= b[i-1].x", "WHERE a[i].n != a[i-1].n AND FIRST(b).x > 0")


def crossing(rng: Random) -> Sample:
    """Each of two or three repetitions, followed by each of others, in one shape or several."""
    types = rng.sample("ABCD", 4)
    pairs = [(a, b) for a in types[:2] for b in types[2:]]
    usual = rng.choice(SHAPES)
    frame = rng.choice(("WITHIN 12 MICROSECONDS", "WITHIN 20 MICROSECONDS SLIDE 6 MICROSECONDS"))
    group = rng.choice(("", "", "GROUP BY k"))
    terms = rng.choice(TERMS)
    queries = []
    for number, (a, b) in enumerate(rng.sample(pairs, rng.randint(3, 4))):
        shape = usual if rng.random() < 0.7 else rng.choice(SHAPES)
        start = next(one for one in rng.sample(types, 4) if one not in (a, b))
        queries.append(
            f"QUERY q{number} PATTERN {shape.format(s=start, a=a, b=b)} {terms} {frame} {group} "
            f"AGGREGATE {rng.choice(RETURNS)};"
        )
    return Sample("\n".join(queries), SCHEMA, in_runs(rng, random_events(rng, types, most=16)))


def in_runs(rng: Random, events: Sequence[Event]) -> tuple[Event, ...]:
    """Most events of the type of the one before: then there is something to share."""
    found: list[Event] = []
    for event in events:
        again = found and rng.random() < 0.5
        found.append(replace(event, type=found[-1].type) if again else event)
    return tuple(found)


def crossed(plan: TrendPlan) -> bool:
    """Whether some query is in two parts."""
    return any(sum(len(part.members) for part in unit.parts) > len(unit.members) for unit in plan.units)


def check(seed: int) -> bool:
    rng = Random(seed)
    sample = crossing(rng)
    workload = Workload.parse(sample.text)
    queries = workload.bind(sample.schema).trends
    expected = [total for query in queries for total in totals(query, sample.events)]
    groups = {query.name: query.groups for query in queries}
    runners: tuple[Runner, ...] = (whole, batched, restored)
    found = False
    for runner in runners:
        plan = optimize(workload, sample.schema, rng.choice(("auto", "muse")), budget=0.1)
        assert plan.trends is not None
        found |= crossed(plan.trends)
        for way, rows in in_all_loops(runner, plan, sample, rng):
            about = f"{seed} {runner.__name__}, {plan.optimizer}, {way}\n{sample.text}"
            assert_same_totals(rows, expected, groups, about)
    return found


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_totals_of_crossing_queries_are_those_of_the_oracle(first: int) -> None:
    assert sum(map(check, range(first, first + 20))) >= 10
