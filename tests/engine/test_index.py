"""The predicate index finds what evaluating every scan's terms finds."""

import numpy as np
from events import arena_of, compare, number, x
from hypothesis import given
from hypothesis import strategies as st

from stretto.engine.index import ScanIndex
from stretto.engine.limits import Meter
from stretto.engine.shape import Clock
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
    found = index.step(clock, arena.types, arena.ts)
    at = np.arange(len(events))
    for number_, stream in enumerate(scans):
        kept = holds(stream.where, (at,), len(at), arena) & (arena.types == index.codes[stream.type])
        rows = found[number_]
        got = rows[0].columns[0].tolist() if rows else []
        assert got == at[kept].tolist()


def test_many_equalities_are_looked_up():
    scans = {i: Stream("A", (compare("=", x(0), number(float(i))),)) for i in range(50)}
    index = ScanIndex(scans, Strings())
    (_, plain, looked), *_ = index._types
    assert not plain
    assert [len(found) for found in looked.values()] == [50]
