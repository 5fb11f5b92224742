"""Derived streams, HAVING and families by hand: small streams whose answers can be read off the page."""

import math
from collections.abc import Mapping

import pytest

from stretto import oracle
from stretto.oracle.detections import Event, Match
from stretto.oracle.streams import Streams
from stretto.pattern.nodes import Query, TrendQuery
from stretto.pattern.predicates import Value
from stretto.pattern.workload import BoundWorkload, Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema(
    {"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT, "s": Kind.STRING}, frozenset({"A", "B", "C", "D"})
)
NAN, INF = math.nan, math.inf


def event(number: int, ts: int, kind: str, **values: Value) -> Event:
    return Event(number, ts, kind, values)


def bound(text: str) -> BoundWorkload:
    return Workload.parse(text).bind(SCHEMA)


def derived(text: str, *events: Event) -> Streams:
    return oracle.derive(bound(text).streams, events)


def found(text: str, *events: Event) -> list[Match]:
    """The matches of the one query of a workload."""
    work = bound(text)
    (query,) = work.queries
    assert isinstance(query, Query)
    streams = oracle.derive(work.streams, events)
    return oracle.matches(query, oracle.inputs(query, streams, events))


def sets(matches: list[Match]) -> list[Mapping[str, tuple[int, ...]]]:
    return sorted((match.events for match in matches), key=lambda one: sorted(one.items()))


RISING = [event(10 + i, i, "D", x=float(x), k=1) for i, x in enumerate((1, 3, 2, 4))]


@pytest.mark.parametrize(
    ("clause", "runs"),
    [("HAVING", [(10, 11), (12, 13)]), ("WHERE", [(10, 11), (10, 11, 13), (11, 13), (12, 13)])],
)
def test_having_ends_a_run_where_where_waits_on(clause: str, runs: list[tuple[int, ...]]) -> None:
    text = f"QUERY q PATTERN D d+ {clause} d[i].x > d[i-1].x WITHIN 10 us SELECT NEXT;"
    assert [one["d"] for one in sets(found(text, *RISING)) if len(one["d"]) > 1] == runs


def test_a_term_over_the_whole_run_is_judged_where_it_reports() -> None:
    text = "QUERY q PATTERN D d+ HAVING d[i].x > d[i-1].x AND COUNT(d) >= 2 WITHIN 10 us SELECT NEXT;"
    assert [one["d"] for one in sets(found(text, *RISING))] == [(10, 11), (12, 13)]
    text = "QUERY q PATTERN SEQ(D d+, B b) HAVING COUNT(d) = 2 WITHIN 10 us SELECT NEXT;"
    events = [event(1, 1, "D"), event(2, 2, "D"), event(3, 3, "B"), event(4, 4, "B")]
    # {1, 2} takes the B at 3 and is right; {2} takes it too, fails and ends, so it never sees the one at 4.
    assert sets(found(text, *events)) == [{"d": (1, 2), "b": (3,)}]


def test_a_run_does_not_begin_where_having_fails() -> None:
    text = "QUERY q PATTERN SEQ(A a, B b) HAVING a.x > 1 AND b.x > a.x WITHIN 10 us SELECT NEXT;"
    events = [
        event(1, 1, "A", x=1.0),
        event(2, 2, "A", x=2.0),
        event(3, 3, "A", x=4.0),
        event(4, 4, "B", x=3.0),
        event(5, 5, "B", x=9.0),
    ]
    assert sets(found(text, *events)) == [{"a": (2,), "b": (4,)}]


def test_a_selection_keeps_times_and_ids() -> None:
    text = "CREATE STREAM p AS SELECT k, x * 2 AS x FROM A WHERE x > 1;"
    events = [event(7, 3, "A", x=1.0, k=1), event(8, 3, "A", x=2.0, k=2), event(9, 4, "A", k=2)]
    assert derived(text, *events)["p"] == [event(8, 3, "p", k=2, x=4.0)]


AGGREGATES = (
    "AVG(x) AS mean, SUM(x) AS total, COUNT(x) AS known, COUNT(*) AS all_, MIN(x) AS low, MAX(x) AS high"
)


def test_windowed_aggregates() -> None:
    text = f"CREATE STREAM p AS SELECT k, {AGGREGATES}, STDDEV(x) AS dev FROM A GROUP BY k WITHIN 3 us;"
    events = [
        event(1, 1, "A", x=1.0, k=1),
        event(2, 2, "A", x=3.0, k=1),
        event(3, 2, "A", x=5.0, k=1),  # of one time: each sees the other
        event(4, 4, "A", x=None, k=1),  # the window is open at its start: 1 is out
        event(5, 9, "A", x=None, k=1),
        event(6, 9, "A", x=8.0, k=None),
    ]
    rows = [tuple(one.attributes.values()) for one in derived(text, *events)["p"]]
    three = (1, 3.0, 9.0, 3, 3, 1.0, 5.0, 2.0)
    assert rows == [
        (1, 1.0, 1.0, 1, 1, 1.0, 1.0, None),
        three,
        three,
        (1, 4.0, 8.0, 2, 3, 3.0, 5.0, math.sqrt(2.0)),
        (1, None, None, 0, 1, None, None, None),
    ]


def test_a_large_value_that_leaves_the_window_leaves_nothing_behind() -> None:
    text = "CREATE STREAM p AS SELECT SUM(x) AS x FROM A WITHIN 2 us;"
    values = [1.0, 1e16, 1.0, -1e16, 1.0, 1.0, INF, 1.0, 1.0]
    events = [event(i, i, "A", x=x) for i, x in enumerate(values)]
    assert [one.attributes["x"] for one in derived(text, *events)["p"]] == [
        1.0,
        1e16,
        1e16,
        -1e16 + 1,
        -1e16 + 1,
        2.0,
        INF,
        INF,
        2.0,
    ]
    three = [event(i, 0, "A", x=x) for i, x in enumerate((1.0, 1e16, 1.0, -1e16))]
    assert {one.attributes["x"] for one in derived(text, *three)["p"]} == {2.0}


def test_groups_leave_out_null_and_nan_and_see_one_zero() -> None:
    text = "CREATE STREAM p AS SELECT COUNT(*) AS n FROM A GROUP BY x WITHIN 9 us;"
    events = [event(i, i, "A", x=x) for i, x in enumerate((0.0, None, NAN, -0.0, NAN))]
    assert [(one.id, one.attributes["n"]) for one in derived(text, *events)["p"]] == [(0, 1), (3, 2)]


def test_a_join_is_at_the_later_time_and_lists_both() -> None:
    text = """CREATE STREAM h AS SELECT a.k, b.x FROM A a JOIN B b ON a.k = b.k WITHIN 2 us;
    QUERY q PATTERN SEQ(h h, C c) WITHIN 10 us RETURN h.x AS x;"""
    events = [
        event(3, 1, "A", k=1),
        event(7, 3, "B", k=1, x=5.0),
        event(8, 4, "B", k=1),
        event(9, 3, "C"),
        event(10, 4, "C"),
    ]
    assert found(text, *events) == [Match(3, 4, 4, {"h.a": (3,), "h.b": (7,), "c": (10,)}, {"x": 5.0})]


def test_a_stream_joined_with_itself_gives_both_orders_and_each_with_itself() -> None:
    text = "CREATE STREAM h AS SELECT a.k, b.k AS other FROM A a JOIN A b ON a.x = b.x WITHIN 1 us;"
    events = [event(1, 1, "A", k=1, x=1.0), event(2, 2, "A", k=2, x=1.0), event(3, 2, "A", k=3)]
    pairs = {tuple(ids for _, ids in one.leaves) for one in derived(text, *events)["h"]}
    assert pairs == {((1,), (1,)), ((1,), (2,)), ((2,), (1,)), ((2,), (2,))}


def test_a_pattern_as_a_stream_and_a_stream_of_it() -> None:
    text = """
    CREATE STREAM ramp AS PATTERN p d{2,} WHERE [k] HAVING d[i].x > d[i-1].x WITHIN 10 us SELECT NEXT
      RETURN FIRST(d).k AS k, LAST(d).x AS x;
    CREATE STREAM p AS SELECT k, AVG(x) AS x FROM D GROUP BY k WITHIN 1 us;
    QUERY q PATTERN SEQ(ramp r, ramp t) WHERE [k] WITHIN 10 us RETURN r.x AS x, t.start AS began;
    """
    assert found(text, *RISING) == [
        Match(1, 3, 3, {"r.d": (10, 11), "t.d": (12, 13)}, {"x": 3.0, "began": 2})
    ]


def test_a_pattern_stream_is_there_when_it_is_certain() -> None:
    text = """CREATE STREAM lone AS PATTERN SEQ(A a, NOT(B b)) WITHIN 5 us RETURN a.k;
    QUERY q PATTERN SEQ(C c, lone v) WITHIN 10 us RETURN v.k AS k, v.start AS began;"""
    events = [event(1, 1, "A", k=4), event(2, 2, "C"), event(3, 6, "C")]
    assert found(text, *events) == [Match(2, 6, 6, {"c": (2,), "v.a": (1,)}, {"k": 4, "began": 1})]


def test_a_derived_event_does_not_follow_the_one_it_is_made_of() -> None:
    text = "CREATE STREAM p AS SELECT k FROM A; QUERY q PATTERN {} WITHIN 10 us;"
    events = [event(1, 1, "A", k=1), event(2, 2, "A", k=2)]
    assert sets(found(text.format("SEQ(A a, p b)"), *events)) == [{"a": (1,), "b": (2,)}]
    both = sets(found(text.format("AND(A a, p b)"), *events))
    assert [(one["a"], one["b"]) for one in both] == [((a,), (b,)) for a in (1, 2) for b in (1, 2)]


@pytest.mark.parametrize("clause", ["WITHIN 2 EVENTS", "WITHIN 10 us SELECT STRICT"])
def test_positions_are_counted_among_the_streams_that_are_named(clause: str) -> None:
    events = [event(1, 1, "A", k=1), event(2, 2, "B", k=1), event(3, 3, "A", k=0), event(4, 4, "C")]
    raw = f"CREATE STREAM p AS SELECT k FROM A; QUERY q PATTERN SEQ(A a, C c) {clause};"
    assert sets(found(raw, *events)) == [{"a": (3,), "c": (4,)}]
    text = f"CREATE STREAM p AS SELECT k FROM A WHERE k > 0; QUERY q PATTERN SEQ(p a, C c) {clause};"
    assert sets(found(text, *events)) == [{"a": (1,), "c": (4,)}]  # no B and no other A stands between them


def test_matches_that_list_the_same_ids_may_be_two() -> None:
    text = """CREATE STREAM r AS PATTERN D d{1,2} WITHIN 10 us;
    QUERY q PATTERN r v{2} WITHIN 10 us;"""
    events = [event(i, i, "D") for i in (1, 2, 3)]
    listed = [one["v.d"] for one in sets(found(text, *events))]
    assert listed.count((1, 2, 3)) == 2  # {1, 2} before {3}, and {1} before {2, 3}


def test_an_event_and_what_is_made_of_it_are_two_also_behind_a_pattern() -> None:
    text = """CREATE STREAM m AS SELECT k, MAX(x) AS x FROM A GROUP BY k WITHIN 10 us;
    CREATE STREAM r AS PATTERN OR(m p, A p) WITHIN 10 us RETURN p.x AS x;
    QUERY q PATTERN r v WITHIN 10 us RETURN v.x AS x;"""
    matches = found(text, event(1, 1, "A", x=5.0, k=0), event(2, 2, "A", x=3.0, k=0))
    listed = sorted((one.events["v.p"], one.returned["x"]) for one in matches)
    assert listed == [((1,), 5.0), ((1,), 5.0), ((2,), 3.0), ((2,), 5.0)]


def test_trends_read_derived_streams() -> None:
    text = """CREATE STREAM p AS SELECT k, SUM(x) AS x FROM D GROUP BY k WITHIN 2 us;
    QUERY q PATTERN SEQ(D a, p b) WITHIN 10 us RETURN COUNT(*), SUM(b.x);"""
    work = bound(text)
    (query,) = work.trends
    assert isinstance(query, TrendQuery)
    streams = oracle.derive(work.streams, RISING)
    count, total = oracle.totals(query, oracle.inputs(query, streams, RISING))
    assert (count.value, total.value) == (6, 1 * 4 + 2 * 5 + 3 * 6)


def test_a_family_gives_what_its_queries_give() -> None:
    text = """QUERY q FOR EACH limits r KEY r.id PATTERN SEQ(A a, B b)
    WHERE a.x > r.low AND (b.s = r.name OR r.name IS NULL) WITHIN r.horizon RETURN r.id AS id, b.x - r.low AS over;"""
    rows = {
        "id": [1, 2, 3],
        "low": [0, 2, None],
        "name": ["u", None, "u"],
        "horizon": ["2 us", "9 us", "9 us"],
    }
    work = Workload.parse(text).table("limits", rows).bind(SCHEMA)
    events = [event(1, 1, "A", x=1.0), event(2, 2, "A", x=3.0), event(3, 4, "B", x=5.0, s="u")]
    (family,) = work.families
    assert oracle.family_matches(family, events) == {
        "1": [Match(2, 4, 4, {"a": (2,), "b": (3,)}, {"id": 1, "over": 5.0})],
        "2": [Match(2, 4, 4, {"a": (2,), "b": (3,)}, {"id": 2, "over": 3.0})],
        "3": [],
    }
    written = {query.member: oracle.matches(query, events) for query in family.queries()}
    assert written == oracle.family_matches(family, events)
