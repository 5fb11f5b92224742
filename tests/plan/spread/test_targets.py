"""Spreads: whatever goes to which target, together they report what the oracle finds, each match once.

STRETTO_WORKLOADS says how many random workloads are tried; a failure names the seed of its workload.
"""

import os
import re
from itertools import product
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of
from tests.support.loops import WAYS, loops
from tests.support.random_events import SCHEMA, in_batches, random_events, to_table
from tests.support.strategies import Sample, random_workload, with_ties
from tests.support.variations import sharing_workload

from stretto import oracle
from stretto.errors import QueryError, StrettoError
from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.choice import busiest, choose, describe
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.partition_keys import key_attributes, tying_attributes
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import ByKey, ByTime, Spread, Whole, read_attributes, times_of
from stretto.plan.spread.time_slices import Times, stretches_of
from stretto.schema import Kind, Schema, Special
from stretto.spark.batch.worker import Aside, Share, Work
from stretto.spark.batch.worker import matches_of as found_by_target

WORKLOADS = int(os.environ.get("STRETTO_WORKLOADS", "80"))
CHUNK = 40
SEED = 20260101
SPECIAL = Special()


def planned(sample: Sample, optimizer: str = "none") -> Plan | None:
    """The plan of a workload; None where it is refused."""
    try:
        return optimize(Workload.parse(sample.text), sample.schema, optimizer, 0.2)
    except QueryError:
        return None


def spread_out(plan: Plan, spread: Spread, table: pa.Table, rng: Random) -> dict[str, list]:
    """What all targets report together."""
    assert spread.check(plan) is None
    parts: dict[int, list[pa.RecordBatch]] = {}
    for batch in in_batches(rng, table):
        for target, part in spread.parts(batch, SPECIAL):
            assert part.num_rows
            parts.setdefault(target, []).append(part)
    work = Work(plan, SPECIAL)
    queries = plan.workload.bind(plan.schema).detections
    found = {query.name: [] for query in queries}
    for target, batches in parts.items():
        for matches in found_by_target(
            work, [pa.Table.from_batches(batches)], Share.of(spread, target), Aside()
        ):
            for query in queries:
                found[query.name] += matches_of(matches[query.name], query)
    return found


def check(sample: Sample, plan: Plan, spreads: list[Spread], rng: Random) -> int:
    """Compare every spread with the oracle; the number of matches."""
    queries = plan.workload.bind(plan.schema).detections
    expected = {query.name: oracle.matches(query, sample.events) for query in queries}
    for spread, way in product(spreads, WAYS):
        with loops(way, rng):
            found = spread_out(plan, spread, to_table(sample.events), rng)
        for query in queries:
            about = f"{query.name} by {spread}, {way}\n{sample}"
            assert_same_matches(found[query.name], expected[query.name], about=about)
    return sum(map(len, expected.values()))


def times_of_events(sample: Sample, size: int) -> Times:
    return Times.of(stretches_of(np.array([event.ts for event in sample.events], np.int64), size))


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_slices_of_time_find_what_the_oracle_finds(start: int) -> None:
    total = 0
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        sample = random_workload(rng) if seed % 4 else sharing_workload(rng)
        plan = planned(sample, "none" if seed % 3 else "auto")
        if plan is not None:
            times = times_of_events(sample, rng.choice((1, 2, 5)))
            spreads = [Whole(), ByTime.of(plan, times, 2), ByTime.of(plan, times, 200)]
            total += check(sample, plan, spreads, rng)
    assert total > 0


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 6, CHUNK))
def test_events_of_one_time_stand_in_the_order_of_their_ids(start: int) -> None:
    total = 0
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        sample = with_ties(rng, random_workload(rng))
        plan = planned(sample)
        if plan is not None:
            times = times_of_events(sample, rng.choice((1, 5)))
            total += check(sample, plan, [Whole(), ByTime.of(plan, times, 200)], rng)
        sample = keyed(sample)
        plan = planned(sample)
        if plan is not None:
            total += check(sample, plan, [ByKey(("k",), 2)], rng)
    assert total > 0


def keyed(sample: Sample) -> Sample:
    """The same queries, each with `[k]`, and no window in EVENTS."""
    statements = []
    for statement in re.split(r"(?<=;)\n", sample.text):
        if statement.startswith("QUERY"):
            found = re.sub(r"(WITHIN \d+) EVENTS", r"\1 us", statement)
            known = "WHERE " in found
            statement = found.replace("WHERE ", "WHERE [k] AND ") if known else found[:-1] + " WHERE [k];"  # noqa: PLW2901
        statements.append(statement)
    return Sample("\n".join(statements), sample.schema, sample.events)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS // 2, CHUNK))
def test_buckets_of_keys_find_what_the_oracle_finds(start: int) -> None:
    total = 0
    for seed in range(start, start + CHUNK):
        rng = Random(seed)
        sample = keyed(random_workload(rng) if seed % 4 else sharing_workload(rng))
        plan = planned(sample)
        if plan is not None:
            attributes = tying_attributes(plan)
            assert "k" in attributes
            spreads = [ByKey(("k",), 2), ByKey(attributes, 7)]
            total += check(sample, plan, spreads, rng)
    assert total > 0


def test_a_key_is_found_by_random_workloads_or_not_but_never_wrongly() -> None:
    tried = 0
    for seed in range(SEED, SEED + 4 * WORKLOADS):
        rng = Random(seed)
        sample = random_workload(rng)
        plan = planned(sample) if "k" in sample.text else None
        attributes = tying_attributes(plan) if plan is not None else ()
        if attributes:
            tried += 1
            check(sample, plan, [ByKey(attributes, 3)], rng)
    assert tried > 5


# ---- ties ------------------------------------------------------------------------------------------------------


def plan_of(text: str) -> Plan:
    return optimize(Workload.parse(text), SCHEMA, "none")


@pytest.mark.parametrize(
    ("pattern", "attributes"),
    [
        ("SEQ(A a, B b) WHERE [k]", {"k"}),
        ("SEQ(A a, B b) WHERE [k] AND [s]", {"k", "s"}),
        ("SEQ(A a, B b, C c) WHERE a.k = b.k AND c.k = b.k", {"k"}),
        ("SEQ(A a, B b, C c) WHERE a.k = b.k AND c.n = b.n", set()),
        ("SEQ(A a, B b+, C c) WHERE a.k = b.k AND c.k = b.k", {"k"}),
        ("SEQ(A a, B b+) WHERE b[i].k = b[i-1].k AND a.k = LAST(b).k", set()),
        ("SEQ(A a, NOT(B b), C c) WHERE a.k = c.k", set()),
        ("SEQ(A a, NOT(B b), C c) WHERE a.k = c.k AND b.k = a.k", {"k"}),
        ("SEQ(A a, NOT(B b)) WHERE a.k = b.k", {"k"}),
        ("SEQ(A a, NOT(B b))", set()),
        ("OR(SEQ(A a, B b), SEQ(C c, D d)) WHERE a.k = b.k", set()),
        ("OR(SEQ(A a, B b), SEQ(C c, D d)) WHERE a.k = b.k AND c.k = d.k", {"k"}),
        ("SEQ(A a, B b)+ WHERE a.k = b.k", set()),
        ("SEQ(C c, SEQ(A a, B b)+) WHERE a.k = c.k AND c.k = b.k", {"k"}),
        ("SEQ(C c, SEQ(A a, B b)+) WHERE a.k = c.k AND a.k = b.k", set()),
        ("A a", set(SCHEMA.attributes)),
        ("A a+", set()),
    ],
)
def test_attributes_that_tie(pattern: str, attributes: set[str]) -> None:
    plan = plan_of(f"QUERY q PATTERN {pattern} WITHIN 5 us;")
    assert set(tying_attributes(plan)) == attributes


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("WHERE [k] WITHIN 5 EVENTS", "window in EVENTS"),
        ("WHERE a.k = b.k WITHIN 5 us SELECT STRICT", "STRICT over the events of all keys"),
        ("WHERE [s] WITHIN 5 us SELECT STRICT", "STRICT over the events of all keys"),
        ("WHERE a.k = b.k WITHIN 5 us SELECT NEXT", "takes the next event of any key"),
        ("WITHIN 5 us", "does not tie all of its events by `k`"),
    ],
)
def test_a_key_that_does_not_tie_is_refused_with_the_reason(rest: str, reason: str) -> None:
    plan = plan_of(f"QUERY q PATTERN SEQ(A a, B b) {rest};")
    assert reason in ByKey(("k",), 2).check(plan)
    if not tying_attributes(plan):
        with pytest.raises(StrettoError, match="cannot spread by key: query `q` "):
            choose(plan, EventLoad(Times.of([(0, 100, 1000)])), 2, "key")


ONE = "QUERY one PATTERN A a WHERE a.x > 0 WITHIN 5 us;"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (ONE, ()),
        ("QUERY q PATTERN OR(A a, B b) WITHIN 5 us;", ()),
        ("QUERY q PATTERN A a WHERE [k] WITHIN 5 us;", ("k",)),
        (f"{ONE} QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 us;", ("k",)),
        (f"{ONE} QUERY q PATTERN SEQ(A a, NOT(B b)) WHERE a.s = b.s WITHIN 5 us;", ("s",)),
        (f"{ONE} QUERY q PATTERN A a+ WITHIN 5 us GROUP BY k RETURN COUNT(*);", ("k",)),
        (f"{ONE} QUERY q PATTERN SEQ(A a, B b) WITHIN 5 us;", ()),
    ],
)
def test_a_key_is_named_by_a_query(text: str, key: tuple[str, ...]) -> None:
    assert key_attributes(plan_of(text)) == key


def test_single_events_go_by_their_ids_if_by_key_is_asked_for() -> None:
    text = f"{ONE} QUERY few PATTERN OR(A a, B b) WITHIN 3 EVENTS;"
    plan, load = plan_of(text), EventLoad(Times.of([(0, 10**9, 10**8)]))
    spread = choose(plan, load, 2, "key")
    assert spread == ByKey((), spread.targets)
    assert "by key (id)" in describe(spread, load)
    assert isinstance(choose(plan_of(ONE), load, 2), ByTime)
    rng = Random(5)
    assert check(Sample(text, SCHEMA, random_events(rng, most=40)), plan, [spread, ByKey((), 3)], rng) > 10
    assert "no attribute ties" in ByKey((), 3).check(plan_of("QUERY q PATTERN A a+ WITHIN 5 us;"))


def test_what_a_key_reads_is_read() -> None:
    plan = plan_of(ONE)
    assert read_attributes(plan, ByKey(("k", "s"), 2)) == {"k", "s", "x"}
    assert read_attributes(plan, Whole()) == {"x"}


def test_strict_within_the_key_is_tied() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 us SELECT STRICT;")
    assert ByKey(("k",), 2).check(plan) is None


def test_unknown_attributes_and_plans_without_a_workload() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 us;")
    assert "no attribute `none`" in ByKey(("none",), 2).check(plan)
    bare = Plan(plan.ops, plan.queries, plan.records, plan.schema, plan.optimizer)
    assert "does not hold the workload" in ByKey(("k",), 2).check(bare)
    assert ByKey((), 2).check(plan) is not None


# ---- reach and slices --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "reach"),
    [
        ("SEQ(A a, B b) WITHIN 7 us", MatchReach(0, 7, 0, 0)),
        ("SEQ(A a, B b, NOT(C c)) WITHIN 7 us", MatchReach(0, 7, 0, 0)),
        ("SEQ(NOT(C c), A a, B b) WITHIN 7 us", MatchReach(7, 7, 0, 0)),
        ("SEQ(A a, NOT(C c), B b) WITHIN 7 us", MatchReach(0, 7, 0, 0)),
        ("SEQ(NOT(C c), A a) WITHIN 7 EVENTS", MatchReach(0, 0, 7, 7)),
        ("SEQ(A a, NOT(C c), B b) WITHIN 7 us SELECT NEXT", MatchReach(7, 7, 0, 0)),
    ],
)
def test_how_far_matches_reach(query: str, reach: MatchReach) -> None:
    assert MatchReach.of(plan_of(f"QUERY q PATTERN {query};")) == reach


def test_slices_that_overlap_too_little_are_refused() -> None:
    short = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 7 us;")
    long = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 70 us;")
    spread = ByTime.of(short, Times.of([(0, 1000, 1000)]), 4)
    assert spread.check(short) is None
    assert "less than the longest window" in spread.check(long)


def test_an_event_goes_to_every_slice_that_sees_it() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 us;")
    spread = ByTime.of(plan, Times.of([(0, 99, 100)]), 4)
    assert [part.low for part in spread.slices[1:]] == [25, 50, 75]
    batch = pa.record_batch({"ts": pa.array(range(100), pa.timestamp("us"))})
    seen = {
        target: part.column("ts").cast(pa.int64()).to_pylist()
        for target, part in spread.parts(batch, SPECIAL)
    }
    assert seen[0] == list(range(35))
    assert seen[1] == list(range(25, 60))
    assert seen[3] == list(range(75, 100))


def test_events_without_a_time_go_to_the_first_slice() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 us;")
    spread = ByTime.of(plan, Times.of([(0, 99, 100)]), 4)
    batch = pa.record_batch({"ts": pa.array([80, None, 60], pa.timestamp("us")), "n": [1, 2, 3]})
    seen = {target: part.column("n").to_pylist() for target, part in spread.parts(batch, SPECIAL)}
    assert seen == {0: [2], 2: [1, 3], 3: [1]}
    nothing = pa.record_batch({"ts": pa.array([None], pa.timestamp("us"))})
    assert [target for target, _ in spread.parts(nothing, SPECIAL)] == [0]
    assert spread.parts(batch.slice(0, 0), SPECIAL) == []


def test_times_of_every_type() -> None:
    expected = [0, 86_400_000_000]
    for column in (
        pa.array(expected, pa.timestamp("us")),
        pa.array(expected, pa.timestamp("us", "UTC")),
        pa.array(expected, pa.int64()),
        pa.array([0, 1], pa.date32()),
        pa.array([0, 86_400_000_000_000], pa.timestamp("ns")),
    ):
        ts, timeless = times_of(pa.record_batch({"ts": column}), SPECIAL)
        assert ts.tolist() == expected
        assert timeless is None


# ---- choosing ----------------------------------------------------------------------------------------------------


def test_small_inputs_are_not_spread() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 us;")
    assert choose(plan, EventLoad(Times.of([(0, 10**9, 1000)])), 2) == Whole()


def test_large_files_are_cut_by_time_and_long_windows_spread_by_key() -> None:
    short = plan_of("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 us;")
    load = EventLoad(Times.of([(0, 10**9, 10**8)]), in_place=True)
    spread = choose(short, load, 4)
    assert isinstance(spread, ByTime)
    assert spread.loads(load).max() <= 1 << 22
    assert "replication 1," in describe(spread, load)
    long = plan_of(f"QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN {10**9} us;")
    assert isinstance(choose(long, load, 4), ByKey)
    assert "by key (k)" in describe(choose(long, load, 4), load)


def test_one_heavy_key_is_no_way_to_spread() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 us;")
    load = EventLoad(Times.of([(0, 10**9, 10**8)]), {"k": 0.9})
    assert isinstance(choose(plan, load, 8), ByTime)
    assert "skew" in describe(ByKey(("k",), 64), load)


def test_windows_of_events_are_cut_only_where_all_events_are_known() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 EVENTS;")
    times = Times.of([(i, i, 1000) for i in range(100_000)])
    assert isinstance(choose(plan, EventLoad(times), 4), ByTime)
    assert choose(plan, EventLoad(times, exact=False), 4, "time") == Whole()


def test_names_of_spreads() -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 us;")
    load = EventLoad(Times.of([(0, 1000, 1000)]))
    assert choose(plan, load, 2, "whole") == Whole()
    assert isinstance(choose(plan, load, 2, "key"), ByKey)
    assert isinstance(choose(plan, load, 2, "time"), ByTime)
    assert choose(plan, load, 3, "units") == ByCell.of(plan, (("A", 3),))
    assert choose(plan, load, 3, "units", 5).targets == 5
    assert "by units (A in 5), 5 cells" in describe(choose(plan, load, 3, "units", 5), load)
    with pytest.raises(StrettoError, match="a number of units is for spread `units`"):
        choose(plan, load, 2, "key", 5)
    with pytest.raises(StrettoError, match="unknown spread `moon`"):
        choose(plan, load, 2, "moon")
    nothing = EventLoad(Times.of([]))
    assert choose(plan, nothing, 2) == Whole()
    assert choose(plan, nothing, 2, "time").targets == 1
    assert "whole" in describe(Whole(), nothing)


def test_the_busiest_core() -> None:
    assert busiest(np.array([5.0, 4.0, 3.0, 3.0, 3.0]), 2) == 10.0
    assert busiest(np.array([1.0]), 4) == 1.0


def test_kinds_of_keys_have_a_place() -> None:
    schema = Schema(dict.fromkeys("ab", Kind.STRING))
    plan = optimize(
        Workload.parse("QUERY q PATTERN SEQ(A a, B b) WHERE [a] AND [b] WITHIN 5 us;"), schema, "none"
    )
    assert tying_attributes(plan) == ("a", "b")


def test_ids_that_come_again_are_counted_by_one_target() -> None:
    """Slices overlap, so that several targets see the same events."""
    plan = optimize(Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 9 us;"), SCHEMA, "none")
    events = [Event(i // 2, i, "AB"[i % 2], {}) for i in range(40)]
    sample = Sample("", SCHEMA, tuple(events))
    for spread in (Whole(), ByTime.of(plan, times_of_events(sample, 2), 5)):
        asides: dict[int, Aside] = {}
        for target, part in spread.parts(to_table(events).to_batches()[0], SPECIAL):
            aside = asides.setdefault(target, Aside())
            work = Work(plan, SPECIAL)
            list(found_by_target(work, [pa.Table.from_batches([part])], Share.of(spread, target), aside))
        assert sum(aside.repeated for aside in asides.values()) == 20
    assert len(asides) > 1
