"""Windowed aggregates against brute force: to the last bit, however the events are cut, ordered and restored."""

from itertools import groupby
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.derived.brute_force import bits, expected, listed, vector
from tests.support.loops import WAYS, loops

from stretto.engine.derived import level_sums, window_aggregates
from stretto.engine.derived.levels import Function, InputAggregate, Level
from stretto.engine.derived.window_aggregates import WindowAggregates
from stretto.engine.kernels import when_to_compile
from stretto.schema import Kind

KEY_KINDS = (Kind.INT, Kind.FLOAT)
INPUT_KINDS = (Kind.FLOAT, Kind.INT)
ALL = (
    *(InputAggregate(function, of) for of in (0, 1) for function in Function),
    InputAggregate(Function.COUNT),
)

ODD = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1e308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
]
ODD += [
    1e16,
    1.0,
    -1.0,
    0.1,
    1e-16,
    2.0**53,
    -(2.0**53) - 2,
    1e-300,
    1e-160,
    float("inf"),
    -float("inf"),
    float("nan"),
]
doubles = st.none() | st.sampled_from(ODD) | st.floats(allow_nan=False) | st.floats(0, 100)
near = st.floats(-100, 100)
integers = (
    st.none() | st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**63 - 1, -(2**63)])
)
keys = st.tuples(
    st.none() | st.integers(0, 2), st.sampled_from([None, 0.0, -0.0, 1.5, float("nan"), float("inf")])
)
plain_keys = st.tuples(st.integers(0, 1), st.just(1.5))


def levels_over(windows):
    level = st.builds(
        Level,
        st.sampled_from([(), (0,), (1,), (0, 1), (1, 0)]),
        windows,
        st.lists(st.sampled_from(ALL), min_size=1, max_size=5).map(tuple),
    )
    return st.lists(level, min_size=1, max_size=4)


levels = levels_over(st.integers(1, 12)) | st.integers(1, 12).flatmap(lambda size: levels_over(st.just(size)))


@st.composite
def streams(draw):
    """Events in time order, with many of one time."""
    wild = draw(st.booleans())
    inputs = st.tuples(doubles if wild else near, integers)
    event = st.tuples(
        keys if draw(st.booleans()) else plain_keys, inputs, st.booleans() if wild else st.just(True)
    )
    steps = draw(st.lists(st.tuples(st.integers(0, 3), event), max_size=25))
    times = np.cumsum([-20] + [step for step, _ in steps])[1:].tolist()
    return [(ts, *event) for ts, (_, event) in zip(times, steps, strict=True)]


def run_step(operator, events):
    ts = np.array([event[0] for event in events], np.int64)
    by_key = [vector([event[1][j] for event in events], kind) for j, kind in enumerate(KEY_KINDS)]
    inputs = [vector([event[2][j] for event in events], kind) for j, kind in enumerate(INPUT_KINDS)]
    passing = np.array([event[3] for event in events], np.bool_)
    return operator.step(ts, by_key, inputs, None if passing.all() else passing)


def collect(found, rows, start):
    for i, level in enumerate(rows):
        columns = [listed(values) for values in level.values]
        for j, event in enumerate(level.events.tolist()):
            found[i][start + event] = tuple(bits(column[j]) for column in columns)


def cut(events, draw):
    """Steps that hold complete times."""
    step = []
    for _, same in groupby(events, key=lambda event: event[0]):
        step += same
        if draw(st.booleans()):
            yield step
            step = []
    yield step


@given(streams(), levels, st.data())
def test_rows_are_those_of_the_definition(events, over, data):
    operator = WindowAggregates(KEY_KINDS, INPUT_KINDS, over)
    found = [{} for _ in over]
    start = 0
    for step in cut(events, data.draw):
        what = data.draw(st.sampled_from(["go on", "go on", "restore", "undo"]))
        way, patience = data.draw(st.sampled_from(WAYS)), Random(data.draw(st.integers(0, 99)))
        if what == "restore":
            kept = operator.snapshot()
            operator = WindowAggregates(KEY_KINDS, INPUT_KINDS, over)
            operator.restore(kept)
        if what == "undo":
            run_step(operator, step)
            operator.undo()
        with loops(way, patience):
            collect(found, run_step(operator, step), start)
        start += len(step)
    for level, rows in zip(over, found, strict=True):
        wanted = {i: tuple(bits(value) for value in values) for i, values in expected(events, level).items()}
        assert rows == wanted


@pytest.mark.parametrize("always", [True, False])
def test_many_events_have_sums_that_fsum_has(monkeypatch, always):
    monkeypatch.setattr(when_to_compile, "always", always)
    rng = np.random.default_rng(1)
    n = 600
    spread = rng.normal(size=n) * 10.0 ** rng.integers(-30, 30, n)
    events = [
        (i // 3, (int(rng.integers(0, 3)), 1.0), (float(x), int(x) % 1000), True)
        for i, x in enumerate(spread)
    ]
    level = Level((0,), 40, ALL)
    operator = WindowAggregates(KEY_KINDS, INPUT_KINDS, [level])
    found = [{}]
    for start in range(0, n, 60):
        collect(found, run_step(operator, events[start : start + 60]), start)
    assert found[0] == {i: tuple(map(bits, values)) for i, values in expected(events, level).items()}


@pytest.mark.parametrize("always", [True, False])
def test_memory_is_bounded_by_the_window(monkeypatch, always):
    monkeypatch.setattr(when_to_compile, "always", always)
    monkeypatch.setattr(window_aggregates, "FEWEST_SHRUNK", 64)
    operator = WindowAggregates(KEY_KINDS, INPUT_KINDS, [Level((0,), 10, ALL)])
    sizes = []
    for step in range(40):
        burst = 500 if step == 5 else 20  # every event has a key of its own
        events = [(step * 10, (step * 1000 + i, 1.0), (1e300, 3), True) for i in range(burst)]
        events += [(step * 10, (step * 1000 + i, 1.0), (1e-300, 3), True) for i in range(burst)]
        rows = run_step(operator, events)
        assert {tuple(map(bits, values)) for values in zip(*map(listed, rows[0].values), strict=True)} == {
            tuple(map(bits, values)) for values in expected(events, Level((0,), 10, ALL)).values()
        }
        sizes.append((len(operator), operator.nbytes))
    assert max(kept for kept, _ in sizes[7:]) <= 80
    assert sizes[-1][1] <= 2 * sizes[4][1]
    assert sizes[-1][1] < sizes[5][1] / 4


def test_what_is_in_one_place_is_computed_once():
    same = [
        Level((0,), 10, (InputAggregate(function, 0),))
        for function in (Function.SUM, Function.AVG, Function.COUNT)
    ]
    alone = WindowAggregates(KEY_KINDS, INPUT_KINDS, same[:1])
    together = WindowAggregates(KEY_KINDS, INPUT_KINDS, same)
    events = [(i, (i % 5, 1.0), (float(i), i), True) for i in range(50)]
    run_step(alone, events)
    run_step(together, events)
    assert together.nbytes == alone.nbytes


@pytest.mark.parametrize("of", [0, 1])
def test_sums_by_all_groupings_are_one_call(monkeypatch, of):
    monkeypatch.setattr(when_to_compile, "always", True)
    calls = []
    for name in ("sum_levels", "sum_small_levels"):
        loop = getattr(level_sums, name)
        monkeypatch.setattr(level_sums, name, lambda *given, loop=loop: calls.append(loop) or loop(*given))
    over = [
        Level(keys, 10, (InputAggregate(function, of),))
        for keys, function in [((), Function.SUM), ((0,), Function.AVG), ((1, 0), Function.AVG)]
    ]
    operator = WindowAggregates(KEY_KINDS, INPUT_KINDS, over)
    for start in (0, 20):
        run_step(operator, [(i, (i % 5, 1.0), (float(i), i), True) for i in range(start, start + 20)])
    assert len(calls) == 2


@pytest.mark.parametrize("large", [2**31, 2**38, 2**39, -(2**39), 2**63 - 1, -(2**63)])
def test_sums_stay_exact_when_small_integers_become_large(monkeypatch, large):
    monkeypatch.setattr(when_to_compile, "always", True)
    some = tuple(InputAggregate(function, 1) for function in (Function.SUM, Function.AVG, Function.COUNT))
    levels = [Level(keys, 7, some) for keys in ((), (0,), (1,), (0, 1))]
    values = [-3, None, 5, 999, -1000, 0, large, 2, -large - 1, None, 7, large, large, 4, -9] * 2
    events = [(i, (i % 3, float(i % 2)), (0.0, value), True) for i, value in enumerate(values)]
    operator, found = WindowAggregates(KEY_KINDS, INPUT_KINDS, levels), [{} for _ in levels]
    for start in range(0, len(events), 4):
        collect(found, run_step(operator, events[start : start + 4]), start)
    for level, rows in zip(levels, found, strict=True):
        assert rows == {i: tuple(map(bits, values)) for i, values in expected(events, level).items()}


def test_a_step_without_events_gives_columns_and_changes_nothing():
    over = [Level((0,), 10, ALL), Level((), 3, ALL)]
    events = [(i, (i % 2, 1.0), (float(i), i), True) for i in range(12)]
    quiet, other = (WindowAggregates(KEY_KINDS, INPUT_KINDS, over) for _ in range(2))
    first = run_step(quiet, events[:6])
    run_step(other, events[:6])
    for level, whole in zip(run_step(quiet, []), first, strict=True):
        assert not len(level.events)
        assert [values.data.dtype for values in level.values] == [v.data.dtype for v in whole.values]
    found = []
    for operator in (quiet, other):
        found.append([{} for _ in over])
        collect(found[-1], run_step(operator, events[6:]), 6)
    assert found[0] == found[1]
