"""The checker of trend aggregates is checked: every kind of damage must be noticed."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.support.trend_comparison import SCHEMA, Row, assert_same_totals, difference, rows_of

from stretto.oracle.trends import Number, Total

GROUPS = {"q": ("k", "s"), "r": ()}
BIG = 3**800  # beyond all doubles


def _total(name: str, value: Number | None, scale: float = 0, start: int = 0) -> Total:
    return Total("q", start, start + 10, (1, "ü"), name, name.partition("(")[0], value, Fraction(scale))


def _row(name: str, value: float | None, exact: str | None, log2: float | None, start: int = 0) -> Row:
    times = {"window_start": start, "window_end": start + 10}
    row = {"query": "q", **times, "group": '{"k":1,"s":"ü"}', "name": name}
    return {**row, "value": value, "exact": exact, "log2_count": log2}


TOTALS = [
    _total("COUNT(*)", 8, start=-10),
    _total("COUNT(*)", 2**63 - 1),
    _total("COUNT(b)", 2**63, 2**63),
    _total("SUM(b.n)", -(2**62)),
    _total("SUM(b.x)", Fraction(1, 3), 1),
    _total("MIN(b.x)", 0.1),
    _total("MAX(b.x)", math.nan),
    _total("AVG(b.x)", None),
    _total("SUM(c.x)", math.inf),
    _total("SUM(c.n)", 10**400, 1),
    replace(_total("COUNT(*)", BIG), query="r", group=()),
]
ROWS = [
    _row("COUNT(*)", 8.0, "8", 3.0, start=-10),
    _row("COUNT(*)", 2.0**63, str(2**63 - 1), 63.0),
    _row("COUNT(b)", 2.0**63 * (1 + 1e-12), None, 63.0),
    _row("SUM(b.n)", -(2.0**62), str(-(2**62)), None),
    _row("SUM(b.x)", 1 / 3 + 1e-12, None, None),
    _row("MIN(b.x)", 0.1, None, None),
    _row("MAX(b.x)", math.nan, None, None),
    _row("AVG(b.x)", None, None, None),
    _row("SUM(c.x)", math.inf, None, None),
    _row("SUM(c.n)", None, None, None),
    {**_row("COUNT(*)", None, None, 800 * math.log2(3)), "query": "r", "group": "{}"},
]


def _damaged(number: int, **change: object) -> Callable[[list[Row]], list[Row]]:
    return lambda rows: [{**row, **change} if i == number else row for i, row in enumerate(rows)]


DAMAGE = {
    "drop one": lambda rows: rows[1:],
    "drop all": lambda rows: [],
    "repeat one": lambda rows: [*rows, rows[0]],
    "repeat one, drop another": lambda rows: [rows[1], *rows[1:]],
    "another query": _damaged(0, query="r"),
    "shift a window": _damaged(0, window_start=0, window_end=10),
    "a longer window": _damaged(0, window_end=1),
    "another group": _damaged(0, group='{"k":2,"s":"ü"}'),
    "a group of texts": _damaged(0, group='{"k":"1","s":"ü"}'),
    "a group of doubles": _damaged(0, group='{"k":1.0,"s":"ü"}'),
    "no group": _damaged(0, group="{}"),
    "a group where there is none": _damaged(10, group='{"k":1}'),
    "another name": _damaged(0, name="count"),
    "one more": _damaged(0, value=9.0, exact="9", log2_count=math.log2(9)),
    "other digits": _damaged(0, exact="9"),
    "no digits": _damaged(0, exact=None),
    "the next digits": _damaged(1, exact=str(2**63 - 2)),
    "digits beyond 2^63": _damaged(2, exact=str(2**63)),
    "digits of a double": _damaged(5, exact="0"),
    "another value": _damaged(0, value=9.0),
    "a small integer almost right": _damaged(0, value=8 + 1e-12),
    "no value": _damaged(0, value=None),
    "a value off by 1e-8": _damaged(2, value=2.0**63 * (1 + 1e-8)),
    "the other sign": _damaged(3, value=2.0**62),
    "a sum off by 1e-8 of its scale": _damaged(4, value=1 / 3 + 1e-8),
    "an extreme off by one unit": _damaged(5, value=math.nextafter(0.1, 1)),
    "NaN to a number": _damaged(6, value=0.0),
    "NaN to null": _damaged(6, value=None),
    "null to a number": _damaged(7, value=0.0),
    "null to NaN": _damaged(7, value=math.nan),
    "infinite to null": _damaged(8, value=None),
    "infinity of the other sign": _damaged(8, value=-math.inf),
    "infinite for what no double can be": _damaged(9, value=math.inf),
    "no logarithm": _damaged(0, log2_count=None),
    "another logarithm": _damaged(0, log2_count=3.1),
    "an infinite logarithm": _damaged(10, log2_count=math.inf),
    "a logarithm off by 1e-8": _damaged(10, log2_count=800 * math.log2(3) * (1 + 1e-8)),
    "a logarithm of a sum": _damaged(3, log2_count=62.0),
}


def test_right_rows_pass_in_any_order() -> None:
    assert_same_totals(reversed(ROWS), TOTALS, GROUPS)
    assert_same_totals([], [], {})


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_comparison_notices(damage: Callable[[list[Row]], list[Row]]) -> None:
    with pytest.raises(AssertionError):
        assert_same_totals(damage(ROWS), TOTALS, GROUPS)


def test_the_diff_names_what_differs() -> None:
    wrong = [*ROWS[2:], {**ROWS[1], "exact": "2nd"}]
    with pytest.raises(AssertionError, match=r"missing: 1\n  q -10 0 .*\nwrong: 1\n.*2nd.*\nthe query"):
        assert_same_totals(wrong, TOTALS, GROUPS, about="the query")


def test_rounding_is_measured_by_the_scale() -> None:
    cancelled = _total("SUM(b.x)", Fraction(1), 1e30)
    assert not difference(_row("SUM(b.x)", 1e15, None, None), cancelled)
    assert difference(_row("SUM(b.x)", 1e22, None, None), cancelled)


def test_tables_become_rows() -> None:
    table = pa.Table.from_pylist([dict(row) for row in ROWS], SCHEMA)
    assert_same_totals(rows_of(table), TOTALS, GROUPS)
    with pytest.raises(AssertionError):
        rows_of(table.drop_columns(["exact"]))
    with pytest.raises(AssertionError):
        rows_of(table.set_column(5, "value", pa.nulls(table.num_rows, pa.int64())))
