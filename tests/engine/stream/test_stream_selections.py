"""Selections of a stream are those whose terms hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, number, x

from stretto.engine.stream import text_labels
from stretto.engine.stream.stream_selections import StreamSelections
from stretto.engine.stream.text_labels import TextLabels
from stretto.pattern.predicates import Apply, Const, Ref
from stretto.schema import Kind
from stretto.values.evaluate import holds
from stretto.values.strings import Strings

constants = st.sampled_from([0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), -float("inf"), None])


def term(op, value):
    if op == "in":
        return Apply("in", (x(0), Const(value, Kind.FLOAT), Const(1.0, Kind.FLOAT)), Kind.BOOL)
    if op == "sum":
        return compare("<", Apply("+", (x(0), number(1.0)), Kind.FLOAT), Const(value, Kind.FLOAT))
    if op.startswith("mirrored"):
        return compare(op.removeprefix("mirrored "), Const(value, Kind.FLOAT), x(0))
    return compare(op, x(0), Const(value, Kind.FLOAT))


ops = st.sampled_from(["<", "<=", ">", ">=", "=", "!=", "in", "sum", "mirrored <", "mirrored >="])
selections = st.lists(st.lists(st.builds(term, ops, constants), max_size=3), max_size=20)


def found_in(index, at, arena):
    passed = index.step(at, arena)
    pairs = zip(passed.events.tolist(), passed.classes.tolist(), strict=True)
    return sorted((event, member) for event, number in pairs for member in index.members(number).tolist())


def wanted_of(present, at, arena):
    return sorted(
        (event, member)
        for member, where in present.items()
        for event in at[holds(where, (at,), len(at), arena)].tolist()
    )


@given(selections, selections, st.lists(constants, max_size=20), st.data())
def test_members_are_those_whose_terms_hold(first, second, values, data):
    arena = arena_of(range(len(values)), [1] * len(values), x=values)
    index = StreamSelections(Strings())
    index.update(dict(enumerate(first)))
    gone = [member for member in range(len(first)) if data.draw(st.booleans())]
    index.update({100 + i: where for i, where in enumerate(second)}, gone)
    present = {i: where for i, where in enumerate(first) if i not in gone}
    present |= {100 + i: where for i, where in enumerate(second)}
    at = np.arange(len(values))
    assert found_in(index, at, arena) == wanted_of(present, at, arena)


texts = st.text("abz\u00e9\U0001f600", max_size=3)
text_terms = st.builds(
    lambda op, text, mirrored: compare(
        op, *([Const(text, Kind.STRING), Ref(0, "s", Kind.STRING)][:: 1 if mirrored else -1])
    ),
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.none() | texts,
    st.booleans(),
)
text_selections = st.lists(st.lists(text_terms, max_size=3), max_size=8)


@given(
    st.lists(st.tuples(text_selections, st.lists(st.none() | texts, max_size=8)), max_size=4), st.booleans()
)
def test_texts_are_put_in_order_as_constants_and_texts_come_in(steps, dense):
    step, text_labels.WIDE_STEP = text_labels.WIDE_STEP, 2 if dense else text_labels.WIDE_STEP
    try:
        strings = Strings()
        index = StreamSelections(strings)
        present = {}
        for number_, (batch, values) in enumerate(steps):
            new = {100 * number_ + i: where for i, where in enumerate(batch)}
            index.update(new)
            present |= new
            codes = [None if text is None else strings.code(text) for text in values]
            arena = arena_of(range(len(codes)), s=codes)
            arena.strings = strings
            at = np.arange(len(codes))
            assert found_in(index, at, arena) == wanted_of(present, at, arena)
    finally:
        text_labels.WIDE_STEP = step


@pytest.mark.parametrize("turned", [False, True])
def test_labels_of_constants_in_order_find_room(turned):
    labels = TextLabels(Strings())
    words = sorted((f"{i:04}" for i in range(1000)), reverse=turned)
    moved = [labels.add([word]) for word in words]
    assert not any(moved)
    keys = [labels.label(word) for word in words]
    assert keys == sorted(keys, reverse=turned)


def test_labels_are_spread_anew_when_there_is_no_room():
    labels = TextLabels(Strings())
    labels.add(["a", "b"])
    words = ["a" + "a" * i + "b" for i in range(70)]  # each between `a` and the one before
    moved = [labels.add([word]) for word in words]
    assert any(moved)
    keys = [labels.label(word) for word in ["a", *sorted(words), "b"]]
    assert keys == sorted(set(keys))
