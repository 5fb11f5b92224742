"""Row groups of Parquet files: where they lie in time, and just those rows and columns that a slice of time needs."""

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stretto.data.casts import to_time, to_types
from stretto.plan.spread.time_slices import Stretch
from stretto.records import dataclass
from stretto.schema import Special
from stretto.values.convert import plain
from stretto.values.rows import I64, Bool
from stretto.values.times import END_OF_TIME, START_OF_TIME, in_time

STEP: Final = 1 << 17
SCALES: Final = {"milliseconds": (1000, 1), "microseconds": (1, 1), "nanoseconds": (1, 1000)}
UNITS: Final = {"s": (1_000_000, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}
DAY_US: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """What one task reads at a time: a row group of a Parquet file, or a whole file of another kind.

    `name` is that of the file as it was given, `path` where workers find it. `rows` counts rejected ones too. `first`
    and `last` are the earliest and the latest time, if they are known, and all are in range.
    """

    name: str
    path: str
    group: int | None = None
    rows: int | None = None
    first: int | None = None
    last: int | None = None

    @property
    def stretch(self) -> Stretch | None:
        if self.rows is None or self.first is None or self.last is None:
            return None
        return self.first, self.last, self.rows


def row_groups(path: str, special: Special, name: str = "") -> list[ReadUnit]:
    """The row groups of a file, by its footer alone; `name` is the one that was given, if that is another one."""
    with pq.ParquetFile(path) as file:
        found = file.metadata
        paths = [found.schema.column(i).path for i in range(found.num_columns)]
        column = paths.index(special.ts)
        scale = _scale(found.schema.column(column), special.unit)
        groups = [found.row_group(i) for i in range(found.num_row_groups)]
        return [
            ReadUnit(name or path, path, i, group.num_rows, *_span(group.column(column), scale))
            for i, group in enumerate(groups)
        ]


def _scale(column: Any, unit: str | None) -> tuple[int, int] | None:
    """What turns the integers of a column into microseconds: times this, divided by that; None if nothing does."""
    if column.physical_type == "INT96":
        return None
    logical = json.loads(column.logical_type.to_json())
    if logical.get("Type") == "Timestamp":
        return SCALES.get(logical.get("timeUnit"))
    if logical.get("Type") == "Date":
        return DAY_US, 1
    return UNITS[unit or "us"] if column.physical_type in ("INT64", "INT32") else None


def _span(column: Any, scale: tuple[int, int] | None) -> tuple[int | None, int | None]:
    known = column.statistics
    if scale is None or known is None or not known.has_min_max:
        return None, None
    first, last = known.min_raw, known.max_raw
    if not isinstance(first, int) or not isinstance(last, int):
        return None, None
    first, last = first * scale[0] // scale[1], last * scale[0] // scale[1]
    # With a time out of range the others lie anywhere: they are looked at.
    return (first, last) if first > START_OF_TIME and last < END_OF_TIME else (None, None)


def read_group(
    path: str, group: int, schema: pa.Schema, special: Special, window: "TimeRange | None" = None
) -> Iterator[tuple[pa.RecordBatch, I64]]:
    """Events of a row group with the columns of `schema` (but for an id that the file lacks), and the row of each in
    its group. With a window rows behind the last one in it are not even decoded.
    """
    # Without pre_buffer: it would keep every page that was read until the file is closed.
    footer = _footer(path, Path(path).stat().st_mtime_ns)
    with pq.ParquetFile(path, metadata=footer, read_dictionary=[special.type], pre_buffer=False) as file:
        have = set(file.schema_arrow.names)
        names = [name for name in schema.names if name in have]
        wanted = None if window is None else _wanted(file, group, special, window)
        # Behind the last row that is wanted nothing is decoded.
        count = file.metadata.row_group(group).num_rows
        end = count if wanted is None else int(np.flatnonzero(wanted).max(initial=-1)) + 1
        start = 0
        for batch in file.iter_batches(
            min(STEP, max(end, 1)), row_groups=[group], columns=names, use_threads=False
        ):
            if start >= end:
                return
            rows = np.arange(start, start + batch.num_rows, dtype=np.int64)
            start += batch.num_rows
            kept = None if wanted is None else wanted[rows[0] : start]
            if kept is not None and not kept.all():
                batch, rows = batch.filter(pa.array(kept)), rows[kept]  # noqa: PLW2901 - the rest of it
            if batch.num_rows:
                yield _conformed(batch, schema, special), rows


@lru_cache(maxsize=64)
def _footer(path: str, changed: int) -> Any:  # noqa: ARG001 - a file that was written anew has another one
    """The footer of a file, which is the same for all of its row groups."""
    return pq.read_metadata(path)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The times [start, stop); `timeless`: events without a time, or with one out of range, too."""

    start: int
    stop: int
    timeless: bool


def _wanted(file: Any, group: int, special: Special, window: TimeRange) -> Bool | None:
    """Which rows of a row group lie in the window; None: all."""
    ts = file.read_row_group(group, columns=[special.ts], use_threads=False).column(0)
    vector = plain(to_time(ts.combine_chunks() if ts.num_chunks != 1 else ts.chunk(0), special.unit)[0])
    wanted: Bool = (vector.data >= window.start) & (vector.data < window.stop)
    known = in_time(vector.data) if vector.valid is None else in_time(vector.data) & vector.valid
    wanted = wanted | ~known if window.timeless else wanted & known
    return None if wanted.all() else wanted


def _conformed(batch: pa.RecordBatch, schema: pa.Schema, special: Special) -> pa.RecordBatch:
    """The batch with the types of a schema; an id that it lacks stays away, other columns become nulls."""
    have = dict(zip(batch.schema.names, batch.columns, strict=True))
    have[special.ts] = to_time(have[special.ts], special.unit)[0]
    have[special.type] = to_types(have[special.type])
    fields = [f for f in schema if f.name in have or f.name != special.id]
    return pa.RecordBatch.from_arrays(
        [_as_type(have.get(f.name), f.type, batch.num_rows) for f in fields], schema=pa.schema(fields)
    )


def _as_type(array: Any, arrow: pa.DataType, length: int) -> Any:
    if array is None:
        return pa.nulls(length, arrow)
    return array if array.type == arrow else array.cast(arrow, safe=False)
