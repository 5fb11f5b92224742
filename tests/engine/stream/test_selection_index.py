"""The index of selections against brute force, as members come and go."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.derived.brute_force import vector

from stretto.engine.kernels import when_to_compile
from stretto.engine.kernels.order_keys import LEAST, MOST
from stretto.engine.rows.join_keys import order_keys
from stretto.engine.stream import selection_terms
from stretto.engine.stream.selection_index import SelectionIndex
from stretto.engine.stream.selection_terms import IndexedSelection, RangeTerm
from stretto.schema import Kind
from stretto.values.vector import Vector

KINDS = (Kind.INT, Kind.FLOAT, Kind.STRING)
VALUES = (
    [0, 1, 2, 3, -(2**63), 2**63 - 1, None],
    [0.0, -0.0, 1.5, 5e-324, math.inf, -math.inf, math.nan, None],
    [0, 1, 2, None],  # strings are codes
)


def key(value, kind):
    keys, alive = order_keys(vector([value], kind), kind)
    return int(keys[0]) if alive is None or alive[0] else None


def ranges(op, keys):
    """The ranges of `value op constants`; a constant that is null or NaN has no key."""
    if op == "in":
        return tuple((key, key) for key in keys if key is not None)
    if None in keys:
        return ()
    if op == "between":
        return ((keys[0], keys[1]),) if keys[0] <= keys[1] else ()
    constant = keys[0]
    low, high = {
        "=": (constant, constant),
        "<": (LEAST, constant - 1),
        "<=": (LEAST, constant),
        ">": (constant + 1, MOST),
        ">=": (constant, MOST),
    }[op]
    return ((low, high),) if LEAST <= low <= high <= MOST else ()


def holds(op, value, constants):
    if value is None:
        return False
    compared = {
        "=": lambda c: value == c,
        "<": lambda c: value < c,
        "<=": lambda c: value <= c,
        ">": lambda c: value > c,
        ">=": lambda c: value >= c,
    }
    if op == "in":
        return any(c is not None and value == c for c in constants)
    if op == "between":
        return None not in constants and constants[0] <= value <= constants[1]
    return constants[0] is not None and compared[op](constants[0])


@st.composite
def terms(draw):
    attribute = draw(st.integers(0, 2))
    ops = ["=", "in"] if attribute == 2 else ["=", "<", "<=", ">", ">=", "between", "in"]
    op = draw(st.sampled_from(ops))
    count = {"between": 2, "in": draw(st.integers(0, 4))}.get(op, 1)
    constants = tuple(draw(st.sampled_from(VALUES[attribute])) for _ in range(count))
    return attribute, op, constants


conjunctions = st.lists(terms(), max_size=4).map(tuple)
events = st.tuples(*(st.sampled_from(values) for values in VALUES))


def selection(conjunction, residual=None):
    return IndexedSelection(
        tuple(RangeTerm(a, ranges(op, [key(c, KINDS[a]) for c in cs])) for a, op, cs in conjunction), residual
    )


def columns(rows):
    vectors = [vector([row[j] for row in rows], kind) for j, kind in enumerate(KINDS)]
    return [Vector(*order_keys(found, kind)) for found, kind in zip(vectors, KINDS, strict=True)]


def listed(index, rows):
    passed = index.step(columns(rows), len(rows))
    members = {number: index.members(number).tolist() for number in set(passed.classes.tolist())}
    assert all(members.values()), "a class has members"
    pairs = zip(passed.events.tolist(), passed.classes.tolist(), strict=True)
    return sorted((event, member) for event, number in pairs for member in members[number])


def wanted(selections, rows):
    return sorted(
        (i, member)
        for i, row in enumerate(rows)
        for member, conjunction in selections.items()
        if all(holds(op, row[a], constants) for a, op, constants in conjunction)
    )


@given(st.data(), st.lists(st.lists(conjunctions, max_size=8), min_size=1, max_size=4))
def test_classes_hold_the_selections_that_an_event_passes(data, batches):
    index = SelectionIndex()
    present = {}
    for number, batch in enumerate(batches):
        gone = [member for member in present if data.draw(st.booleans())] if number else []
        new = {100 * number + i: conjunction for i, conjunction in enumerate(batch)}
        index.update({member: selection(conjunction) for member, conjunction in new.items()}, gone)
        present = {member: found for member, found in present.items() if member not in gone} | new
        when_to_compile.always = data.draw(st.booleans())
        try:
            rows = data.draw(st.lists(events, max_size=12))
            assert listed(index, rows) == wanted(present, rows)
        finally:
            when_to_compile.always = True


@pytest.mark.parametrize("always", [True, False])
def test_ranges_that_half_of_the_events_pass_give_one_class_per_event(monkeypatch, always):
    monkeypatch.setattr(when_to_compile, "always", always)
    index = SelectionIndex()
    count = 1000
    index.update({i: IndexedSelection((RangeTerm(0, ((LEAST, i),)),)) for i in range(count)})
    rows = np.arange(0, count, 10)
    passed = index.step([vector(rows.tolist(), Kind.INT)], len(rows))
    assert passed.events.tolist() == list(range(len(rows)))
    assert index.members(int(passed.classes[30])).tolist() == list(range(300, count))


def test_a_member_is_added_without_building_all_anew():
    index = SelectionIndex()
    index.update({i: IndexedSelection((RangeTerm(0, ((i, i),)),)) for i in range(100)})
    before = [layer for _, layer in index._layers]
    index.update({100: IndexedSelection((RangeTerm(0, ((100, 100),)),))})
    index.update({101: IndexedSelection((RangeTerm(0, ((100, 100),)),))}, removed=[5])
    assert index._layers[0][1] is before[0]
    assert len(index._layers) == 2
    passed = index.step([vector([5, 6, 100], Kind.INT)], 3)
    assert [index.members(number).tolist() for number in passed.classes.tolist()] == [[6], [100, 101]]


def test_layers_are_few():
    index = SelectionIndex()
    for i in range(300):
        index.update({i: IndexedSelection((RangeTerm(0, ((i, i),)),))})
    assert len(index._layers) <= 10


def test_what_is_no_box_is_checked_after(monkeypatch):
    monkeypatch.setattr(selection_terms, "MOST_BOXES", 5)
    both = ((0, "in", (0, 1, 2)), (2, "in", (0, 1)))
    index = SelectionIndex()
    index.update({1: selection(both, residual="odd"), 2: selection(both), 3: selection(both[:1])})
    rows = [(0, 0.0, 2), (7, 0.0, 1), (None, 0.0, 1), (1, 0.0, 1), (1, 0.0, 0)]
    asked = []

    def passes(residual, events):
        asked.append((residual, events.tolist()))
        return events % 2 == 1

    passed = index.step(columns(rows), len(rows), passes)
    assert asked == [("odd", [3, 4])]
    found = {}
    for event, number in zip(passed.events.tolist(), passed.classes.tolist(), strict=True):
        found.setdefault(event, []).extend(index.members(number).tolist())
    assert {event: sorted(members) for event, members in found.items()} == {0: [3], 3: [1, 2, 3], 4: [2, 3]}
