"""Arrow columns of many types in, bad events apart."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import stretto
from stretto.engine.stream.intake import Intake, set_apart
from stretto.errors import EventsError
from stretto.schema import Kind, Special
from stretto.values.strings import Strings


def intake(**kinds):
    return Intake(kinds, {"A": 1, "B": 2}, Special(), Strings())


def batch(**columns):
    base = {"ts": pa.array([1, 2, 3], pa.timestamp("us")), "type": pa.array(["A", "B", "C"])}
    return pa.RecordBatch.from_pydict(base | columns)


def broken(*texts):
    """A column of strings of which Arrow was not told that some are none."""
    raw = pa.array([text.encode() if isinstance(text, str) else text for text in texts], pa.binary())
    return raw.view(pa.string())


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
        ({"id": pa.array([1, 2**63, 3], pa.uint64())}, "id is out of range"),
        ({"n": pa.array([1, 2**64 - 1, 2], pa.uint64())}, "n is out of range"),
        ({"n": pa.array([1, 2**64 - 1, 2], pa.uint64()).dictionary_encode()}, "n is out of range"),
        ({"t": pa.array([1, 2**50, None], pa.timestamp("s"))}, "t is out of range"),
        ({"d": pa.array([1, -(2**62), None], pa.duration("ms"))}, "d is out of range"),
        ({"type": broken("A", b"A\xff", "B")}, "type is not UTF-8 text"),
        ({"type": broken("A", b"A\xff", "B").dictionary_encode()}, "type is not UTF-8 text"),
        ({"s": broken("A", b"\xed\xa0\x80", None)}, "s is not UTF-8 text"),
        ({"s": broken("A", b"\xed\xa0\x80", None).dictionary_encode()}, "s is not UTF-8 text"),
    ],
)
def test_bad_events_are_set_apart(columns, reason):
    kinds = {"n": Kind.INT, "t": Kind.TIME, "d": Kind.DURATION, "s": Kind.STRING}
    read = intake(**{name: kind for name, kind in kinds.items() if name in columns})
    block, rows, bad = read.convert(batch(**columns), 0)
    assert [(index.tolist(), why) for index, why in bad] == [([1], reason)]
    assert rows.tolist() == [0, 2]
    assert block.ts.tolist() == [1, 3]
    (apart,) = set_apart(batch(**columns), bad)
    apart.validate(full=True)
    assert apart["reason"].to_pylist() == [reason]


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        (pa.array([1, 2**50, -(2**50)], pa.timestamp("s")), [1_000_000]),
        (pa.array([1, 2**54, -(2**62)], pa.timestamp("ms")), [1_000]),
        (pa.array([1, 2**62, -(2**63)], pa.timestamp("us")), [1]),
        (pa.array([1, 2**63, 2**64 - 1], pa.uint64()), [1]),
        (pa.array([1, 2**31 - 1, -(2**31)], pa.int32()).view(pa.date32()), [86_400_000_000]),
        (pa.array([86_400_000, 2**62, -(2**62)], pa.int64()).view(pa.date64()), [86_400_000_000]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_times_out_of_range_of_every_unit_are_rejected(ts, expected):
    block, _, bad = intake().convert(batch(ts=ts), 0)
    assert [(index.tolist(), why) for index, why in bad] == [([1, 2], "ts is out of range")]
    assert block.ts.tolist() == expected


def test_all_nanoseconds_are_times():
    block, rows, _ = intake().convert(batch(ts=pa.array([-(2**63), 2**63 - 1, -1], pa.timestamp("ns"))), 0)
    assert rows is None
    assert block.ts.tolist() == [-(2**63) // 1000, (2**63 - 1) // 1000, -1]


def test_values_at_the_limits_are_kept():
    most, least = 2**63 - 1, -(2**63)
    columns = {
        "n": pa.array([most, least, 0]),
        "u": pa.array([most, 0, 1], pa.uint64()),
        "t": pa.array([most // 1000, -(most // 1000), 0], pa.timestamp("ms")),
    }
    read = intake(n=Kind.INT, u=Kind.INT, t=Kind.TIME)
    block, rows, _ = read.convert(batch(**columns), 0)
    assert rows is None
    assert block.attributes["n"].data.tolist() == [most, least, 0]
    assert block.attributes["u"].data.tolist() == [most, 0, 1]
    assert block.attributes["t"].data.tolist() == [most // 1000 * 1000, -(most // 1000 * 1000), 0]


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
        ({"ts": pa.array(["a", "b", "c"])}, "not timestamps"),
        ({"type": pa.array([1, 2, 3])}, "not strings"),
        ({"id": pa.array([0.5, 1.5, 2.5])}, "ids are integers or strings"),
    ],
)
def test_columns_of_a_wrong_type_are_refused(columns, message):
    with pytest.raises(EventsError, match=message):
        intake(**({"n": Kind.INT} if "n" in columns else {})).convert(batch(**columns), 0)


@pytest.mark.parametrize("name", ["ts", "type", "x", "id"])
def test_a_column_that_comes_twice_is_refused(name):
    given = batch(x=pa.array([1.0, 2.0, 3.0]), id=pa.array([1, 2, 3]))
    twice = given.append_column(name, given.column(name))
    with pytest.raises(EventsError, match=f"^the events: column `{name}` occurs twice$"):
        intake(x=Kind.FLOAT).convert(twice, 0)
    table = pa.Table.from_batches([twice])
    with pytest.raises(EventsError, match=f"^the events: column `{name}` occurs twice$"):
        stretto.Stats.of(table)
    plan = stretto.optimize(
        stretto.Workload.parse("QUERY q PATTERN A a WITHIN 1 us;"), stretto.Stats.of(pa.table(given))
    )
    with pytest.raises(EventsError, match=f"^the events: column `{name}` occurs twice$"):
        stretto.run(plan, table)


def test_a_missing_column_names_a_near_one():
    with pytest.raises(EventsError, match="no column `price`, did you mean `prise`"):
        intake(price=Kind.FLOAT).convert(batch(prise=pa.array([1.0, 2.0, 3.0])), 0)
