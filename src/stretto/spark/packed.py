"""Packed rows: what travels between the stages of a job. Many events or results are one row with an Arrow payload.

A row costs Spark and Python about the same whatever it holds, so a shuffle of chunks costs next to nothing per event.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.results.match_rows import SCHEMA, match_schema
from stretto.engine.results.totals import TOTALS
from stretto.engine.snapshot import from_trusted_ipc, to_ipc
from stretto.errors import EventsError
from stretto.plan.spread.stream_slices import TargetStream
from stretto.records import dataclass
from stretto.schema import Kind, Special, kind_of
from stretto.values.convert import as_kind

PACKED: Final = (
    "target int, kind string, version bigint, rows bigint, first_us bigint, last_us bigint, payload binary"
)
ARROW: Final = pa.schema(
    [
        ("target", pa.int32()),
        ("kind", pa.string()),
        ("version", pa.int64()),
        ("rows", pa.int64()),
        ("first_us", pa.int64()),
        ("last_us", pa.int64()),
        ("payload", pa.binary()),
    ]
)
EVENTS: Final = "events"
WORKLOAD: Final = "workload"
MATCHES: Final = "matches"
TRENDS: Final = "trends"
LATE: Final = "late"
REJECTED: Final = "rejected"
METRICS: Final = "metrics"
END: Final = "end"
"""The kind of a row without events whose `last_us` is the time of the last event that a task has read."""

RESULTS: Final[Mapping[str, pa.Schema]] = {MATCHES: SCHEMA, TRENDS: TOTALS}
"""The columns of what queries find, by kind."""

CHUNK_ROWS: Final = 1 << 18
"""Events that are gathered before they are sent on; the last chunk of a task may be smaller."""
MARK: Final = "__stretto_watermark"
"""The column that carries the watermark; it goes no further than this stage."""
FAR: Final = "__stretto_far"
"""The column that says which events are too far ahead of the clock, and the kind of the rows that hold these."""

Batches = Iterable[pa.RecordBatch]

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class Packed:
    """One packed row; `first_us` and `last_us` are the least and the greatest time in it, 0 where there is none."""

    target: int
    kind: str
    payload: bytes
    rows: int = 0
    version: int = 0
    first_us: int = 0
    last_us: int = 0


def to_payload(batch: pa.RecordBatch) -> bytes:
    """A batch as a compressed Arrow stream."""
    return to_ipc(batch, _OPTIONS)


from_payload = from_trusted_ipc
"""The batch that `to_payload` wrote."""


def packed_rows(rows: Iterable[Packed]) -> pa.RecordBatch:
    """Packed rows as one batch."""
    kept = list(rows)
    return pa.RecordBatch.from_arrays(
        [pa.array([getattr(row, field.name) for row in kept], field.type) for field in ARROW], schema=ARROW
    )


def events_row(target: int, batch: pa.RecordBatch, special: Special, version: int = 0) -> Packed:
    """Events for a target as a packed row."""
    return Packed(target, EVENTS, to_payload(batch), batch.num_rows, version, *span_of(batch, special))


def span_of(batch: pa.RecordBatch, special: Special) -> tuple[int, int]:
    """The least and the greatest time of events in microseconds; zeros where there is none."""
    column = batch.column(special.ts)
    if kind_of(column.type) not in (Kind.TIME, Kind.INT):
        raise EventsError(f"column `{special.ts}` holds {column.type}, not timestamps")
    found = pc.min_max(as_kind(column, Kind.TIME).cast(pa.int64()))
    return found["min"].as_py() or 0, found["max"].as_py() or 0


def pack(
    batches: Iterable[pa.RecordBatch], spread: TargetStream, special: Special
) -> Iterator[pa.RecordBatch]:
    """Events as packed rows: as few and as large ones per target as the rows of a task allow.

    Those that are too far ahead go to the first target, which rejects them.
    """
    for batch in gathered(batches, CHUNK_ROWS):
        kept, far = without_far(batch)
        if far is not None:
            yield packed_rows([replace(events_row(0, far, special), kind=FAR)])
        parts = spread.parts(kept, special)
        if parts:
            yield packed_rows(events_row(target, part, special) for target, part in parts)


def without_far(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """The events, and those that are marked as too far ahead, if there are any, without the marks."""
    kept = batch.drop_columns([name for name in (MARK, FAR) if name in batch.schema.names])
    far = batch.column(FAR).fill_null(False) if FAR in batch.schema.names else None
    if far is None or not far.true_count:
        return kept, None
    return kept.filter(pc.invert(far)), kept.filter(far)


def gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same events in batches of at least so many rows, but for the last."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= rows:
            yield from joined(waiting).to_batches()
            waiting, count = [], 0
    if waiting:
        yield from joined(waiting).to_batches()


def joined(batches: list[pa.RecordBatch]) -> pa.Table:
    """The rows of all batches, in as few chunks as their strings allow."""
    return pa.Table.from_batches(batches).combine_chunks()


# ---- the way back --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnTypes:
    """What results take over from the events: the type of times, and whether ids are texts."""

    ts: pa.DataType
    text_ids: bool = False


def result_arrow(kind: str, own: OwnTypes) -> pa.Schema:
    """The columns of matches or of totals, with times and ids of the events' own types."""
    columns = match_schema(text_ids=own.text_ids) if kind == MATCHES else RESULTS[kind]
    return pa.schema([pa.field(f.name, own.ts if pa.types.is_timestamp(f.type) else f.type) for f in columns])


def unpack(batches: Iterable[pa.RecordBatch], kind: str, own: OwnTypes) -> Iterator[pa.RecordBatch]:
    """Packed rows of a kind as the matches or totals themselves; other rows are left out."""
    schema = result_arrow(kind, own)
    for found, payload in payloads(batches):
        if found == kind:
            yield as_schema(from_payload(payload), schema)


def payloads(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, bytes]]:
    """The kind and the payload of every packed row."""
    for batch in batches:
        yield from zip(batch.column("kind").to_pylist(), batch.column("payload").to_pylist(), strict=True)


def as_schema(
    batch: pa.RecordBatch, schema: pa.Schema, constants: Mapping[str, str] | None = None
) -> pa.RecordBatch:
    """The columns of a schema by their names, cast to its types; where the batch has none, the constant, or nulls."""
    given = constants or {}
    arrays = [
        _cast(batch.column(field.name), field.type)
        if field.name in batch.schema.names
        else _constant(given.get(field.name), field.type, batch.num_rows)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _constant(value: str | None, wanted: pa.DataType, count: int) -> pa.Array:
    return pa.nulls(count, wanted) if value is None else pa.repeat(pa.scalar(value, wanted), count)


def _cast(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if column.type == wanted:
        return column
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(wanted):
        # Both count microseconds since the epoch; an offset only says how they are shown.
        is_plain = column.type.tz is None
        return column.cast(pa.timestamp(wanted.unit)).view(wanted) if is_plain else column.cast(wanted)
    if pa.types.is_timestamp(column.type) and pa.types.is_integer(wanted):
        return column.cast(pa.int64()).cast(wanted)
    if pa.types.is_timestamp(column.type) and pa.types.is_date(wanted):
        return column.cast(wanted, safe=False)  # the day of a time
    return column.cast(wanted)
