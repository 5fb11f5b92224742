"""Bytes, texts and JSON values that are damaged at random, and Arrow tables that no reader expects."""

import datetime as dt
import json
import struct
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from tests.text.mutations import mutated_json

HUGE = (-1, 1, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63), 2**63 - 1, 0x7F7F7F7F, 65_536, 1 << 40)
INSERTS: tuple[bytes, ...] = (
    *(
        b"[" * 20_000,
        b"]" * 20_000,
        b'{"a":' * 20_000,
        b"{" * 101 + b"}" * 101,
        b"[[[[[[",
        b"}",
        b"{}",
        b"[]",
    ),
    *(
        rb"\ud800",
        rb"\udc00",
        rb"\\ud800",
        rb"\u0000",
        b"\x00",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
    ),
    *(
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e999",
        b"-0",
        b"9" * 5_000,
        b"18446744073709551616",
        b"0x1F",
        b"1_000",
    ),
    *(
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n\n",
        b'"',
        b'""',
        b"'",
        b",",
        b",,,,",
        b"\t",
        b"\\",
        b"\x1b[2J",
        b"null",
        b"true",
    ),
    *(
        b"9999-12-31T23:59:59.999999999",
        b"+292277-01-01T00:00:00",
        b"2024-02-30",
        b"x" * 100_000,
        b"\xe2\x80\xae",
    ),
)


def damaged(data: bytes, rng: Random, *, text: bool) -> bytes:
    """The bytes changed in one to eight places."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        rng.choice(TEXT_WAYS if text and rng.random() < 0.7 else WAYS)(changed, rng)
    return bytes(changed)


def _stretch(data: bytearray, rng: Random) -> slice:
    start = rng.randint(0, len(data))
    return slice(start, start + rng.choice((1, 1, 4, 8, 64, 1024)))


def _flip(data: bytearray, rng: Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 20))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _cut(data: bytearray, rng: Random) -> None:
    del data[rng.randint(0, len(data)) :]


def _behead(data: bytearray, rng: Random) -> None:
    del data[: min(rng.randint(0, len(data)), rng.choice((1, 8, 10_000)))]


def _delete(data: bytearray, rng: Random) -> None:
    del data[_stretch(data, rng)]


def _double(data: bytearray, rng: Random) -> None:
    part = _stretch(data, rng)
    data[part.start : part.start] = data[part]


def _swap(data: bytearray, rng: Random) -> None:
    one, other = _stretch(data, rng), _stretch(data, rng)
    data[one], data[other] = data[other], data[one]


def _fill(data: bytearray, rng: Random) -> None:
    part = _stretch(data, rng)
    data[part] = bytes([rng.choice((0, 0xFF, 0x80, 0x7F))]) * len(data[part])


def _number(data: bytearray, rng: Random) -> None:
    """A number that is far too large, or negative, in the place of a length or an offset."""
    size = rng.choice((4, 8))
    if len(data) > size:
        # What tells lengths stands at the ends of binary files.
        near = rng.choice((len(data), 512, 512))
        start = rng.randrange(min(near, len(data) - size))
        start = start if rng.random() < 0.5 else len(data) - size - start
        start -= start % size if rng.random() < 0.5 else 0
        value = rng.choice(HUGE) & ((1 << 8 * size) - 1)
        data[start : start + size] = value.to_bytes(size, "little")


def _noise(data: bytearray, rng: Random) -> None:
    part = _stretch(data, rng)
    data[part] = rng.randbytes(part.stop - part.start)


def _nothing(data: bytearray, rng: Random) -> None:
    if rng.random() < 0.1:
        data.clear()


def _insert(data: bytearray, rng: Random) -> None:
    start = rng.randint(0, len(data))
    data[start:start] = rng.choice(INSERTS)


def _instead(data: bytearray, rng: Random) -> None:
    """A value of a line becomes something else."""
    part = _stretch(data, rng)
    data[part] = rng.choice(INSERTS)


def _line(data: bytearray, rng: Random) -> None:
    """A line once more, elsewhere, or gone."""
    lines = bytes(data).split(b"\n")
    line = rng.randrange(len(lines))
    moved = lines.pop(line) if rng.random() < 0.5 else lines[line]
    lines.insert(rng.randint(0, len(lines)), moved * rng.choice((0, 1, 1, 2)))
    data[:] = b"\n".join(lines)


Way = Callable[[bytearray, Random], None]
WAYS: tuple[Way, ...] = (
    *(
        _flip,
        _flip,
        _cut,
        _behead,
        _delete,
        _double,
        _swap,
        _fill,
        _number,
        _number,
        _number,
        _noise,
        _nothing,
    ),
)
TEXT_WAYS: tuple[Way, ...] = (_insert, _insert, _instead, _instead, _line, _cut, _delete, _double, _flip)


def damaged_json(text: str, rng: Random) -> str:
    """JSON with some of its values deleted, doubled, swapped, wrapped or replaced; or damaged as text."""
    as_text = rng.random() < 0.3 or text.count("[") + text.count("{") > 200
    try:
        value = None if as_text else json.loads(text)
    except ValueError:  # it was damaged before
        as_text = True
    if as_text:
        data = damaged(text.encode(errors="surrogateescape"), rng, text=True)
        return data.decode(errors="surrogateescape")
    return json.dumps(mutated_json(rng, [value]))


# ---- tables ----------------------------------------------------------------------------------------------------

START = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - times have no zone here
ROWS = 120


def events(rng: Random, count: int = ROWS) -> pa.Table:
    """Events as readers expect them, with attributes of every kind."""
    numbers = list(range(count))
    return pa.table(
        {
            "ts": pa.array([START + dt.timedelta(seconds=i) for i in numbers], pa.timestamp("us")),
            "type": [rng.choice("ABC") for _ in numbers],
            "id": pa.array(numbers, pa.int64()),
            "x": [rng.choice((0.5, 1.5, None, float("nan"), float("inf"))) for _ in numbers],
            "n": pa.array([rng.choice((1, 2, None)) for _ in numbers], pa.int64()),
            "s": [rng.choice(("a", "b", "\u00e9", None)) for _ in numbers],
            "ok": [rng.choice((True, None)) for _ in numbers],
            "at": pa.array([START for _ in numbers], pa.timestamp("us")),
            "tags": pa.array([rng.choice((["p", "q"], [], None)) for _ in numbers], pa.list_(pa.string())),
        }
    )


def strange(table: pa.Table, rng: Random) -> pa.Table:
    """The table with a column of another type, with extreme values, twice, renamed or gone."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(max(table.num_columns, 1))
        match rng.choice(("other", "other", "other", "twice", "rename", "gone", "rows", "chunks")):
            case "other" if table.num_columns:
                table = table.set_column(place, table.column_names[place], _values(rng, table.num_rows))
            case "twice" if table.num_columns:
                table = table.append_column(table.column_names[place], table.column(place))
            case "rename":
                names = list(table.column_names)
                names[place : place + 1] = [
                    rng.choice(("", "ts", "a.b", "\x00", "x" * 70_000, "\u202e", "type"))
                ]
                table = table.rename_columns(names) if len(names) == table.num_columns else table
            case "gone" if table.num_columns > 1:
                table = table.remove_column(place)
            case "rows":
                table = table.slice(rng.randint(0, table.num_rows), rng.choice((0, 1, 7)))
            case _:
                table = pa.concat_tables([table.slice(0, 3), table.slice(3, 0), table.slice(3)])
    return table


def _values(rng: Random, count: int) -> pa.Array:
    values, kind = rng.choice(COLUMNS)
    picked = [rng.choice((*values, None)) for _ in range(count)]
    found = pa.array(picked, kind)
    if rng.random() < 0.1 and not pa.types.is_nested(kind) and not pa.types.is_null(kind):
        return found.dictionary_encode() if not pa.types.is_dictionary(kind) else found
    return found


_FAR = (0, 1, -1, 2**31, -(2**62), 2**62, 2**63 - 1, -(2**63))
COLUMNS: tuple[tuple[tuple[Any, ...], pa.DataType], ...] = (
    *((_FAR, pa.int64()), ((0, 255), pa.uint8()), ((0, 2**64 - 1), pa.uint64()), ((), pa.null())),
    *((_FAR, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")),
    *((_FAR, pa.timestamp("us", "Asia/Tokyo")), (_FAR, pa.duration("ns")), ((0, 2**31 - 1), pa.time32("s"))),
    *(((0, 2**31 - 1, -(2**31)), pa.date32()), ((0, 86_400_000 * 10**6), pa.date64())),
    *(((0.0, -0.0, float("nan"), float("inf"), 1e308, 5e-324), pa.float64()), ((1.5, float("nan")), pa.float32())),
    *((("", "A", "\x00", "2024-01-01", "1e5", "\u202e"), kind) for kind in (pa.string(), pa.large_string())),
    *(((b"", b"\xff", b"A"), pa.binary()), ((b"abcd",), pa.binary(4)), ((True, False), pa.bool_())),
    *(((Decimal("9" * 38), Decimal(0)), pa.decimal128(38, 0)), ((Decimal("1.25"),), pa.decimal256(60, 3))),
    *((([], [1], [None]), pa.list_(pa.int64())), (([["a"], []], []), pa.list_(pa.list_(pa.string())))),
    *((({"a": 1}, {"a": None}), pa.struct([("a", pa.int64())])), (([("k", 1)], []), pa.map_(pa.string(), pa.int64()))),
    *((("A", "B"), pa.dictionary(pa.int8(), pa.string())), (("A",), pa.string_view()), (([1, 2],), pa.list_(pa.int8(), 2))),  # noqa: E501
)  # fmt: skip


def wrong_texts(rng: Random) -> pa.Array:
    """Strings whose bytes are no UTF-8, as a table of Arrow may have them."""
    offsets = struct.pack("<4i", 0, 1, 2, 3)
    data = bytes(rng.choice((0xFF, 0xC3, 0x80, 0x41)) for _ in range(3))
    return pa.StringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(data))
