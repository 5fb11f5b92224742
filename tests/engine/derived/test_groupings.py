"""Numbers of groups by combinations of keys: what agrees has one number, whichever way numbers are given."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.derived.brute_force import bits, expected, vector
from tests.engine.derived.test_window_aggregates import ALL, INPUT_KINDS, collect, cut, near

from stretto.engine.derived import groupings, window_aggregates
from stretto.engine.derived.groupings import Grouping, KeyCodes, StepCodes
from stretto.engine.derived.levels import Level
from stretto.engine.derived.window_aggregates import WindowAggregates
from stretto.engine.kernels import when_to_compile
from stretto.schema import Kind

KINDS = (Kind.INT, Kind.INT, Kind.FLOAT)
COMBINATIONS = [(), (0,), (1,), (0, 1), (1, 0), (0, 2), (2, 1, 0), (0, 0, 1)]
key = st.tuples(
    st.none() | st.integers(0, 9), st.integers(0, 30), st.none() | st.sampled_from([0.0, -0.0, 2.5])
)


@st.composite
def keyed_streams(draw):
    steps = draw(st.lists(st.tuples(st.integers(0, 2), key, near), max_size=40))
    times = np.cumsum([step for step, _, _ in steps]).tolist()
    return [(ts, keys, (x, int(x)), True) for ts, (_, keys, x) in zip(times, steps, strict=True)]


def run_step(operator, events):
    ts = np.array([event[0] for event in events], np.int64)
    by_key = [vector([event[1][j] for event in events], kind) for j, kind in enumerate(KINDS)]
    inputs = [vector([event[2][j] for event in events], kind) for j, kind in enumerate(INPUT_KINDS)]
    return operator.step(ts, by_key, inputs)


@given(
    keyed_streams(),
    st.lists(st.tuples(st.sampled_from(COMBINATIONS), st.integers(1, 9)), min_size=1, max_size=4),
    st.sampled_from([(1 << 62, 1 << 10, 4), (1 << 62, 0, 0), (1 << 62, 12, 0), (40, 0, 0)]),
    st.data(),
)
def test_rows_are_those_of_the_definition_however_groups_are_numbered(events, over, limits, data):
    levels = [Level(keys, window, ALL[:4]) for keys, window in over]
    found = [{} for _ in levels]
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in zip(("WIDEST", "FEWEST_DIRECT", "ROOMY"), limits, strict=True):
            patch.setattr(groupings, name, limit)
        patch.setattr(window_aggregates, "FEWEST_SHRUNK", data.draw(st.sampled_from([1, 4096])))
        patch.setattr(when_to_compile, "always", data.draw(st.booleans()))
        operator = WindowAggregates(KINDS, INPUT_KINDS, levels)
        start = 0
        for step in cut(events, data.draw):
            what = data.draw(st.sampled_from(["go on", "go on", "restore", "undo"]))
            if what == "restore":
                kept = operator.snapshot()
                operator = WindowAggregates(KINDS, INPUT_KINDS, levels)
                operator.restore(kept)
            if what == "undo":
                run_step(operator, step)
                operator.undo()
            collect(found, run_step(operator, step), start)
            start += len(step)
    for level, rows in zip(levels, found, strict=True):
        wanted = {i: tuple(map(bits, values)) for i, values in expected(events, level).items()}
        assert rows == wanted


def test_words_that_are_few_are_numbers_and_others_are_looked_up():
    codes = [KeyCodes(Kind.INT), KeyCodes(Kind.INT)]
    n = 3000
    many = vector(list(range(n)), Kind.INT)
    few = vector([i % 5 for i in range(n)], Kind.INT)
    columns = [by.enter(key, n) for by, key in zip(codes, (many, few), strict=True)]
    radices = tuple(by.radix for by in codes)
    assert radices == (n, 5)
    for rows, capacity in ((5 * n, 5 * n), (n, 4096)):
        grouping = Grouping((0, 1))
        assert grouping.fit(radices, rows)
        assert grouping.capacity == capacity
        assert not grouping.fit(radices, rows)
        numbers = np.empty(n, np.int64)
        grouping.number(StepCodes(columns, radices, n), numbers)
        assert len(np.unique(numbers)) == n
        assert numbers.max() < grouping.capacity
