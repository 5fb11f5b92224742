"""Filter: the rows that pass, as they came."""

from events import arena_of, compare, x
from stepping import stepped

from stretto.engine.operators.filter import FilterOperator
from stretto.engine.shape import Shape
from stretto.plan.ops import Filter

ARENA = arena_of(range(6), x=[1.0, 3.0, 2.0, None, 0.0, 9.0])
SHAPE = Shape((False, True), (False, True))


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
