"""Random events: of few types and values, with ties and nulls, as tables, in batches, in any order of arrival."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pyarrow as pa

from stretto.oracle.detections import Event
from stretto.schema import Kind, Schema

ATTRIBUTES = {
    "x": Kind.FLOAT,
    "n": Kind.INT,
    "k": Kind.INT,
    "s": Kind.STRING,
    "f": Kind.BOOL,
    "at": Kind.TIME,
}
TYPES = ("A", "B", "C", "D")
SCHEMA = Schema(ATTRIBUTES, frozenset({*TYPES, "E"}))  # E is in the streams, but in no query

VALUES: dict[str, tuple[tuple[object, ...], tuple[object, ...]]] = {  # usual values, and rare ones
    "x": (
        (-1.5, 0.0, 0.5, 1.0, 1.0, 2.0, 3.0),
        (1e300, -1e300, float("inf"), float("nan"), -0.0, 0.1, 2.0**53),
    ),
    "n": ((-2, -1, 0, 1, 2, 3, 4), (2**62, -(2**62), 2**63 - 1, -(2**63), 2**53 + 1)),
    "k": ((0, 1, 1, 2), (0,)),
    "s": (("a", "b", "ab", "c"), ("", "ü", "\uffff", "𝄞", "a'b")),
    "f": ((True, False), (True,)),
    "at": ((0, 1, 2, 3, 5, 8, 13), (10**15, 2**63 - 1, -(2**63))),
}


def random_events(rng: Random, types: Sequence[str] = TYPES, most: int = 14) -> tuple[Event, ...]:
    """At most so many events, ties and nulls among them, mostly but not always in time order."""
    size = rng.randint(0, 3) if rng.random() < 0.06 else rng.randint(most * 2 // 3, most)
    types = [*types, *types, *types, "E"] if rng.random() < 0.5 else types
    wild = rng.choice((0.0, 0.0, 0.1, 0.3))
    ts = rng.choice((0, 0, 0, -7, 10**15))
    clock = Random(
        1000 * size + ts
    )  # apart, so that seeds name the events that they named before there was `at`
    rows = []
    for _ in range(size):
        ts += rng.choice((0, 1, 1, 1, 2, 3))
        kind = rng.choice(types)
        attributes = {name: _value(clock if name == "at" else rng, name, wild) for name in ATTRIBUTES}
        rows.append((ts, kind, attributes))
    if rng.random() < 0.2:
        rng.shuffle(rows)
    return tuple(Event(i, ts, kind, attributes) for i, (ts, kind, attributes) in enumerate(rows))


def _value(rng: Random, name: str, wild: float) -> object:
    if rng.random() < 0.07:
        return None
    usual, rare = VALUES[name]
    return rng.choice(rare if rng.random() < wild else usual)


def show_event(number: int, event: Event) -> str:
    """An event as the cases write it, the so manieth to arrive."""
    known = {name: value for name, value in event.attributes.items() if value is not None}
    values = ",".join(f"{name}={str(v).lower() if isinstance(v, bool) else v}" for name, v in known.items())
    named = "" if event.id == number else f"#{event.id}"
    return f"{event.type}@{event.ts}{named}" + (f"({values})" if values else "")


def to_table(events: Sequence[Event], *, ids: bool = True) -> pa.Table:
    """The events as the engine reads them; without ids the row numbers are the ids."""
    columns = {
        "ts": pa.array([event.ts for event in events], pa.timestamp("us")),
        "type": pa.array([event.type for event in events], pa.string()),
    }
    if ids:
        columns["id"] = pa.array([event.id for event in events], pa.int64())
    for name, kind in ATTRIBUTES.items():
        columns[name] = pa.array([event.attributes.get(name) for event in events], kind.arrow)
    return pa.table(columns)


def in_batches(rng: Random, table: pa.Table) -> list[pa.RecordBatch]:
    """The table cut at random places; some batches may be empty."""
    cuts = sorted(rng.randint(0, table.num_rows) for _ in range(rng.randint(0, 6)))
    if rng.random() < 0.2:
        cuts = list(range(table.num_rows))
    edges = [0, *cuts, table.num_rows]
    pieces = [table.slice(a, b - a).combine_chunks() for a, b in pairwise(edges)]
    none = pa.RecordBatch.from_pylist([], schema=table.schema)
    return [(piece.to_batches() or [none])[0] for piece in pieces]


def out_of_order(rng: Random, events: Sequence[Event], lateness: int) -> list[Event]:
    """An order of arrival in which none is late and events of equal time keep theirs."""
    delays: dict[int, list[int]] = {}
    for event in events:
        delays.setdefault(event.ts, []).append(rng.randint(0, lateness))
    turns = {ts: iter(sorted(drawn)) for ts, drawn in delays.items()}
    arrival = {event.id: event.ts + next(turns[event.ts]) for event in events}
    return sorted(events, key=lambda event: arrival[event.id])


def drop_late(events: Sequence[Event], lateness: int) -> list[Event]:
    """The events that are not behind the watermark when they arrive."""
    kept, latest = [], None
    for event in events:
        if latest is None or event.ts >= latest - lateness:
            kept.append(event)
        latest = event.ts if latest is None else max(latest, event.ts)
    return kept
