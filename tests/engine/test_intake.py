"""Arrow columns of many types in, bad events apart."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from stretto.engine.intake import Intake
from stretto.errors import EventsError
from stretto.schema import Kind, Special
from stretto.values.strings import Strings


def intake(**kinds):
    return Intake(kinds, {"A": 1, "B": 2}, Special(), Strings())


def batch(**columns):
    base = {"ts": pa.array([1, 2, 3], pa.timestamp("us")), "type": pa.array(["A", "B", "C"])}
    return pa.RecordBatch.from_pydict(base | columns)


def test_types_become_codes_and_ids_follow_the_arrival():
    block, rows, bad = intake().convert(batch(), 10)
    assert (block.types.tolist(), list(block.ids), rows, bad) == ([1, 2, 0], [10, 11, 12], None, [])


def test_dictionary_types():
    column = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int8()), pa.array(["B", "A"]))
    assert intake().convert(batch(type=column), 0)[0].types.tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"ts": pa.array([1, None, 3], pa.timestamp("us"))}, "ts is null"),
        ({"type": pa.array(["A", None, "B"])}, "type is null"),
        (
            {"type": pa.DictionaryArray.from_arrays(pa.array([0, None, 0], pa.int8()), pa.array(["A"]))},
            "type is null",
        ),
        (
            {"type": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["A", None]))},
            "type is null",
        ),
        ({"ts": pa.array([1, -(2**62), 3], pa.timestamp("us"))}, "ts is out of range"),
        ({"ts": pa.array([1, -(2**63), 3], pa.timestamp("us"))}, "ts is out of range"),
        ({"id": pa.array([1, None, 3])}, "id is null"),
        ({"id": pa.array([1, -(2**63), 3])}, "id is out of range"),
    ],
)
def test_bad_events_are_set_apart(columns, reason):
    block, rows, bad = intake().convert(batch(**columns), 0)
    assert [(index.tolist(), why) for index, why in bad] == [([1], reason)]
    assert rows.tolist() == [0, 2]
    assert block.ts.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1000, 1999, -1], pa.timestamp("ns")), [1, 1, -1]),
        (pa.array([1, 2, -3], pa.timestamp("s")), [1_000_000, 2_000_000, -3_000_000]),
        (pa.array([5, 6, 7], pa.int64()), [5, 6, 7]),
        (pa.array([dt.date(1970, 1, 2)] * 3), [86_400_000_000] * 3),
        (pa.array([1, 2, 3], pa.timestamp("us", "Europe/Berlin")), [1, 2, 3]),
    ],
)
def test_times_of_every_unit(column, expected):
    assert intake().convert(batch(ts=column), 0)[0].ts.tolist() == expected


def test_attributes_are_converted_and_nulls_kept():
    columns = {
        "n": pa.array([1, None, 3], pa.int8()),
        "x": pa.array([1, 2, None], pa.float32()),
        "f": pa.array([True, None, False]),
    }
    block = intake(n=Kind.INT, x=Kind.FLOAT, f=Kind.BOOL).convert(batch(**columns), 0)[0]
    assert block.attributes["n"].valid.tolist() == [True, False, True]
    assert block.attributes["x"].data.dtype == np.float64
    assert block.attributes["f"].data.dtype == np.bool_


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"n": pa.array(["1", "2", "3"])}, "column `n` holds string"),
        ({"n": pa.array([1, 2, 2**64 - 1], pa.uint64())}, "beyond 64 bits"),
        ({"ts": pa.array(["a", "b", "c"])}, "not timestamps"),
        ({"type": pa.array([1, 2, 3])}, "not strings"),
        ({"id": pa.array(["a", "b", "c"])}, "not integers"),
    ],
)
def test_columns_of_a_wrong_type_are_refused(columns, message):
    with pytest.raises(EventsError, match=message):
        intake(**({"n": Kind.INT} if "n" in columns else {})).convert(batch(**columns), 0)


def test_a_missing_column_names_a_near_one():
    with pytest.raises(EventsError, match="no column `price`, did you mean `prise`"):
        intake(price=Kind.FLOAT).convert(batch(prise=pa.array([1.0, 2.0, 3.0])), 0)
