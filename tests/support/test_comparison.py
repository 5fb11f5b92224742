"""The checker is checked: every kind of damage must be noticed."""

import math
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.support.comparison import assert_same_matches, matches_of

from stretto.oracle.detections import Match
from stretto.pattern.nodes import Atom, Combine, Query, Return, Stream, Variable, Window
from stretto.pattern.predicates import Const
from stretto.schema import Kind

SAMPLE = [
    Match(1, 5, 5, {"a": (0,), "d": (2, 3)}, {"x": 0.1, "n": None}),
    Match(1, 5, 5, {"a": (0,), "d": (3,)}, {"x": math.nan, "n": 7}),
    Match(2, 9, 12, {"a": (1,)}, {"x": math.inf, "n": True}),
]


def _damaged(**change: object) -> Callable[[list[Match]], list[Match]]:
    return lambda sample: [replace(sample[0], **change), *sample[1:]]


DAMAGE = {
    "drop one": lambda sample: sample[1:],
    "repeat one": lambda sample: [*sample, sample[0]],
    "repeat one, drop another": lambda sample: [sample[0], sample[0], sample[2]],
    "drop all": lambda sample: [],
    "rebind one": _damaged(events={"a": (0,), "d": (2, 4)}),
    "reorder a set": _damaged(events={"a": (0,), "d": (3, 2)}),
    "rename a variable": _damaged(events={"b": (0,), "d": (2, 3)}),
    "unbind one": _damaged(events={"a": (0,)}),
    "shift start": _damaged(start=0),
    "shift end": _damaged(end=6),
    "shift detected": _damaged(detected=6),
    "change a double by one unit": _damaged(returned={"x": math.nextafter(0.1, 1), "n": None}),
    "double to NaN": _damaged(returned={"x": math.nan, "n": None}),
    "double to null": _damaged(returned={"x": None, "n": None}),
    "null to zero": _damaged(returned={"x": 0.1, "n": 0}),
    "integer for boolean": lambda sample: [*sample[:2], replace(sample[2], returned={"x": math.inf, "n": 1})],
    "forget a returned value": _damaged(returned={"x": 0.1}),
}


def test_equal_matches_pass_in_any_order() -> None:
    assert_same_matches(reversed(SAMPLE), SAMPLE)
    assert_same_matches([], [])
    assert_same_matches([replace(SAMPLE[1], returned={"n": 7, "x": -math.nan})], [SAMPLE[1]])


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_comparison_notices(damage: Callable[[list[Match]], list[Match]]) -> None:
    with pytest.raises(AssertionError):
        assert_same_matches(damage(SAMPLE), SAMPLE)
    with pytest.raises(AssertionError):
        assert_same_matches(SAMPLE, damage(SAMPLE))


def test_the_diff_names_what_differs() -> None:
    with pytest.raises(AssertionError, match=r"missing: 1\n.*a=0 d=2,3.*\nthe query"):
        assert_same_matches(SAMPLE[1:], SAMPLE, about="the query")


def test_tables_become_matches() -> None:
    pattern = Combine("SEQ", (Atom(0, Stream("A")), Atom(1, Stream("D"))))
    names = (Variable("a"), Variable("d", kleene=True), Variable("n", negated=True))
    query = Query(
        "q", pattern, names, (), (), Window(9), returns=(Return("x", Const(1, Kind.INT), Kind.INT),)
    )
    times = {name: pa.array([1, 2], pa.timestamp("us")) for name in ("start", "end", "detected")}
    bound = {"a": pa.array([4, None], pa.int64()), "d": pa.array([[], [7, 8]], pa.list_(pa.int64()))}
    table = pa.table({**bound, **times, "x": pa.array([60, None], pa.duration("us"))})
    expected = [Match(1, 1, 1, {"a": (4,)}, {"x": 60}), Match(2, 2, 2, {"d": (7, 8)}, {"x": None})]
    assert_same_matches(matches_of(table, query), expected)
    with pytest.raises(AssertionError):
        matches_of(table.drop_columns(["x"]), query)
