"""Joins against all pairs tried one by one, whatever is known of the order of their events."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, k, x
from tests.engine.stepping import EVENT, events_of, of_type, rows_of, stepped, streams, windows

from stretto.engine.kernels import when_to_compile
from stretto.engine.memory.limits import Meter
from stretto.engine.operators import join
from stretto.engine.operators.join import JoinOperator
from stretto.engine.operators.protocol import Clock, RowShape
from stretto.engine.rows.known_order import ordered
from stretto.pattern.nodes import Window
from stretto.pattern.order import Order
from stretto.pattern.predicates import Ref
from stretto.plan.ops import Join
from stretto.schema import Kind


def ts(column):
    return Ref(column, "ts", Kind.TIME)


def earlier(one, other):
    return compare("<", ts(one), ts(other))


def shape_of(width, order=(), optional=()):
    return RowShape(
        (False,) * width,
        tuple(c in optional for c in range(width)),
        single=width == 1,
        order=Order.closing(order),
    )


def orders(columns):
    """Some of the pairs that the numbers' own order allows, or the opposite ones."""
    pairs = [(a, b) for a in columns for b in columns if a < b]
    chosen = st.lists(st.sampled_from(pairs), unique=True, max_size=3) if pairs else st.just([])
    return st.builds(lambda found, back: [(b, a) for a, b in found] if back else found, chosen, st.booleans())


def rows_with(arena, shape, types, span):
    """All rows of different events with the shape's order, inside a window of time; optional columns unbound too."""
    found = []
    for row in product(
        *([*of_type(arena, t), *([(None,)] * o)] for t, o in zip(types, shape.optional, strict=True))
    ):
        positions = tuple(p for (p,) in row)
        bound = [p for p in positions if p is not None]
        if len(set(bound)) < len(bound) or not bound:
            continue
        times = [None if p is None else arena.borrowed_ts[p] for p in positions]
        inside = max(arena.borrowed_ts[bound]) - min(arena.borrowed_ts[bound]) <= span
        if inside and all(times[a] < times[b] for a, b in shape.order):
            found.append(positions)
    return found


def in_window(arena, row, window):
    positions = events_of(row)
    if window.unit == "events":
        return max(positions) - min(positions) < window.size
    return arena.borrowed_ts[max(positions)] - arena.borrowed_ts[min(positions)] <= window.size


def pairs_of(arena, op, left, right, width):
    """What the join should give; terms are comparisons of `ts`, `k` and `x` between single columns."""
    found = []
    for pair in (a + b for a, b in product(left, right)):
        if not in_window(arena, pair, op.window) or any(pair[a] == pair[width + b] for a, b in op.distinct):
            continue
        if op.order == "before":
            ends = events_of(pair[:width]), events_of(pair[width:])
            if arena.borrowed_ts[max(ends[0])] >= arena.borrowed_ts[min(ends[1])]:
                continue
        if all(passes(arena, term, pair) for term in op.terms):
            found.append(pair)
    return sorted(found, key=repr)


def passes(arena, term, pair):
    one, other = term.arguments
    if pair[one.column] is None or pair[other.column] is None:
        return True
    values = [arena.values(ref.attribute, np.array([pair[ref.column]])) for ref in (one, other)]
    if any(v.valid is not None and not v.valid[0] for v in values):
        return False
    a, b = (v.data[0] for v in values)
    return {"<": a < b, "=": a == b, ">": a > b}[term.op]


joins = st.fixed_dictionaries(
    {
        "left": st.integers(1, 2),
        "right": st.integers(1, 2),
        "inner": st.tuples(st.booleans(), st.booleans()),
        "cross": st.integers(0, 4).flatmap(lambda _: orders(range(4))),
        "more": st.lists(st.sampled_from(["k", "x"]), unique=True, max_size=2),
        "span": st.sampled_from([3, 100]),
        "optional": st.sampled_from([None, None, None, 0, 1]),
        "greater": st.booleans(),
    }
)


@given(
    streams(size=10, types=(0, 1, 2)), windows, joins, st.lists(st.integers(1, 9), max_size=3), st.booleans()
)
@settings(max_examples=300)
def test_pairs(arena, window, drawn, cuts, compiled):
    when_to_compile.always = compiled
    try:
        check(arena, window, drawn, cuts)
    finally:
        when_to_compile.always = None


def check(arena, window, drawn, cuts):
    width, other = drawn["left"], drawn["right"]
    shapes = []
    for size, inner in zip((width, other), drawn["inner"], strict=True):
        optional = [drawn["optional"]] if size == 2 and drawn["optional"] is not None else []
        shapes.append(shape_of(size, [(0, 1)] if size == 2 and inner and not optional else [], optional))
    left = rows_with(arena, shapes[0], (0, 1)[:width], drawn["span"])
    right = rows_with(arena, shapes[1], (2, 0)[:other], drawn["span"])
    total = width + other
    cross = [(a, b) for a, b in drawn["cross"] if a < total and b < total and (a < width) != (b < width)]
    terms = [compare(">", ts(b), ts(a)) if drawn["greater"] else earlier(a, b) for a, b in cross]
    terms += [compare("=", k(0), k(total - 1))] * ("k" in drawn["more"])
    terms += [compare("<", x(total - 1), x(0))] * ("x" in drawn["more"])
    same = [(0, 1)] if other == 2 and (0, total - 1) not in cross and (total - 1, 0) not in cross else []
    op = Join(0, 1, window, "any", tuple(terms), tuple(same))
    found = stepped(JoinOperator(op, shapes), [left, right], shapes, arena, cuts)
    assert found == pairs_of(arena, op, left, right, width)


@pytest.mark.parametrize("compiled", [False, True])
@given(
    streams(size=12, types=(0, 2)),
    windows,
    st.lists(st.integers(1, 9), max_size=3),
    st.booleans(),
    st.sampled_from([0, 1]),
)
@settings(max_examples=100)
def test_few_events_that_look_for_many(compiled, arena, window, cuts, with_term, few):
    """Pairs of single events found from the earlier one are those found from the later one, ties included."""
    terms = (compare("<", x(1), x(0)),) * with_term
    op, shapes = Join(0, 1, window, "any", terms), [shape_of(1), shape_of(1)]
    left, right = of_type(arena, 0), of_type(arena, 2)
    looked = []
    for many in (few, 1 << 40):
        before, join.FEW, when_to_compile.always = join.FEW, many, compiled
        try:
            operator = JoinOperator(op, shapes)
            found = stepped(operator, [left, right], shapes, arena, cuts)
        finally:
            join.FEW, when_to_compile.always = before, None
        assert found == pairs_of(arena, op, left, right, 1)
        looked.append(operator.looked)
    assert looked[0] == looked[1]


@given(streams(size=10), windows, st.lists(st.integers(1, 9), max_size=3))
def test_sequences_of_wider_rows(arena, window, cuts):
    """The left may have been found in a wider window than the join's."""
    shapes = [shape_of(2, [(0, 1)]), shape_of(2)]
    left, right = rows_with(arena, shapes[0], (1, 2), 100), rows_with(arena, shapes[1], (2, 1), 100)
    op = Join(0, 1, window, "before")
    found = stepped(JoinOperator(op, shapes), [left, right], shapes, arena, cuts)
    assert found == pairs_of(arena, op, left, right, 2)


def looks(op, *shapes):
    """Which sides a join stores, and how many of its terms are left for the inner loop."""
    operator = JoinOperator(op, shapes)
    return [(look.stored, len(look.band._at_most), look.band._has_floor) for look in operator._looks]


W = Window(10)
ENDS = shape_of(2, [(0, 1)])


def test_an_event_between_two_others_is_a_range():
    assert looks(Join(0, 1, W, "any", (earlier(0, 2), earlier(2, 1))), ENDS, EVENT) == [(1, 0, False)]


def test_an_event_before_others_is_stored():
    assert looks(Join(0, 1, W, "any", (earlier(2, 0),)), ENDS, EVENT) == [(1, 0, False)]
    assert looks(Join(0, 1, W, "any", (earlier(0, 1),)), EVENT, ENDS) == [(0, 0, False)]


def test_rows_that_interleave_keep_one_term():
    """A1 < B1 < A2 < B2: the left's last event is in a range, its first is compared."""
    terms = (earlier(0, 2), earlier(2, 1), earlier(1, 3))
    assert looks(Join(0, 1, W, "any", terms), ENDS, ENDS) == [(0, 1, True)]


def test_rows_inside_the_others_need_no_window():
    terms = (earlier(0, 2), earlier(3, 1))
    assert looks(Join(0, 1, W, "any", terms), ENDS, ENDS) == [(1, 1, False)]


def test_without_order_both_sides_look():
    assert looks(Join(0, 1, W, "any"), EVENT, EVENT) == [(0, 0, False), (1, 0, False)]


def test_an_order_that_contradicts_itself_finds_nothing():
    arena = arena_of(range(4), types=[0, 1, 0, 1])
    op = Join(0, 1, W, "any", (earlier(0, 1), earlier(1, 0)))
    inputs = [of_type(arena, 0), of_type(arena, 1)]
    assert stepped(JoinOperator(op, [EVENT, EVENT]), inputs, [EVENT, EVENT], arena, ()) == []


def test_unbound_columns_are_in_no_order():
    shape = ordered(shape_of(2, optional=[1]), [earlier(0, 1)])
    assert not shape.order
    terms = (earlier(0, 2), earlier(1, 2))
    assert looks(Join(0, 1, W, "any", terms), shape, EVENT) == [(0, 1, True), (1, 0, False)]


@pytest.mark.parametrize("few", [0, 1 << 13])
def test_what_is_found_in_parts_comes_as_one_if_it_is_little(monkeypatch, few):
    monkeypatch.setattr(join, "FEW_ROWS", few)
    arena = arena_of(range(6), types=[0, 1, 0, 1, 0, 1])
    rows = [rows_of(of_type(arena, kind), (False,), arena) for kind in (0, 1)]
    operator = JoinOperator(Join(0, 1, Window(100), "any", (), ()), [EVENT, EVENT])
    clock = Clock(arena, 0, 6, 0, 1 << 62, True, Meter(1 << 40))
    parts = operator.step([rows[:1], [rows[1].take(np.array(some)) for some in ([0], [1, 2])]], clock)
    assert sum(map(len, parts)) == 9
    assert len(parts) == (1 if few else 2)
