"""Returned values as JSON, a column at a time, are what Python's JSON makes of them one by one."""

import json
import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stretto import Schema, Workload, optimize, run
from stretto.engine.results.returned_values import json_array, json_values
from stretto.schema import Kind
from stretto.values.lists import elements_of, flattened, list_texts, lists_of
from stretto.values.strings import Strings
from stretto.values.vector import Vector

TEXTS = [
    "",
    "plain",
    'a "quoted" one',
    "back\\slash",
    "\\",
    "\\\\",
    "\\0",
    "\\1",
    "\x1f",
    "\\\x1f\\1\x1f",
    "\x00\x01\b\t\n\f\r\x1e\x7f\x80",
    "null",
    ", ",
    "é\u2028\u2029",
    "😀\U0010ffff",
    None,
]
DOUBLES = [
    *(
        sign * digits * 10.0**power
        for power in range(-12, 24)
        for digits in (1.0, 1.5, 9.876543210987654)
        for sign in (1, -1)
    ),
    0.0,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    123456789012345.6,
    0.1 + 0.2,
    math.nan,
    math.inf,
    -math.inf,
    None,
]
INTEGERS = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), None]
ELEMENTS = {Kind.STRINGS: TEXTS, Kind.FLOATS: DOUBLES, Kind.INTS: INTEGERS}


def random_lists(kind: Kind, seed: int, count: int = 300) -> list[list[Any] | None]:
    rng = np.random.default_rng(seed)
    known = ELEMENTS[kind]
    lists = [[known[at] for at in rng.integers(0, len(known), rng.integers(0, 6))] for _ in range(count)]
    return [None, [], [None], [known[0]], None, *(None if rng.random() < 0.1 else one for one in lists), []]


def one_by_one(values: Sequence[Any]) -> list[str]:
    """JSON by Python; it has no NaN and no infinity."""

    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: known(one) for name, one in value.items()}
        if isinstance(value, list):
            return [known(one) for one in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return [json.dumps(known(value), ensure_ascii=False) for value in values]


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_lists_as_json(kind: Kind, seed: int) -> None:
    lists = random_lists(kind, seed)
    array = pa.array(lists, kind.arrow)
    assert json_array(array, kind).to_pylist() == one_by_one(lists)
    assert json_array(array.slice(7, 40), kind).to_pylist() == one_by_one(lists[7:47])
    strings = Strings()
    vector = strings.encode(list_texts(array, kind))
    assert json_values(vector, kind, strings).to_pylist() == one_by_one(lists)


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("lists", [[], [None], [[]], [None, None], [[], []]])
def test_few_lists_as_json(kind: Kind, lists: list[Any]) -> None:
    assert json_array(pa.array(lists, kind.arrow), kind).to_pylist() == one_by_one(lists)


def test_texts_as_json() -> None:
    array, strings = pa.array(TEXTS), Strings()
    assert json_array(array, Kind.STRING).to_pylist() == one_by_one(TEXTS)
    assert json_array(array.slice(1, 3), Kind.STRING).to_pylist() == one_by_one(TEXTS[1:4])
    vector = strings.encode(array)
    assert json_values(vector, Kind.STRING, strings).to_pylist() == one_by_one(TEXTS)
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x11000))))
    assert json_array(pa.array([every, *every[:300]]), Kind.STRING).to_pylist() == one_by_one(
        [every, *every[:300]]
    )
    nothing = Vector(np.zeros(2, np.int64), np.zeros(2, np.bool_))
    assert json_values(nothing, Kind.STRING, Strings()).to_pylist() == ["null", "null"]


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_lists_are_the_lists_that_their_texts_were_made_of(kind: Kind, seed: int) -> None:
    lists = random_lists(kind, seed)
    texts = list_texts(pa.array(lists, kind.arrow), kind)
    expected = [None if text is None else elements_of(text, kind) for text in texts.to_pylist()]
    for column, wanted in ((texts, expected), (texts.slice(5, 60), expected[5:65]), (texts.slice(3, 0), [])):
        found = lists_of(column, kind)
        assert found.type == kind.arrow
        found.validate(full=True)
        assert repr(found.to_pylist()) == repr([None if one is None else list(one) for one in wanted])
    strings = Strings()
    codes = strings.encode(texts.drop_null()).data
    lengths, elements = flattened(codes, kind, strings)
    some = [one for one in expected if one is not None]
    assert lengths.tolist() == list(map(len, some))
    assert elements.nulls.tolist() == [one is None for each in some for one in each]


def test_whole_events_as_json() -> None:
    count = 40
    texts, lists = random_lists(Kind.STRINGS, 1, count)[:count], random_lists(Kind.FLOATS, 2, count)[:count]
    integers = [INTEGERS[i % len(INTEGERS)] for i in range(count)]
    named = [TEXTS[i % len(TEXTS)] for i in range(count)]
    table = pa.table(
        {
            "ts": pa.array([i * 10 for i in range(count)], pa.timestamp("us")),
            "type": ["A"] * count,
            "s": pa.array(named, pa.string()),
            "n": pa.array(integers, pa.int64()),
            "args": pa.array(texts, Kind.STRINGS.arrow),
            "load": pa.array(lists, Kind.FLOATS.arrow),
            "p": pa.array([None if i % 7 == 0 else {"name": named[i]} for i in range(count)]),
        }
    )
    text = """
      QUERY one   PATTERN A a WITHIN 1 us RETURN a.*, a.args AS list, a.ts - a.ts AS none;
      QUERY pairs PATTERN A d{2,2} WITHIN 10 us RETURN d.*;
    """
    found = run(optimize(Workload.parse(text), Schema.of(table.schema), "none"), table)
    rows = [
        {"ts": f"1970-01-01T00:00:00.{i * 10:06d}", "s": named[i], "n": integers[i], "args": texts[i]}
        | {"load": lists[i], "p.name": None if i % 7 == 0 else named[i]}
        for i in range(count)
    ]
    written: dict[str, list[str]] = {"one": [], "pairs": []}
    for row in found.to_arrow().to_pylist():
        written[row["query"]].append(row["returned"])
    ones = [{"a.*": row, "list": row["args"], "none": 0} for row in rows]
    assert written["one"] == one_by_one(ones)
    assert written["pairs"] == one_by_one([{"d.*": [rows[i], rows[i + 1]]} for i in range(count - 1)])
    assert found["one"]["none"].to_pylist() == [timedelta(0)] * count
    pairs = found["pairs"]["d.*"].to_pylist()
    assert repr([[event["args"] for event in pair] for pair in pairs]) == repr(
        [[texts[i], texts[i + 1]] for i in range(count - 1)]
    )
