"""Queries over derived streams on Spark, in batches and in streams: the same matches as by the oracle."""

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from tests.spark.batch.test_dataframe import found_rows
from tests.spark.stream.test_detect_stream import Files, run_to_end
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events, to_table

from stretto import oracle
from stretto.oracle.detections import Event, Match
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import ByTime
from stretto.plan.spread.time_slices import Times
from stretto.spark import detect

TEXT = """
CREATE STREAM calm AS SELECT k, s, AVG(x) AS x, COUNT(*) AS n FROM A GROUP BY k WITHIN 4 us;
CREATE STREAM met AS SELECT a.k, a.x + b.x AS x FROM A a JOIN B b ON a.k = b.k WITHIN 3 us;
CREATE STREAM rise AS PATTERN calm d{2,} HAVING d[i].x > d[i-1].x WITHIN 9 us SELECT NEXT
    RETURN FIRST(d).k AS k, LAST(d).x AS x;
QUERY above PATTERN SEQ(calm c, A a) WHERE [k] AND a.x > c.x WITHIN 6 us RETURN c.n AS n;
QUERY pairs PATTERN SEQ(met m, C c) WHERE m.x > c.x WITHIN 5 us RETURN m.x AS x;
QUERY rises PATTERN SEQ(rise r, NOT(B b), met m) WITHIN 8 us;
QUERY ends PATTERN SEQ(A a, B b+) HAVING b[i].x >= b[i-1].x WITHIN 9 us SELECT NEXT;
QUERY plain PATTERN SEQ(A a, C c) WITHIN 4 us;
"""
MS = 1000


def expected_of(text: str, events: list[Event]) -> dict[str, list[Match]]:
    bound = Workload.parse(text).bind(SCHEMA)
    streams = oracle.derive(bound.streams, events)
    found: dict[str, list[Match]] = {}
    for query in bound.queries:
        assert isinstance(query, Query)
        matches = oracle.matches(query, oracle.inputs(query, streams, events))
        found[query.name] = [Match(one.start, one.end, one.detected, one.events, {}) for one in matches]
    assert all(found.values()), {name: len(matches) for name, matches in found.items()}
    return found


@pytest.mark.parametrize("spread", ["whole", "time", "slices"])
def test_batches_find_what_the_oracle_finds(spark, spread: str) -> None:
    events = random_events(Random(3), ("A", "B", "C"), most=60)
    plan = optimize(Workload.parse(TEXT), SCHEMA)
    chosen: str | ByTime = spread
    if spread == "slices":
        chosen = ByTime.of(plan, Times.of([(event.ts, event.ts, 1) for event in events]), 6)
    found = found_rows(detect(plan, spark.createDataFrame(to_table(events)), spread=chosen))
    for name, matches in expected_of(TEXT, list(events)).items():
        assert_same_matches(found.get(name, []), matches, about=name)


def test_positions_over_derived_streams_need_one_target(spark) -> None:
    text = f"{TEXT} QUERY counted PATTERN SEQ(calm c, calm d) WITHIN 2 EVENTS;"
    events = random_events(Random(3), ("A", "B", "C"), most=60)
    plan = optimize(Workload.parse(text), SCHEMA)
    found = found_rows(detect(plan, spark.createDataFrame(to_table(events)), spread="auto"))
    for name, matches in expected_of(text, list(events)).items():
        assert_same_matches(found.get(name, []), matches, about=name)


def test_streams_find_what_the_oracle_finds(spark, tmp_path: Path) -> None:
    text = TEXT.replace(" us", " ms")
    events = [
        Event(one.id, 1_700_000_000_000_000 + one.ts % 100 * MS, one.type, one.attributes)
        for one in random_events(Random(3), ("A", "B", "C"), most=60)
    ]
    last = Event(len(events), 1_700_000_100_000_000, "C", {})
    files = Files(tmp_path / "events")
    arrived = sorted(events, key=lambda event: event.ts)
    cuts = [0, 7, 20, 21, 40, len(arrived)]
    for start, stop in pairwise(cuts):
        if start < stop:
            files.write(to_table(arrived[start:stop]))
    files.write(to_table([last]))
    files.write(to_table([Event(len(events) + 1, last.ts + 10**6, "C", {})]))
    found = detect(Workload.parse(text), files.stream(spark), lateness="1 second")
    rows, _ = run_to_end(found, tmp_path / "checkpoint", tmp_path / "out")
    by_query = found_rows(rows)
    for name, matches in expected_of(text, events).items():
        assert_same_matches(by_query.get(name, []), matches, about=name)
