"""Trend queries: what they are bound to, and which terms need no whole trends."""

from dataclasses import replace

import pytest

from stretto.errors import QueryError
from stretto.pattern import nodes
from stretto.pattern.describe import term_text
from stretto.pattern.nodes import Aggregate, TrendQuery, streams_of
from stretto.pattern.workload import Workload, check
from stretto.schema import Kind, Schema, Special
from stretto.text import syntax

ATTRIBUTES = {"x": Kind.FLOAT, "n": Kind.INT, "s": Kind.STRING, "f": Kind.BOOL, "gap": Kind.DURATION}
SCHEMA = Schema(ATTRIBUTES, frozenset("ABC"))


def text_of(pattern: str, where: str = "", rest: str = "WITHIN 10 s", returned: str = "COUNT(*)") -> str:
    return f"QUERY q PATTERN {pattern} {'WHERE ' + where if where else ''} {rest} AGGREGATE {returned};"


def bound(pattern: str, where: str = "", rest: str = "WITHIN 10 s", returned: str = "COUNT(*)") -> TrendQuery:
    found = Workload.parse(text_of(pattern, where, rest, returned)).bind(SCHEMA)
    assert not found.detections
    (query,) = found.trends
    return query


def test_a_trend_query_with_everything() -> None:
    rest = "GROUP BY n, s, n WITHIN 30 s SLIDE 5 s"
    query = bound(
        "SEQ(A a, B b+)+", "[f] AND b[i].x > b[i-1].x", rest, "COUNT(*), COUNT(b) AS many, AVG(b.n)"
    )
    assert query.name == "q"
    assert query.variables == (
        nodes.Variable("a", groups=(0,)),
        nodes.Variable("b", kleene=True, groups=(0,)),
    )
    assert [term_text(term, ["a", "b"]) for term in query.terms] == ["b[i].x > b[i-1].x"]
    assert (query.same, query.groups) == (("f",), ("n", "s"))
    assert (query.window_us, query.slide_us) == (30_000_000, 5_000_000)
    assert query.aggregates == (
        Aggregate("COUNT(*)", "COUNT", None, "", Kind.INT),
        Aggregate("many", "COUNT", 1, "", Kind.INT),
        Aggregate("AVG(b.n)", "AVG", 1, "n", Kind.INT),
    )
    assert query.span is not None


def test_windows_follow_each_other_without_a_slide() -> None:
    assert bound("A a+").slide_us == 10_000_000


def test_aggregates_keep_the_kind_of_their_attribute() -> None:
    query = bound("SEQ(A a, B b+)", returned="SUM(a.gap), MIN(a.ts), MAX(b.x), AVG(a.x), sum(b.n)")
    assert [(one.name, one.function, one.variable, one.attribute, one.kind) for one in query.aggregates] == [
        ("SUM(a.gap)", "SUM", 0, "gap", Kind.DURATION),
        ("MIN(a.ts)", "MIN", 0, "ts", Kind.TIME),
        ("MAX(b.x)", "MAX", 1, "x", Kind.FLOAT),
        ("AVG(a.x)", "AVG", 0, "x", Kind.FLOAT),
        ("SUM(b.n)", "SUM", 1, "n", Kind.INT),
    ]


def test_a_workload_may_hold_both_kinds_of_queries() -> None:
    text = text_of("A a+") + "QUERY found PATTERN SEQ(A a, B b+) WITHIN 5 s RETURN COUNT(b) + 1 AS more;"
    found = Workload.parse(text).bind(SCHEMA)
    assert [query.name for query in found.trends] == ["q"]
    assert [query.name for query in found.detections] == ["found"]


def test_trends_read_derived_streams() -> None:
    text = "CREATE STREAM calm AS SELECT n, AVG(x) AS mean FROM A GROUP BY n WITHIN 60 s;" + text_of(
        "calm a+"
    )
    found = Workload.parse(text).bind(SCHEMA)
    assert [streams_of(query) for query in found.trends] == [("calm",)]


def test_without_a_schema_nothing_is_bound() -> None:
    workload = Workload.parse(
        text_of("SEQ(Some a, Other b+)", "LAST(b).y > 1", returned="SUM(b.y), COUNT(b)")
    )
    assert workload.bind(None).trends == ()


LOCAL = {
    "SEQ(A a, B b+, C c)": [
        "a.x < 1",
        "b.x < 1 AND b.n > b.x",
        "1 < 2",
        "FIRST(b).x < FIRST(b).n",
        "LAST(b).x IS NULL OR LAST(b).n > 1",
        "b[i].x > b[i-1].x",
        "b[i].ts - b[i-1].ts < 5 s AND b[i].n = b[i-1].n",
        "a.x < FIRST(b).x",
        "FIRST(b).x > a.x OR a.n = 1",
        "LAST(b).x < c.x",
        "LAST(b).x < FIRST(c).x",
        "COUNT(a) = 1",
        "SUM(a.x) > AVG(a.n)",
        "FIRST(a).x < LAST(a).n",
        "MIN(a.x) < FIRST(b).x",
    ],
    "SEQ(A a, B b+)+": ["a.x < FIRST(b).x", "FIRST(b).x > 1", "b[i].x > b[i-1].x"],
    "SEQ(A a+, B b)+": ["LAST(a).x < b.x", "b.x > LAST(a).x"],
    "SEQ(A a, B b)+": ["a.x < b.x", "LAST(b).x > FIRST(a).x"],
    "(B b+)+": ["b[i].x > b[i-1].x", "FIRST(b).x > 1", "LAST(b).x > 1"],
    "SEQ(A a+, B b+)": ["LAST(a).x < FIRST(b).x"],
    "SEQ(A a, SEQ(B b, C c))": ["a.x < b.x", "b.x < c.x"],
    "SEQ(A a, SEQ(B b, C c)+)+": ["b.x < c.x", "a.x > 1"],
}
WHOLE = {
    "SEQ(A a, B b+, C c)": [
        "a.x < c.x",
        "a.x < b.x",
        "b.x < c.x",
        "a.x < LAST(b).x",
        "FIRST(b).x < c.x",
        "SUM(b.x) > 1",
        "COUNT(b) > 2",
        "FIRST(b).x < LAST(b).x",
        "FIRST(b).x < b.x",
        "b[i].x - b[i-1].x > a.x",
        "b[i].x - b[i-1].x > FIRST(b).x",
        "a.x + FIRST(b).x < c.x",
        "a.x < FIRST(b).x OR LAST(b).x > 1",
        "COUNT(b) > a.n",
    ],
    "SEQ(A a, SEQ(B b, C c)+)": ["a.x < b.x", "a.x < FIRST(b).x", "a.x < c.x"],
    "SEQ(SEQ(A a, B b)+, C c)": ["b.x < c.x", "LAST(b).x < c.x"],
    "SEQ(A a, SEQ(B b, C c)+)+": ["a.x < b.x", "c.x < a.x"],
    "SEQ((A a+)+, B b)": ["LAST(a).x < b.x"],
    "SEQ(A a, B b+)+": ["LAST(b).x < a.x", "b.x < a.x"],
    "SEQ(A a+, B b+)": ["FIRST(a).x < LAST(b).x", "LAST(a).x < b.x"],
}


@pytest.mark.parametrize(
    ("pattern", "where"), [(pattern, term) for pattern in LOCAL for term in LOCAL[pattern]]
)
def test_terms_on_neighbours_are_bound(pattern: str, where: str) -> None:
    assert bound(pattern, where).terms


@pytest.mark.parametrize(
    ("pattern", "where"), [(pattern, term) for pattern in WHOLE for term in WHOLE[pattern]]
)
def test_terms_on_whole_trends_are_refused(pattern: str, where: str) -> None:
    (mistake,) = check(text_of(pattern, where), schema=SCHEMA)
    assert mistake.message == "a term over whole trends"
    assert mistake.note


def test_one_event_is_all_of_its_set() -> None:
    """Where a variable is not repeated itself, FIRST, LAST and sums read its one event."""
    plain = bound("SEQ(A a, B b)+", "a.x < b.x AND b.n > 1").terms
    assert bound("SEQ(A a, B b)+", "LAST(a).x < FIRST(b).x AND SUM(b.n) > 1").terms == plain
    assert (
        bound("SEQ(A a, B b)+", "MAX(a.x) < MIN(b.x) AND LAST(b).n > COUNT(a)").terms
        == plain[:1] + bound("SEQ(A a, B b)+", "b.n > 1").terms
    )


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("GROUP BY ts WITHIN 10 s", "GROUP BY ts leaves no trends"),
        ("GROUP BY a.n WITHIN 10 s", "GROUP BY takes attributes without a variable"),
        ("GROUP BY nn WITHIN 10 s", "unknown attribute `nn`"),
        ("WITHIN 10 EVENTS", "trend aggregation has a window in time"),
        ("WITHIN 10 s SELECT NEXT", "trend aggregation with SELECT NEXT"),
    ],
)
def test_clauses_that_make_no_trends(rest: str, message: str) -> None:
    (mistake,) = check(text_of("SEQ(A a, B b+)", rest=rest), schema=SCHEMA)
    assert mistake.message == message


@pytest.mark.parametrize(
    ("us", "message"), [(0, "the SLIDE must be longer than zero"), (2**62, "the SLIDE is too long")]
)
def test_slides_that_no_text_can_have(us: int, message: str) -> None:
    (statement,) = Workload.parse(text_of("A a+")).queries
    with pytest.raises(QueryError, match=message):
        Workload((replace(statement, slide=syntax.Duration(us)),)).bind(SCHEMA)


def test_times_make_no_groups_under_another_name() -> None:
    schema = Schema(ATTRIBUTES, None, Special(ts="at"))
    (mistake,) = check(text_of("A a+", rest="GROUP BY at WITHIN 10 s"), schema=schema)
    assert mistake.message == "GROUP BY at leaves no trends"


@pytest.mark.parametrize(
    "pattern", ["A a*", "SEQ(A a, B b?)", "A a{2,3}", "OR(A a, B b)", "SEQ(A a, NOT(B n), C c)"]
)
def test_patterns_are_types_seq_and_plus(pattern: str) -> None:
    (mistake,) = check(text_of(pattern), schema=SCHEMA)
    assert mistake.message.startswith("trend aggregation over")
