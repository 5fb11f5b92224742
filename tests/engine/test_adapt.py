"""Following the events: drift, planning anew, other plans and other queries in a running engine."""

from dataclasses import replace
from threading import Event
from threading import enumerate as enumerate_threads

import numpy as np
import pyarrow as pa
import pytest

from stretto import Engine, EngineError, Schema, Workload, optimize
from stretto.engine import run as run_module
from stretto.engine.adapt import AdaptOptions, DriftWatch
from stretto.engine.whole_table import run
from stretto.plan.dag import Estimate
from stretto.plan.ops import Scan
from stretto.schema import Special
from stretto.stats.profile import Stats

PAIRS = "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 us;"
MORE = "QUERY more PATTERN SEQ(B b, C c) WHERE b.y = c.y WITHIN 10 us;"


def events(ts, types, x=None, **others):
    n = len(ts)
    values = {"x": [0.5] * n if x is None else x, "y": [1] * n, **others}
    return pa.table({"ts": pa.array(ts, pa.timestamp("us")), "type": pa.array(list(types)), **values})


SCHEMA = Schema.of(events([0], "A").schema, set("ABCD"))


def plan_of(*texts, schema=SCHEMA):
    return optimize(Workload.parse("\n".join(texts)), schema, "none")


def pairs(*parts, query="q"):
    return sorted(tuple(row.values())[:2] for part in parts for row in part[query].to_pylist())


# ---- other queries -----------------------------------------------------------------------------------------


def test_queries_come_and_go():
    engine = Engine(plan_of(PAIRS), updatable=True)
    first = engine.push(events([1, 2, 3], "ABC", [0.1, 0.2, 0.3]))
    engine.update(Workload.parse(PAIRS + MORE))
    second = engine.push(events([4, 5], "BC", [0.9, 0.3]))
    engine.update(Workload.parse(MORE))
    third = engine.push(events([6, 7], "BC"))
    last = engine.flush()
    assert (pairs(first, second), pairs(second, third, last, query="more")) == (
        [(0, 1), (0, 3)],
        [
            (1, 2),
            (1, 4),
            (1, 6),
            (3, 4),
            (3, 6),
            (5, 6),
        ],  # the last time of a batch may still go on in the next
    )
    assert list(third.counts()) == ["more"]
    assert engine.counts.events == 7


def test_what_was_certain_before_a_query_came_is_not_reported():
    engine = Engine(plan_of(PAIRS), updatable=True)
    engine.push(events([1, 2, 3, 4], "BCBD"))
    engine.update(Workload.parse(PAIRS + MORE))
    assert pairs(engine.push(events([5], "C")), engine.flush(), query="more") == [(0, 4), (2, 4)]


def test_history_keeps_events_for_queries_to_come():
    long = MORE.replace("10 us", "1 s")
    for history, expected in ((0, [(2, 3)]), (1000, [(0, 3), (2, 3)])):
        engine = Engine(plan_of(PAIRS), updatable=True, history_us=history)
        for ts, kind in ((1, "B"), (100, "D"), (200, "B")):
            engine.push(events([ts], kind))
        engine.push(events([], ""))
        engine.update(Workload.parse(PAIRS + long))
        assert pairs(engine.push(events([300], "C")), engine.flush(), query="more") == expected


def test_a_query_that_reads_more_than_was_kept_is_refused():
    engine = Engine(plan_of(PAIRS))
    before = engine.push(events([1, 2, 3], "AAA", [0.1, 0.2, 0.3]))
    with pytest.raises(EngineError, match=r"no attribute `y`, no type `C`.*updatable=True"):
        engine.update(Workload.parse(PAIRS + MORE))
    after = engine.push(events([4], "B", [0.25]))
    assert pairs(before, after, engine.flush()) == [(0, 3), (1, 3)]


def test_queries_that_read_no_more_can_be_added_to_any_engine():
    engine = Engine(plan_of(PAIRS))
    engine.push(events([1, 2, 3], "BAB"))
    engine.update(Workload.parse(PAIRS + "QUERY back PATTERN SEQ(B b, A a) WITHIN 10 us;"))
    assert pairs(engine.push(events([4], "A")), engine.flush(), query="back") == [(0, 3), (2, 3)]


def test_attributes_that_no_query_reads_may_be_missing():
    engine = Engine(plan_of(PAIRS), updatable=True)
    engine.push(events([1, 2], "AB").drop_columns(["y"]))
    engine.update(Workload.parse(PAIRS + MORE))
    assert pairs(engine.push(events([3, 4, 5], "CBC")), engine.flush(), query="more") == [(3, 4)]


def test_types_that_no_query_read_are_kept_by_name():
    schema = Schema.of(events([0], "A").schema, None)
    engine = Engine(plan_of(PAIRS, schema=schema), updatable=True)
    engine.push(events([1, 2, 3, 4], "ZAYZ"))
    engine.update(Workload.parse(PAIRS + "QUERY z PATTERN SEQ(Z a, Y b, Z c) WITHIN 10 us;"))
    assert pairs(engine.push(events([5], "Z")), engine.flush(), query="z") == [(0, 2), (0, 2)]


def test_no_query_at_all_is_a_workload_too():
    engine = Engine(plan_of(PAIRS), updatable=True)
    engine.push(events([1, 2], "AB"))
    engine.update(Workload())
    assert len(engine.push(events([3, 4], "AB"))) == 0
    engine.update(Workload.parse(PAIRS))
    assert pairs(engine.push(events([5, 6], "AB", [0.1, 0.2])), engine.flush()) == [(4, 5)]


def test_a_switch_that_fails_leaves_the_engine_as_it_was():
    n = 900
    stream = events(np.arange(n), ["A", "B"] * (n // 2))
    wide = "QUERY q PATTERN AND(A a, B b, A c) WITHIN 1 SECOND;"
    engine = Engine(plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;"), memory_bytes=12 << 20)
    found = len(engine.push(stream.slice(0, 600)))
    with pytest.raises(EngineError, match="out of memory"):
        engine.update(Workload.parse(wide))
    found += len(engine.push(stream.slice(600))) + len(engine.flush())
    assert found == n // 2 * (n // 2 + 1) // 2


# ---- drift -------------------------------------------------------------------------------------------------


def stream(n, shares, seed=0, start=0):
    rng = np.random.default_rng(seed)
    ts = start + np.cumsum(rng.integers(1, 20, n))
    return events(ts, rng.choice(list("ABC"), n, p=shares), rng.random(n))


TRIPLES = "QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 100 us;"


def drifts(parts, options):
    """In which of the batches the engine planned anew."""
    engine = Engine(plan_of(TRIPLES), adapt=options)
    found = []
    for number, part in enumerate(parts):
        before = len(engine.adaptations)
        engine.push(part)
        found += [number] * (len(engine.adaptations) - before)
    return found


def test_events_that_stay_as_they_are_are_planned_for_once():
    parts = [stream(4000, [0.2, 0.3, 0.5], seed, seed * 80_000) for seed in range(12)]
    assert drifts(parts, AdaptOptions(every=8000, background=False)) == [2]


def test_other_rates_are_noticed():
    shares = [[0.2, 0.3, 0.5]] * 8 + [[0.5, 0.3, 0.2]] * 8
    parts = [stream(4000, share, seed, seed * 80_000) for seed, share in enumerate(shares)]
    assert drifts(parts, AdaptOptions(every=8000, background=False)) == [2, 10]


def test_other_selectivities_are_noticed():
    def falling(seed):
        part = stream(4000, [0.2, 0.3, 0.5], seed, seed * 80_000)
        a = np.asarray(part["type"]) == "A"
        return part.set_column(
            2, "x", pa.array(np.where(a, 0.01, part["x"]) if seed < 8 else np.where(a, 0.9, part["x"]))
        )

    assert drifts([falling(seed) for seed in range(16)], AdaptOptions(every=8000, background=False))[:2] == [
        2,
        10,
    ]


def test_planning_anew_changes_no_result(monkeypatch):
    """Whatever plan the optimizer gives: here one with its operators moved, as no other optimizer is needed."""
    calls = []

    def other(workload, stats, optimizer, budget):
        calls.append((stats.rates["A"], optimizer, budget))
        text = workload.to_text().replace("SEQ(A a, B b, C c)", "AND(C c, B b, A a)")
        text = (
            text.replace("a.x < b.x", "a.x < b.x AND a.ts < b.ts AND b.ts < c.ts")
            if len(calls) % 2
            else workload.to_text()
        )
        return optimize(Workload.parse(text), SCHEMA)

    monkeypatch.setattr(run_module, "optimize", other)
    shares = ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2]) * 2
    parts = [stream(8000, share, seed, seed * 90_000) for seed, share in enumerate(shares)]
    whole = pa.concat_tables(parts).combine_chunks()
    plan = plan_of(TRIPLES)
    expected = pairs(run(plan, whole))
    found = []
    engine = Engine(plan, adapt=AdaptOptions(every=2000, budget=0.5, background=False))
    for part in whole.to_batches(2000):
        found += [(row["a"], row["b"]) for row in engine.push(part)["q"].to_pylist()]
    found += [(row["a"], row["b"]) for row in engine.flush()["q"].to_pylist()]
    assert sum(adaptation.switched for adaptation in engine.adaptations) > 1
    assert sorted(found) == expected
    assert calls[0][1:] == ("none", 0.5)
    assert 10_000 < calls[0][0] < 40_000  # a fifth of the events, ten microseconds apart


# ---- explosions --------------------------------------------------------------------------------------------

CHAIN = """QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 500 us;
QUERY r PATTERN SEQ(A a, D d, C c) WHERE a.x < d.x AND d.x < c.x WITHIN 500 us;"""
BEFORE, AFTER = [0.03, 0.30, 0.30, 0.37], [0.30, 0.30, 0.03, 0.37]  # A comes ten times as often, C a tenth


def part_of(n, shares, seed, start=0):
    rng = np.random.default_rng(seed)
    ts = start + np.cumsum(rng.integers(1, 20, n))
    return events(ts, rng.choice(list("ABCD"), n, p=shares), rng.random(n))


def examined_behind(engine, first, rest):
    """Candidates in the second part of some events."""
    for batch in first.to_batches(1000):
        engine.push(batch)
    before, changes = sum(engine.counters.candidates), len(engine.adaptations)
    for batch in rest.to_batches(1000):
        engine.push(batch)
    engine.flush()
    assert len(engine.adaptations) == changes
    return sum(engine.counters.candidates) - before


def test_after_a_tenth_of_a_change_the_plan_is_as_good_as_one_made_for_it():
    workload = Workload.parse(CHAIN)
    old, new = part_of(20_000, BEFORE, 1), part_of(60_000, AFTER, 2, 400_000)
    tenth, rest = new.slice(0, 6_000), new.slice(6_000)
    plan = optimize(workload, Stats.of(old, workload=workload))
    # Looks are so far apart that the change of rates alone would be noticed too late.
    options = AdaptOptions(every=40_000, background=False)
    engine = Engine(plan, adapt=options)
    found = examined_behind(engine, pa.concat_tables([old, tenth]), rest)
    assert [adaptation.switched for adaptation in engine.adaptations] == [True]
    made_for_it = optimize(workload, Stats.of(new, workload=workload))
    wanted = examined_behind(Engine(made_for_it), tenth, rest)
    stayed = examined_behind(Engine(plan), tenth, rest)
    assert found <= 1.2 * wanted
    assert stayed > 1.5 * wanted  # else there was nothing to adapt to


def test_events_are_run_while_a_plan_is_made(monkeypatch):
    """The plan is held back for some batches; what is found is the same as without it."""
    release = Event()

    def held(workload, stats, optimizer, budget):
        release.wait(60)
        return optimize(workload, stats, optimizer, budget)

    monkeypatch.setattr(run_module, "optimize", held)
    workload = Workload.parse(CHAIN)
    whole = pa.concat_tables([part_of(8000, BEFORE, 1), part_of(16_000, AFTER, 2, 200_000)]).combine_chunks()
    plan = optimize(workload, Stats.of(whole.slice(0, 8000), workload=workload))
    engine, found = Engine(plan, adapt=AdaptOptions(every=4000)), 0
    batches = whole.to_batches(1000)
    for batch in batches[:20]:
        found += len(engine.push(batch))
    assert engine.adaptations == []
    release.set()
    for thread in enumerate_threads():
        if thread.name == "planner":
            thread.join(60)
    for batch in batches[20:]:
        found += len(engine.push(batch))
    found += len(engine.flush())
    assert engine.adaptations[0].events == 21_000
    assert engine.adaptations[0].switched
    assert found == len(run(plan, whole))


def test_rates_that_stay_as_they_are_call_for_no_second_plan(monkeypatch):
    """The plan comes long after the events were measured: what happened before it is no part of its counts."""
    release = Event()
    monkeypatch.setattr(run_module, "optimize", lambda *given: (release.wait(60), optimize(*given))[1])
    workload = Workload.parse(CHAIN)
    whole = pa.concat_tables([part_of(8000, BEFORE, 1), part_of(40_000, AFTER, 2, 200_000)]).combine_chunks()
    plan = optimize(workload, Stats.of(whole.slice(0, 8000), workload=workload))
    engine = Engine(plan, adapt=AdaptOptions(every=4000))
    for number, batch in enumerate(whole.to_batches(1000)):
        engine.push(batch)
        if number == 22:  # the look after this one would be due soon
            release.set()
            for thread in enumerate_threads():
                if thread.name == "planner":
                    thread.join(60)
    engine.flush()
    assert [adaptation.switched for adaptation in engine.adaptations] == [True]
    assert engine._planner is None


def test_a_plan_for_queries_that_have_gone_is_not_taken(monkeypatch):
    release = Event()
    monkeypatch.setattr(run_module, "optimize", lambda *given: (release.wait(60), optimize(*given))[1])
    engine = Engine(plan_of(TRIPLES), adapt=AdaptOptions(every=1000), updatable=True)
    for seed in range(4):
        engine.push(stream(1000, [0.2, 0.3, 0.5], seed, seed * 20_000))
    release.set()
    engine.update(Workload.parse(PAIRS))
    for thread in enumerate_threads():
        if thread.name == "planner":
            thread.join(60)
    engine.push(stream(10, [0.2, 0.3, 0.5], 9, 90_000))
    assert {op.stream.type for op in engine.plan.ops if isinstance(op, Scan)} == {"A", "B"}
    assert engine.adaptations == []


def test_what_goes_wrong_while_planning_is_raised(monkeypatch):
    def fails(*_):
        raise EngineError("no plan")

    monkeypatch.setattr(run_module, "optimize", fails)
    engine = Engine(plan_of(TRIPLES), adapt=AdaptOptions(every=1000, background=False))
    engine.push(stream(1000, [0.2, 0.3, 0.5], 0))
    with pytest.raises(EngineError, match="no plan"):
        engine.push(stream(1000, [0.2, 0.3, 0.5], 1, 20_000))


def test_without_a_workload_nothing_can_be_planned_anew():
    plan = plan_of(PAIRS)
    with pytest.raises(EngineError, match="needs the workload"):
        Engine(replace(plan, workload=None), adapt=True)


def test_statistics_are_those_of_the_last_sound_events():
    watch = DriftWatch(AdaptOptions(sample=100), Special())
    for start in range(0, 1000, 60):
        watch.take(events(np.arange(start, start + 60), "AB" * 30).to_batches()[0], ("ts", "type", "x"))
    bad = pa.table({"ts": pa.array([None, 2], pa.timestamp("us")), "type": ["A", None], "x": [0.0, 0.0]})
    watch.take(bad.to_batches()[0], ("ts", "type", "x"))
    stats = watch.stats(SCHEMA)
    assert stats.schema == SCHEMA
    assert stats.rates["A"] == pytest.approx(stats.rates["B"], rel=0.05)
    assert stats.rates["C"] > 0


def test_statistics_begin_anew_with_other_columns():
    watch = DriftWatch(AdaptOptions(), Special())
    assert watch.stats(SCHEMA) is None
    watch.take(events([1, 2], "AB").to_batches()[0], ("ts", "type", "x"))
    watch.take(events([3, 4], "CC").drop_columns(["x"]).to_batches()[0], ("ts", "type", "x"))
    stats = watch.stats(SCHEMA)
    assert stats.events == 2
    assert stats.rates["C"] > stats.rates["A"]


def test_the_estimate_of_a_plan_says_what_it_was_made_for():
    plan = plan_of(TRIPLES)
    for rate, expected in ((20_000.0, [4]), (10_000.0, [])):
        shares = {"A": rate, "B": 15_000.0, "C": 25_000.0}
        records = tuple(
            replace(record, rows=shares[op.stream.type] if isinstance(op, Scan) else None)
            for op, record in zip(plan.ops, plan.records, strict=True)
        )
        known = replace(plan, records=records, estimate=Estimate(1.0, 1.0, None, 0.0))
        engine = Engine(known, adapt=AdaptOptions(every=8000, background=False))
        for seed in range(6):
            engine.push(stream(4000, [0.2, 0.3, 0.5], seed, seed * 80_000))
        assert [a.events // 4000 - 1 for a in engine.adaptations] == expected
