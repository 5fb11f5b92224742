"""What the end of the input leaves undecided, judged by the oracle: in whole tables, in engines, and in streams that
stop.

STRETTO_UNDECIDED says how many random workloads of each kind are tried, STRETTO_SEED from which seed on.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random

import pytest
from tests.exactness.test_derived_streams import OPTIMIZERS
from tests.exactness.test_engine import REFUSALS
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.loops import WAYS, loops
from tests.support.random_events import SCHEMA, in_batches, random_events, to_table
from tests.support.strategies import Sample, random_workload
from tests.support.stream_strategies import StreamSample, random_streams

from stretto import oracle
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.engine.whole_table import run
from stretto.errors import QueryError
from stretto.oracle.detections import Event, Match
from stretto.pattern.derived.families import member_name
from stretto.pattern.nodes import Query
from stretto.pattern.workload import BoundWorkload, Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize

WORKLOADS = int(os.environ.get("STRETTO_UNDECIDED", "75"))
SEED = int(os.environ.get("STRETTO_SEED", "20261120"))
CHUNK = 25

Expected = Mapping[str, tuple[Query, Sequence[Match]]]


def expected_of(bound: BoundWorkload, events: Sequence[Event], decided_by: int | None = None) -> Expected:
    """The matches of every query, and of every member of a family."""
    streams = oracle.derive(bound.streams, events, decided_by)
    found: dict[str, tuple[Query, Sequence[Match]]] = {}
    for query in bound.detections:
        read = oracle.inputs(query, streams, events)
        found[query.name] = query, oracle.matches(query, read, decided_by)
    for family in bound.families:
        read = oracle.inputs(family.template, streams, events)
        for member, matches in oracle.family_matches(family, read, decided_by).items():
            found[member_name(family.template.name, member)] = family.template, matches
    return found


def undecided_of(bound: BoundWorkload, all_matches: Expected, decided: Expected) -> Counter[str]:
    """The number of undecided matches by query; those of a family's members are counted together."""
    family_of = {
        member_name(family.template.name, member): family.template.name
        for family in bound.families
        for member in family.members
    }
    counts: Counter[str] = Counter()
    for name, (_, matches) in all_matches.items():
        counts[family_of.get(name, name)] += len(matches) - len(decided[name][1])
    return +counts


def assert_found(found: Matches, expected: Expected, about: str) -> None:
    for name, (query, matches) in expected.items():
        assert_same_matches(matches_of(found[name], query), matches, about=f"{name} of {about}")


def pushed(plan: Plan, events: Sequence[Event], rng: Random) -> tuple[Engine, Matches]:
    """An engine that has taken all events in batches, and what it has reported so far."""
    engine = Engine(plan, undecided="drop")
    found = engine.nothing()
    for batch in in_batches(rng, to_table(sorted(events, key=lambda event: event.ts))):
        found.extend(engine.push(batch))
    return engine, found


def compare(sample: Sample, workload: Workload, plan: Plan, seed: int) -> int:
    """Compare what `keep`, `drop` and a stopped stream report with the oracle; the number of undecided matches."""
    bound, events, about = workload.bind(SCHEMA), sample.events, f"seed {seed}\n{sample}"
    last = max(event.ts for event in events)
    everything, decided = expected_of(bound, events), expected_of(bound, events, last)
    undecided = undecided_of(bound, everything, decided)

    table = to_table(events)
    # A stream that stops has run all events before its watermark: here all but one that no query reads.
    tick = Event(max(event.id for event in events) + 1, last + 1, "Tick", {})
    ticked = expected_of(bound, (*events, tick), last)
    patience = Random(seed)
    for way in WAYS:
        with loops(way, patience):
            kept, dropped = run(plan, table), run(plan, table, undecided="drop")
            assert_found(kept, everything, f"keep, {way}, {about}")
            assert_found(dropped, decided, f"drop, {way}, {about}")
            assert kept.undecided == dropped.undecided == undecided, about

            engine, found = pushed(plan, events, Random(seed))
            flushed = engine.flush()
            found.extend(flushed)
            assert_found(found, decided, f"batches, {way}, {about}")
            assert engine.undecided == flushed.undecided == found.undecided == undecided, about
            assert engine.counts.matches == len(found), about

            _, stopped = pushed(plan, (*events, tick), Random(seed))
            assert_found(stopped, ticked, f"stopped, {way}, {about}")
    return undecided.total()


def plan_of(workload: Workload, seed: int) -> Plan | None:
    """The plan by one of several optimizers; None where the workload is refused."""
    try:
        return optimize(workload, SCHEMA, OPTIMIZERS[seed % len(OPTIMIZERS)], budget=0.5)
    except QueryError as refused:
        if any(text in str(refused) for text in (*REFUSALS, "several kinds")):
            return None
        raise AssertionError(f"seed {seed}") from refused


PATTERNS = (
    "SEQ({0} a, NOT({1} n))",
    "SEQ({0} a, {2} b, NOT({1} n))",
    "SEQ({0} a, {2} b+, NOT({1} n))",
    "SEQ({0} a, NOT({1} n), {2} b?)",
    "AND({0} a, NOT({1} n), {2} b)",
    "OR(SEQ({0} a, NOT({1} n)), SEQ({0} a, {2} b))",
    "SEQ({0} a, {2} b)",
)
KEEPS = ("KEEP FIRST FOR 4 us", "KEEP APART", "KEEP APART PER a.k", "KEEP LONGEST", "LIMIT 1 PER 5 us")


def waiting(rng: Random, types: Sequence[str], *, events: bool) -> str:
    """A pattern that most often waits, with its window; with one in EVENTS where that is allowed."""
    names = [rng.choice(types) for _ in range(3)]
    where = rng.choice(("", "", "WHERE [k]", "WHERE n.x > a.x"))
    pattern = rng.choice(PATTERNS[:-1] if "n.x" in where else PATTERNS).format(*names)
    window = (
        f"{rng.choice((2, 3, 5))} EVENTS" if events and rng.random() < 0.3 else f"{rng.choice((2, 4, 9))} us"
    )
    return f"PATTERN {pattern} {where} WITHIN {window}"


def waiting_workload(rng: Random) -> Sample:
    """Queries that wait, with KEEP and without, and derived streams of what waits."""
    types = ["A", "B", "C"]
    texts = []
    if rng.random() < 0.6:
        texts.append(f"CREATE STREAM W AS {waiting(rng, types, events=True)} RETURN a.k AS k, a.x AS x;")
        types += ["W", "W", "W"]
    for number in range(rng.choice((1, 2, 3))):
        query = waiting(rng, types, events=True)
        keep = rng.choice(KEEPS) if rng.random() < 0.5 and "EVENTS" not in "".join(texts[:1]) else ""
        if "LONGEST" in keep and "EVENTS" in query:  # it needs a window of time
            keep = ""
        texts.append(f"QUERY q{number} {query} {keep};")
    return Sample("\n".join(texts), SCHEMA, random_events(rng, types[:3], rng.choice((6, 10, 14))))


DRAWN: Mapping[str, Callable[[Random], Sample]] = {
    "any queries": random_workload,
    "derived streams": random_streams,
    "waiting": waiting_workload,
}


def check(sample: Sample, seed: int) -> int:
    """Compare a workload with the oracle; the number of undecided matches, 0 where the workload is refused."""
    workload = sample.workload() if isinstance(sample, StreamSample) else Workload.parse(sample.text)
    plan = plan_of(workload, seed)
    return compare(sample, workload, plan, seed) if plan is not None and sample.events else 0


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
@pytest.mark.parametrize("kind", DRAWN)
def test_what_waits_at_the_end_is_undecided(start: int, kind: str) -> None:
    counts = [check(DRAWN[kind](Random(seed)), seed) for seed in range(start, start + CHUNK)]
    assert kind != "waiting" or sum(count > 0 for count in counts) >= CHUNK // 4


@pytest.mark.parametrize("keep", ["KEEP APART", "KEEP FIRST FOR 4 us", "LIMIT 1 PER 5 us"])
def test_keep_looks_at_decided_matches_first_where_a_query_over_a_stream_counts_events(keep: str) -> None:
    """{a: 0, b: 1} is decided at 4. {a: 0} and {a: 1} wait for positions that do not come, so they are dropped."""
    text = f"""CREATE STREAM W AS PATTERN SEQ(B a, B b) WITHIN 2 us RETURN a.k AS k;
    QUERY q PATTERN SEQ(A a, NOT(W n), A b?) WITHIN 3 EVENTS {keep};"""
    events = tuple(Event(number, ts, "A", {"k": 0}) for number, ts in enumerate((1, 4)))
    check(Sample(text, SCHEMA, events), 0)
    (match,) = matches_of_query(text, events)
    assert match.events == {"a": (0,), "b": (1,)}


@pytest.mark.parametrize("keep", ["KEEP FIRST FOR 4 us", "LIMIT 1 PER 5 us"])
def test_undecided_matches_are_in_the_usual_order_where_undecided_events_end_the_input(keep: str) -> None:
    """{a: 0} and {a: 0, b: 1} are undecided and `detected` at 11, where W has an undecided event: {a: 0} ends first."""
    text = f"""CREATE STREAM W AS PATTERN SEQ(B a, NOT(C n)) WITHIN 2 us RETURN a.k AS k;
    QUERY q PATTERN OR(SEQ(W a, NOT(C n)), SEQ(W a, W b)) WITHIN 5 EVENTS {keep};"""
    events = tuple(Event(number, ts, "B", {"k": 0}) for number, ts in enumerate((1, 9)))
    check(Sample(text, SCHEMA, events), 0)
    (match,) = matches_of_query(text, events)
    assert match.events == {"a.a": (0,)}


def matches_of_query(text: str, events: tuple[Event, ...]) -> Sequence[Match]:
    """Return what the oracle expects of query q with `keep`."""
    _, matches = expected_of(Workload.parse(text).bind(SCHEMA), events)["q"]
    return matches
