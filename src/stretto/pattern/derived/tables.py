"""Tables beside the events: the rows that a family of queries stands for. Files are read as data and nothing else."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from stretto.pattern.predicates import Value
from stretto.records import dataclass
from stretto.schema import Kind, kind_of
from stretto.screen import visible


class TableError(ValueError):
    """A table that cannot be used; the text says which and why."""


@dataclass(frozen=True, slots=True, eq=False)
class LookupTable:
    """Rows in columns of known kinds; `skipped` are columns of other types.

    `origin` names the file in messages, or the folder; `files` are those of a folder, each with its first row's number.
    """

    name: str
    origin: str
    rows: pa.Table
    kinds: Mapping[str, Kind]
    skipped: tuple[str, ...] = ()
    files: tuple[tuple[str, int], ...] = ()

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def values(self, column: str) -> list[Value]:
        """A column as plain values: times and durations as microseconds."""
        found = self.rows.column(column)
        if self.kinds[column] in (Kind.TIME, Kind.DURATION):
            found = found.cast(pa.int64())
        values: list[Value] = found.to_pylist()
        return values

    def told(self) -> str:
        """The table in one line, which is another one if any value is another."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema.remove_metadata()) as stream:
            stream.write_table(self.rows.combine_chunks().replace_schema_metadata())
        digest = blake2b(sink.getvalue(), digest_size=8).hexdigest()
        return f"table {visible(self.name)}: {len(self):,} rows, {digest}"

    def row(self, number: int) -> str:
        """A row's place for a message; rows are counted from 1, the header of a file is none."""
        origin, first = self.origin, 0
        for name, start in self.files:
            origin, first = (name, start) if start <= number else (origin, first)
        return f"{origin}, row {number - first + 1}"


def make_table(name: str, given: Any, origin: str = "") -> LookupTable:
    """A table of anything that Arrow can take: a table, a DataFrame (Spark's too), a mapping of columns."""
    origin = origin or f"table `{name}`"
    given = given.toArrow() if hasattr(given, "toArrow") else given
    try:
        rows = given if isinstance(given, pa.Table) else pa.table(given)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise TableError(f"{origin}: this is no table: {error}") from None
    twice = [column for column, count in Counter(rows.column_names).items() if count > 1]
    if twice:
        raise TableError(f"{origin}: column `{twice[0]}` occurs twice")
    known = {field.name: kind_of(field.type) for field in rows.schema}
    kinds = {column: kind for column, kind in known.items() if kind is not None}
    columns = {column: _cast(rows.column(column), kind, column, origin) for column, kind in kinds.items()}
    skipped = tuple(column for column, kind in known.items() if kind is None)
    return LookupTable(name, origin, pa.table(columns), kinds, skipped)


def read_table(name: str, path: str, folder: Path) -> LookupTable:
    """The table of a file, or of all files of a folder; a relative path is relative to the folder of the workload."""
    file = folder / path
    try:
        is_folder = path.endswith("/") or file.is_dir()
    except OSError as error:  # a name that no file can have
        raise TableError(f"table `{name}` cannot be read: {error.strerror}") from None
    if is_folder:
        return _read_folder(name, path, file)
    return make_table(name, _rows_of(file, path), f"`{path}`")


def table_files(folder: Path) -> list[Path]:
    """The files of a folder that hold a table's rows, by name; hidden ones, and what Spark writes beside, are none."""
    from stretto.pattern.derived.table_files import READERS

    found = (file for file in folder.iterdir() if file.suffix.lower() in READERS and file.is_file())
    return sorted(file for file in found if file.name[0] not in "._")


def _read_folder(name: str, path: str, folder: Path) -> LookupTable:
    from stretto.pattern.derived.table_files import READERS

    if not folder.is_dir():
        raise TableError(
            f"`{path}` is {'no folder' if folder.exists() else 'not there'} (looked for {folder})"
        )
    named = {f"{path.rstrip('/')}/{file.name}": file for file in table_files(folder)}
    if not named:
        raise TableError(f"`{path}`: the folder has no file that ends in {', '.join(READERS)}")
    parts = {each: _rows_of(file, each) for each, file in named.items()}
    (first, rows), *others = parts.items()
    for each, more in others:
        for one, other, missing in ((first, each, rows), (each, first, more)):
            absent = sorted(set(parts[other].column_names) - set(missing.column_names))
            if absent:
                raise TableError(f"`{one}` has no column `{absent[0]}`, which `{other}` has")
    try:
        whole = pa.concat_tables(parts.values(), promote_options="permissive")
    except pa.ArrowException as error:
        raise TableError(f"`{path}`: its files do not fit together: {str(error).splitlines()[0]}") from None
    counts = [0, *accumulate(part.num_rows for part in parts.values())]
    files = tuple((f"`{each}`", start) for each, start in zip(parts, counts, strict=False))
    return replace(make_table(name, whole, f"`{path}`"), files=files)


def _rows_of(file: Path, path: str) -> pa.Table:
    """The rows of a file, which messages call by its path."""
    from stretto.pattern.derived.table_files import READERS

    read = READERS.get(file.suffix.lower())
    if read is None:
        raise TableError(f"`{path}`: a table is a folder, or a file that ends in {', '.join(READERS)}")
    try:
        if not file.is_file():
            raise TableError(f"`{path}` is {'no file' if file.exists() else 'not there'} (looked for {file})")
        with pa.OSFile(str(file), "rb") as opened:
            rows = read(opened)
        rows.validate(full=True)  # Arrow trusts the offsets and codes of a file
        return rows.rename_columns(rows.column_names)  # ValueError where a name is no text
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"`{path}` cannot be read: {str(error).splitlines()[0]}") from None


def _cast(column: Any, kind: Kind, name: str, origin: str) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(kind.arrow)
    except pa.ArrowException as error:
        raise TableError(f"{origin}: column `{name}` does not fit: {error}") from None
