"""Queries that share a channel or a family come, change and go while an engine runs."""

from random import Random

import pytest
from tests.exactness.test_derived_streams import expected_of
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.random_events import SCHEMA, random_events, to_table
from tests.support.stream_strategies import StreamSample

from stretto.engine.planning import optimize
from stretto.engine.run import Engine
from stretto.plan.dag import Plan
from stretto.plan.families import gathering
from stretto.plan.ops import Emit

RUN = "QUERY q{0} PATTERN SEQ(A a, B b) WHERE a.x > {1} AND a.k = b.k WITHIN {2} us SELECT NEXT;"
AVERAGE = (
    "CREATE STREAM s{0} AS SELECT k, AVG(x) AS x FROM A WHERE x > {1} GROUP BY k WITHIN 4 us;"
    "QUERY q{0} PATTERN SEQ(s{0} a, B b) WHERE a.k = b.k WITHIN {2} us SELECT NEXT;"
)
PAIR = (
    "CREATE STREAM s{0} AS SELECT a.k, a.x FROM A a JOIN B b ON a.k = b.k WITHIN {2} us;"
    "QUERY q{0} PATTERN s{0} j WHERE j.x > {1} WITHIN 1 us;"
)


def sample_of(text: str, numbers: dict[int, tuple[float, int]], events: tuple) -> StreamSample:
    return StreamSample("\n".join(text.format(i, *own) for i, own in numbers.items()), SCHEMA, events, {})


def merges(plan: Plan) -> bool:
    """Whether something of the plan is for several queries."""
    routes = [op.route for op in plan.ops if isinstance(op, Emit) and op.route is not None]
    return bool(routes) or (plan.front is not None and bool(plan.front.because))


@pytest.mark.parametrize("text", [RUN, AVERAGE, PAIR], ids=["runs", "averages", "pairs"])
@pytest.mark.parametrize(("optimizer", "fewest"), [("rumor", 64), ("auto", 64), ("auto", 2)])
@pytest.mark.parametrize("seed", range(2))
def test_members_are_added_changed_and_removed(
    text: str, optimizer: str, fewest: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "FEWEST", fewest)
    rng = Random(seed)
    events = tuple(sorted(random_events(rng, ("A", "B"), most=30), key=lambda event: event.ts))
    kept = {2: (-2.0, 9), 3: (0.5, 6)}
    first = sample_of(text, {1: (-1.0, 5), **kept}, events)
    second = sample_of(text, {**kept, 4: (-2.5, 7), 5: (-1.0, 12)}, events)
    third = sample_of(text, {2: (-2.0, 9), 3: (-3.0, 8)}, events)
    engine = Engine(optimize(first.workload(), SCHEMA, optimizer), updatable=True, history_us=1 << 40)
    assert merges(engine.plan)
    table, since, matched = to_table(events), -(1 << 60), 0
    cuts = (0, len(events) // 3, 2 * len(events) // 3, len(events))
    for number, (sample, after) in enumerate(zip((first, second, third), (second, third, None), strict=True)):
        found = engine.push(table.slice(cuts[number], cuts[number + 1] - cuts[number]))
        if after is None:
            found.extend(engine.flush())
            until = 1 << 60
        else:
            engine.update(after.workload(), optimizer)
            until = engine.until_us
        for name, (query, matches) in expected_of(sample.workload().bind(SCHEMA), sample).items():
            wanted = [one for one in matches if since <= one.detected < until]
            assert_same_matches(
                matches_of(found[name], query), wanted, about=f"{name}, part {number}\n{sample}"
            )
            matched += len(wanted)
        since = until
    assert matched


def test_columns_that_were_not_read_before_are_made_again() -> None:
    """One plan reads one of two equal streams for both queries, the other one reads each."""
    text = """
    CREATE STREAM one AS SELECT a.k, a.x FROM A a JOIN B b ON a.k = b.k WITHIN 4 us;
    CREATE STREAM two AS SELECT a.k, a.x FROM A a JOIN B b ON a.k = b.k WITHIN 4 us;
    QUERY q PATTERN SEQ(one j, B b) WITHIN 6 us; QUERY r PATTERN SEQ(two j, B b) WITHIN 6 us;
    """
    events = tuple(sorted(random_events(Random(3), ("A", "B"), most=30), key=lambda event: event.ts))
    sample = StreamSample(text, SCHEMA, events, {})
    engine = Engine(optimize(sample.workload(), SCHEMA, "rumor"), updatable=True, history_us=1 << 40)
    found = engine.push(to_table(events).slice(0, 15))
    engine.update(sample.workload(), "none")
    found.extend(engine.push(to_table(events).slice(15)))
    found.extend(engine.flush())
    for name, (query, matches) in expected_of(sample.workload().bind(SCHEMA), sample).items():
        assert matches
        assert_same_matches(matches_of(found[name], query), matches)
