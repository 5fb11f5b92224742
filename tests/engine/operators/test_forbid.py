"""Forbid against its statement: every event tried in the interval of every place."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, k, x
from tests.engine.stepping import EVENT, events_of, of_type, rows_of, stepped, streams, windows

from stretto.engine.memory.limits import Meter
from stretto.engine.operators.forbid import ForbidOperator
from stretto.engine.operators.protocol import Clock, RowShape
from stretto.pattern.nodes import Window
from stretto.pattern.piece import Place
from stretto.plan.ops import Forbid
from stretto.values.evaluate import holds


def is_inside(op, row, position, arena):
    """Whether an event lies in the interval that the place gives the row."""
    ts, window = arena.borrowed_ts, op.window
    first, last = min(events_of(row)), max(events_of(row))
    after = [ts[p] for p in events_of(row[c] for c in op.after)]
    before = [ts[p] for p in events_of(row[c] for c in op.before)]
    by_time = window.unit == "us"
    from_window = ts[position] >= ts[last] - window.size if by_time else position >= last - window.size + 1
    to_window = ts[position] <= ts[first] + window.size if by_time else position <= first + window.size - 1
    if op.place is Place.ANYWHERE:
        return ts[position] >= ts[first] and to_window
    if not after and not before:
        return False
    late_enough = ts[position] > max(after) if after else from_window
    return late_enough and (ts[position] < min(before) if before else to_window)


def expected(op, rows, forbidden, shape, arena):
    def breaks(row, position):
        if not is_inside(op, row, position, arena) or position in events_of(row[c] for c in op.distinct):
            return False
        both = rows_of([(*row, position)], (*shape.sets, False), arena)
        return bool(holds(op.terms, both.columns, 1, arena)[0])

    kept = [row for row in rows if not any(breaks(row, p) for (p,) in forbidden)]
    return sorted(kept, key=repr)


SHAPE = RowShape((False, True, False), (True, False, True))


@st.composite
def rows_in(draw, arena, window):
    """Rows of an optional event, a set and an optional event, each strictly later than the one before."""
    n = len(arena.borrowed_ts)
    rows = set()
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    for _ in range(6):
        chosen = np.sort(rng.choice(n, min(n, rng.integers(1, 5)), replace=False)).tolist()
        if any(arena.borrowed_ts[a] == arena.borrowed_ts[b] for a, b in itertools.pairwise(chosen)):
            continue
        span = (
            arena.borrowed_ts[chosen[-1]] - arena.borrowed_ts[chosen[0]] - 1
            if window.unit == "us"
            else chosen[-1] - chosen[0]
        )
        if span >= window.size:
            continue
        head = chosen.pop(0) if len(chosen) > 1 and rng.random() < 0.6 else None
        tail = chosen.pop() if len(chosen) > 1 and rng.random() < 0.6 else None
        rows.add((head, tuple(chosen), tail))
    return sorted(rows, key=repr)


PLACES = [
    (Place.BETWEEN, (0,), (1,)),
    (Place.OPEN, (0,), (1,)),
    (Place.OPEN, (0, 1), (2,)),
    (Place.OPEN, (0,), (2,)),
    (Place.FIRST, (), (0, 1, 2)),
    (Place.FIRST, (), (2,)),
    (Place.LAST, (1,), ()),
    (Place.LAST, (0, 1, 2), ()),
    (Place.ANYWHERE, (), ()),
]
terms_on_both = st.lists(
    st.sampled_from([compare("<", x(3), x(1)), compare("=", k(3), k(0)), compare("!=", k(3), k(2))]),
    max_size=2,
    unique=True,
).map(tuple)


@settings(max_examples=300, deadline=None)
@given(
    streams(10, (0, 1, 1)),
    windows,
    st.sampled_from(PLACES),
    st.sampled_from([(), (0,), (1,), (0, 1, 2)]),
    terms_on_both,
    st.lists(st.integers(0, 9), max_size=4),
    st.data(),
)
def test_places(arena, window, place, distinct, terms, cuts, data):
    where, after, before = place
    rows = data.draw(rows_in(arena, window))
    forbidden = of_type(arena, 1)
    op = Forbid(0, 1, where, window, after, before, terms, distinct)
    # What a waiting operator below lets out comes up to a window after its first event.
    late = data.draw(st.integers(0, 2)) if window.unit == "events" and window.size > 4 else 0
    rows = [row for row in rows if max(events_of(row)) + late - min(events_of(row)) < window.size or not late]
    operator = ForbidOperator(op, [SHAPE, EVENT])
    found = stepped(operator, [rows, forbidden], [SHAPE, EVENT], arena, cuts, late)
    assert found == expected(op, rows, forbidden, SHAPE, arena)


@pytest.mark.parametrize("terms", [(), (compare("<", x(1), x(0)),)])
@pytest.mark.parametrize(("place", "kept"), [(Place.FIRST, 1000), (Place.LAST, 1000)])
def test_many_events_in_the_interval(place, kept, terms):
    """Intervals that are full of events which the terms allow or forbid."""
    arena = arena_of(range(2000), types=[1] * 1000 + [0] * 1000, x=[1.0] * 1000 + [0.0] * 1000)
    rows = of_type(arena, 0)
    columns = {"before": (0,)} if place is Place.FIRST else {"after": (0,)}
    op = Forbid(0, 1, place, Window(3000), terms=terms, **columns)
    found = stepped(
        ForbidOperator(op, [EVENT, EVENT]), [rows, of_type(arena, 1)], [EVENT, EVENT], arena, (700,)
    )
    assert len(found) == (kept if terms or place is Place.LAST else 0)


def test_waiting_rows_come_out_when_their_window_has_passed():
    arena = arena_of([0, 1, 5, 6, 7], types=[0] * 5)
    op = Forbid(0, 1, Place.LAST, Window(4), after=(0,))
    operator = ForbidOperator(op, [EVENT, EVENT])

    def step(start, end, until, closing=False):
        rows = rows_of([(p,) for p in range(start, end)], (False,), arena)
        clock = Clock(arena, start, end, int(arena.borrowed_ts[start]), until, closing, Meter(1 << 30))
        return [p for part in operator.step([[rows], []], clock) for p in part.columns[0].tolist()]

    assert step(0, 2, 4) == []
    assert step(2, 3, 5) == [0]
    assert step(3, 4, 7) == [1]
    assert sorted(step(4, 5, 1 << 62, closing=True)) == [2, 3, 4]
    assert operator._pending.held == 0


def test_rows_that_waited_below_still_find_their_events():
    """A row comes a window after its event, out of a waiting operator, and looks back another window."""
    arena = arena_of([6, 10, 14], types=[1, 0, 2])
    operator = ForbidOperator(Forbid(0, 1, Place.FIRST, Window(4), before=(0,)), [EVENT, EVENT])
    assert stepped(operator, [[(1,)], [(0,)]], [EVENT, EVENT], arena, (1, 2), late=1) == []


def test_pending_rows_are_merged_few_times():
    """One row per step, all waiting: the work grows about as the rows do."""
    n = 3000
    arena = arena_of(np.arange(n), types=[0] * n)
    op = Forbid(0, 1, Place.ANYWHERE, Window(2000))
    rows = of_type(arena, 0)
    operator = ForbidOperator(op, [EVENT, EVENT])
    found = stepped(operator, [rows, []], [EVENT, EVENT], arena, range(0, n, 100))
    assert len(found) == n
