"""Events of a micro-batch: an order that depends on the events alone, late and bad ones set apart."""

from itertools import permutations
from random import Random

import pyarrow as pa
import pytest

from stretto.schema import Special
from stretto.spark.packed import from_payload, to_payload
from stretto.spark.stream.arrivals import Numbering, arrivals
from stretto.values.times import START_OF_TIME

SPECIAL = Special()


def batch_of(rows, *, ids=True):
    """Events as (ts, type, text, flag, id)."""
    ts, types, texts, flags, numbers = zip(*rows, strict=True) if rows else [()] * 5
    columns = {
        "ts": pa.array(ts, pa.timestamp("us")),
        "type": pa.array(types, pa.string()),
        "text": pa.array(texts, pa.string()).dictionary_encode(),
        "flag": pa.array(flags, pa.bool_()),
        "unread": pa.array([[1]] * len(ts), pa.list_(pa.int64())),
    }
    return pa.RecordBatch.from_pydict(columns | ({"id": pa.array(numbers, pa.int64())} if ids else {}))


def some_rows(rng, count):
    return [
        (
            rng.randint(0, 5),
            rng.choice("AB"),
            rng.choice(("x", "y", None)),
            rng.choice((True, False, None)),
            i,
        )
        for i in range(count)
    ]


@pytest.mark.parametrize("ids", [True, False])
def test_the_order_does_not_depend_on_chunks(ids):
    rng = Random(3)
    for _ in range(30):
        rows = some_rows(rng, rng.randint(1, 30))
        seen = []
        for _ in range(3):
            rng.shuffle(rows)
            cut = rng.randint(0, len(rows))
            parts = [part for part in (rows[:cut], rows[cut:]) if part]
            came = arrivals(
                [to_payload(batch_of(part, ids=ids)) for part in parts],
                SPECIAL,
                START_OF_TIME,
                Numbering(7, 1, 3),
            )
            assert came.ts.tolist() == sorted(row[0] for row in rows)
            seen.append(came.events.to_pylist())
        assert seen[0] == seen[1] == seen[2]
        if not ids:
            assert [event["id"] for event in seen[0]] == [(7 + i) * 3 + 1 for i in range(len(rows))]


def test_repeated_ids_are_in_an_order_of_their_own():
    rows = [(1, "A", "x", True, 7), (1, "B", "x", True, 7), (1, "A", "y", None, 3), (0, "A", "y", None, 7)]
    seen = [
        arrivals(
            [to_payload(batch_of([row])) for row in order], SPECIAL, START_OF_TIME, Numbering()
        ).events.to_pylist()
        for order in permutations(rows)
    ]
    assert all(events == seen[0] for events in seen)
    assert [event["id"] for event in seen[0]] == [7, 3, 7, 7]


def test_events_in_order_keep_their_payload():
    payload = to_payload(batch_of([(1, "A", "x", True, 0), (1, "B", "x", True, 1), (2, "B", "x", True, 2)]))
    came = arrivals([payload], SPECIAL, START_OF_TIME, Numbering())
    assert came.payload is payload
    assert from_payload(payload) == came.events
    assert arrivals([payload], SPECIAL, 2, Numbering()).payload is None


def test_late_and_bad_events_are_as_they_came():
    rows = [
        (5, "A", "x", True, 0),
        (2, "A", "y", True, 1),
        (None, "A", "z", None, 2),
        (1, None, "z", None, 3),
        (9, "B", "w", None, 4),
    ]
    came = arrivals([to_payload(batch_of(rows))], SPECIAL, 5, Numbering())
    assert came.events.column("id").to_pylist() == [0, 4]
    assert [batch.column("id").to_pylist() for batch in came.late] == [[1]]
    assert [(b.column("id").to_pylist(), b.column("reason").to_pylist()) for b in came.rejected] == [
        ([2], ["ts is null"]),
        ([3], ["type is null"]),
    ]
    assert (came.rows, came.late_rows, came.rejected_rows) == (5, 1, 2)


def test_nothing_may_come():
    none = arrivals([], SPECIAL, 5, Numbering())
    assert (none.events, none.rows, len(none.ts)) == (None, 0, 0)
    late = arrivals([to_payload(batch_of([(1, "A", "x", True, 0)]))], SPECIAL, 5, Numbering())
    assert (late.events, late.late_rows, len(late.ts)) == (None, 1, 0)
