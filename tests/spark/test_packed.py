"""Packed rows: events and matches to payloads and back."""

from datetime import date, datetime

import pyarrow as pa
import pytest

from stretto.engine.results.match_rows import SCHEMA
from stretto.engine.results.totals import TOTALS
from stretto.errors import EventsError
from stretto.plan.spread.spreads import ByKey, Whole
from stretto.schema import Special
from stretto.spark import packed as chunks
from stretto.spark.packed import (
    ARROW,
    FAR,
    MARK,
    MATCHES,
    TRENDS,
    OwnTypes,
    Packed,
    as_schema,
    from_payload,
    gathered,
    pack,
    packed_rows,
    result_arrow,
    to_payload,
    unpack,
)

EVENTS = pa.RecordBatch.from_pydict(
    {
        "ts": pa.array([5, 3, None, 9], pa.timestamp("us", "UTC")),
        "type": pa.array(["A", "B", "A", None]).dictionary_encode(),
        "k": pa.array([1, 2, 1, None]),
        "tags": pa.array([["x"], [], None, ["y", "z"]]),
    }
)


def test_a_payload_gives_back_its_batch():
    assert from_payload(to_payload(EVENTS)) == EVENTS
    assert from_payload(to_payload(EVENTS.slice(1, 2))) == EVENTS.slice(1, 2)
    assert from_payload(to_payload(EVENTS.slice(0, 0))).num_rows == 0


def test_packing_says_what_a_chunk_holds():
    (rows,) = pack([EVENTS.slice(0, 2), EVENTS.slice(0, 0), EVENTS.slice(2)], Whole(), Special())
    assert rows.schema == ARROW
    (row,) = rows.to_pylist()
    assert from_payload(row.pop("payload")).to_pylist() == EVENTS.to_pylist()
    assert row == {"target": 0, "kind": "events", "version": 0, "rows": 4, "first_us": 3, "last_us": 9}


def test_packing_loses_no_event_whatever_its_key():
    packed = list(pack([EVENTS], ByKey(("k",), 5), Special()))
    found = [
        event
        for rows in packed
        for payload in rows["payload"].to_pylist()
        for event in from_payload(payload).to_pylist()
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, EVENTS.to_pylist()))


def test_a_column_for_the_watermark_goes_no_further():
    marked = EVENTS.append_column(MARK, EVENTS.column("ts"))
    (rows,) = pack([marked], Whole(), Special())
    assert from_payload(rows["payload"][0].as_py()).schema.names == EVENTS.schema.names


def test_events_too_far_ahead_are_packed_apart_for_the_first_target():
    far = pa.array([False, True, None, False])
    marked = EVENTS.append_column(FAR, far)
    rows = [row for packed in pack([marked], ByKey(("k",), 5), Special()) for row in packed.to_pylist()]
    found = {kind: [] for kind in ("events", FAR)}
    for row in rows:
        found[row["kind"]] += from_payload(row["payload"]).to_pylist()
        assert row["kind"] != FAR or row["target"] == 0
    assert found[FAR] == EVENTS.slice(1, 1).to_pylist()
    assert len(found["events"]) == 3


def test_packing_an_unfit_column_names_it():
    with pytest.raises(EventsError, match="column `ts` holds string"):
        list(pack([pa.RecordBatch.from_pydict({"ts": ["x"], "type": ["A"]})], Whole(), Special()))


def test_events_are_gathered_into_large_batches():
    sizes = [batch.num_rows for batch in gathered([EVENTS] * 7, 10)]
    assert sizes == [12, 12, 4]
    assert list(gathered([EVENTS.slice(0, 0)], 10)) == []


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (pa.timestamp("us", "UTC"), datetime.fromisoformat("1970-01-02T00:00:00+00:00")),
        (pa.timestamp("us"), datetime.fromisoformat("1970-01-02T00:00:00")),
        (pa.int64(), 86_400_000_000),
        (pa.date32(), date(1970, 1, 2)),
    ],
)
def test_matches_have_times_of_the_events_type(kind, shown):
    times = pa.array([86_400_000_000], pa.timestamp("us"))
    events = pa.array([[("a", [1, 2])]], SCHEMA.field("events").type)
    columns = [
        pa.array(["q"]),
        pa.array(["f" * 32]),
        times,
        times,
        times,
        events,
        *[pa.array([None], pa.string())] * (len(SCHEMA) - 6),
    ]
    matches = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    rows = packed_rows([Packed(0, MATCHES, to_payload(matches), 1), Packed(0, chunks.METRICS, b"{}", 1)])
    (found,) = unpack([rows], MATCHES, OwnTypes(kind))
    assert found.schema == result_arrow(MATCHES, OwnTypes(kind))
    (row,) = found.to_pylist()
    assert (row["start"], row["events"]) == (shown, [("a", [1, 2])])


def test_totals_have_times_of_the_events_type():
    day = pa.array([86_400_000_000], pa.timestamp("us"))
    rest = [pa.array(["{}"]), pa.array(["COUNT(*)"]), pa.array([2.0]), pa.array(["2"]), pa.array([1.0])]
    totals = pa.RecordBatch.from_arrays([pa.array(["q"]), day, day, *rest], schema=TOTALS)
    rows = packed_rows([Packed(0, TRENDS, to_payload(totals), 1), Packed(0, chunks.METRICS, b"{}", 1)])
    assert list(unpack([rows], MATCHES, OwnTypes(pa.int64()))) == []
    (found,) = unpack([rows], TRENDS, OwnTypes(pa.int64()))
    assert found.schema == result_arrow(TRENDS, OwnTypes(pa.int64()))
    assert found.to_pylist() == [
        {**totals.to_pylist()[0], **dict.fromkeys(("window_start", "window_end"), 86_400_000_000)}
    ]


def test_missing_columns_are_constants_or_nulls():
    nested = pa.struct([("x", pa.int64())])
    schema = pa.schema([("kind", pa.string()), ("n", pa.int64()), ("event", nested)])
    found = as_schema(
        pa.RecordBatch.from_pydict({"n": pa.array([1, 2], pa.int32())}), schema, {"kind": "late"}
    )
    assert found.to_pylist() == [{"kind": "late", "n": n, "event": None} for n in (1, 2)]
