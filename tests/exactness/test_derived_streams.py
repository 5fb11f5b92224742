"""Queries over derived streams, HAVING and families in the engine, judged by the oracle.

STRETTO_STREAMS says how many random workloads are tried, STRETTO_SEED from which seed on.
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from random import Random

import pytest
from tests.exactness.test_engine import REFUSALS
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, to_table
from tests.support.runners import RUNNERS, Runner
from tests.support.stream_strategies import StreamSample, random_streams

from stretto import oracle
from stretto.engine.whole_table import run
from stretto.errors import QueryError
from stretto.oracle.detections import Event, Match
from stretto.pattern.derived.families import member_name
from stretto.pattern.nodes import Query
from stretto.pattern.workload import BoundWorkload, Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize

WORKLOADS = int(os.environ.get("STRETTO_STREAMS", "300"))
SEED = int(os.environ.get("STRETTO_SEED", "20261117"))
CHUNK = 25
OPTIMIZERS = ("none", "auto", "reorder")
LONGEST = ("KEEP LONGEST",) * 6 + ("KEEP LONGEST LIMIT 1 PER 3 us",) * 2
KEEPS = ("KEEP APART", "KEEP FIRST FOR 4 us", "LIMIT 1 PER 5 us")


Expected = dict[str, tuple[Query, list[Match]]]
"""Every query, and every member of a family, with its matches."""


def expected_of(bound: BoundWorkload, sample: StreamSample) -> Expected:
    streams = oracle.derive(bound.streams, sample.events)
    found: Expected = {}
    for query in bound.queries:
        assert isinstance(query, Query)
        found[query.name] = query, oracle.matches(query, oracle.inputs(query, streams, sample.events))
    for family in bound.families:
        read = oracle.inputs(family.template, streams, sample.events)
        for member, matches in oracle.family_matches(family, read).items():
            name = member_name(family.template.name, member)
            found[name] = replace(family.template, name=name), matches
    return found


def compare(
    plan: Plan, sample: StreamSample, expected: Expected, seed: int, runners: Iterable[Runner] = RUNNERS
) -> int:
    """Every runner finds what is expected; how many matches that are."""
    queries = tuple(query for query, _ in expected.values())
    for runner in runners:
        about = f"seed {seed}, {runner.__name__}\n{sample}"
        try:
            found = runner(plan, sample, queries, Random(seed + 1))
        except Exception as error:
            error.add_note(about)
            raise
        for name, (_, matches) in expected.items():
            assert_same_matches(found[name], matches, about=f"{name} of {about}")
    return sum(len(matches) for _, matches in expected.values())


def thinned(sample: StreamSample, rng: Random) -> StreamSample:
    """Return the sample with KEEP or LIMIT in all queries; LONGEST only over windows of time."""
    lines = []
    for line in sample.text.splitlines():
        if line.startswith("QUERY"):
            keep = rng.choice(KEEPS if " EVENTS" in line else (*LONGEST, *KEEPS))
            lines.append(f"{line.removesuffix(';')} {keep};")
        else:
            lines.append(line)
    return replace(sample, text="\n".join(lines))


def check(seed: int, runners: Iterable[Runner] = RUNNERS) -> int:
    """Compare every runner with the oracle on a workload; the number of matches, -1 if it is refused."""
    sample = random_streams(Random(seed))
    sample = thinned(sample, Random(seed)) if seed % 5 < 2 else sample
    workload = sample.workload()
    try:
        plan = optimize(workload, SCHEMA, OPTIMIZERS[seed % len(OPTIMIZERS)], budget=0.5)
    except QueryError as refused:
        if not any(text in str(refused) for text in (*REFUSALS, "several kinds")):
            raise AssertionError(f"seed {seed}\n{sample}") from refused
        return -1
    return compare(plan, sample, expected_of(workload.bind(SCHEMA), sample), seed, runners)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_derived_streams_are_what_the_oracle_says(start: int) -> None:
    counts = []
    for seed in range(start, start + CHUNK):
        counts.append(check(seed))
    assert sum(count < 0 for count in counts) <= max(2, CHUNK // 10)
    assert sum(count > 0 for count in counts) >= CHUNK // 6


def test_matches_of_a_pattern_stream_are_told_apart_by_more_than_ids() -> None:
    """A raw event and the one that an aggregate makes of it have one id: each begins matches of its own."""
    text = """CREATE STREAM m AS SELECT k, MAX(x) AS x FROM A GROUP BY k WITHIN 10 us;
    CREATE STREAM r AS PATTERN AND(OR(m p, A p), m q) WITHIN 10 us RETURN p.k AS k, SUM(p.x) AS x;
    QUERY q PATTERN r v{1,2} WHERE [k] WITHIN 10 us RETURN LAST(v).x AS x;"""
    events = tuple(
        Event(number, ts, "A", {"k": 0, "x": x}) for number, (ts, x) in enumerate([(1, 5.0), (2, 3.0)])
    )
    expected = check_text(text, events)
    listed = [tuple(one.events.items()) for one in expected]
    assert len(listed) > len(set(listed))


def test_ids_break_ties_of_keep_in_the_order_of_the_names_that_list_them() -> None:
    text = """CREATE STREAM J AS SELECT y.k FROM A y JOIN A x ON y.n != x.n WITHIN 1 us;
    QUERY q PATTERN J h WITHIN 5 us KEEP APART;"""
    events = tuple(Event(number, 1, "A", {"k": 0, "n": number}) for number in range(2))
    (match,) = check_text(text, events)
    assert match.events == {"h.x": (0,), "h.y": (1,)}


@pytest.mark.parametrize("policy", ["ANY", "STRICT", "NEXT"])
def test_leaves_are_in_the_order_of_the_definition_where_the_first_event_lacks_one(policy: str) -> None:
    """Of the events of t at 2, {a: 1, b: 2} lists 1, 2 and {b: 1} {a: 1, b: 2} lists 1, 1, 2: p.a comes before p.b."""
    text = f"""CREATE STREAM s AS PATTERN SEQ(A a?, A b) WITHIN 9 us SELECT {policy} RETURN b.n AS n;
    CREATE STREAM t AS PATTERN s p{{1,2}} WITHIN 9 us SELECT {policy} RETURN LAST(p).n AS n;
    QUERY q PATTERN SEQ(t v, t w) WITHIN 9 us SELECT STRICT;"""
    events = tuple(Event(number, number, "A", {"n": number}) for number in (1, 2))
    (match,) = check_text(text, events)
    assert match.events == {"v.p.b": (1,), "w.p.a": (1,), "w.p.b": (1, 2)}


def check_text(text: str, events: tuple[Event, ...]) -> list[Match]:
    """The matches of query q, which every runner finds by every optimizer."""
    sample = StreamSample(text, SCHEMA, events, {})
    query, expected = expected_of(sample.workload().bind(SCHEMA), sample)["q"]
    for optimizer in OPTIMIZERS:
        plan = optimize(sample.workload(), SCHEMA, optimizer, budget=0.5)
        for runner in RUNNERS:
            found = runner(plan, sample, (query,), Random(1))
            assert_same_matches(found["q"], expected, about=f"{optimizer}, {runner.__name__}")
    return expected


@pytest.mark.parametrize("policy", ["ANY", "STRICT", "NEXT"])
@pytest.mark.parametrize("pattern", ["A p+", "A p{,2}", "SEQ(B b, A p+)"])
@pytest.mark.parametrize(
    "having",
    ["MAX(p.n) >= 2", "MAX(p.n) + p.k >= 2", "AVG(p.n) > p.k", "COUNT(p) + p.k >= 2", "LAST(p).n > 1"],
)
def test_what_is_said_of_a_set_that_may_have_one_event_only(policy: str, pattern: str, having: str) -> None:
    text = f"QUERY q PATTERN {pattern} HAVING COUNT(p) <= 1 AND {having} WITHIN 6 us SELECT {policy};"
    events = tuple(
        Event(number, number, kind, {"k": number % 2, "n": (number * 5) % 4})
        for number, kind in enumerate("BABAABAAAB")
    )
    assert check_text(text, events)


@pytest.mark.parametrize("one", ["A p", "S1 p"])
def test_a_variable_over_streams_with_the_same_kind_of_an_attribute(one: str) -> None:
    """S0 has another kind of n, so there are two columns: that of integers is one for all who have them."""
    text = f"""CREATE STREAM S0 AS SELECT k, AVG(n) AS n FROM A GROUP BY k WITHIN 10 us;
    CREATE STREAM S1 AS SELECT k, n + 1 AS n FROM A;
    CREATE STREAM S2 AS SELECT k, n + 2 AS n FROM B;
    QUERY q PATTERN SEQ(OR({one}, S2 p), S0 m) WHERE p.n > 3 AND m.n < 4.5 WITHIN 10 us RETURN p.n AS n;"""
    events = tuple(
        Event(number, number, kind, {"k": 0, "n": number}) for number, kind in enumerate("ABABABABAB")
    )
    assert check_text(text, events)


@pytest.mark.parametrize("policy", ["NEXT", "LAST"])
def test_streams_of_the_same_events_come_in_the_order_of_their_names(policy: str) -> None:
    """An event of Z and one of M have one time and one id: a run meets that of M first, though Z is but a selection."""
    repeated = "+" if policy == "NEXT" else ""
    text = f"""CREATE STREAM M AS SELECT k, MAX(n) AS n FROM A GROUP BY k WITHIN 2 us;
    CREATE STREAM Z AS SELECT k, n FROM A WHERE n > 0;
    QUERY q PATTERN SEQ(M p{repeated}, Z q) WITHIN 3 us SELECT {policy};"""
    events = tuple(Event(number, number, "A", {"k": 0, "n": number % 3}) for number in range(12))
    check_text(text, events)


def test_a_family_whose_first_events_have_a_term_in_common() -> None:
    """Only that term reads k, and it stands before the classes of first events."""
    texts = [
        f"QUERY q{n} PATTERN SEQ(A a, B b+) WHERE a.k = 0 AND a.x > {n / 100} WITHIN 9 us SELECT NEXT;"
        for n in range(70)
    ]
    events = tuple(
        Event(number, number, kind, {"k": number % 2, "x": 0.5}) for number, kind in enumerate("ABAABBAB")
    )
    counts = run(optimize(Workload.parse("\n".join(texts)), SCHEMA), to_table(events)).counts()
    (query,) = Workload.parse(texts[0]).bind(SCHEMA).detections
    expected = len(oracle.matches(query, events))
    assert expected
    assert counts == {f"q{n}": expected if n < 50 else 0 for n in range(70)}
