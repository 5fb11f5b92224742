"""The layout of a target's state: chunks that come and go, numbers, and the timer."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.stream.stream_state import Handle, Store

from stretto.spark.errors import StrettoSparkError
from stretto.spark.packed import to_payload
from stretto.spark.stream import state as module
from stretto.spark.stream.state import NO_TIMER, Head, TargetState, from_floor


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def window(store: Store) -> TargetState:
    return TargetState(Handle(store))


def events(*times):
    return pa.RecordBatch.from_pydict({"ts": pa.array(times, pa.timestamp("us"))}), np.array(times)


def test_numbers_come_back(window):
    assert window.head() is None
    head = Head(
        counter=3, until_us=-5, due_us=7, version=2, spread="Whole()", counts=Head().counts.plus(late=4)
    )
    window.write(head)
    assert window.head() == head
    assert Head.from_text(head.to_text()) == head


def test_a_state_of_another_layout_is_refused():
    text = json.dumps(json.loads(Head().to_text()) | {"layout": 9})
    with pytest.raises(StrettoSparkError, match="layout 9, and this release reads layout 1"):
        Head.from_text(text)


def test_the_workload_comes_back(window):
    assert window.workload() is None
    window.set_workload(4, b"text")
    assert window.workload() == b"text"


def test_chunks_are_added_and_dropped_in_their_order(window, store, monkeypatch):
    monkeypatch.setattr(module, "PIECE_ROWS", 3)
    head = window.add(Head(), *events(1, 2, 3, 4, 5, 6, 7))
    head = window.add(head, *events(5, 8), to_payload(events(5, 8)[0]))
    assert (head.oldest, head.next, head.rows) == (0, 4, 9)
    assert head.bytes == store.size
    assert [batch.num_rows for batch in window.batches(head)] == [3, 3, 1, 2]
    head = window.drop(replace(head, floor_us=7))
    assert (head.oldest, head.rows, head.bytes) == (2, 3, store.size)
    assert [batch.column("ts").cast(pa.int64()).to_pylist() for batch in window.batches(head)] == [
        [7],
        [5, 8],
    ]
    head = window.drop(replace(head, floor_us=9))
    assert (head.oldest, head.next, head.rows, head.bytes, store.entries) == (4, 4, 0, 0, 0)
    assert list(window.batches(head)) == []


def test_a_missing_chunk_is_told(window, store):
    head = window.add(Head(), *events(1, 2))
    store.maps[0, "chunks"].clear()
    with pytest.raises(StrettoSparkError, match="damaged: chunk 0"):
        list(window.batches(head))
    store.maps[0, "spans"].clear()
    with pytest.raises(StrettoSparkError, match="damaged: chunk 0"):
        window.span(0)


def test_there_is_one_timer_for_what_comes_first(window, store):
    head = window.set_timer(Head(), 5)
    assert (head.timer_ms, store.timers) == (NO_TIMER, set())
    head = window.set_timer(replace(head, due_us=10_500), 5)
    assert (head.timer_ms, store.timers) == (11, {(0, 11)})
    head = window.add(replace(head, horizon_us=2000), *events(4000))
    head = window.set_timer(head, 5)
    assert (head.timer_ms, store.timers) == (7, {(0, 7)})
    head = window.set_timer(head, 20)  # what is due already is due at once
    assert store.timers == {(0, 21)}
    head = window.set_timer(window.drop(replace(head, due_us=None, floor_us=5000)), 20)
    assert (head.timer_ms, store.timers) == (NO_TIMER, set())


def test_the_floor_cuts_between_times():
    assert from_floor(np.array([1, 3, 3, 5]), 3) == 1
    assert from_floor(np.array([], np.int64), 3) == 0


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[]",
        "{}",
        '{"layout": 1}',
        Head().to_text().replace('"rows": 0', '"rows": "0"'),
        Head().to_text().replace('"rows": 0', '"rows": 0, "more": 1'),
        Head().to_text().replace('"late": 0', '"late": null'),
    ],
)
def test_damaged_numbers_are_refused(text: str) -> None:
    with pytest.raises(StrettoSparkError, match="the checkpoint is damaged: the numbers of a target"):
        Head.from_text(text)
