"""Events from a file, a folder of files or standard input, in batches, with memory for a few batches only."""

import io
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from stretto.data.casts import TIME, TYPES
from stretto.data.columnar import open_arrow, open_parquet
from stretto.data.csv_text import open_csv
from stretto.data.json_text import open_json
from stretto.data.marks import TimeMarks
from stretto.data.parts import (
    FilePart,
    ReadChunk,
    Rejected,
    need_content,
    need_some_times,
    unknown_ending,
)
from stretto.errors import EventsError
from stretto.records import dataclass
from stretto.schema import Kind, Schema, Special, kind_of, sources_of
from stretto.values.rows import I64
from stretto.values.strings import decoded
from stretto.values.time_units import WORDS
from stretto.values.times import START_OF_TIME, in_time

STDIN = "-"
BATCH = 1 << 16


def _open_json_file(path: Path, special: Special) -> FilePart:
    need_content(path)
    return open_json(str(path), partial(pa.input_stream, str(path)), special)  # unpacks .gz, .bz2 and .zst


ENDINGS: Mapping[str, Callable[[Path, Special], FilePart]] = {
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".csv": open_csv,
    ".tsv": open_csv,
    ".jsonl": _open_json_file,
    ".ndjson": _open_json_file,
    ".json": _open_json_file,
    ".arrow": open_arrow,
    ".arrows": open_arrow,
    ".ipc": open_arrow,
    ".feather": open_arrow,
}
PACKED = (".gz", ".bz2", ".zst")


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over the times and types of all events tells."""

    types: frozenset[str]
    rows: int
    disorder_us: int
    times: TimeMarks = field(default_factory=TimeMarks)

    @property
    def seconds(self) -> float:
        """About how long the events take from the first to the last."""
        marks = self.times.marks
        return float(marks[-1] - marks[0]) / 1e6 if len(marks) else 0.0


@dataclass(slots=True)
class EventFile:
    """Events of one or several files, which follow each other in the order of their names.

    `batches` gives the columns asked for (None: all that queries can read), the times as timestamp[us], the
    types as dictionary<int32, string> and, where the data has no id column, the id: the 0-based row over all
    files, rejected rows counted too. Rows that cannot be read are left out; `take_rejected` hands them over.
    With `alone` off there are other files, so that these may hold nothing but bad times.
    """

    path: str
    parts: tuple[FilePart, ...]
    special: Special
    wanted: frozenset[str] | None
    _rejected: Rejected = field(default_factory=Rejected)
    _surveyed: Survey | None = None
    alone: bool = True

    @property
    def schema(self) -> Schema:
        """All columns, asked for or not, and the types that occur (any, where there are no events)."""
        survey = self.survey()
        schema = Schema.of(pa.schema(list(self._columns().items())), survey.types or None, self.special)
        found = schema.attributes.get(self.special.id)
        is_there = self.special.id in (*schema.attributes, *schema.skipped)
        if is_there and found not in (Kind.INT, Kind.STRING):
            raise EventsError(
                f"{self.path}: column `{self.special.id}` holds {found or 'nested value'}s: ids are integers or strings"
                " (name another column with --id; with a name that does not exist, events are numbered)"
            )
        return schema

    @property
    def unit_told(self) -> str | None:
        """One line on the unit of times that are integers, if it was judged by their size."""
        judged = next((part.judged for part in self.parts if part.judged is not None), None)
        return None if judged is None else judged.told(self.special.ts)

    @property
    def rows(self) -> int | None:
        """The number of events, if it is known without reading them."""
        if self._surveyed is not None:
            return self._surveyed.rows
        counts = [part.known_rows() for part in self.parts]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def rejected(self) -> int:
        """How many rows could not be read, in the last reading."""
        return self._rejected.count

    def select(self, columns: Collection[str]) -> Self:
        """The same events with only these columns, besides those for time, type and id."""
        return replace(self, wanted=frozenset(columns), _rejected=Rejected())

    def disorder_us(self) -> int:
        """How far an event is at most behind the latest time before it; 0 if the events are in order.

        With this lateness every event of the file is in time.
        """
        return self.survey().disorder_us

    def survey(self) -> Survey:
        """Types, number and disorder of the events; they are read once for it."""
        if self._surveyed is None:
            types: set[str] = set()
            rows, top, disorder, times = 0, START_OF_TIME, 0, TimeMarks()
            for part in self.parts:
                for chunk in part.survey(self.special, Rejected(keep=False)):
                    rows += len(chunk.rows)
                    types.update(_types_in(chunk.batch.column(self.special.type)))
                    seen, late = _disorder(chunk.batch.column(self.special.ts), top)
                    top, disorder = int(seen[-1]) if len(seen) else top, max(disorder, late)
                    times = times.extended(seen)
            self.need_times()
            self._surveyed = Survey(frozenset(types), rows, disorder, times)
        return self._surveyed

    def need_times(self) -> None:
        """EventsError where no file has times, as far as is known."""
        if self.alone:
            need_some_times(self.parts)

    def batches(self, size: int = BATCH, *, threads: bool = False) -> Iterator[pa.RecordBatch]:
        """The events in order of arrival, `size` at a time (the last batch may be smaller)."""
        if size < 1:
            raise EventsError(f"the size of a batch must be at least 1, not {size}")
        self._rejected = Rejected()
        return _rebatched(self._pieces(threads=threads), size)

    def take_rejected(self) -> pa.Table:
        """The rows that could not be read, since the last call."""
        return self._rejected.take(self.rejected_schema)

    @property
    def rejected_schema(self) -> pa.Schema:
        """Of the rejected rows: columns as texts, `text` (the whole line, if it has no columns), `reason`."""
        columns = [name for name in self.batch_schema.names if name in self._columns()]
        return pa.schema([(name, pa.string()) for name in [*columns, "text", "reason"]])

    def _pieces(self, *, threads: bool) -> Iterator[pa.RecordBatch]:
        target = self.batch_schema
        before = 0
        for part in self.parts:
            rejected = self._rejected.count
            rows = 0
            for chunk in part.batches(target.names, self._rejected, threads=threads):
                rows += len(chunk.rows)
                if len(chunk.rows):
                    yield _conformed(chunk, before, target, self.special)
            before += rows + self._rejected.count - rejected

    @property
    def batch_schema(self) -> pa.Schema:
        """The columns of every batch: time, type, id, then the attributes asked for."""
        columns = dict(self._columns())
        special = {self.special.ts: TIME, self.special.type: TYPES}
        special[self.special.id] = columns.get(self.special.id, pa.int64())
        if self.wanted is None:
            readable = {
                name
                for name, arrow in columns.items()
                if kind_of(arrow) is not None or pa.types.is_struct(arrow)
            }
        else:
            readable = set(sources_of(self.wanted, columns))
        names = [name for name in columns if name in readable]
        return pa.schema([*special.items(), *((n, columns[n]) for n in names if n not in special)])

    def _columns(self) -> Mapping[str, pa.DataType]:
        """The columns of all files; where files differ in a type, both must be of one kind or numbers."""
        self.survey()  # completes what a sample left open
        merged: dict[str, pa.DataType] = {}
        owner: dict[str, str] = {}
        for part in self.parts:
            for name, arrow in part.columns().items():
                owner.setdefault(name, part.name)
                if name in (self.special.ts, self.special.type):
                    merged[name] = arrow
                    continue
                merged[name] = _merged(name, merged.get(name, arrow), arrow, owner[name], part.name)
        return merged


def _merged(name: str, one: pa.DataType, other: pa.DataType, first: str, second: str) -> pa.DataType:
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    kinds = {kind_of(one), kind_of(other)}
    if kinds == {Kind.INT, Kind.FLOAT}:
        return Kind.FLOAT.arrow
    kind = kinds.pop()
    if kinds or kind is None:
        raise EventsError(f"column `{name}` holds {one} in {first}, but {other} in {second}")
    return kind.arrow


def _conformed(chunk: ReadChunk, before: int, target: pa.Schema, special: Special) -> pa.RecordBatch:
    """The chunk with exactly the target's columns."""
    batch = chunk.batch
    have = dict(zip(batch.schema.names, batch.columns, strict=True))
    if special.id not in have:
        have[special.id] = pa.array(chunk.rows + before)
    arrays = [_as_type(have.get(column.name), column.type, len(chunk.rows)) for column in target]
    return pa.RecordBatch.from_arrays(arrays, schema=target)


def _as_type(array: Any, arrow: pa.DataType, length: int) -> Any:
    if array is None:
        return pa.nulls(length, arrow)
    return array if array.type == arrow else array.cast(arrow, safe=False)


def _types_in(column: Any) -> list[str]:
    return [name for name in decoded(column.unique()) if name is not None]


def _disorder(ts: Any, top: int) -> tuple[I64, int]:
    """The latest times so far, by event, and how far a time was at most behind the latest before it."""
    us = ts.drop_null().cast(pa.int64()).to_numpy()
    us = us[in_time(us)]  # the engine rejects the others
    seen = np.maximum(np.maximum.accumulate(us), top)
    return seen, int((seen - us).max(initial=0))


def _rebatched(pieces: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of `size`."""
    held: list[pa.RecordBatch] = []
    count = 0
    for piece in pieces:
        rest = piece
        while count + rest.num_rows >= size:
            held.append(rest.slice(0, size - count))
            rest = rest.slice(size - count)
            yield from _together(held)
            held, count = [], 0
        if rest.num_rows:
            held.append(rest)
            count += rest.num_rows
    if held:
        yield from _together(held)


def _together(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The rows as one batch; as several, where they have more text than one can hold."""
    if len(batches) == 1:
        return batches
    found: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return found


def open_events(
    path: str | Path,
    special: Special | None = None,
    columns: Collection[str] | None = None,
    *,
    alone: bool = True,
) -> EventFile:
    """Events at a path: a file, a folder of files, or `-` for JSON lines on standard input.

    `alone` is off for one file of several: it may hold nothing but bad times.
    """
    special = special or Special()
    parts = tuple(_open_parts(str(path), special))
    special = replace(special, unit=special.unit or common_unit(parts))
    found = EventFile(str(path), parts, special, None if columns is None else frozenset(columns), alone=alone)
    found.need_times()
    return found


def common_unit(parts: Sequence[FilePart]) -> str | None:
    """The unit that the times of all files were judged to have, if they are integers somewhere."""
    judged = [part for part in parts if part.judged is not None]
    units = {part.judged.unit: part.name for part in judged if part.judged is not None}
    if len(units) > 1:
        seen = " and ".join(f"{WORDS[unit]} in {name}" for unit, name in units.items())
        raise EventsError(f"times are integers that look like {seen}: give --ts-unit (in Python ts_unit=)")
    return next(iter(units), None)


def _open_parts(path: str, special: Special) -> Iterator[FilePart]:
    if path == STDIN:
        # Read whole: queries are checked against all types and columns before the first event is matched.
        yield open_json("standard input", partial(io.BytesIO, sys.stdin.buffer.read()), special)
        return
    place = Path(path)
    if not place.exists():
        raise EventsError(f"{path}: no such file or folder")
    if not place.is_dir():
        yield _opener(place, path)(place, special)
        return
    files = sorted(
        f for f in place.iterdir() if f.is_file() and f.name[0] not in "._" and ending(f) in ENDINGS
    )
    if not files:
        raise EventsError(f"{path}: the folder holds no event files (they end in {', '.join(ENDINGS)})")
    for file in files:
        yield ENDINGS[ending(file)](file, special)


def _opener(place: Path, path: str) -> Callable[[Path, Special], FilePart]:
    if ending(place) not in ENDINGS:
        raise unknown_ending(path, ending(place), ENDINGS)
    return ENDINGS[ending(place)]


def ending(path: Path) -> str:
    """The ending that tells the format, in lower case; an ending of a compression is left out."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
