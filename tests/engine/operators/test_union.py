"""Union: columns moved, widened and left unbound; equal rows once."""

from tests.engine.events import arena_of
from tests.engine.stepping import EVENT, stepped

from stretto.engine.operators.protocol import RowShape
from stretto.engine.operators.stateless import UnionOperator
from stretto.plan.ops import Union

ARENA = arena_of(range(6))
PAIR = RowShape((False, False), (False, True))
SET = RowShape((True,), (False,))


def union(op, inputs, shapes, cuts=(3,)):
    operator = UnionOperator(op, shapes)
    return operator.shape, stepped(operator, inputs, shapes, ARENA, cuts)


def test_columns_are_moved_and_widened():
    op = Union((0, 1), ((2, 0), (0,)), 3, (True, False, False), distinct=False)
    inputs = [[(1, 2), (4, None)], [((0, 3),)]]
    shape, found = union(op, inputs, [PAIR, SET])
    assert found == sorted([((2,), None, 1), (None, None, 4), ((0, 3), None, None)], key=repr)
    assert shape == RowShape((True, False, False), (True, True, True))


def test_equal_rows_come_out_once_if_asked():
    inputs = [[(1, 2), (1, 2), (2, 1), (5, None)], [((1,),), ((5,),), ((1, 5),)]]
    once = Union((0, 1), ((0, 1), (0,)), 2, (True, False), distinct=True)
    _, found = union(once, inputs, [PAIR, SET])
    expected = [((1,), 2), ((2,), 1), ((5,), None), ((1,), None), ((1, 5), None)]
    assert found == sorted(expected, key=repr)
    every = Union((0, 1), ((0, 1), (0,)), 2, (True, False), distinct=False)
    assert len(union(every, inputs, [PAIR, SET])[1]) == 7


def test_single_events_stay_single():
    op = Union((0, 1), ((0,), (0,)), 1, (False,), distinct=True)
    shape, found = union(op, [[(0,), (2,), (4,)], [(2,), (5,)]], [EVENT, EVENT])
    assert found == [(0,), (2,), (4,), (5,)]
    assert shape == EVENT


def test_nothing_in_nothing_out():
    op = Union((0,), ((0,),), 1, (False,), distinct=True)
    assert union(op, [[]], [EVENT])[1] == []
