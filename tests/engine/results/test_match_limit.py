"""The guard against explosions: a run stops when a query has more matches than it may have."""

import pyarrow as pa
import pytest

import stretto
from stretto import Engine, EngineError, Schema, Workload, optimize
from stretto.engine.expected_matches import GUARD, guarded
from stretto.stats.profile import Stats

EVENTS = pa.table(
    {"ts": pa.array(range(40), pa.timestamp("us")), "type": ["A", "B"] * 20, "k": [0, 1, 2, 3] * 10}
)
PAIRS = "QUERY few PATTERN SEQ(A a, B b) WITHIN 2 us; QUERY many PATTERN SEQ(A a, B b) WITHIN 1 s;"
MANY = 210
"""Pairs of an A and a later B."""


@pytest.mark.parametrize("optimizer", ["none", "auto"])
def test_a_query_with_more_matches_stops_the_run(optimizer):
    plan = optimize(Workload.parse(PAIRS), Schema.of(EVENTS.schema, {"A", "B"}), optimizer)
    assert stretto.run(plan, EVENTS, max_matches=MANY).counts() == {"few": 20, "many": MANY}
    with pytest.raises(
        EngineError, match=f"query `many` has more than {MANY - 1} matches.*--max-matches.*max_matches="
    ):
        stretto.run(plan, EVENTS, max_matches=MANY - 1)


def test_matches_are_counted_over_all_pushes_and_the_engine_ends():
    plan = optimize(Workload.parse(PAIRS), Schema.of(EVENTS.schema, {"A", "B"}), "none")
    engine, found = Engine(plan, max_matches=100, step=4), []

    def push_all():
        for start in range(0, 40, 4):
            found.extend(part.counts()["many"] for part in engine.pushing(EVENTS.slice(start, 4)))

    with pytest.raises(EngineError, match="query `many` has more than 100 matches"):
        push_all()
    assert 80 < sum(found) <= 100
    with pytest.raises(EngineError, match="cannot snapshot"):
        engine.snapshot()


def test_matches_that_were_reported_before_do_not_count_again():
    plan = optimize(Workload.parse(PAIRS), Schema.of(EVENTS.schema, {"A", "B"}), "none")
    engine = Engine(plan, max_matches=MANY, step=4)
    parts = [engine.push(EVENTS.slice(0, 20))]
    engine.switch(optimize(Workload.parse(PAIRS), Schema.of(EVENTS.schema, {"A", "B"}), "share"))
    parts += [engine.push(EVENTS.slice(20)), engine.flush()]
    assert sum(part.counts()["many"] for part in parts) == MANY
    again = Engine.restore(plan, engine.snapshot(), max_matches=3)
    assert not len(again.flush())


def test_members_of_a_family_that_was_found_count_each_for_itself():
    text = "".join(
        f"QUERY q{n} PATTERN SEQ(A a, B b) WHERE b.k >= {0 if n == 7 else 3} AND a.k + b.k < {100 + n} WITHIN 1 s;"
        for n in range(40)
    )
    plan = optimize(Workload.parse(text), Schema.of(EVENTS.schema, {"A", "B"}), "auto")
    counts = stretto.run(plan, EVENTS).counts()
    assert len(counts) == 40
    assert counts["q7"] == max(counts.values()) == MANY > counts["q8"]
    assert stretto.run(plan, EVENTS, max_matches=MANY).counts() == counts
    with pytest.raises(EngineError, match=f"query `q7` has more than {MANY - 1} matches"):
        stretto.run(plan, EVENTS, max_matches=MANY - 1)


@pytest.mark.parametrize(
    ("events", "seconds", "asked", "most"),
    [
        (10**9, 1e6, None, GUARD),
        (10**9, 1e6, 5, 5),
        (100, 1e6, None, None),  # there are not so many ways to bind the variables
        (10**9, 1e-6, None, None),
        (0, 0.0, None, None),
    ],
)
def test_the_default_is_a_limit_where_more_is_expected(events, seconds, asked, most):
    plan = optimize(Workload.parse(PAIRS), Stats.of(EVENTS))
    assert guarded(plan, events, seconds, asked) == most
