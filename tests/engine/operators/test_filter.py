"""Filter: the rows that pass, as they came."""

import pytest
from tests.engine.events import arena_of, compare, x
from tests.engine.stepping import stepped

from stretto.engine.operators.protocol import RowShape
from stretto.engine.operators.stateless import FilterOperator
from stretto.pattern.nodes import Window
from stretto.pattern.predicates import Ref
from stretto.plan.ops import Filter
from stretto.schema import Kind

ARENA = arena_of(range(6), x=[1.0, 3.0, 2.0, None, 0.0, 9.0])
SHAPE = RowShape((False, True), (False, True))


def test_rows_that_pass():
    """Every event of a set; a term over an unbound column does not apply, one over a null is not true."""
    rows = [(0, (1, 2)), (2, (1, 4)), (5, None), (4, (3,)), (4, (5,))]
    operator = FilterOperator(Filter(0, (compare("<", x(0), x(1)),)), [SHAPE])
    found = stepped(operator, [rows], [SHAPE], ARENA, (2, 3))
    assert found == sorted([(0, (1, 2)), (5, None), (4, (5,))], key=repr)
    assert operator.shape == SHAPE
    assert operator.held == 0


def test_no_rows():
    operator = FilterOperator(Filter(0, (compare("<", x(0), x(1)),)), [SHAPE])
    assert stepped(operator, [[]], [SHAPE], ARENA, ()) == []


PAIRS = RowShape((False, False), (False, True))
TIED = arena_of([0, 0, 3, 4, 4, 9], x=[1.0, 3.0, 2.0, None, 0.0, 9.0])


@pytest.mark.parametrize(
    ("window", "expected"),
    [(Window(4), {(0, 3), (0, 4), (4, 1), (5, None)}), (Window(4, "events"), {(0, 3), (4, 1), (5, None)})],
)
def test_rows_inside_a_window(window, expected):
    rows = [(0, 3), (0, 4), (4, 1), (0, 5), (5, None)]
    found = stepped(FilterOperator(Filter(0, (), window), [PAIRS]), [rows], [PAIRS], TIED, (3,))
    assert set(found) == expected
    both = FilterOperator(Filter(0, (compare("<", x(0), x(1)),), window), [PAIRS])
    assert set(stepped(both, [rows], [PAIRS], TIED, (3,))) == {(4, 1), (5, None)}


def test_the_order_that_terms_say_is_known_of_the_rows():
    times = [Ref(c, "ts", Kind.TIME) for c in range(3)]
    terms = (compare("<", times[0], times[1]), compare(">", times[2], times[1]))
    shape = RowShape((False,) * 3, (False,) * 3)
    assert set(FilterOperator(Filter(0, terms), [shape]).shape.order) == {(0, 1), (1, 2), (0, 2)}


def test_rows_that_lack_nothing():
    """Columns that have to be bound; terms and the window are looked at where they are."""
    rows = [(0, (1, 2)), (2, None), (4, (5,)), (5, (1,))]
    bound = FilterOperator(Filter(0, (), bound=(1,)), [SHAPE])
    assert set(stepped(bound, [rows], [SHAPE], ARENA, (2,))) == {(0, (1, 2)), (4, (5,)), (5, (1,))}
    assert bound.shape.optional == (False, False)
    pairs = [(0, 3), (0, None), (4, 1), (5, None)]
    both = FilterOperator(Filter(0, (compare("<", x(0), x(1)),), Window(4), bound=(1,)), [PAIRS])
    assert set(stepped(both, [pairs], [PAIRS], TIED, (3,))) == {(4, 1)}
