"""Repeat against its statement: every chain of elements, tried one by one."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.events import arena_of, compare, k, x
from tests.engine.stepping import EVENT, events_of, of_type, rows_of, stepped, streams, tuples_of, windows

from stretto.engine.memory.limits import Meter, TooMuch
from stretto.engine.operators import repeat
from stretto.engine.operators.protocol import Clock, RowShape
from stretto.engine.operators.repeat import RepeatOperator
from stretto.pattern.nodes import Window
from stretto.pattern.predicates import Ref, Which
from stretto.plan.ops import Repeat
from stretto.schema import Kind
from stretto.values.evaluate import holds


def ts(column, which=Which.EACH):
    return Ref(column, "ts", Kind.TIME, which)


def inside(row, window, arena):
    first, last = min(events_of(row)), max(events_of(row))
    if window.unit == "us":
        return arena.borrowed_ts[last] - arena.borrowed_ts[first] <= window.size
    return last - first < window.size


def passes(terms, row, sets, arena):
    return bool(holds(terms, rows_of([row], sets, arena).columns, 1, arena)[0])


def chains(op, row, elements, shapes, arena):
    """All chains of a base row, each a list of elements in time order."""
    base, element = shapes
    final = tuple(row[c] for c in op.final)
    both, three = base.sets + element.sets, base.sets + element.sets * 2
    usable = [
        e
        for e in elements
        if inside((*e, max(events_of(row))), op.window, arena)
        and passes(op.terms, row + e, both, arena)
        and not any(set(events_of(row[a : a + 1])) & set(events_of(e[b : b + 1])) for a, b in op.distinct)
    ]

    def before(e, later):
        return arena.borrowed_ts[max(events_of(e))] < arena.borrowed_ts[min(events_of(later))]

    def back(chain):
        n = len(chain)
        if op.low - 1 <= n and passes(op.start, row + (chain[0] if chain else final), both, arena):
            yield chain
        if op.high is None or n < op.high - 1:
            later = chain[0] if chain else final
            for e in usable:
                if before(e, later) and passes(op.adjacent, row + e + later, three, arena):
                    yield from back([e, *chain])

    yield from back([])


def expected(op, base, elements, shapes, arena):
    found = []
    for row in base:
        for chain in chains(op, row, elements, shapes, arena):
            grown = list(row)
            for i, c in enumerate(op.final):
                grown[c] = tuple(events_of([e[i] for e in chain] + [row[c]])) or None
            found.append(tuple(grown))
    return sorted(found, key=repr)


def check(op, base, elements, shapes, arena, cuts):
    operator = RepeatOperator(op, shapes)
    assert stepped(operator, [base, elements], shapes, arena, cuts) == expected(
        op, base, elements, shapes, arena
    )


def sequences(parts, window, arena):
    """Rows with one event of each part, each strictly later than the one before."""
    rows = [sum(row, ()) for row in product(*parts)]
    return [
        row
        for row in rows
        if all(arena.borrowed_ts[a] < arena.borrowed_ts[b] for a, b in pairwise(row))
        and inside(row, window, arena)
    ]


bounds = st.sampled_from([(1, None), (1, 1), (1, 2), (2, None), (2, 3), (3, 3), (3, None)])
some_cuts = st.lists(st.integers(0, 9), max_size=4)
ABC = RowShape((False,) * 3, (False,) * 3)


def maybe(*terms):
    return st.lists(st.sampled_from(terms), max_size=2, unique=True).map(tuple)


@settings(max_examples=200, deadline=None)
@given(
    streams(12, (0, 1, 1, 1, 1, 2)),
    windows,
    bounds,
    maybe(compare("<", x(0), x(3)), compare("=", k(0), k(3)), compare("!=", k(2), k(3))),
    maybe(compare("<=", x(3), x(4)), compare("=", k(3), k(4)), compare("<", k(0), compare("-", k(3), k(4)))),
    maybe(compare("<", x(3), x(2)), compare("=", k(0), k(3))),
    some_cuts,
)
def test_repeated_events(arena, window, bound, terms, adjacent, start, cuts):
    """SEQ(A, B+, C): the order after A is a term."""
    base = sequences([of_type(arena, 0), of_type(arena, 1), of_type(arena, 2)], window, arena)
    op = Repeat(0, 1, (1,), *bound, window, (compare("<", ts(0), ts(3)), *terms), adjacent, start)
    check(op, base, of_type(arena, 1), [ABC, EVENT], arena, cuts)


@settings(max_examples=60, deadline=None)
@given(streams(7, (1, 1, 1, 2)), windows, bounds, st.booleans(), some_cuts)
def test_distinct_events(arena, window, bound, linked, cuts):
    """AND(B, B+): the other B may stand anywhere, but is not one of the repetitions."""
    pairs = [a + b for a in of_type(arena, 1) for b in of_type(arena, 1) if a != b]
    base = [row for row in pairs if inside(row, window, arena)]
    adjacent = (compare("<=", x(2), x(3)),) if linked else ()
    op = Repeat(0, 1, (1,), *bound, window, (), adjacent, (), ((0, 0),))
    check(op, base, of_type(arena, 1), [RowShape((False,) * 2, (False,) * 2), EVENT], arena, cuts)


GROUP = RowShape((False, True), (True, False))


@settings(max_examples=100, deadline=None)
@given(streams(8), windows, bounds, st.booleans(), st.booleans(), some_cuts, st.data())
def test_repeated_groups(arena, window, bound, linked, started, cuts, data):
    """Elements with an optional event and a set; they span some time, and overlap."""
    events = [p for p in range(len(arena.borrowed_ts)) if arena.borrowed_types[p] == 1]
    sets = list(
        [(a,) for a in events]
        + [(a, b) for a in events for b in events if arena.borrowed_ts[a] < arena.borrowed_ts[b]]
    )
    elements = [(None, some) for some in sets]
    elements += [
        (a, some)
        for (a,) in of_type(arena, 0)
        for some in sets
        if arena.borrowed_ts[a] < arena.borrowed_ts[some[0]]
    ]
    elements = [e for e in elements if inside(e, window, arena)]
    elements = data.draw(st.lists(st.sampled_from(elements), unique=True, max_size=5)) if elements else []
    base = [(*c, *e) for c in of_type(arena, 2) for e in elements if inside((*c, *e), window, arena)]
    shapes = [RowShape((False, *GROUP.sets), (False, *GROUP.optional)), GROUP]
    adjacent = (compare("<=", x(4, Which.LAST), x(6, Which.LAST)),) if linked else ()
    start = (compare("!=", k(3), k(0)),) if started else ()
    check(Repeat(0, 1, (1, 2), *bound, window, (), adjacent, start), base, elements, shapes, arena, cuts)


def test_small_blocks(monkeypatch):
    """However little is made at once, nothing is lost and nothing is made twice."""
    for name in ("BLOCK", "ROOM", "SPACE", "LINKS"):
        monkeypatch.setattr(repeat, name, 3)
    arena = arena_of(range(9), types=[0, 1, 1, 1, 1, 1, 2, 1, 2], x=[1.0, 2, 1, 3, 5, 4, 1, 6, 2])
    base = sequences([of_type(arena, 0), of_type(arena, 1), of_type(arena, 2)], Window(100), arena)
    for adjacent in ((), (compare("<", x(3), x(4)),)):
        op = Repeat(0, 1, (1,), 1, None, Window(100), adjacent=adjacent)
        check(op, base, of_type(arena, 1), [ABC, EVENT], arena, (4, 7))


@pytest.mark.parametrize("linked", [False, True])
def test_too_many_chains_stop_the_step(linked):
    """2**60 chains are not made: the bound on memory is noticed on the way."""
    arena = arena_of(range(62), types=[1] * 61 + [2], x=[float(i) for i in range(62)])
    rows = [rows_of([(60,)], (False,), arena)], [rows_of(of_type(arena, 1), (False,), arena)]
    adjacent = (compare("<", x(1), x(2)),) if linked else ()
    operator = RepeatOperator(Repeat(0, 1, (0,), 1, None, Window(100), adjacent=adjacent), [EVENT, EVENT])
    with pytest.raises(TooMuch):
        operator.step(rows, Clock(arena, 0, 62, 0, 1 << 62, True, Meter(10_000_000)))


def test_terms_cut_before_they_are_enumerated():
    """Of 2**59 chains only one has as many elements as asked for, or the start asked for."""
    arena = arena_of(range(61), types=[1] * 61, x=[0.0] + [1.0] * 60)
    rows = [rows_of([(60,)], (False,), arena)], [rows_of(of_type(arena, 1), (False,), arena)]
    clock = Clock(arena, 0, 61, 0, 1 << 62, True, Meter(10_000_000))
    all_of_them = RepeatOperator(Repeat(0, 1, (0,), 61, None, Window(100)), [EVENT, EVENT])
    (found,) = all_of_them.step(rows, clock)
    assert tuples_of(found) == [(tuple(range(61)),)]
    start = (compare("<", x(1), x(0)),)
    first_and_last = RepeatOperator(Repeat(0, 1, (0,), 1, 2, Window(100), start=start), [EVENT, EVENT])
    (found,) = first_and_last.step(rows, clock)
    assert tuples_of(found) == [((0, 60),)]
    impossible = (compare("<", x(0), x(1)),)
    none = RepeatOperator(Repeat(0, 1, (0,), 1, None, Window(100), start=impossible), [EVENT, EVENT])
    assert none.step(rows, clock) == []


def test_expired_elements_are_dropped():
    arena = arena_of(np.arange(5000), types=[1] * 5000)
    operator = RepeatOperator(Repeat(0, 1, (0,), 1, 2, Window(3)), [EVENT, EVENT])
    rows = of_type(arena, 1)
    found = stepped(operator, [rows, rows], [EVENT, EVENT], arena, range(0, 5000, 50))
    assert len(found) == 5000 + 3 * 5000 - 6
    assert len(operator._band) <= 53
