"""Values that somebody may write into an event, for every reader and every sink the same ones."""

import math
from typing import Any

import pyarrow as pa

from stretto.values.texts import time_texts
from stretto.values.times import END_OF_TIME, START_OF_TIME, time_text

TEXTS = {
    "nul": "a\0b",
    "written nul": "\\u0000 \\\\u0000",
    "empty": "",
    "blank": " x\t",
    "quotes": "q\"u'o\\",
    "lines": "a\nb\r\nc\rd",
    "end of data": "a\n\\.\nb",
    "signs": "\u00e4\u20ac\U0001f600\u202e\ufffd\uffff\x7f\x85",
    "megabyte": "m" * 1_000_000,
}
YEAR_1, YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
TIMES = [
    0,
    YEAR_1,
    YEAR_10000 - 1,
    YEAR_10000,
    YEAR_1 - 1,
    -210_866_803_200_000_000,  # the first of PostgreSQL's
    -210_866_803_200_000_000 - 1,
    START_OF_TIME + 1,
    END_OF_TIME - 1,
]
DOUBLES = [1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf"), -0.0, 0.1, None]
INTEGERS = [2**63 - 1, -(2**63), 0, None]


def iso(us: int) -> str:
    return time_text(us).replace(" ", "T")


def events() -> pa.Table:
    count = len(TEXTS)
    times = pa.array(TIMES).view(pa.timestamp("us"))
    return pa.table(
        {
            "ts": times,
            "type": ["A"] * count,
            "id": [INTEGERS[0], INTEGERS[1] + 1, *range(count - 2)],
            "s": list(TEXTS.values()),
            "x": DOUBLES,
            "n": [INTEGERS[i % 4] for i in range(count)],
            "t": times,
            "ok": [None, True, False] * (count // 3),
        }
    )


def plain(table: pa.Table, *, finite: bool) -> list[dict[str, Any]]:
    """Rows with times as texts and doubles by their digits; `finite`: those that are no numbers are nulls."""
    named = zip(table.column_names, table.columns, strict=True)
    columns = {name: _plain(column.combine_chunks(), finite) for name, column in named}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(column: pa.Array, finite: bool) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return time_texts(column).to_pylist()
    values = column.to_pylist()
    if not pa.types.is_floating(column.type):
        return values
    return [None if v is None or (finite and not math.isfinite(v)) else repr(v) for v in values]
