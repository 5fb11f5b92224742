"""Comparing rows of trend aggregates with the oracle's totals, with a readable diff."""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from stretto.oracle.trends import Number, Total, totals
from stretto.oracle.values import Event
from stretto.pattern.nodes import TrendQuery

ERROR = Fraction(1, 10**9)  # the relative error that doubles may have
EXACT_BELOW = 2**63
SHOWN = 8  # rows shown per side of a diff

SCHEMA = pa.schema(
    {
        "query": pa.string(),
        "window_start": pa.timestamp("us"),
        "window_end": pa.timestamp("us"),
        "group": pa.string(),
        "name": pa.string(),
        "value": pa.float64(),
        "exact": pa.string(),
        "log2_count": pa.float64(),
    }
)

Row = Mapping[str, Any]  # a row of SCHEMA, its times in microseconds


def assert_right_totals(
    found: Iterable[Row], queries: Sequence[TrendQuery], events: Sequence[Event], about: str = ""
) -> None:
    """Fails unless the rows are what the oracle finds for the queries."""
    expected = [total for query in queries for total in totals(query, events)]
    assert_same_totals(found, expected, {query.name: query.groups for query in queries}, about)


def assert_same_totals(
    found: Iterable[Row], expected: Iterable[Total], groups: Mapping[str, Sequence[str]], about: str = ""
) -> None:
    """Fails unless the rows are those of the totals, each once; `groups` has each query's GROUP BY attributes.

    Counts and aggregates of integers below 2^63 are exact; other values may be off by 1e-9 of their scale.
    """
    rows, wanted = list(found), list(expected)
    got = Counter(_place(row) for row in rows)
    want = {_expected_place(total, groups[total.query]): total for total in wanted}
    assert len(want) == len(wanted), "two totals have one place"
    lines = []
    for title, places in (("missing", want.keys() - got.keys()), ("not expected", got.keys() - want.keys())):
        lines += [f"{title}: {len(places)}"] * bool(places)
        lines += [f"  {' '.join(map(str, place))}" for place in sorted(places, key=repr)[:SHOWN]]
    lines += [f"given {n} times: {place}" for place, n in got.items() if n > 1][:SHOWN]
    wrong = [
        (row, why) for row in rows if (total := want.get(_place(row))) and (why := difference(row, total))
    ]
    lines += [f"wrong: {len(wrong)}"] * bool(wrong)
    lines += [f"  {' '.join(map(str, _place(row)))}: {why}" for row, why in wrong[:SHOWN]]
    if lines:
        raise AssertionError(
            "\n".join([f"{len(rows)} rows found, {len(wanted)} expected", *lines, about]).rstrip()
        )


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of a result table, which has exactly the columns of SCHEMA."""
    assert {column.name: column.type for column in table.schema} == {
        column.name: column.type for column in SCHEMA
    }, table.schema
    times = {name: table.column(name).cast(pa.int64()) for name in ("window_start", "window_end")}
    for name, column in times.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table.to_pylist()


def difference(row: Row, total: Total) -> str:
    """What is wrong with a row's value, exact digits or logarithm; empty if nothing is."""
    value, exact, log2 = row["value"], row["exact"], row["log2_count"]
    right = total.value
    is_exact = isinstance(right, int) and (total.function in ("MIN", "MAX") or abs(right) < EXACT_BELOW)
    digits = str(right) if is_exact else None
    if exact != digits:
        return f"exact is {exact!r}, expected {digits!r}"
    if not _is_near(value, total):
        return f"value is {value!r}, expected {_show(right)}"
    if total.function != "COUNT":
        return "" if log2 is None else f"log2_count is {log2!r} of no count"
    assert isinstance(right, int)
    expected = _log2(right)
    off = log2 is None or not math.isfinite(log2) or abs(log2 - expected) > 1e-9 * max(1.0, expected)
    return f"log2_count is {log2!r}, expected {expected!r}" if off else ""


def _is_near(value: float | None, total: Total) -> bool:
    right = total.value
    if right is None:
        return value is None
    if isinstance(right, float) and not math.isfinite(right):
        return value is not None and (value == right or (math.isnan(value) and math.isnan(right)))
    if abs(Fraction(right)) > sys.float_info.max:
        return value is None
    if value is None or not math.isfinite(value):
        return False
    if total.function in ("MIN", "MAX") or (isinstance(right, int) and abs(right) < EXACT_BELOW):
        return value == float(right)
    return abs(Fraction(value) - Fraction(right)) <= ERROR * total.scale + Fraction(sys.float_info.min)


def _log2(count: int) -> float:
    """Of any count, however many digits it has."""
    shift = max(0, count.bit_length() - 64)
    return math.log2(count >> shift) + shift


def _place(row: Row) -> tuple[Any, ...]:
    """Which total a row is; the group in the text of its parsed JSON, in the order of the row."""
    group = json.dumps(json.loads(row["group"]), ensure_ascii=False)
    return row["query"], row["window_start"], row["window_end"], group, row["name"]


def _expected_place(total: Total, groups: Sequence[str]) -> tuple[Any, ...]:
    written = [None if isinstance(one, float) and not math.isfinite(one) else one for one in total.group]
    group = json.dumps(dict(zip(groups, written, strict=True)), ensure_ascii=False)
    return total.query, total.window_start, total.window_end, group, total.name


def _show(value: Number | None) -> str:
    if not isinstance(value, Fraction):
        return repr(value)
    return repr(float(value)) if abs(value) <= sys.float_info.max else "beyond all doubles"
