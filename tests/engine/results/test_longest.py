"""KEEP LONGEST over derived streams: matches are compared by their events, not by the ids that these list."""

import base64
import json
from collections.abc import Callable

import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of

from stretto import Engine, EngineError, Schema, Workload, optimize, oracle
from stretto.engine.snapshot import Snapshot, from_ipc, to_ipc
from stretto.oracle.detections import Event
from stretto.schema import Kind

SCHEMA = Schema({"k": Kind.INT, "x": Kind.INT}, frozenset("AC"))


def events_of(*steps: tuple[str, int, int]) -> tuple[Event, ...]:
    """Events of these types, times and values of x, whose ids count on."""
    return tuple(Event(number, ts, kind, {"k": 1, "x": x}) for number, (kind, ts, x) in enumerate(steps))


EVENTS = events_of(
    ("A", 10, 0),
    ("A", 11, 1),
    ("C", 12, 2),
    ("A", 14, 4),
    ("C", 14, 1),
    ("C", 15, 2),
    ("A", 18, 3),
    ("C", 19, 3),
)
EARLIER = (Event(100, -40, "A", {"k": 1, "x": 0}), Event(101, -40, "C", {"k": 1, "x": 0}))
W = "CREATE STREAM W AS PATTERN OR(A a, SEQ(A a, C b)) WITHIN 3 us RETURN a.k AS k;"
J = "CREATE STREAM J AS SELECT a.x, b.x AS y FROM A a JOIN C b ON a.ts < b.ts WITHIN 5 us;"
M = "CREATE STREAM M AS SELECT k, MAX(x) AS x FROM A GROUP BY k WITHIN 9 us;"
R = f"{M} CREATE STREAM R AS PATTERN AND(OR(M p, A p), M q) WITHIN 10 us RETURN SUM(p.x) AS x;"
OTHER = "CREATE STREAM B AS SELECT k FROM A; QUERY other PATTERN SEQ(B b, A a) WITHIN 1 us;"
QUERIES = {
    "an event that lists more ids": (W, "PATTERN W w"),
    "sets of such events": (W, "PATTERN SEQ(W v, W w{1,2})"),
    "events of joins": (J, "PATTERN J h{1,2} WHERE h[i].x < h[i-1].x"),
    "a raw event and one of its id": (M, "PATTERN OR(A v, SEQ(M v, C c+))"),
    "events that list equal ids": (R, "PATTERN SEQ(R v, C c?) WHERE v.x > c.x"),
}
"""Definitions of streams, and a pattern over them."""
NAMES = list(QUERIES)

Way = Callable[[Engine, str, int], Engine]
"""What becomes of the engine of a workload when it has seen so many events."""


def same(engine: Engine, text: str, count: int) -> Engine:
    return engine


def restored(engine: Engine, text: str, count: int) -> Engine:
    return Engine.restore(engine.plan, Snapshot.from_bytes(engine.snapshot().to_bytes()))


def rebuilt(engine: Engine, text: str, count: int) -> Engine:
    """Return an engine that has seen more, or fewer, earlier events: all events have other positions."""
    again = Engine(engine.plan)
    again.push(table_of((*EARLIER[: count % 3], *EVENTS[:count])))
    again.kept_state = engine.kept_state
    return again


def switched(engine: Engine, text: str, count: int) -> Engine:
    """Add a query over a stream of its own, or remove it."""
    engine.update(Workload.parse(f"{text} {OTHER}" if count % 2 else text))
    return engine


def table_of(events: tuple[Event, ...]) -> pa.Table:
    columns = {name: [event.attributes[name] for event in events] for name in ("k", "x")}
    ids, kinds = [event.id for event in events], [event.type for event in events]
    times = pa.array([event.ts for event in events], pa.timestamp("us"))
    return pa.table({"ts": times, "type": kinds, "id": ids} | columns)


def text_of(name: str) -> str:
    streams, pattern = QUERIES[name]
    return f"{streams} QUERY q {pattern} WITHIN 6 us KEEP LONGEST;"


@pytest.mark.parametrize("way", [same, restored, rebuilt, switched])
@pytest.mark.parametrize("name", NAMES)
def test_matches_are_compared_by_the_events_that_they_bind(name: str, way: Way) -> None:
    text = text_of(name)
    workload = Workload.parse(text)
    bound = workload.bind(SCHEMA)
    (query,) = bound.detections
    expected = oracle.matches(query, oracle.inputs(query, oracle.derive(bound.streams, EVENTS), EVENTS))
    engine, tables = Engine(optimize(workload, SCHEMA, "none"), updatable=way is switched), []
    for count, event in enumerate(EVENTS, 1):
        tables.append(engine.push(table_of((event,)))["q"])
        engine = way(engine, text, count)
    tables.append(engine.flush()["q"])
    assert_same_matches([match for table in tables for match in matches_of(table, query)], expected, text)


def test_an_event_that_lists_more_ids_does_not_contain_another() -> None:
    engine = Engine(optimize(Workload.parse(text_of(NAMES[0])), SCHEMA, "none"))
    found = engine.push(table_of(events_of(("A", 1, 0), ("C", 2, 0)))) + engine.flush()
    assert sorted(found["q"].select(["w.a", "w.b"]).to_pylist(), key=repr) == [
        {"w.a": 0, "w.b": 1},
        {"w.a": 0, "w.b": None},
    ]


def test_a_snapshot_without_the_numbers_of_events_is_refused() -> None:
    engine = Engine(optimize(Workload.parse(text_of(NAMES[0])), SCHEMA, "none"))
    engine.push(table_of(EVENTS))
    state = json.loads(engine.kept_state)
    batch = from_ipc(base64.b64decode(state["q"]["held"]))
    state["q"]["held"] = base64.b64encode(to_ipc(batch.drop_columns([batch.schema.names[-1]]))).decode()
    with pytest.raises(
        EngineError, match="matches that `KEEP LONGEST` holds for `q`: the snapshot is of an earlier"
    ):
        engine.kept_state = json.dumps(state)
