"""Terms and values over rows equal the plain evaluation, row by row."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.values.plain_values import (
    BOOL,
    FLOAT,
    INT,
    KINDS,
    STRING,
    Table,
    column_of,
    is_nan,
    plain_holds,
    plain_value,
    tables,
    trees,
)

from stretto.errors import EngineError
from stretto.pattern.functions import _registered, register_function
from stretto.pattern.predicates import Apply, Const, Reduce, Ref, Which
from stretto.schema import Kind
from stretto.values import evaluate
from stretto.values.evaluate import holds, value

COLUMNS = (0, 1, 2, 3)
IS_SET = [False, False, True, True]


@st.composite
def matches(draw, events):
    """Rows as one list of positions per column; single columns bind at most one event."""
    positions = st.integers(0, len(events) - 1)
    sizes = [3 if is_set else 1 for is_set in IS_SET]
    row = st.tuples(*(st.lists(positions, max_size=size, unique=True).map(sorted) for size in sizes))
    return draw(st.lists(row, max_size=6))


def columns_of_rows(rows):
    return [column_of([row[c] for row in rows], IS_SET[c]) for c in COLUMNS]


def decoded(vector, kind, strings):
    nulls = vector.nulls
    if kind is STRING:
        return strings.texts(vector.data, ~nulls).to_pylist()
    return [None if null else item for item, null in zip(vector.data.tolist(), nulls, strict=True)]


def same(left, right):
    if left is None or right is None or isinstance(left, str | bool):
        return left is right if not isinstance(left, str) else left == right
    if is_nan(left) or is_nan(right):
        return is_nan(left) and is_nan(right)
    return type(left) is type(right) and (
        left == right or math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-6)
    )


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_terms_hold_as_they_do_row_by_row(data) -> None:
    events = data.draw(tables())
    rows = data.draw(matches(events))
    terms = data.draw(st.lists(trees(BOOL, COLUMNS, 2), max_size=3))
    expected = [all(plain_holds(term, row, events) for term in terms) for row in rows]
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("error")
        patch.setattr(evaluate, "EXPANDED", data.draw(st.sampled_from([1, 2, 5, 1 << 18])))
        found = holds(terms, columns_of_rows(rows), len(rows), Table(events))
    assert found.tolist() == expected


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_values_are_those_of_each_row(data) -> None:
    events = data.draw(tables())
    rows = data.draw(matches(events))
    kind = data.draw(st.sampled_from(KINDS))
    expr = data.draw(trees(kind, COLUMNS, 2, quantified=False))
    table = Table(events)
    found = value(expr, columns_of_rows(rows), len(rows), table)
    assert len(found) == len(rows)
    for ours, row in zip(decoded(found, kind, table.strings), rows, strict=True):
        assert same(ours, plain_value(expr, row, events, {})), (expr, row)


EVENTS = [
    {"ts": t, "i": i, "j": 0, "f": f, "g": 0.0, "s": s, "p": True, "d": 0}
    for t, (i, f, s) in enumerate([(1, 1.0, "a"), (3, 2.0, "b"), (2, math.nan, None), (None, 5.0, "a")])
]


def ref(column, attribute, which=Which.EACH, kind=INT):
    return Ref(column, attribute, kind, which)


def test_a_term_over_two_sets_holds_for_every_pair() -> None:
    term = Apply("<", (ref(2, "ts"), ref(3, "ts")), BOOL)
    rows = [([], [], [0, 1], [2, 3]), ([], [], [0, 2], [1, 3]), ([], [], [0], []), ([], [], [], [])]
    assert holds([term], columns_of_rows(rows), 4, Table(EVENTS)).tolist() == [True, False, True, True]


def test_neighbours_together_with_another_set() -> None:
    rise = Apply("-", (ref(2, "i", Which.CURRENT), ref(2, "i", Which.PREVIOUS)), INT)
    term = Apply(">", (rise, ref(3, "ts")), BOOL)
    rows = [([], [], [0, 1], [0, 1]), ([], [], [0, 1], [0, 2]), ([], [], [0], [3]), ([], [], [0, 1, 2], [0])]
    assert holds([term], columns_of_rows(rows), 4, Table(EVENTS)).tolist() == [True, False, True, False]


def test_a_single_event_has_no_neighbours() -> None:
    term = Apply("<", (ref(0, "i", Which.CURRENT), ref(0, "i", Which.PREVIOUS)), BOOL)
    assert holds([term], [np.array([0, 1])], 2, Table(EVENTS)).all()


def test_a_constant_term_applies_to_every_row() -> None:
    no = Apply("=", (Const(1, INT), Const(2, INT)), BOOL)
    assert holds([no], [], 3, Table(EVENTS)).tolist() == [False] * 3
    assert holds([], [], 3, Table(EVENTS)).tolist() == [True] * 3
    assert value(Const("x", STRING), [], 2, Table(EVENTS)).data.tolist() == [0, 0]


def test_aggregates_of_one_event_are_those_of_a_set_of_one() -> None:
    columns = [np.array([0, -1, 3])]
    found = [
        value(Reduce(function, 0, "i", FLOAT if function == "AVG" else INT), columns, 3, Table(EVENTS))
        for function in ("COUNT", "SUM", "MIN", "AVG")
    ]
    lists = [decoded(vector, INT, None) for vector in found]
    assert lists == [[1, 0, 1], [1, None, None], [1, None, None], [1.0, None, None]]


@pytest.fixture
def registry():
    before = dict(_registered)
    yield
    _registered.clear()
    _registered.update(before)


@pytest.mark.usefixtures("registry")
def test_user_functions_never_see_a_null() -> None:
    seen = []

    def longer(texts, numbers):
        seen.append((texts.tolist(), numbers.tolist()))
        return np.array([len(text) + number for text, number in zip(texts, numbers, strict=True)])

    register_function("longer", longer, [STRING, INT], INT)
    expr = Apply("user:LONGER", (ref(0, "s", kind=STRING), ref(0, "i")), INT)
    table = Table(EVENTS)
    found = value(expr, [np.array([0, 1, 2, 3, -1])], 5, table)
    assert decoded(found, INT, None) == [2, 4, None, None, None]
    assert seen == [(["a", "b"], [1, 3])]
    assert decoded(value(expr, [np.array([2])], 1, table), INT, None) == [None]
    assert len(seen) == 1


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("kind", "function", "expected"),
    [
        (STRING, lambda i: ["x", None], ["x", None]),
        (FLOAT, lambda i: np.array([None, 2.5], object), [None, 2.5]),
        (FLOAT, lambda i: i, [1.0, 3.0]),
        (BOOL, lambda i: np.array([True, None], object), [True, None]),
    ],
)
def test_results_of_user_functions(kind, function, expected) -> None:
    register_function("F", function, [INT], kind)
    table = Table(EVENTS)
    found = value(Apply("user:F", (ref(0, "i"),), kind), [np.array([0, 1])], 2, table)
    assert decoded(found, kind, table.strings) == expected


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    "function", [lambda i: i[:1], lambda i: i / 2, lambda i: 1 // 0, lambda i: 5], ids=range(4)
)
def test_a_function_that_fails_is_named(function) -> None:
    register_function("F", function, [INT], INT)
    with pytest.raises(EngineError, match=r"`F` failed|function failed: F: "):
        value(Apply("user:F", (ref(0, "i"),), INT), [np.array([0, 1])], 2, Table(EVENTS))


def test_a_missing_function_is_named() -> None:
    with pytest.raises(EngineError, match="`GONE` is not registered"):
        value(Apply("user:GONE", (), INT), [], 2, Table(EVENTS))


def test_rows_that_failed_are_left_out_of_later_terms() -> None:
    asked = []

    class Counting(Table):
        def values(self, attribute, positions):
            asked.append(len(positions))
            return super().values(attribute, positions)

    few = Apply("=", (ref(0, "ts", kind=Kind.TIME), Const(1, Kind.TIME)), BOOL)
    then = Apply(">", (ref(0, "i"), Const(0, INT)), BOOL)
    found = holds([few, then, few], [np.array([0, 1, 2, 3, 1, 0])], 6, Counting(EVENTS))
    assert found.tolist() == [False, True, False, False, True, False]
    assert asked == [6, 2, 2]


@pytest.mark.usefixtures("registry")
def test_a_function_may_write_to_its_arguments() -> None:
    def doubled(i):
        i *= 2
        return i

    register_function("F", doubled, [INT], INT)
    given = Apply("user:F", (ref(0, "i"),), INT)
    found = value(Apply("+", (given, ref(0, "i")), INT), [np.array([0, 1])], 2, Table(EVENTS))
    assert decoded(found, INT, None) == [3, 9]


@pytest.mark.usefixtures("registry")
def test_a_function_may_give_the_same_array_every_time() -> None:
    room = np.zeros(2, np.int64)

    def doubled(i):
        np.multiply(i, 2, out=room)
        return room

    register_function("F", doubled, [INT], INT)
    given, table = Apply("user:F", (ref(0, "i"),), INT), Table(EVENTS)
    first = value(given, [np.array([0, 1])], 2, table)
    value(given, [np.array([1, 1])], 2, table)
    assert decoded(first, INT, None) == [2, 6]
