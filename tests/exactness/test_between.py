"""A BETWEEN is one term: engine and oracle agree on it beside negated, unbound and repeated variables."""

import os
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.strategies import Sample, random_workload
from tests.support.trend_comparison import assert_right_totals, rows_of

from stretto import oracle
from stretto.engine.whole_table import run
from stretto.errors import QueryError
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.text import syntax
from stretto.text.walk import fold_syntax

SEED = int(os.environ.get("STRETTO_SEED", "20240601"))
WORKLOADS = int(os.environ.get("STRETTO_WORKLOADS", "60"))
CHUNK = 20


def samples(first: int, count: int) -> Iterator[tuple[int, Sample, Workload]]:
    """Random workloads in which a BETWEEN is a term; in every other one it is written as a doubly negated AND."""
    seed = first
    while count:
        sample = random_workload(Random(seed))
        workload = Workload.parse(sample.text) if " BETWEEN " in sample.text else Workload()
        if any(map(_is_between, _terms(workload))):
            count -= 1
            yield seed, sample, _spelled_out(workload) if count % 2 else workload
        seed += 1


def _terms(workload: Workload) -> Iterator[syntax.Expression]:
    return (term for query in workload.queries for term in query.where)


def _is_between(term: syntax.Expression) -> bool:
    names = _names(term)
    return isinstance(term, syntax.Between) and not term.negated and len(names) > 1


def _names(term: syntax.Expression) -> set[str]:
    def names(node: syntax.Node, below: list[set[str]]) -> set[str]:
        own = {node.variable or node.name} if isinstance(node, syntax.Name) else set()
        return own.union(*below)

    return fold_syntax(term, names)


def _spelled_out(workload: Workload) -> Workload:
    """`NOT (NOT (x >= low AND x <= high))` for `x BETWEEN low AND high`."""

    def spelled(term: syntax.Expression) -> syntax.Expression:
        if not isinstance(term, syntax.Between) or term.negated:
            return term
        inside = syntax.Logic(
            "AND", (syntax.Binary(">=", term.value, term.low), syntax.Binary("<=", term.value, term.high))
        )
        return syntax.Unary("NOT", syntax.Unary("NOT", inside))

    statements = [
        replace(statement, where=tuple(map(spelled, statement.where)))
        if isinstance(statement, syntax.Query)
        else statement
        for statement in workload.statements
    ]
    return Workload(tuple(statements))


@pytest.mark.parametrize("chunk", range(WORKLOADS // CHUNK))
def test_the_engine_reads_between_as_the_oracle_does(chunk: int) -> None:
    for seed, sample, workload in samples(SEED + chunk * 100_000, CHUNK):
        bound = workload.bind(sample.schema)
        try:
            plan = optimize(workload, sample.schema, Random(seed).choice(("auto", "none")), budget=0.1)
        except QueryError as error:
            if "not supported yet" in str(error):
                continue
            raise
        found = run(plan, to_table(sample.events))
        for query in bound.detections:
            expected = oracle.matches(query, sample.events)
            assert_same_matches(matches_of(found[query.name], query), expected, f"seed {seed}\n{sample}")


TRENDS = [
    ("SEQ(A a, B b, C c)", "b.x BETWEEN a.x AND c.x"),
    ("A p+", "p[i].x BETWEEN p[i-1].x AND 2"),
    ("A p+", "p[i].x BETWEEN p[i-1].x AND p[i-1].x + 1"),
    ("A p+", "1 BETWEEN p[i].x - p[i-1].x AND 0"),
    ("SEQ(A p+, B q+)", "FIRST(q).x BETWEEN LAST(p).x AND 2"),
    ("SEQ(A p+, B q)+", "q.x BETWEEN 0 AND LAST(p).x"),
    ("SEQ(A p+, B q)", "NOT (NOT (LAST(p).x <= 2 AND q.x >= 1))"),
]


@pytest.mark.parametrize(("pattern", "term"), TRENDS)
def test_trends_read_between_as_the_oracle_does(pattern: str, term: str) -> None:
    workload = Workload.parse(f"QUERY q PATTERN {pattern} WHERE {term} WITHIN 12 us RETURN COUNT(*);")
    (query,) = workload.bind(SCHEMA).trends
    plan = optimize(workload, SCHEMA, "auto", budget=0.1)
    some = 0
    for seed in range(10):
        events = random_events(Random(seed), ("A", "B", "C") if "C c" in pattern else ("A", "B"))
        found = rows_of(run(plan, to_table(events)).totals())
        assert_right_totals(found, [query], events, f"seed {seed}")
        some += len(found)
    assert some
