"""An engine over derived streams: other queries come and go, other streams are refused."""

from random import Random

import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.strategies import SCHEMA, random_events, to_table

from stretto import oracle
from stretto.engine.run import Engine
from stretto.errors import EngineError
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize

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


def test_other_streams_are_refused_and_nothing_is_lost() -> None:
    engine = Engine(optimize(Workload.parse(STREAM + ONE), SCHEMA), updatable=True)
    with pytest.raises(EngineError, match="derived streams cannot be added"):
        engine.update(Workload.parse(STREAM.replace("4 us", "5 us") + ONE))
    assert list(engine.plan.queries) == ["one"]


def test_a_stream_that_waits_is_waited_for() -> None:
    quiet = "CREATE STREAM quiet AS PATTERN SEQ(A a, NOT(B b)) WITHIN 5 us RETURN a.k AS k;"
    engine = Engine(optimize(Workload.parse(f"{quiet} QUERY q PATTERN quiet v WITHIN 1 us;"), SCHEMA))
    engine.push(to_table(sorted(random_events(Random(1), ("A",), most=3), key=lambda event: event.ts)))
    assert engine.due_us is not None
    assert engine.flush().counts()["q"] > 0
    assert engine.due_us is None
