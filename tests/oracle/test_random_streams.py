"""The oracle of derived streams against second, plain implementations; relations that hold on drawn workloads."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, random_events
from tests.support.stream_strategies import StreamSample, random_streams, stream_samples

from stretto import oracle
from stretto.oracle.detections import Event, Match
from stretto.pattern.nodes import Query
from stretto.pattern.predicates import Value
from stretto.pattern.workload import BoundWorkload, Workload

SEEDS = range(40)


def found(bound: BoundWorkload, events: Sequence[Event]) -> dict[str, list[Match]]:
    """The matches of every query, and of every member of a family."""
    streams = oracle.derive(bound.streams, events)
    answers: dict[str, list[Match]] = {}
    for query in bound.queries:
        assert isinstance(query, Query)
        answers[query.name] = oracle.matches(query, oracle.inputs(query, streams, events))
    for family in bound.families:
        members = oracle.family_matches(family, oracle.inputs(family.template, streams, events))
        answers |= {f"{family.template.name}[{member}]": matches for member, matches in members.items()}
    return answers


@given(stream_samples())
@settings(max_examples=40, deadline=None)
def test_texts_and_json_give_back_what_was_drawn(sample: StreamSample) -> None:
    workload = Workload.parse(sample.text)
    assert Workload.parse(workload.to_text()) == workload
    assert Workload.from_json(json.loads(json.dumps(workload.to_json()))) == workload


@pytest.mark.parametrize("seed", SEEDS)
def test_neither_arrival_nor_other_streams_change_an_answer(seed: int) -> None:
    rng = Random(seed)
    sample = random_streams(rng)
    expected = found(sample.workload().bind(SCHEMA), sample.events)
    shuffled = rng.sample(sample.events, len(sample.events))
    more = sample.workload().add(
        "CREATE STREAM other AS SELECT k, SUM(x) AS x FROM A GROUP BY k WITHIN 2 us;"
    )
    answers = found(more.bind(SCHEMA), shuffled)
    assert list(answers) == list(expected)
    for name, matches in expected.items():
        assert_same_matches(answers[name], matches, f"{name}\n{sample}")


def test_what_is_drawn_is_worth_drawing() -> None:
    samples = [random_streams(Random(seed)) for seed in range(60)]
    bound = [sample.workload().bind(SCHEMA) for sample in samples]
    kinds = {type(stream).__name__ for one in bound for stream in one.streams}
    assert kinds == {"Selection", "WindowAggregate", "JoinStream", "PatternStream"}
    sizes = [
        sum(map(len, found(one, sample.events).values())) for one, sample in zip(bound, samples, strict=True)
    ]
    assert sum(size > 0 for size in sizes) >= 20
    assert any(query.having for one in bound for query in one.queries)
    assert any(one.families for one in bound)


# ---- second implementations --------------------------------------------------------------------------------


def plain_sums(events: Sequence[Event], window_us: int) -> dict[int, tuple[int, Value, Value]]:
    """By id: COUNT(*), SUM(x) and AVG(x) of the group of k in the window, from exact prefix sums over time."""
    answers = {}
    for key in {event.attributes["k"] for event in events} - {None}:
        group = sorted(
            (event for event in events if event.attributes["k"] == key), key=lambda event: event.ts
        )
        for event in group:
            inside = [one for one in group if event.ts - window_us < one.ts <= event.ts]
            values = [one.attributes["x"] for one in inside if one.attributes["x"] is not None]
            answers[event.id] = (len(inside), *_total(values))
    return answers


def _total(values: Sequence[float]) -> tuple[Value, Value]:
    odd = [value for value in values if not math.isfinite(value)]
    if not values:
        return None, None
    if odd:
        total = sum(odd)  # infinities of both signs, or a NaN, make NaN
    else:
        exact = sum(map(Fraction, values), Fraction(0))
        try:
            total = float(exact)
        except OverflowError:
            total = math.inf if exact > 0 else -math.inf
    return total, total / len(values)


@pytest.mark.parametrize("seed", SEEDS)
def test_aggregates_are_those_of_exact_fractions(seed: int) -> None:
    rng = Random(seed)
    large = (1e16, -1e16, 1.0, 0.1, 1e308, math.inf, math.nan, None)
    events = [
        replace(event, attributes={**event.attributes, "x": rng.choice(large[: rng.choice((4, 5, 8))])})
        for event in random_events(rng, ("A",), most=14)
        if event.type == "A"
    ]
    window = rng.choice((1, 3, 50))
    text = f"CREATE STREAM p AS SELECT COUNT(*) AS n, SUM(x) AS t, AVG(x) AS m FROM A GROUP BY k WITHIN {window} us;"
    made = oracle.derive(Workload.parse(text).bind(SCHEMA).streams, events)["p"]
    expected = plain_sums(events, window)
    assert sorted(event.id for event in made) == sorted(expected)
    for event in made:
        values = tuple(event.attributes.values())
        assert list(map(repr, values)) == list(map(repr, expected[event.id])), event


@pytest.mark.parametrize("seed", SEEDS)
def test_a_join_is_a_conjunction(seed: int) -> None:
    events = random_events(Random(seed), ("A", "B"), most=14)
    text = """CREATE STREAM h AS SELECT a.x, b.n FROM A a JOIN B b ON a.k = b.k AND a.x < b.x + 2 WITHIN 4 us;
    QUERY q PATTERN AND(A a, B b) WHERE a.k = b.k AND a.x < b.x + 2 WITHIN 4 us RETURN a.x AS x, b.n AS n;"""
    bound = Workload.parse(text).bind(SCHEMA)
    made = oracle.derive(bound.streams, events)["h"]
    matches = oracle.matches(bound.detections[0], events)
    as_matches = [
        Match(
            0, event.ts, event.ts, dict(event.leaves), {name: event.attributes[name] for name in ("x", "n")}
        )
        for event in made
    ]
    assert_same_matches(as_matches, [replace(match, start=0) for match in matches])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_selection_stream_finds_what_a_named_selection_does(seed: int) -> None:
    events = random_events(Random(seed), ("A", "B"), most=12)
    query = "QUERY q PATTERN SEQ(p a, NOT(B c), p b+) WHERE b[i].n >= b[i-1].n AND [k] WITHIN 8 us RETURN a.n AS n;"
    stream = Workload.parse(f"CREATE STREAM p AS SELECT k, n FROM A WHERE x > 0; {query}").bind(SCHEMA)
    event = Workload.parse(f"CREATE EVENT p AS SELECT * FROM A WHERE x > 0; {query}").bind(SCHEMA)
    assert_same_matches(found(stream, events)["q"], found(event, events)["q"])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_of_alternatives_has_the_events_of_each(seed: int) -> None:
    """What OR of a stream and its source gives is counted by hand: the events of both, whatever ids they have."""
    events = random_events(Random(seed), ("A", "B"), most=12)
    text = """CREATE STREAM m AS SELECT k, n, AVG(x) AS x FROM A GROUP BY k WITHIN 3 us;
    CREATE STREAM r AS PATTERN SEQ(OR(m p, A p), B q) WITHIN 4 us RETURN p.x AS x, q.n AS n;
    QUERY q PATTERN r v WITHIN 1 us RETURN v.x AS x;"""
    bound = Workload.parse(text).bind(SCHEMA)
    streams = oracle.derive(bound.streams, events)
    firsts = [*streams["m"], *(event for event in events if event.type == "A")]
    seconds = [event for event in events if event.type == "B"]
    pairs = [(p.id, q.id, repr(p.value("x"))) for p in firsts for q in seconds if 0 < q.ts - p.ts <= 4]
    matches = found(bound, events)["q"]
    listed = [(*one.events["v.p"], *one.events["v.q"], repr(one.returned["x"])) for one in matches]
    assert sorted(listed) == sorted(pairs)


def plain_rising_runs(events: Sequence[Event], window_us: int) -> set[tuple[int, ...]]:
    """Runs of D with equal k, rising in x, each taking every event of its k until one does not rise."""
    runs: set[tuple[int, ...]] = set()
    ordered = sorted((event for event in events if event.type == "D"), key=lambda event: (event.ts, event.id))
    for number, first in enumerate(ordered):
        if first.attributes["k"] is None:
            continue
        run = [first]
        runs.add((first.id,))
        for event in ordered[number + 1 :]:
            taken = event.ts > run[-1].ts and event.ts - first.ts <= window_us
            if not (taken and event.attributes["k"] == first.attributes["k"]):
                continue
            run.append(event)
            before, now = (one.attributes["x"] for one in run[-2:])
            if before is None or now is None or not now > before:
                break
            runs.add(tuple(one.id for one in run))
    return runs


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_that_end_are_those_of_a_plain_loop(seed: int) -> None:
    events = random_events(Random(seed), ("D",), most=16)
    text = "QUERY q PATTERN D d+ WHERE [k] HAVING d[i].x > d[i-1].x WITHIN 9 us SELECT NEXT;"
    runs = [match.events["d"] for match in found(Workload.parse(text).bind(SCHEMA), events)["q"]]
    assert len(runs) == len(set(runs))
    assert set(runs) == plain_rising_runs(events, 9)
    rising = {event.id: event.attributes["x"] for event in events}
    assert all(rising[b] > rising[a] for run in runs for a, b in pairwise(run))


@pytest.mark.parametrize("seed", SEEDS)
def test_having_only_takes_away(seed: int) -> None:
    """What a run with HAVING reports, the run without it reports too."""
    sample = random_streams(Random(seed), families=False)
    bound = sample.workload().bind(SCHEMA)
    streams = oracle.derive(bound.streams, sample.events)
    for query in bound.queries:
        assert isinstance(query, Query)
        read = oracle.inputs(query, streams, sample.events)
        wider = [match.events for match in oracle.matches(replace(query, having=()), read)]
        assert all(match.events in wider for match in oracle.matches(query, read))
