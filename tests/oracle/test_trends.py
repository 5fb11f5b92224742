"""The oracle of trends: the paper's figures, small cases by hand, and second statements of what it finds."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise, product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from tests.support.random_events import SCHEMA
from tests.support.trend_strategies import Sample, random_trends, trend_workloads

from stretto.oracle.detections import Event, matches
from stretto.oracle.trends import totals
from stretto.pattern.nodes import Atom, Combine, Pattern, Repeat, TrendQuery
from stretto.pattern.workload import Workload
from stretto.text import syntax


def bound(
    pattern: str, where: str = "", rest: str = "WITHIN 100 us", returned: str = "COUNT(*)"
) -> TrendQuery:
    where = f"WHERE {where}" if where else ""
    (query,) = (
        Workload.parse(f"QUERY q PATTERN {pattern} {where} {rest} AGGREGATE {returned};").bind(SCHEMA).trends
    )
    return query


def stream(text: str, **values: Sequence[Any]) -> list[Event]:
    """Events written as `A1 B3`; the i-th value of each attribute is the i-th event's."""
    rows = [(one[0], int(one[1:])) for one in text.split()]
    return [
        Event(i, ts, kind, {name: column[i] for name, column in values.items()})
        for i, (kind, ts) in enumerate(rows)
    ]


def values(query: TrendQuery, events: Sequence[Event]) -> dict[str, Any]:
    """The aggregates of the only group and window."""
    found = totals(query, events)
    assert len({(total.window_start, total.group) for total in found}) <= 1
    return {total.name: total.value for total in found}


def count(pattern: str, events: Sequence[Event], where: str = "") -> int:
    return values(bound(pattern, where), events).get("COUNT(*)", 0)


PAPER = stream("A1 A2 B3 B4 B5")


@pytest.mark.parametrize(
    ("pattern", "expected"), [("B b+", 7), ("SEQ(A a, B b+)", 14), ("SEQ(A a, B b+)+", 14)]
)
def test_the_paper_counts_seven_and_fourteen(pattern: str, expected: int) -> None:
    assert count(pattern, PAPER) == expected


def test_trends_are_counted_once_however_they_are_bracketed() -> None:
    assert count("(B b+)+", PAPER) == count("((B b+)+)+", PAPER) == count("B b+", PAPER) == 7


def test_events_of_one_time_do_not_follow_each_other() -> None:
    assert count("B b+", stream("B1 B1 B2")) == 3 + 2
    assert count("SEQ(A a, B b)", stream("A1 B1 B2")) == 1


def test_neighbouring_terms_within_and_between_repetitions() -> None:
    rising = stream("B1 B2 B3", x=[1.0, 3.0, 2.0])
    assert count("B b+", rising, "b[i].x > b[i-1].x") == 3 + 2  # 13 and 12
    assert count("(B b+)+", rising, "b[i].x > b[i-1].x") == 7  # what falls begins another repetition
    assert count("(B b+)+", rising, "b[i].x > b[i-1].x AND FIRST(b).x < 3") == 5  # 1 2 13 12 132
    assert count("B b+", rising, "FIRST(b).x < 3 AND LAST(b).x > 1") == 1 + 3
    assert count("SEQ(A a, B b+)+", stream("A1 B2 A3 B4", x=[1.0, 2.0, 5.0, 4.0]), "a.x < FIRST(b).x") == 3


def test_windows_slide_and_exclude_their_end() -> None:
    query = bound("B b+", rest="WITHIN 4 us SLIDE 2 us")
    found = {
        total.window_start: (total.window_end, total.value) for total in totals(query, stream("B-1 B1 B2 B4"))
    }
    assert found == {-4: (0, 1), -2: (2, 3), 0: (4, 3), 2: (6, 3), 4: (8, 1)}


def test_windows_may_leave_gaps() -> None:
    query = bound("B b+", rest="WITHIN 2 us SLIDE 5 us")
    found = {total.window_start: total.value for total in totals(query, stream("B-5 B-3 B0 B1 B2 B4 B6"))}
    assert found == {-5: 1, 0: 3, 5: 1}


def test_groups_label_what_agrees() -> None:
    events = stream("B1 B2 B3 B4", k=[1, 1, None, 2], x=[0.0, -0.0, 1.0, math.nan])
    by_key = {
        total.group: total.value for total in totals(bound("B b+", rest="GROUP BY k WITHIN 9 us"), events)
    }
    assert by_key == {(1,): 3, (2,): 1}
    zeros = totals(bound("B b+", rest="GROUP BY x, k WITHIN 9 us"), events)
    assert [(repr(total.group), total.value) for total in zeros] == [("(0.0, 1)", 3)]
    assert count("B b+", events, "[k]") == 3 + 1


def test_aggregates_are_over_occurrences() -> None:
    returned = "COUNT(*), COUNT(b), SUM(b.n), MIN(b.n), MAX(b.n), AVG(b.n), SUM(b.x), AVG(b.x), MIN(a.ts)"
    events = stream("A1 B2 B3", n=[0, 5, None], x=[None, None, 0.1])
    assert values(bound("SEQ(A a, B b+)", returned=returned), events) == {
        "COUNT(*)": 3,
        "COUNT(b)": 4,
        "SUM(b.n)": 10,
        "MIN(b.n)": 5,
        "MAX(b.n)": 5,
        "AVG(b.n)": Fraction(10, 4),  # nulls count
        "SUM(b.x)": 2 * Fraction(0.1),
        "AVG(b.x)": 2 * Fraction(0.1) / 4,
        "MIN(a.ts)": 1,
    }


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([None, None], [None, None, None, None]),
        ([1.0, math.nan], [math.nan] * 4),
        ([1.0, math.inf], [math.inf, 1.0, math.inf, math.inf]),
        ([-math.inf, math.inf], [math.nan, -math.inf, math.inf, math.nan]),
        ([1e308, 1e308], [4 * Fraction(1e308), 1e308, 1e308, Fraction(1e308)]),
        ([1e308, -1e308], [0, -1e308, 1e308, 0]),
    ],
)
def test_odd_values(x: list[float | None], expected: list[Any]) -> None:
    query = bound("B b+", returned="SUM(b.x), MIN(b.x), MAX(b.x), AVG(b.x)")
    assert repr(list(values(query, stream("B1 B2", x=x)).values())) == repr(
        [Fraction(0) if one == 0 else one for one in expected]
    )


def test_large_sums_are_exact() -> None:
    events = stream(" ".join(f"B{i}" for i in range(10)), n=[2**63 - 1] * 10)
    found = values(bound("B b+", returned="SUM(b.n), COUNT(b)"), events)
    assert found == {"SUM(b.n)": 10 * 2**9 * (2**63 - 1), "COUNT(b)": 10 * 2**9}


# ---- second statements -------------------------------------------------------------------------------------


def expression(node: Pattern) -> str:
    """The pattern as a regular expression over variables, which are letters."""
    match node:
        case Atom(variable, _):
            return chr(ord("a") + variable)
        case Combine("SEQ", parts):
            return "".join(map(expression, parts))
        case Repeat(part, 1, None):
            return f"(?:{expression(part)})+"
    raise AssertionError(node)


def atoms(node: Pattern) -> Iterator[Atom]:
    match node:
        case Atom():
            yield node
        case Combine(_, parts):
            for part in parts:
                yield from atoms(part)
        case Repeat(part):
            yield from atoms(part)


def words(query: TrendQuery, events: Sequence[Event]) -> Iterator[tuple[tuple[Event, ...], str]]:
    """Every set of events in time order, read as every word of variables that the pattern accepts."""
    accepted = re.compile(expression(query.pattern))
    letters: dict[str, str] = {}
    for atom in atoms(query.pattern):
        letters[atom.stream.type] = letters.get(atom.stream.type, "") + chr(ord("a") + atom.variable)
    ordered = sorted((event for event in events if event.type in letters), key=lambda event: event.ts)
    for size in range(1, len(ordered) + 1):
        for chosen in combinations(ordered, size):
            if all(one.ts < two.ts for one, two in pairwise(chosen)):
                for word in product(*(letters[event.type] for event in chosen)):
                    if accepted.fullmatch("".join(word)):
                        yield chosen, "".join(word)


PATTERNS = [
    "B p+",
    "SEQ(A p, B q+)+",
    "(SEQ(A p, B q+)+)+",
    "SEQ(B p, B q+)",
    "SEQ(B p+, B q)+",
    "SEQ(A p, SEQ(B q+, A r)+)",
    "SEQ(SEQ(A p, B q)+, B r+)+",
    "(SEQ(A p, (B q+)+))+",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("seed", range(4))
def test_trends_are_words_of_a_regular_expression(pattern: str, seed: int) -> None:
    rng = Random(seed)
    query = bound(pattern, rest="WITHIN 6 us SLIDE 3 us", returned="COUNT(*), COUNT(p)")
    times = [rng.randint(-4, 6) for _ in range(9)]
    events = [Event(i, ts, rng.choice("ABB"), {}) for i, ts in enumerate(times)]
    expected: Counter[tuple[int, str]] = Counter()
    for chosen, word in words(query, events):
        for start in range(-30, 30, 3):
            if start <= chosen[0].ts and chosen[-1].ts < start + 6:
                expected[start, "COUNT(*)"] += 1
                expected[start, "COUNT(p)"] += word.count("a")
    assert {(total.window_start, total.name): total.value for total in totals(query, events)} == expected


def as_detection(written: syntax.Query) -> syntax.Query:
    """The query with GROUP BY as `[attr]`s: its matches, one window apart at most, are the trends."""
    same = tuple(syntax.Same(name.name) for name in written.group_by)
    within = replace(written.within, size=written.within.size - 1)
    return replace(
        written,
        where=(*written.where, *same),
        within=within,
        returning=(),
        group_by=(),
        slide=None,
        aggregating=False,
    )


@given(trend_workloads())
def test_counts_are_those_of_matches(sample: Sample) -> None:
    """Terms mean what they mean in detection, before they are rewritten for trends."""
    workload = Workload.parse(sample.text)
    statements = [as_detection(one) if isinstance(one, syntax.Query) else one for one in workload.statements]
    detections = Workload(tuple(statements)).bind(sample.schema).detections
    for query, detection in zip(workload.bind(sample.schema).trends, detections, strict=True):
        expected: Counter[int] = Counter()
        for match in matches(detection, sample.events):
            k = match.start // query.slide_us
            while match.end < k * query.slide_us + query.window_us:
                expected[k * query.slide_us] += 1
                k -= 1
        found: Counter[int] = Counter()
        counting = replace(query, aggregates=bound("A a").aggregates)
        for total in totals(counting, sample.events):
            found[total.window_start] += total.value
        assert found == expected, sample


@pytest.mark.parametrize("seed", range(40))
def test_random_workloads_have_trends_and_relatives(seed: int) -> None:
    sample = random_trends(Random(seed), queries=3)
    found = Workload.parse(sample.text).bind(sample.schema)
    assert len(found.trends) == 3
    assert sample == random_trends(Random(seed), queries=3)


def test_random_workloads_are_varied() -> None:
    queries = [
        (query, sample)
        for seed in range(60)
        for sample in [random_trends(Random(seed))]
        for query in Workload.parse(sample.text).bind(sample.schema).trends
    ]
    with_rows = [query for query, sample in queries if totals(query, sample.events)]
    assert len(with_rows) > len(queries) / 2
    assert any(query.groups for query in with_rows)
    assert any(query.slide_us > query.window_us for query in with_rows)
    assert any(query.slide_us < query.window_us for query in with_rows)
    assert len({query.pattern for query in with_rows}) > 10
    assert sum(bool(query.terms) for query in with_rows) > 20
