"""A call that ends half-way: the engine refuses to go on, and a restored engine gives what an undisturbed one gives."""

import os
import pickle
import signal
import subprocess
import sys
import time
from threading import Event, Thread

import pytest
from tests.engine.interrupted import QUERIES, Interrupts, engine_of, rows_of, stream

from stretto import Engine, EngineError, Workload
from stretto.engine.results.matches import Matches
from stretto.engine.step_runner import StepRunner
from stretto.errors import EventsError, QueryError, StrettoError

EVENTS = stream(900)
FIRST, SECOND, REST = EVENTS.slice(0, 300), EVENTS.slice(300, 300), EVENTS.slice(600)


@pytest.fixture
def interrupts(monkeypatch):
    return Interrupts(monkeypatch)


def changes(engine):
    """Every call that changes an engine or reads its state."""
    return (
        lambda: engine.push(REST),
        lambda: list(engine.pushing(REST)),
        engine.flush,
        lambda: list(engine.flushing()),
        engine.snapshot,
        lambda: engine.update(Workload.parse(QUERIES)),
        lambda: engine.switch(engine.plan),
    )


def refuses(engine, *words):
    for change in changes(engine):
        with pytest.raises(EngineError) as refused:
            change()
        for word in (*words, "Engine.restore(plan, snapshot)"):
            assert word in str(refused.value)


def points(calls, most=24):
    """Some of the calls at which to interrupt, spread evenly over all, the first and the last among them."""
    return sorted({1 + round(i * (calls - 1) / (most - 1)) for i in range(most)})


def test_an_interrupted_push_ends_the_engine_and_a_restored_one_finds_the_rest(interrupts):
    engine = engine_of(EVENTS)
    before = rows_of(engine.push(FIRST))
    snapshot = engine.snapshot()
    with interrupts.during():
        second = engine.push(SECOND)
        calls = interrupts.calls
    undisturbed = rows_of(second, engine.push(REST), engine.flush())
    assert calls > 200
    assert len(undisturbed[0]) > 100
    assert before[0]
    for at in points(calls):
        engine = Engine.restore(engine.plan, snapshot, step=64)
        with interrupts.during(at), pytest.raises(KeyboardInterrupt):
            engine.push(SECOND)
        refuses(engine, "`push`", "it was interrupted")
        assert engine.counts.matches == snapshot.counts.matches
        again = Engine.restore(engine.plan, snapshot, step=64)
        assert rows_of(again.push(SECOND), again.push(REST), again.flush()) == undisturbed


@pytest.mark.parametrize("error", [MemoryError(), ValueError("of an operator"), EngineError("no memory")])
def test_every_exception_out_of_a_push_ends_the_engine(interrupts, error):
    engine = engine_of(EVENTS)
    engine.push(FIRST)
    with interrupts.during(150, error), pytest.raises(type(error)):
        engine.push(SECOND)
    refuses(engine, "`push`", type(error).__name__)


def test_an_interrupted_flush_ends_the_engine(interrupts):
    engine = engine_of(EVENTS)
    engine.push(EVENTS)
    snapshot = engine.snapshot()
    with interrupts.during():
        last = rows_of(engine.flush())
        calls = interrupts.calls
    for at in points(calls, 12):
        engine = Engine.restore(engine.plan, snapshot, step=64)
        with interrupts.during(at), pytest.raises(KeyboardInterrupt):
            list(engine.flushing())
        refuses(engine, "flushing")
        assert rows_of(Engine.restore(engine.plan, snapshot, step=64).flush()) == last


def test_an_interrupted_advance_ends_the_engine(interrupts):
    engine = engine_of(EVENTS, watermark="given", lateness_us=0)
    engine.push(FIRST)
    with interrupts.during(40), pytest.raises(KeyboardInterrupt):
        engine.advance(100)
    refuses(engine, "`advance`", "it was interrupted")
    with pytest.raises(EngineError, match="cannot advance"):
        engine.advance(200)


def test_running_out_of_memory_ends_the_engine():
    engine = engine_of(EVENTS)
    engine.push(FIRST)
    snapshot = engine.snapshot()
    undisturbed = rows_of(engine.push(SECOND), engine.push(REST), engine.flush())
    small = Engine.restore(engine.plan, snapshot, step=64)
    small._meter.limit = small.peak_bytes * 9 // 10
    with pytest.raises(EngineError, match="out of memory"):
        small.push(SECOND)
    refuses(small, "out of memory")
    again = Engine.restore(engine.plan, snapshot, step=64)
    assert rows_of(again.push(SECOND), again.push(REST), again.flush()) == undisturbed


def test_an_interrupted_update_leaves_the_engine_as_it_was(interrupts):
    engine = engine_of(EVENTS, updatable=True)
    engine.push(FIRST)
    snapshot = engine.snapshot()
    other = Workload.parse(QUERIES).add(Workload.parse("QUERY more PATTERN SEQ(B b, C c) WITHIN 30 us;"))
    with interrupts.during():
        engine.update(other)
        calls = interrupts.calls
    plan = engine_of(EVENTS).plan
    whole = Engine.restore(plan, snapshot, step=64, updatable=True)
    undisturbed = rows_of(whole.push(SECOND), whole.push(REST), whole.flush())
    for at in points(calls, 10):
        engine = Engine.restore(plan, snapshot, step=64, updatable=True)
        with interrupts.during(at), pytest.raises(KeyboardInterrupt):
            engine.update(other)
        assert rows_of(engine.push(SECOND), engine.push(REST), engine.flush()) == undisturbed


def test_errors_before_anything_changes_leave_the_engine_usable():
    engine = engine_of(EVENTS)
    undisturbed = rows_of(engine.push(FIRST), engine.push(SECOND), engine.push(REST), engine.flush())
    engine = engine_of(EVENTS)
    parts = [engine.push(FIRST)]
    wrong = (
        (EventsError, lambda: engine.push(SECOND.drop(["x"]))),
        (EventsError, lambda: list(engine.pushing(SECOND.drop(["ts"])))),
        (EventsError, lambda: engine.push(SECOND.set_column(3, "x", SECOND["type"]))),
        (StrettoError, lambda: engine.push(SECOND.append_column("k", SECOND["k"]))),
        (Exception, lambda: engine.push(object())),
        (EngineError, lambda: engine.advance(5)),
        (
            QueryError,
            lambda: engine.update(Workload.parse("QUERY q PATTERN SEQ(A a, B b) WHERE a.z > 1 WITHIN 1 s;")),
        ),
        (EngineError, lambda: engine.update(Workload.parse("QUERY q PATTERN SEQ(A a, D d) WITHIN 1 s;"))),
    )
    for kind, call in wrong:
        with pytest.raises(kind):
            call()
    engine.pushing(REST)  # never begun
    parts += [engine.push(SECOND)]
    engine.snapshot()
    assert rows_of(*parts, engine.push(REST), engine.flush()) == undisturbed


def test_a_table_whose_second_batch_is_refused_ends_the_engine(monkeypatch):
    engine = engine_of(EVENTS)
    intake = engine._live.intake
    convert, calls = type(intake).convert, []

    def refusing(self, *args):
        calls.append(args)
        if len(calls) == 2:
            raise EventsError("not such a batch")
        return convert(self, *args)

    monkeypatch.setattr(type(intake), "convert", refusing)
    batches = FIRST.combine_chunks().to_batches(max_chunksize=200)
    with pytest.raises(EventsError):
        engine.push(type(FIRST).from_batches(batches))
    refuses(engine, "not such a batch")


@pytest.mark.parametrize("name", ["pushing", "flushing"])
def test_matches_that_are_not_read_to_the_end_end_the_engine(name):
    engine = engine_of(EVENTS)
    engine.push(FIRST.slice(0, 100))
    snapshot = engine.snapshot()
    if name == "flushing":
        engine.push(SECOND)
    reader = engine.pushing(SECOND) if name == "pushing" else engine.flushing()
    part = next(reader)
    counted = engine.counts.matches
    assert len(part)
    refuses(engine, f"`{name}` has not ended")  # it could still be read on
    del reader
    refuses(engine, f"`{name}`", "its matches were not read to the end")
    assert engine.counts.matches == counted
    assert len(Engine.restore(engine.plan, snapshot).push(SECOND))


def test_an_exception_in_the_callers_loop_ends_the_engine():
    def reads(parts):
        for _ in parts:
            raise ZeroDivisionError

    engine = engine_of(EVENTS)
    with pytest.raises(ZeroDivisionError):
        reads(engine.pushing(FIRST))
    refuses(engine, "`pushing`")


def test_read_to_its_end_pushing_gives_what_push_gives():
    one, other = engine_of(EVENTS), engine_of(EVENTS)
    parts = [*one.pushing(FIRST), *one.pushing(SECOND), *one.pushing(REST), *one.flushing()]
    assert rows_of(*parts) == rows_of(other.push(EVENTS), other.flush())
    assert one.counts == other.counts


def test_a_second_thread_is_refused_and_the_first_goes_on(monkeypatch):
    undisturbed = engine_of(EVENTS)
    expected = rows_of(undisturbed.push(FIRST), undisturbed.push(SECOND), undisturbed.flush())
    engine, inside, go_on = engine_of(EVENTS), Event(), Event()
    parts, take_turns = [engine.push(FIRST)], StepRunner._take_turns

    def waiting(self, *args):
        inside.set()
        assert go_on.wait(60)
        return take_turns(self, *args)

    monkeypatch.setattr(StepRunner, "_take_turns", waiting)
    first = Thread(target=lambda: parts.append(engine.push(SECOND)))
    first.start()
    assert inside.wait(60)
    for change in changes(engine):
        with pytest.raises(EngineError, match=r"another thread is inside `push`.* one call at a time"):
            change()
    go_on.set()
    first.join(60)
    assert rows_of(*parts, engine.flush()) == expected


def test_an_engine_that_ended_half_way_stays_so_when_it_is_pickled(interrupts):
    engine = engine_of(EVENTS)
    again = pickle.loads(pickle.dumps(engine))
    assert rows_of(again.push(FIRST)) == rows_of(engine.push(FIRST))
    with interrupts.during(99), pytest.raises(KeyboardInterrupt):
        engine.push(SECOND)
    refuses(pickle.loads(pickle.dumps(engine)), "it was interrupted")


def test_matches_of_a_failed_push_are_not_counted(monkeypatch):
    engine = engine_of(EVENTS)
    counted = len(engine.push(FIRST))
    steps, add = [], Matches.add

    def failing(self, *args):
        steps.append(args)
        if len(steps) == 15:
            raise MemoryError
        add(self, *args)

    monkeypatch.setattr(Matches, "add", failing)
    with pytest.raises(MemoryError):
        engine.push(SECOND)
    assert engine.counts.matches == counted


SIGINT_CHILD = """
import sys
from tests.engine.interrupted import engine_of, rows_of, stream
from stretto import Engine, EngineError

events = stream(5_000, seed=3)
first, rest = events.slice(0, 1_000), events.slice(1_000)
engine = engine_of(events)
engine.push(first)
snapshot = engine.snapshot()
expected = rows_of(engine.push(rest), engine.flush())
engine = Engine.restore(engine.plan, snapshot, step=64)
print("pushing", flush=True)
try:
    while True:
        engine = Engine.restore(engine.plan, snapshot, step=64)
        engine.push(rest)
        engine.flush()
except KeyboardInterrupt:
    pass
try:
    engine.push(rest)
    refused = ""
except EngineError as error:
    refused = str(error)
again = Engine.restore(engine.plan, snapshot, step=64)
same = rows_of(again.push(rest), again.flush()) == expected
print("same" if same else "other", "refused" if "cannot push" in refused else "went on", flush=True)
"""


def test_a_real_interrupt_ends_the_engine():
    child = subprocess.Popen(
        [sys.executable, "-c", SIGINT_CHILD],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        assert child.stdout.readline() == "pushing\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        last, _ = child.communicate(timeout=120)
    finally:
        child.kill()
    assert last == "same refused\n"
