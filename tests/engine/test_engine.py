"""The engine as a whole: lateness, bad events, snapshots, memory; what it finds is the oracle's business."""

import json

import numpy as np
import pyarrow as pa
import pytest

from stretto import Engine, EngineError, Schema, Workload, optimize, run
from stretto.engine import run as run_module
from stretto.engine.snapshot import Snapshot, from_ipc, to_ipc

PAIRS = "QUERY q PATTERN SEQ(A a, B b) WHERE a.s = b.s WITHIN 10 us RETURN a.s AS s;"


def table(*events, **extra):
    """Events as (ts, type, s)."""
    ts, types, texts = zip(*events, strict=True)
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us")),
            "type": pa.array(types),
            "s": pa.array(texts, pa.string()),
            **extra,
        }
    )


def plan_of(text, events):
    return optimize(Workload.parse(text), Schema.of(events.schema, {"A", "B", "C", "D"}), "none")


def found(*parts, query="q"):
    return sorted((row["a"], row["b"]) for part in parts for row in part[query].to_pylist())


EVENTS = table((1, "A", "x"), (2, "B", "x"), (3, "A", "y"), (4, "B", "x"), (20, "B", "y"))


def test_run_takes_any_order_of_rows():
    plan = plan_of(PAIRS, EVENTS)
    assert found(run(plan, EVENTS)) == [(0, 1), (0, 3)]
    assert found(run(plan, EVENTS.take([4, 3, 2, 1, 0]))) == [(4, 1), (4, 3)]
    assert found(run(plan, EVENTS.to_batches(2))) == [(0, 1), (0, 3)]


def test_an_event_that_is_too_far_ahead_makes_no_other_late():
    events = table((1, "A", "x"), (2, "A", "x"), (10**9, "B", "x"), (3, "B", "x"))
    for latest, pairs, late, reasons in (
        (None, [], 1, []),
        (10**6, [(0, 3), (1, 3)], 0, ["ts is too far ahead"]),
    ):
        engine = Engine(plan_of(PAIRS, events))
        pushed = engine.push(events) if latest is None else engine.push(events, latest_us=latest)
        assert found(pushed, engine.flush()) == pairs
        assert (engine.counts.late, engine.counts.rejected) == (late, len(reasons))
        assert [batch["reason"][0].as_py() for batch in engine.take_rejected()] == reasons


def test_late_events_are_counted_and_kept():
    engine = Engine(plan_of(PAIRS, EVENTS), lateness_us=2)
    parts = [engine.push(EVENTS.take([0, 3, 1])), engine.push(EVENTS.take([0])), engine.flush()]
    assert found(*parts) == [(0, 1), (0, 2)]
    assert (engine.counts.events, engine.counts.late, engine.counts.matches) == (4, 1, 2)
    (late,) = engine.take_late()
    assert late.to_pylist() == EVENTS.take([0]).to_pylist()
    assert engine.take_late() == []


def test_bad_events_are_rejected_with_the_reason():
    events = table((1, "A", "x"), (None, "B", "x"), (2, None, "x"), (3, "B", "x"))
    engine = Engine(plan_of(PAIRS, events))
    assert found(engine.push(events), engine.flush()) == [(0, 3)]
    rejected = [row["reason"] for batch in engine.take_rejected() for row in batch.to_pylist()]
    assert rejected == ["ts is null", "type is null"]
    assert engine.counts.rejected == 2


def test_a_snapshot_goes_through_bytes():
    plan = plan_of(PAIRS, EVENTS)
    engine = Engine(plan, lateness_us=1)
    before = engine.push(EVENTS.slice(0, 3))
    files = engine.snapshot().to_bytes()
    other = Engine.restore(plan, Snapshot.from_bytes(files))
    assert other.counts == engine.counts
    rest = EVENTS.slice(3)
    for each in (engine, other):
        assert found(before, each.push(rest), each.flush()) == [(0, 1), (0, 3)]


def test_a_snapshot_only_adds_and_drops_chunks():
    plan = plan_of(PAIRS, EVENTS)
    engine = Engine(plan)
    seen: dict[str, bytes] = {}
    for at in range(0, 200, 4):
        engine.push(table(*((at + i, "AB"[i % 2], "x") for i in range(4))))
        files = engine.snapshot().to_bytes()
        chunks = {name: data for name, data in files.items() if name.startswith("events-")}
        assert all(seen.get(name, data) == data for name, data in chunks.items())
        assert len(chunks) <= 6
        seen |= chunks
    assert len(seen) > 40


@pytest.mark.parametrize("damage", [lambda f: f.pop("header"), lambda f: f.update(header=b'{"version": 9}')])
def test_a_damaged_snapshot_is_refused(damage):
    engine = Engine(plan_of(PAIRS, EVENTS))
    engine.push(EVENTS)
    files = engine.snapshot().to_bytes()
    damage(files)
    with pytest.raises(EngineError, match="snapshot"):
        Snapshot.from_bytes(files)


def test_the_memory_bound_names_the_operator_and_its_queries():
    n = 4000
    events = pa.table(
        {"ts": pa.array(np.arange(n), pa.timestamp("us")), "type": pa.array(["A", "B"] * (n // 2))}
    )
    plan = plan_of("QUERY many PATTERN AND(A a, B b, A c) WITHIN 1 SECOND;", events)
    with pytest.raises(EngineError, match=r"out of memory.*operator n\d+ .*serves many"):
        run(plan, events, memory_bytes=50 << 20)


@pytest.mark.parametrize("step", [7, 1000])
def test_an_engine_that_forgets_strings_finds_the_same(monkeypatch, step):
    n = 3000
    events = pa.table(
        {
            "ts": pa.array(np.arange(n), pa.timestamp("us")),
            "type": pa.array(["A", "B"] * (n // 2)),
            "s": pa.array([f"text {i // 5}" for i in range(n)]),
        }
    )
    plan = plan_of(PAIRS, events)
    expected = found(run(plan, events))
    monkeypatch.setattr(run_module, "STRINGS_FROM", 100)
    engine = Engine(plan, step=step)
    parts = [engine.push(batch) for batch in events.to_batches(50)]
    assert found(*parts, engine.flush()) == expected
    assert len(engine._live.strings) < 300


def test_events_beyond_the_window_are_forgotten():
    engine = Engine(plan_of(PAIRS, EVENTS))
    sizes = []
    for at in range(0, 100_000, 1000):
        ts = np.arange(at, at + 1000)
        engine.push(
            pa.table({"ts": pa.array(ts, pa.timestamp("us")), "type": ["A", "B"] * 500, "s": ["x"] * 1000})
        )
        sizes.append(engine._live.arena.held + sum(op.held for op in engine._live.operators.values()))
    assert sizes[-1] == sizes[10]


@pytest.mark.parametrize("base", [0, 7, 1 << 33])
def test_ids_that_count_on_from_the_base_or_not(base):
    numbered = EVENTS.append_column("id", pa.array(np.arange(5) + 7))
    engine = Engine(plan_of(PAIRS, EVENTS), base=base)
    assert found(engine.push(numbered), engine.flush()) == [(7, 8), (7, 10)]
    engine = Engine(plan_of(PAIRS, EVENTS), base=base)
    assert found(engine.push(EVENTS), engine.flush()) == [(0, 1), (0, 3)]


def test_matches_of_some_queries_and_of_some_time():
    text = PAIRS + "QUERY set PATTERN SEQ(A a, B b+) WITHIN 10 us;"
    matches = run(plan_of(text, EVENTS), EVENTS)
    assert matches.only(["q"]).counts() == {"q": 2}
    assert matches.started(0, 2).counts() == {"q": 2, "set": 3}
    assert matches.started(2, 4)["set"]["b"].to_pylist() == [[3]]
    assert matches.started(2, 4).counts() == {"q": 0, "set": 1}
    assert len(matches.started(4, 9)) == 0


def test_damaged_batches_are_refused_before_they_are_used() -> None:
    """Arrow reads codes, offsets and lengths as they are; what follows them would read outside of its memory."""
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), pa.array(["A"]), safe=False)
    with pytest.raises(ValueError, match="no Arrow data, or damaged"):
        from_ipc(to_ipc(pa.record_batch({"type": codes})))
    for data in (b"", b"nothing", to_ipc(EVENTS.to_batches()[0])[:200]):
        with pytest.raises(ValueError, match="no Arrow data, or damaged"):
            from_ipc(data)


DAMAGES = {
    "a step without its events": lambda h: h["steps"][0].update(end=h["steps"][0]["end"] + 1),
    "a step that is elsewhere": lambda h: h["steps"].reverse(),
    "a time that is a text": lambda h: h.update(until="1"),
    "a time beyond 64 bits": lambda h: h.update(greatest=2**64),
    "an unknown count": lambda h: h["counts"].update(lost=1),
    "steps that are numbers": lambda h: h.update(steps=[1]),
    "a step that begins later": lambda h: h["steps"][0].update(since=h["steps"][0]["since"] + 10**6),
    "what KEEP remembers": lambda h: h.update(kept='{"q": []}'),
    "kept lists": lambda h: h.update(kept="[" * 100_000),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_header_is_refused(damage) -> None:
    plan = plan_of(PAIRS.replace(" RETURN", " KEEP FIRST PER a.s FOR 1 us RETURN"), EVENTS)
    engine = Engine(plan, step=2)
    for batch in EVENTS.slice(0, 4).to_batches(max_chunksize=2):
        engine.push(batch)
    files = engine.snapshot().to_bytes()
    header = json.loads(files["header"])
    assert len(header["steps"]) > 1
    damage(header)
    with pytest.raises(EngineError, match=r"damaged.* start afresh\)"):
        Engine.restore(plan, Snapshot.from_bytes({**files, "header": json.dumps(header).encode()}))
