"""The cases of tests/cases by the oracle and by the engine; tests/spark/test_cases.py runs them on Spark."""

from collections.abc import Callable
from functools import partial

import pytest
from tests.support.cases import SCHEMA, Case, load_cases
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import drop_late, to_table

from stretto import oracle
from stretto.engine.run import Engine
from stretto.engine.whole_table import run
from stretto.oracle.detections import Match
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize


def by_oracle(case: Case, queries: tuple[Query, ...]) -> dict[str, list[Match]]:
    events = case.events if case.lateness is None else drop_late(case.events, case.lateness)
    return {query.name: oracle.matches(query, events) for query in queries}


def by_engine(case: Case, queries: tuple[Query, ...], optimizer: str) -> dict[str, list[Match]]:
    plan = optimize(Workload.parse(case.text), SCHEMA, optimizer)
    table = to_table(case.events)
    if case.lateness is None:
        found = run(plan, table)
        return {query.name: matches_of(found[query.name], query) for query in queries}
    engine = Engine(plan, lateness_us=case.lateness)
    rows = [table.slice(i, 1).combine_chunks().to_batches()[0] for i in range(table.num_rows)]
    pushed = [*map(engine.push, rows), engine.flush()]
    return {
        query.name: [m for part in pushed for m in matches_of(part[query.name], query)] for query in queries
    }


@pytest.mark.parametrize(
    "runner",
    [by_oracle, partial(by_engine, optimizer="none"), partial(by_engine, optimizer="auto")],
    ids=["oracle", "engine none", "engine auto"],
)
@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.title)
def test_case(case: Case, runner: Callable[..., dict[str, list[Match]]]) -> None:
    queries = Workload.parse(case.text).bind(SCHEMA).detections
    found = runner(case, queries)
    assert sorted(found) == sorted(case.matches)
    for name, expected in case.matches.items():
        assert_same_matches(found[name], expected, about=case.text)


MARKED = [case for case in load_cases() if any(case.undecided.values())]


@pytest.mark.parametrize("optimizer", ["none", "auto"])
@pytest.mark.parametrize("case", MARKED, ids=lambda case: case.title)
def test_what_the_end_of_a_case_leaves_undecided(case: Case, optimizer: str) -> None:
    queries = Workload.parse(case.text).bind(SCHEMA).detections
    plan = optimize(Workload.parse(case.text), SCHEMA, optimizer)
    last = max(event.ts for event in case.events)
    found = run(plan, to_table(case.events), undecided="drop")
    for query in queries:
        decided = case.decided(query.name)
        assert_same_matches(oracle.matches(query, case.events, last), decided, about=case.text)
        assert_same_matches(matches_of(found[query.name], query), decided, about=case.text)
    counts = {name: len(matches) for name, matches in case.undecided.items() if matches}
    assert found.undecided == run(plan, to_table(case.events)).undecided == counts


def test_titles_are_unique() -> None:
    titles = [case.title for case in load_cases()]
    assert len(set(titles)) == len(titles) > 100
