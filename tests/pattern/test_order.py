"""Partial orders as masks, against the pairs they stand for."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.pattern.order import NO_ORDER, Order, mask_of, members

THINGS = 6
PAIRS = [(i, j) for i in range(THINGS) for j in range(THINGS) if i < j]


@st.composite
def some_orders(draw) -> Order:
    """An order of a few things, whatever their numbers say."""
    to = draw(st.permutations(range(THINGS)))
    return Order.closing((to[i], to[j]) for i, j in draw(st.lists(st.sampled_from(PAIRS), max_size=8)))


def closed(pairs) -> set[tuple[int, int]]:
    found = set(pairs)
    while more := {(i, l) for i, j in found for k, l in found if j == k} - found:
        found |= more
    return found


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_closing_adds_what_follows(pairs) -> None:
    assert list(Order.closing(pairs)) == sorted(closed(pairs))
    assert NO_ORDER.with_pairs(pairs) == Order.closing(pairs)


@given(some_orders())
def test_an_order_is_its_pairs(order: Order) -> None:
    pairs = set(order)
    assert Order.of(pairs) == order
    assert hash(Order.of(pairs)) == hash(order)
    assert len(order) == len(pairs)
    assert bool(order) == bool(pairs)
    assert all(((i, j) in order) == ((i, j) in pairs) for i in range(THINGS + 2) for j in range(THINGS + 2))
    assert [members(mask) for mask in order.before(THINGS)] == [
        sorted(i for i, k in pairs if k == j) for j in range(THINGS)
    ]


@given(some_orders(), st.lists(st.sampled_from(range(THINGS)), unique=True))
def test_parts(order: Order, things: list[int]) -> None:
    part = order.part(things)
    assert {(things[i], things[j]) for i, j in part} == {(i, j) for i, j in order if {i, j} <= set(things)}
    assert order.latest(things) == [i for i in things if not any((i, j) in order for j in things)]
    assert order.earliest(things) == [i for i in things if not any((j, i) in order for j in things)]


@given(some_orders(), st.sets(st.sampled_from(range(THINGS))), st.sets(st.sampled_from(range(THINGS))))
def test_one_more_thing_between(order: Order, after: set[int], before: set[int]) -> None:
    pairs = [*order, *((i, THINGS) for i in after), *((THINGS, j) for j in before)]
    wanted = Order.closing(pairs)
    if not any((i, i) in wanted for i in range(THINGS + 1)):
        assert order.with_between(THINGS, after, before) == wanted


@given(some_orders(), some_orders(), st.booleans())
def test_one_order_beside_another(one: Order, other: Order, before: bool) -> None:
    everything = mask_of(range(THINGS)) if before else 0
    pairs = {*one, *((i + THINGS, j + THINGS) for i, j in other)}
    pairs |= {(i, j + THINGS) for i in range(THINGS) for j in range(THINGS) if before}
    assert set(one.followed(THINGS, other, everything, everything)) == pairs
    assert set(one.shifted(THINGS)) == {(i + THINGS, j + THINGS) for i, j in one}


@given(some_orders())
def test_series_and_unrelated_parts(order: Order) -> None:
    everything = range(THINGS)
    series = order.in_series(everything)
    assert sorted(i for part in series for i in part) == list(everything)
    cuts = [
        first
        for size in range(1, THINGS)
        for first in {frozenset(chosen[:size]) for chosen in permutations(everything)}
        if all((i, j) in order for i in first for j in everything if j not in first)
    ]
    assert len(series) == len(cuts) + 1
    apart = order.unrelated(everything)
    assert sorted(i for part in apart for i in part) == list(everything)
    place = {i: number for number, part in enumerate(apart) for i in part}
    assert all(place[i] == place[j] for i, j in order)
    for part in apart:  # none can be taken apart further
        linked = {part[0]}
        while more := {k for pair in order for k in pair if linked & set(pair)} - linked:
            linked |= more
        assert linked == set(part)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_total_order(count: int) -> None:
    assert set(Order.total(count)) == {(i, j) for i in range(count) for j in range(i + 1, count)}
