"""Parquet and Arrow IPC files: columns come typed, so only times and types are looked at."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stretto.data.casts import SHARE, TYPES, is_text, is_timelike, to_time, to_types
from stretto.data.parts import ReadChunk, Rejected, need_content, need_special, need_time
from stretto.errors import EventsError
from stretto.records import dataclass
from stretto.schema import Special, fields_of
from stretto.values.texts import value_texts
from stretto.values.time_units import JudgedUnit, need_unit

Raw = Callable[[list[str], bool], AbstractContextManager[Iterator[pa.RecordBatch]]]
STEP = 1 << 16
LENGTH_BYTES = 4


@contextmanager
def blamed(name: str, what: str) -> Iterator[None]:
    """Turn Arrow's errors into ours, with the name of the file."""
    try:
        yield
    except EventsError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise EventsError(f"{name}: not a readable {what} file, or damaged: {line}") from error


@dataclass(slots=True)
class ColumnarPart:
    """A file whose columns have types; `raw` opens its record batches of the named columns."""

    name: str
    what: str
    schema: pa.Schema
    special: Special
    rows: int | None
    raw: Raw
    judged: JudgedUnit | None = None
    timeless: EventsError | None = None

    def columns(self) -> Mapping[str, pa.DataType]:
        return {column.name: column.type for column in self.schema}

    def known_rows(self) -> int | None:
        return self.rows

    def survey(self, special: Special, rejected: Rejected) -> Iterator[ReadChunk]:
        yield from self.batches([special.ts, special.type], rejected, threads=False)

    def batches(self, names: Collection[str], rejected: Rejected, *, threads: bool) -> Iterator[ReadChunk]:
        wanted = [name for name in self.schema.names if name in names]
        before = 0
        with blamed(self.name, self.what), self.raw(wanted, threads) as batches:
            for batch in batches:
                for start in range(0, batch.num_rows, STEP):
                    piece = batch.slice(start, STEP)
                    yield self._good(piece, before, rejected)
                    before += piece.num_rows

    def _good(self, batch: pa.RecordBatch, before: int, rejected: Rejected) -> ReadChunk:
        """The batch with plain times and types, without the rows whose time cannot be read."""
        rows = np.arange(before, before + batch.num_rows, dtype=np.int64)
        names = batch.schema.names
        where, at_type = names.index(self.special.ts), names.index(self.special.type)
        ts, bad = to_time(batch.column(where), self.special.unit)
        timed = batch.set_column(where, self.special.ts, ts)
        types = to_types(batch.column(at_type))
        chunk = ReadChunk(timed.set_column(at_type, self.special.type, types), rows)
        if bad is None:
            return chunk
        is_written = is_text(batch.column(where).type)
        index = np.flatnonzero(bad)
        columns = [value_texts(column.take(pa.array(index))).to_pylist() for column in batch.columns]
        for i, *values in zip(index.tolist(), *columns, strict=True):
            shown = f"{values[where]!r} is not a time" if is_written else f"{values[where]} is out of range"
            reason = f"row {before + i + 1}: {self.special.ts}: {shown}"
            rejected.add(f"{self.name}: {reason}", dict(zip(names, values, strict=True)))
        return chunk.without(bad)


def open_parquet(path: Path, special: Special) -> ColumnarPart:
    need_content(path)
    with blamed(str(path), "Parquet"), pq.ParquetFile(path) as file:
        coded = _coded_texts(file)
        schema, rows = _named(_with_codes(file.schema_arrow, coded)), file.metadata.num_rows

    @contextmanager
    def raw(names: list[str], threads: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        # Without pre_buffer: it would keep every page that was read until the file is closed.
        try:
            file = pq.ParquetFile(path, read_dictionary=[special.type, *coded], pre_buffer=False)
        except KeyError as error:
            raise ValueError("its columns have other names than its schema") from error
        with file as opened:
            yield opened.iter_batches(batch_size=STEP, columns=names, use_threads=threads)

    return _checked(ColumnarPart(str(path), "Parquet", schema, special, rows, raw))


def _named(schema: pa.Schema) -> pa.Schema:
    """Return the schema; raise ValueError where the name of a column or of a field is no text."""
    for column in schema:
        for _ in fields_of(column.name, column.type):
            pass
    return schema


def _coded_texts(file: pq.ParquetFile) -> list[str]:
    """The columns of texts that are read as codes and a dictionary, as the file has them.

    A text that is not coded takes four bytes for its length alone, so a column with less than that is coded, at least
    for the most part. The first row group tells of the others.
    """
    if not file.metadata.num_row_groups:
        return []
    group = file.metadata.row_group(0)
    texts = {column.name for column in file.schema_arrow if pa.types.is_string(column.type)}
    chunks = (group.column(i) for i in range(group.num_columns))
    return [
        chunk.path_in_schema
        for chunk in chunks
        if chunk.path_in_schema in texts
        and chunk.has_dictionary_page
        and chunk.total_uncompressed_size < LENGTH_BYTES * chunk.num_values
    ]


def _with_codes(schema: pa.Schema, names: Iterable[str]) -> pa.Schema:
    for name in names:
        where = schema.get_field_index(name)
        schema = schema.set(where, schema.field(where).with_type(TYPES))
    return schema


def open_arrow(path: Path, special: Special) -> ColumnarPart:
    """An Arrow IPC file, in the file or in the stream format."""
    need_content(path)
    with blamed(str(path), "Arrow"), pa.memory_map(str(path)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        schema = _named((pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)).schema)

    @contextmanager
    def raw(names: list[str], threads: bool) -> Iterator[Iterator[pa.RecordBatch]]:
        fields = [schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=threads)
        with pa.memory_map(str(path)) as opened:
            if is_file:
                reader = pa.ipc.open_file(opened, options=options)
                yield _sound(reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                yield _sound(pa.ipc.open_stream(opened, options=options))

    return _checked(ColumnarPart(str(path), "Arrow", schema, special, None, raw))


def _sound(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, each checked: Arrow trusts a file's offsets and codes, and damaged ones would crash the process."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


def _checked(part: ColumnarPart) -> ColumnarPart:
    """The part, if it has times and types and their columns can hold such values."""
    need_special(part.name, part.schema.names, part.special)
    ts = part.schema.field(part.special.ts).type
    if not is_timelike(ts):
        raise need_time(part.name, part.special, str(ts))
    if is_text(ts):
        _check_text_times(part)
    elif pa.types.is_integer(ts) and part.special.unit is None:
        first = _first_times(part)
        part.judged = None if first is None else need_unit(first, part.special.ts, part.name)
        if part.judged is not None:
            part.special = replace(part.special, unit=part.judged.unit)
    kind = part.schema.field(part.special.type).type
    if not (is_text(kind) or pa.types.is_integer(kind)):
        raise EventsError(
            f"{part.name}: column `{part.special.type}` holds {kind}, not the names of event types"
            " (name another column with --type)"
        )
    return part


def _check_text_times(part: ColumnarPart) -> None:
    first = _first_times(part)
    if first is None:
        return
    texts = first.slice(0, 1000)
    _, bad = to_time(texts)
    if bad is not None and bad.mean() > 1 - SHARE:
        example = texts[int(np.flatnonzero(bad)[0])].as_py()
        raise need_time(part.name, part.special, "texts", example)


def _first_times(part: ColumnarPart) -> pa.Array | None:
    """The times of the first events; None where there are no events."""
    with blamed(part.name, part.what), part.raw([part.special.ts], False) as batches:
        return next((batch.column(0) for batch in batches if batch.num_rows), None)
