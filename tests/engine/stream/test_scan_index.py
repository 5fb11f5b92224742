"""The predicate index finds what evaluating every scan's terms finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, number, x

from stretto.engine.memory.limits import Meter
from stretto.engine.operators.protocol import Clock
from stretto.engine.stream import scan_index
from stretto.engine.stream.arena import Block
from stretto.engine.stream.scan_index import ScanIndex
from stretto.pattern.constant_terms import INDEX_FROM
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Apply, Const
from stretto.schema import Kind
from stretto.values.evaluate import holds
from stretto.values.strings import Strings

constants = st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), None])


def term(op, value):
    if op == "in":
        return Apply("in", (x(0), Const(value, Kind.FLOAT), Const(1.0, Kind.FLOAT)), Kind.BOOL)
    if op.startswith("mirrored"):
        return compare(op.removeprefix("mirrored "), Const(value, Kind.FLOAT), x(0))
    return compare(op, x(0), Const(value, Kind.FLOAT))


terms = st.builds(
    term, st.sampled_from(["<", "<=", ">", ">=", "=", "!=", "in", "mirrored <", "mirrored >="]), constants
)
streams = st.builds(Stream, st.sampled_from(["A", "B", "C"]), st.lists(terms, max_size=2).map(tuple))


@given(
    st.lists(streams, min_size=1, max_size=24),
    st.lists(st.tuples(st.sampled_from([0, 1, 2]), constants), max_size=25),
)
def test_index_finds_what_the_terms_say(scans, events):
    index = ScanIndex(dict(enumerate(scans)), Strings())
    codes = [index.codes.get("ABZ"[t], 0) for t, _ in events]
    arena = arena_of(range(len(events)), codes, x=[v for _, v in events])
    clock = Clock(arena, 0, len(events), 0, len(events), closing=False, meter=Meter(1 << 30))
    found = index.step(clock, arena.borrowed_types, arena.borrowed_ts)
    at = np.arange(len(events))
    for number_, stream in enumerate(scans):
        kept = holds(stream.where, (at,), len(at), arena) & (arena.borrowed_types == index.codes[stream.type])
        rows = found[number_]
        got = rows[0].columns[0].tolist() if rows else []
        assert got == at[kept].tolist()


def test_many_equalities_are_looked_up():
    scans = {i: Stream("A", (compare("=", x(0), number(float(i))),)) for i in range(50)}
    index = ScanIndex(scans, Strings())
    (_, plain, looked), *_ = index._types
    assert not plain
    assert [len(found) for found in looked.values()] == [50]


def test_what_is_asked_alike_of_several_types_is_asked_once(monkeypatch):
    asked = []

    def counted(where, columns, n, events):
        asked.append(n)
        return holds(where, columns, n, events)

    monkeypatch.setattr(scan_index, "holds", counted)
    above = (compare(">", x(0), number(1.0)),)
    index = ScanIndex({i: Stream(f"A{i}", above) for i in range(9)}, Strings())
    codes = [1 + i % 10 for i in range(50)]  # one of them of a type that nobody reads
    values = [float(i % 3) for i in range(50)]
    arena = arena_of(range(50), codes, x=values)
    clock = Clock(arena, 0, 50, 0, 50, closing=False, meter=Meter(1 << 30))
    found = index.step(clock, arena.borrowed_types, arena.borrowed_ts)
    assert asked == [45]
    for number_, parts in found.items():
        expected = [i for i in range(50) if codes[i] == number_ + 1 and values[i] > 1.0]
        assert [i for rows in parts for i in rows.columns[0].tolist()] == expected
        assert [i for rows in parts for i in rows.first.tolist()] == expected


def test_a_value_that_is_named_twice_finds_its_events_once():
    twice = Apply("in", (x(0), number(1.0), number(0.0), number(1.0), number(-0.0)), Kind.BOOL)
    index = ScanIndex(dict.fromkeys(range(INDEX_FROM), Stream("A", (twice,))), Strings())
    arena = arena_of(range(3), [1, 1, 1], x=[1.0, 0.0, 2.0])
    clock = Clock(arena, 0, 3, 0, 3, closing=False, meter=Meter(1 << 30))
    for (rows,) in index.step(clock, arena.borrowed_types, arena.borrowed_ts).values():
        assert rows.columns[0].tolist() == [0, 1]


def test_rows_keep_their_times_when_the_arena_moves_on():
    index = ScanIndex({0: Stream("A", ())}, Strings())
    arena = arena_of(range(1_000), [1] * 1_000)
    clock = Clock(arena, 0, 1_000, 0, 1_000, closing=False, meter=Meter(1 << 30))
    ((rows,),) = index.step(clock, arena.borrowed_types, arena.borrowed_ts).values()
    arena.forget(1_000)
    later = np.full(1_000, 5_000)
    arena.append(Block(later, np.ones(1_000, np.int32), range(1_000, 2_000), {}))
    np.testing.assert_array_equal(rows.first, np.arange(1_000))
    np.testing.assert_array_equal(rows.last, np.arange(1_000))
