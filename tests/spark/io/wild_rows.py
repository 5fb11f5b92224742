"""Rows of all outputs of a stream with wild values."""

import json
from typing import Any

import pyarrow as pa
from tests.support.wild_values import DOUBLES, INTEGERS, TEXTS, TIMES

from stretto.spark.packed import OwnTypes, result_arrow

UTC = pa.timestamp("us", "UTC")
EVENT = pa.struct(
    [("ts", UTC), ("type", pa.string()), ("s", pa.string()), ("x", pa.float64()), ("n", pa.int64())]
)
MATCH, TOTAL = (result_arrow(kind, OwnTypes(UTC)) for kind in ("matches", "trends"))
SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        *MATCH,
        *(field for field in TOTAL if field.name not in MATCH.names),
        ("event", EVENT),
        ("reason", pa.string()),
        ("text", pa.string()),
    ]
)


def rows() -> pa.Table:
    """Every value in every place that takes it."""
    found: list[dict[str, Any]] = []
    for number, (name, text) in enumerate(TEXTS.items()):
        written = json.dumps({"v": text, "x": 1e308}, ensure_ascii=False)
        times = dict.fromkeys(("start", "end", "detected"), TIMES[number % len(TIMES)])
        ids = {"kind": "matches", "query": "q", "match_id": f"{name}"}
        found.append({**ids, **times, "events": [("a", [INTEGERS[number % 3]])], "returned": written})
        window = {"window_start": TIMES[number % len(TIMES)], "window_end": 7}
        value = {"value": DOUBLES[number], "exact": str(INTEGERS[number % 3]), "log2_count": 1.5}
        found.append({"kind": "trends", "query": "t", **window, "group": written, "name": name, **value})
        event = {
            "ts": TIMES[number],
            "type": name,
            "s": text,
            "x": DOUBLES[number],
            "n": INTEGERS[number % 4],
        }
        found.append({"kind": "late", "event": event})
        found.append({"kind": "rejected", "reason": f"because of {text}", "text": text})
    columns = {
        field.name: pa.array([row.get(field.name) for row in found], _plain(field.type)).cast(field.type)
        for field in SCHEMA
    }
    return pa.table(columns, SCHEMA)


def _plain(arrow: pa.DataType) -> pa.DataType:
    """Times as integers: Python has none for those that are far."""
    if pa.types.is_struct(arrow):
        return pa.struct([(field.name, _plain(field.type)) for field in arrow])
    return pa.int64() if pa.types.is_timestamp(arrow) else arrow
