"""Selections and projections in the engine: definitions stand where they are read, and the oracle sees streams."""

from random import Random

import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.strategies import random_query

import stretto
from stretto import oracle
from stretto.pattern.nodes import Query, streams_of
from stretto.pattern.workload import Workload

STREAMS = """
CREATE STREAM P AS SELECT k, s, f, at, x * 2 AS x, n FROM A WHERE x > -1 OR n IS NULL;
CREATE STREAM Q AS SELECT k, s, f, at, n AS x, x + n AS n FROM B;
CREATE STREAM S AS SELECT k, s, f, at, x - 1 AS x, k AS n FROM P WHERE n < 3;
CREATE EVENT T AS SELECT * FROM S WHERE x < 3;
"""


def drawn(rng: Random) -> Workload | None:
    """A query over selections, if it needs none of their events as such."""
    names = rng.choice((("P", "Q"), ("T", "C"), ("S", "Q", "C"), ("P", "B"), ("T", "Q")))
    text, _ = random_query(rng, "q", names)
    try:
        workload = Workload.parse(STREAMS + text)
        (query,) = workload.bind(SCHEMA).detections
        return workload if {"A", "B", "C"}.issuperset(streams_of(query)) else None
    except stretto.QueryError:  # an attribute of several kinds
        return None


@pytest.mark.parametrize("seed", range(24))
def test_what_reads_a_selection_finds_what_the_stream_would_give(seed: int) -> None:
    rng = Random(seed)
    workload = next(one for one in iter(lambda: drawn(rng), 0) if one is not None)
    bound = workload.bind(SCHEMA)
    (written,), (query,) = bound.queries, bound.detections
    assert isinstance(written, Query)
    events = random_events(rng, ("A", "B", "C"), most=9)
    streams = oracle.derive(bound.streams, events)
    expected = oracle.matches(written, oracle.inputs(written, streams, events))
    assert_same_matches(oracle.matches(query, events), expected, workload.text)
    found = stretto.run(stretto.optimize(workload, SCHEMA), to_table(events))
    assert_same_matches(matches_of(found["q"], query), expected, workload.text)


@pytest.mark.parametrize(
    "query",
    [
        "SEQ(P a, C b) WITHIN 3 EVENTS",  # positions are counted among P and C
        "SEQ(P a, C b) WITHIN 5 us SELECT STRICT",
        "AND(P a, A b) WITHIN 5 us",  # an A and the P that is made of it are two events
        "SEQ(Q a+, C b) WHERE SUM(a.n) > 1 WITHIN 5 us",  # no attribute of B is n
        "SEQ(S a, C b) WHERE [x] WITHIN 5 us",
        "SEQ(one a?, C b) WHERE a.x = 1 WITHIN 5 us",  # a term over nothing applies always
        "SEQ(one a?, C b) WITHIN 5 us RETURN a.f AS f",  # unbound it is null, and never whether something is null
    ],
)
def test_where_the_events_of_a_selection_are_needed_it_stays(query: str) -> None:
    one = "CREATE STREAM one AS SELECT k, 1 AS x, x IS NULL AS f FROM A;"
    workload = Workload.parse(f"{STREAMS}{one} QUERY q PATTERN {query};")
    (left,) = workload.bind(SCHEMA).detections
    assert not {"P", "Q", "S", "one"}.isdisjoint(streams_of(left))
    assert stretto.optimize(workload, SCHEMA).front is not None
