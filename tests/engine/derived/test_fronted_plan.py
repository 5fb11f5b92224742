"""An engine over derived streams: queries and streams come and go."""

import os
from random import Random

import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.stream_strategies import random_streams

from stretto import oracle
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.errors import EngineError, QueryError
from stretto.oracle.detections import Event, Match
from stretto.pattern.nodes import Query
from stretto.pattern.workload import BoundWorkload, Workload
from stretto.plan.optimize import optimize
from stretto.plan.spread.reach import MatchReach
from stretto.values.times import END_OF_TIME, START_OF_TIME

STREAM = "CREATE STREAM calm AS SELECT k, AVG(x) AS x FROM A GROUP BY k WITHIN 4 us;"
ONE = "QUERY one PATTERN SEQ(calm c, B b) WHERE [k] AND c.x < b.x WITHIN 6 us;"
OTHER = "QUERY other PATTERN SEQ(B b, calm c) WHERE [k] WITHIN 6 us;"


def test_queries_come_and_go_over_the_same_streams() -> None:
    events = sorted(random_events(Random(5), ("A", "B"), most=40), key=lambda event: event.ts)
    engine = Engine(optimize(Workload.parse(STREAM + ONE), SCHEMA), updatable=True)
    both = Workload.parse(STREAM + ONE + OTHER)
    found = engine.nothing()
    table = to_table(events)
    for row in range(table.num_rows):
        if row == 20:
            engine.update(both)
            found.extend(engine.nothing())
        found.extend(engine.push(table.slice(row, 1)))
    found.extend(engine.flush())
    bound = both.bind(SCHEMA)
    (query,) = (query for query in bound.queries if query.name == "one")
    assert isinstance(query, Query)
    streams = oracle.derive(bound.streams, events)
    expected = oracle.matches(query, oracle.inputs(query, streams, events))
    assert expected
    assert_same_matches(matches_of(found["one"], query), expected)
    assert found["other"].num_rows


def test_a_stream_that_is_changed_begins_with_what_is_kept() -> None:
    events = sorted(random_events(Random(5), ("A", "B"), most=40), key=lambda event: event.ts)
    engine = Engine(optimize(Workload.parse(STREAM + ONE), SCHEMA), updatable=True, history_us=10**12)
    other = Workload.parse(STREAM.replace("4 us", "9 us") + ONE)
    table = to_table(events)
    engine.push(table.slice(0, 20))
    until = engine.until_us
    engine.update(other)
    found = engine.push(table.slice(20))
    found.extend(engine.flush())
    ((query, expected),) = expected_of(other.bind(SCHEMA), events)
    later = [match for match in expected if match.detected >= until]
    assert later
    assert_same_matches(matches_of(found["one"], query), later)


def test_what_was_not_kept_is_told() -> None:
    engine = Engine(optimize(Workload.parse("QUERY q PATTERN B b WITHIN 1 us;"), SCHEMA))
    with pytest.raises(
        EngineError, match=r"the engine kept no attribute `k`, no attribute `x`.* no type `A`"
    ):
        engine.update(Workload.parse(STREAM + ONE))
    assert list(engine.plan.queries) == ["q"]
    engine.push(to_table(random_events(Random(1), ("A",), most=3)))


def expected_of(bound: BoundWorkload, events: list[Event]) -> list[tuple[Query, list[Match]]]:
    streams = oracle.derive(bound.streams, events)
    queries = [query for query in bound.queries if isinstance(query, Query)]
    return [(query, oracle.matches(query, oracle.inputs(query, streams, events))) for query in queries]


PLAIN = "QUERY plain PATTERN SEQ(A v, B w) WITHIN 5 us;"
SEEDS = int(os.environ.get("STRETTO_STREAMS", "300")) // 5
FIRST = int(os.environ.get("STRETTO_SEED", "0"))


def test_streams_come_and_go_while_the_engine_runs() -> None:
    """A query over raw events knows no break; one over streams that come and go has what is certain in its time."""
    compared = 0
    for seed in range(FIRST, FIRST + SEEDS):
        rng = Random(seed)
        sample = random_streams(rng, families=False)
        if "EVENTS" in sample.text and "NOT(" in sample.text:
            continue  # such a match may be certain at the end of the input alone, whatever its time
        events = sorted(sample.events, key=lambda event: event.ts)
        alone, whole = Workload.parse(PLAIN), Workload.parse(PLAIN + sample.text)
        table = to_table(events)
        comes, goes = sorted(rng.choices(range(table.num_rows + 1), k=2))
        try:
            plan = optimize(whole, SCHEMA, "none")
        except QueryError:  # something that cannot be run over streams
            continue
        engine = Engine(
            optimize(alone, SCHEMA), updatable=True, history_us=10**12, step=rng.choice((1, 5, 999))
        )
        found = [engine.push(table.slice(0, comes))]
        since = engine.until_us
        engine.update(whole, "none")
        assert engine.plan.derived == plan.derived
        found.append(engine.push(table.slice(comes, goes - comes)))
        until = engine.until_us
        engine.update(alone)
        found += [engine.push(table.slice(goes)), engine.flush()]
        for query, expected in expected_of(whole.bind(SCHEMA), events):
            bounds = (START_OF_TIME, END_OF_TIME) if query.name == "plain" else (since, until)
            certain = [match for match in expected if bounds[0] <= match.detected < bounds[1]]
            mine = [
                match
                for some in found
                if query.name in some.counts()
                for match in matches_of(some[query.name], query)
            ]
            assert_same_matches(mine, certain, about=f"seed {seed}, {query.name}: {comes} {goes}\n{sample}")
            compared += len(certain)
    assert compared > 3 * SEEDS


def test_a_stream_that_waits_is_waited_for() -> None:
    quiet = "CREATE STREAM quiet AS PATTERN SEQ(A a, NOT(B b)) WITHIN 5 us RETURN a.k AS k;"
    engine = Engine(optimize(Workload.parse(f"{quiet} QUERY q PATTERN quiet v WITHIN 1 us;"), SCHEMA))
    engine.push(to_table(sorted(random_events(Random(1), ("A",), most=3), key=lambda event: event.ts)))
    assert engine.due_us is not None
    assert engine.flush().counts()["q"] > 0
    assert engine.due_us is None


def test_what_counts_positions_is_built_up_again_from_all_that_it_reaches() -> None:
    text = (
        "CREATE STREAM calm AS SELECT k, AVG(x) AS x FROM A GROUP BY k WITHIN 1 us;"
        "QUERY q PATTERN SEQ(calm c, A{1,2}) WITHIN 3 us SELECT STRICT;"
    )
    workload = Workload.parse(text)
    plan = optimize(workload, SCHEMA, "none")
    assert plan.horizon_us == 4
    assert MatchReach.of(plan).after_us == 3
    events = sorted(random_events(Random(5), ("A", "B"), most=40), key=lambda event: event.ts)
    engine, parts = Engine(plan), []
    for batch in to_table(events).to_batches(1):
        parts.append(engine.push(batch))
        engine = Engine.restore(plan, engine.snapshot())
    parts.append(engine.flush())
    _assert_found(workload, events, parts)


ALIKE = """
CREATE STREAM one AS SELECT k, x + 1 AS x FROM A WHERE x >= 0;
CREATE STREAM two AS SELECT k, x + 1 AS x FROM A WHERE x >= 0;
QUERY p PATTERN SEQ(one a, A b) WHERE a.x > {least} WITHIN 8 us;
QUERY q PATTERN SEQ(two a, A b) WHERE a.x > {least} WITHIN 20 us;
"""


def test_plans_that_keep_other_streams_follow_each_other() -> None:
    text = ALIKE.replace("A b", "A b+").replace("WHERE a.x > {least}", "")
    workload = Workload.parse(text)
    events = sorted(random_events(Random(5), ("A", "B"), most=16), key=lambda event: event.ts)
    engine, parts = Engine(optimize(workload, SCHEMA, "auto"), updatable=True, history_us=1 << 40), []
    for number, batch in enumerate(to_table(events).to_batches(2)):
        parts.append(engine.push(batch))
        engine.update(workload, ("none", "rumor", "auto")[number % 3], 0.1)
    parts.append(engine.flush())
    _assert_found(workload, events, parts)


@pytest.mark.parametrize("optimizer", ["none", "rumor", "auto"])
def test_queries_that_select_more_of_a_stream_find_it(optimizer: str) -> None:
    before, after = (Workload.parse(ALIKE.format(least=least)) for least in (3, 1))
    events = sorted(random_events(Random(5), ("A", "B"), most=40), key=lambda event: event.ts)
    table = to_table(events)
    engine = Engine(optimize(before, SCHEMA, optimizer), updatable=True, history_us=1 << 40)
    engine.push(table.slice(0, 25))
    engine.update(after, optimizer)
    since = engine.until_us
    found = [engine.push(table.slice(25)), engine.flush()]
    _assert_found(after, events, found, since)


def _assert_found(workload: Workload, events: list[Event], parts: list[Matches], since: int = 0) -> None:
    """The parts together have the matches of all queries that end at a time or later."""
    bound = workload.bind(SCHEMA)
    streams = oracle.derive(bound.streams, events)
    for query in bound.queries:
        assert isinstance(query, Query)
        expected = oracle.matches(query, oracle.inputs(query, streams, events))
        expected = [match for match in expected if match.end >= since]
        assert expected
        found = [match for part in parts for match in matches_of(part[query.name], query)]
        assert_same_matches(found, expected)
