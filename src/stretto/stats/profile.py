"""What is known of a stream of events before it is planned: its schema, its span and its rates."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from stretto.errors import EventsError, StrettoError
from stretto.schema import Kind, Schema, Special

MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Stats:
    """The schema of some events, the seconds from the first to the last, and events per second by type.

    A span of zero (one event, or all at one time) counts as one second for the rates. `events` counts them.
    """

    schema: Schema
    seconds: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict)
    events: int = 0

    @classmethod
    def of(cls, table: Any, special: Special | None = None) -> Self:
        """The statistics of an Arrow table, or of any that offers itself as one (pandas, Polars, DuckDB)."""
        special = special or Special()
        events = _as_arrow(table)
        for name in (special.ts, special.type):
            if name not in events.column_names:
                raise EventsError(f"no column `{name}`; there are: {', '.join(events.column_names)}")
        seconds = _span(events[special.ts])
        counts = pc.value_counts(_names(events[special.type]).drop_null()).to_pylist()
        rates = {found["values"]: found["counts"] / (seconds or 1.0) for found in counts}
        ordered = {name: rates[name] for name in sorted(rates)}
        return cls(Schema.of(events.schema, ordered, special), seconds, ordered, events.num_rows)

    def to_json(self) -> str:
        """The statistics as the text of a file; `from_json` reads it back."""
        special = self.schema.special
        return json.dumps(
            {
                "seconds": self.seconds,
                "rates": dict(self.rates),
                "selectivity": [],
                "events": self.events,
                "schema": self.schema.to_json(),
                "special": {"ts": special.ts, "type": special.type, "id": special.id},
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            read = json.loads(text)
            found = read["schema"]
            schema = Schema(
                {name: Kind(kind) for name, kind in found["attributes"].items()},
                None if found["types"] is None else frozenset(found["types"]),
                Special(**read["special"]),
            )
            return cls(schema, float(read["seconds"]), dict(read["rates"]), int(read["events"]))
        except (KeyError, TypeError, ValueError) as error:
            raise StrettoError(f"not a file of statistics: {error}") from error


def _as_arrow(table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch) or hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    raise EventsError(f"events are a table of Arrow, pandas or Polars, not {type(table).__name__}")


def _names(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of strings as plain ones; a dictionary's values are cast first, which Arrow cannot do in one go."""
    if pa.types.is_dictionary(column.type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.string()))
            for chunk in column.chunks
        ]
        column = pa.chunked_array(chunks, pa.dictionary(column.type.index_type, pa.string()))
    return pc.cast(column, pa.string())


def _span(times: pa.ChunkedArray) -> float:
    """Seconds from the earliest to the latest time; 0 without any. Whole numbers are microseconds."""
    if pa.types.is_integer(times.type):
        micros = pc.cast(times, pa.int64())
    elif pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
        micros = pc.cast(
            pc.cast(times, pa.timestamp("us", getattr(times.type, "tz", None)), safe=False), pa.int64()
        )
    else:
        raise EventsError(f"times are timestamps or whole microseconds, not {times.type}")
    bounds = pc.min_max(micros).as_py()
    if bounds["min"] is None:
        return 0.0
    return float((bounds["max"] - bounds["min"]) / MICROSECONDS)
