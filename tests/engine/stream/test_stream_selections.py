"""Selections of a stream are those whose terms hold."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, number, x

from stretto.engine.stream.stream_selections import StreamSelections
from stretto.pattern.predicates import Apply, Const
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
    passed = index.step(at, arena)
    pairs = zip(passed.events.tolist(), passed.classes.tolist(), strict=True)
    found = sorted((event, member) for event, number in pairs for member in index.members(number).tolist())
    assert found == sorted(
        (event, member)
        for member, where in present.items()
        for event in at[holds(where, (at,), len(at), arena)].tolist()
    )
