"""Writes rows to files, in the format of their ending; a file gets its name only when it is complete."""

import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from stretto.atomic import PartialFile
from stretto.data.json_write import double_texts, json_lines, json_texts
from stretto.data.parts import unknown_ending
from stretto.errors import EventsError
from stretto.values.texts import time_texts

STDOUT = "-"
STEP = 1 << 14
STEP_BYTES = 1 << 25
"""Rows that are written at a time, and about how much of them: an array of texts has an end."""


class _Writer(Protocol):
    def write(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


class Sink:
    """A file of rows with one schema, that of `open_sink` or of the first batch.

    `close` puts it in its place, `abort` leaves nothing behind; as a context manager it does one of the two.
    """

    def __init__(self, path: str, ending: str, schema: pa.Schema | None, raw: Collection[str] = ()) -> None:
        self.path = path
        self._raw = raw
        self.rows = 0
        self._ending = ending
        self._schema = schema
        self._writer: _Writer | None = None
        self._file: PartialFile | None = None if path == STDOUT else _opened(path)

    def expect(self, schema: pa.Schema) -> None:
        """Set the schema, if none is set yet."""
        self._schema = self._schema or schema

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        with self._named():
            self._started(batch.schema).write(batch)
        self.rows += batch.num_rows

    def close(self) -> None:
        """Finish the file and give it its name; if that fails, nothing is left behind."""
        try:
            with self._named():
                self._started(self._schema or pa.schema([])).close()
        except BaseException:
            self.abort()
            raise
        sys.stdout.buffer.flush() if self._file is None else self._file.finish()

    def abort(self) -> None:
        """Drop what was written; a file that was there before stays as it was."""
        if self._writer is not None:
            with suppress(Exception):  # a writer that failed fails again; what it writes here is dropped
                self._writer.close()
        if self._file is not None:
            self._file.drop()

    def _named(self) -> AbstractContextManager[None]:
        return nullcontext() if self._file is None else self._file.named()

    def _started(self, schema: pa.Schema) -> _Writer:
        if self._writer is None:
            stream = sys.stdout.buffer if self._file is None else self._file.stream
            self._writer = _WRITERS[self._ending](stream, self._schema or schema)
            if isinstance(self._writer, _JsonWriter):
                self._writer.raw = self._raw
        return self._writer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def _opened(path: str) -> PartialFile:
    place = Path(path)
    if place.is_dir():
        raise EventsError(f"{path}: cannot be written: it is a folder")
    try:
        return PartialFile(place)
    except OSError as error:
        folder = place.resolve().parent
        missing = "" if folder.exists() else f" (there is no folder {folder})"
        raise EventsError(f"{path}: cannot be written: {error.strerror}{missing}") from error


class _ArrowWriter:
    """One of Arrow's own writers, for batches of one schema."""

    def __init__(self, writer: Any, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch if batch.schema.equals(self._schema) else batch.cast(self._schema))

    def close(self) -> None:
        self._writer.close()


def _to_parquet(stream: Any, schema: pa.Schema) -> _ArrowWriter:
    return _ArrowWriter(pq.ParquetWriter(stream, schema, compression="zstd"), schema)


def _to_arrow(stream: Any, schema: pa.Schema) -> _ArrowWriter:
    # A file holds one dictionary per column, but batches may come with their own: so none are kept.
    plain = pa.schema([pa.field(f.name, _decoded(f.type), f.nullable) for f in schema])
    return _ArrowWriter(pa.ipc.new_file(stream, plain), plain)


class _CsvWriter(_ArrowWriter):
    def __init__(self, stream: Any, schema: pa.Schema) -> None:
        texts = pa.schema([(f.name, _csv_type(f.type)) for f in schema])
        super().__init__(pa_csv.CSVWriter(stream, texts) if len(schema) else None, texts)

    def write(self, batch: pa.RecordBatch) -> None:
        arrays = [_csv_column(column) for column in batch.columns]
        super().write(pa.RecordBatch.from_arrays(arrays, batch.schema.names))

    def close(self) -> None:
        if self._writer is not None:
            super().close()


class _JsonWriter:
    def __init__(self, stream: Any, schema: pa.Schema) -> None:  # noqa: ARG002 - every line has its own names
        self._stream = stream
        self.raw: Collection[str] = ()

    def write(self, batch: pa.RecordBatch) -> None:
        step = min(STEP, max(STEP_BYTES * batch.num_rows // max(batch.nbytes, 1), 1))
        for start in range(0, batch.num_rows, step):
            lines = json_lines(batch.slice(start, step), self.raw).to_pylist()
            self._stream.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        """Nothing is held back."""


def _decoded(arrow: pa.DataType) -> pa.DataType:
    return arrow.value_type if pa.types.is_dictionary(arrow) else arrow


def _csv_type(arrow: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_duration(arrow):
        return pa.int64()
    is_written_as_text = types.is_nested(arrow) or types.is_floating(arrow) or types.is_timestamp(arrow)
    return pa.string() if is_written_as_text else _decoded(arrow)


def _csv_column(column: Any) -> Any:
    if pa.types.is_nested(column.type):
        texts = json_texts(column)
        return pa.compute.if_else(column.is_null(), None, texts) if column.null_count else texts
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        return time_texts(column)
    if pa.types.is_duration(column.type):
        return column.cast(pa.duration("us")).cast(pa.int64())
    return double_texts(column) if pa.types.is_floating(column.type) else column


_WRITERS: Mapping[str, Callable[[Any, pa.Schema], _Writer]] = {
    ".parquet": _to_parquet,
    ".pq": _to_parquet,
    ".csv": _CsvWriter,
    ".jsonl": _JsonWriter,
    ".ndjson": _JsonWriter,
    ".json": _JsonWriter,
    ".arrow": _to_arrow,
    ".ipc": _to_arrow,
    ".feather": _to_arrow,
}


def open_sink(path: str | Path, schema: pa.Schema | None = None, raw: Collection[str] = ()) -> Sink:
    """A file to write rows to: Parquet, CSV, JSON lines or Arrow by its ending.

    `-` is JSON lines on standard output. Without a schema, it takes that of the first batch. `raw`: columns of JSON
    texts, which are objects in JSON lines.
    """
    name = str(path)
    return Sink(name, ending_of(name), schema, raw)


def ending_of(name: str) -> str:
    """The ending that tells a file's format; EventsError where none does."""
    ending = ".jsonl" if name in (STDOUT, "/dev/stdout", "/dev/null") else Path(name).suffix.lower()
    if ending not in _WRITERS:
        raise unknown_ending(name, ending, _WRITERS)
    return ending
