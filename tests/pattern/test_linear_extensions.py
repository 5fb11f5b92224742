"""Linear orders of partial orders, counted."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.pattern.linear_extensions import count_linear_extensions, gaps_between
from stretto.pattern.order import NO_ORDER, Order


@pytest.mark.parametrize(
    ("count", "order", "expected"),
    [
        (1, (), 1),
        (4, (), 24),
        (3, ((0, 1), (0, 2), (1, 2)), 1),
        (3, ((1, 2),), 3),
        (4, ((0, 1), (2, 3)), 6),
        (2, ((0, 1), (1, 0)), 0),
    ],
)
def test_known_numbers(count, order, expected) -> None:
    assert count_linear_extensions(count, Order.closing(order)) == expected


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.sampled_from(_pairs(n)) if n > 1 else st.nothing()))
    )
)
def test_every_order_is_counted(drawn) -> None:
    count, order = drawn
    allowed = sum(all(way.index(i) < way.index(j) for i, j in order) for way in permutations(range(count)))
    assert count_linear_extensions(count, Order.closing(order)) == allowed


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def test_many_slots_are_estimated() -> None:
    chains = Order.of(
        (i, j) for start in (0, 10) for i in range(start, start + 10) for j in range(i + 1, start + 10)
    )
    assert count_linear_extensions(20, chains) == pytest.approx(
        184_756, rel=1e-9
    )  # two chains of ten: 20 over 10
    assert count_linear_extensions(200, Order.total(2)) > 1e200


def test_gaps_of_a_sequence_and_of_a_conjunction() -> None:
    sequence = Order.total(2)
    # One more between the two of a sequence: one of the gaps, always.
    one = sequence.with_between(2, [0], [1])
    two = one.with_between(3, [0, 2], [1])
    assert set(two) == {(0, 1), (0, 2), (2, 1), (0, 3), (3, 1), (2, 3)}
    assert gaps_between(2, sequence, one, two) == (1.0, 1.0)
    # One more before the second of an unordered pair: one gap if it comes first, two if it comes last.
    one = NO_ORDER.with_between(2, [], [1])
    two = one.with_between(3, [2], [1])
    assert gaps_between(2, NO_ORDER, one, two) == (1.0, 2.0)
