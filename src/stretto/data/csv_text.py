"""CSV files: read as texts, cast to the kinds that a sample shows; rows that do not fit are set apart."""

import csv
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from stretto.data.casts import TYPES, WORDS, Mask, fit, kind_of_texts, to_time
from stretto.data.parts import Numbers, ReadChunk, Rejected, need_content, need_special, need_time
from stretto.data.utf8 import MARK, MarkedUtf8
from stretto.errors import EventsError
from stretto.records import dataclass
from stretto.schema import Kind, Special
from stretto.values.time_units import JudgedUnit, need_unit

SAMPLE_ROWS = 2000
BLOCK = 1 << 21


@dataclass(slots=True)
class CsvPart:
    """A CSV file with a header; `kinds` holds the columns whose kind is known (all, after a survey)."""

    name: str
    path: Path
    special: Special
    header: list[str]
    header_lines: int
    delimiter: str
    kinds: dict[str, Kind] = field(default_factory=dict)
    rows: int | None = None
    judged: JudgedUnit | None = None
    timeless: EventsError | None = None

    def columns(self) -> Mapping[str, pa.DataType]:
        kinds = {name: self.kinds.get(name, Kind.STRING).arrow for name in self.header}
        return kinds | {self.special.type: TYPES}

    def known_rows(self) -> int | None:
        return self.rows

    def survey(self, special: Special, rejected: Rejected) -> Iterator[ReadChunk]:
        """Also decides the kind of columns that were empty in the sample, at their first values."""
        undecided = [name for name in self.header if name not in self.kinds]
        rows = 0
        for raw in self._raw(list(dict.fromkeys([special.ts, special.type, *undecided])), rejected):
            for name in [name for name in undecided if name not in self.kinds]:
                self.decide(name, raw.texts(name))
            chunk = self._typed(raw, [special.ts, special.type], rejected)
            rows += chunk.batch.num_rows
            yield chunk
        for name in undecided:
            self.kinds.setdefault(name, Kind.TIME if name == special.ts else Kind.STRING)
        self.rows = rows

    def decide(self, name: str, texts: Any) -> None:
        """Set the kind of a column by its values, if there are any."""
        found = texts.drop_null().slice(0, SAMPLE_ROWS)
        kind = kind_of_texts(found)
        if name == self.special.ts and kind not in (None, Kind.INT, Kind.TIME):
            bad = fit(found, Kind.TIME)[1]
            example = found[int(np.flatnonzero(bad)[0])].as_py() if bad.any() else None
            self.timeless, kind = need_time(self.name, self.special, f"{kind}s", example), Kind.TIME
        if kind is not None:
            self.kinds[name] = Kind.STRING if name == self.special.type else kind
        if name == self.special.ts and kind is Kind.INT and self.special.unit is None:
            self.judged = need_unit(fit(found, kind)[0], name, self.name)
            self.special = replace(self.special, unit=None if self.judged is None else self.judged.unit)

    def batches(self, names: Collection[str], rejected: Rejected, *, threads: bool) -> Iterator[ReadChunk]:  # noqa: ARG002 - rows are numbered as they are parsed, in one thread
        wanted = [name for name in self.header if name in names]
        for raw in self._raw(wanted, rejected):
            yield self._typed(raw, wanted, rejected)

    def _raw(self, names: list[str], rejected: Rejected) -> "Iterator[_Raw]":
        return _Reader(self, names, rejected).blocks()

    def _typed(self, raw: "_Raw", names: list[str], rejected: Rejected) -> ReadChunk:
        """The block with its columns cast, without the rows that do not fit."""
        arrays: list[Any] = []
        bad = np.zeros(raw.batch.num_rows, np.bool_)
        for name in names:
            texts = raw.texts(name)
            broken = raw.broken(name)
            kind = Kind.STRING if name == self.special.type else self.kinds.get(name, Kind.STRING)
            values, misfit = fit(texts, kind)
            for i in np.flatnonzero(broken & ~bad).tolist():
                raw.reject(i, f"{name}: not UTF-8 text", rejected)
            for i in np.flatnonzero(misfit & ~bad & ~broken).tolist():
                raw.reject(i, f"{name}: {texts[i].as_py()!r} is not {WORDS[kind]}", rejected)
            if name == self.special.ts and kind is Kind.INT:
                values = to_time(values, self.special.unit)[0]
            bad |= broken | misfit
            arrays.append(values.dictionary_encode() if name == self.special.type else values)
        batch = pa.RecordBatch.from_arrays(arrays, names=names)
        return ReadChunk(batch, raw.rows).without(bad | raw.blank)


@dataclass(slots=True)
class _Raw:
    """A block of rows as texts. `blank` rows are empty lines; `lines` and `rows` number them in the file.

    `marked`: some text of the file so far was not UTF-8.
    """

    file: str
    batch: pa.RecordBatch
    blank: Mask
    lines: Numbers
    rows: Numbers
    marked: bool

    def texts(self, name: str) -> Any:
        return self.batch.column(name)

    def broken(self, name: str) -> Mask:
        """Which texts were not UTF-8."""
        if not self.marked:
            return np.zeros(self.batch.num_rows, np.bool_)
        found: Mask = pc.fill_null(pc.match_substring(self.texts(name), MARK), False).to_numpy(
            zero_copy_only=False
        )
        return found

    def reject(self, i: int, reason: str, rejected: Rejected) -> None:
        values = {
            name: None if (value := column[i].as_py()) is None else value.replace(MARK, "\ufffd")
            for name, column in zip(self.batch.schema.names, self.batch.columns, strict=True)
        }
        rejected.add(f"{self.file}: line {self.lines[i]}: {reason}", values)


class _Reader:
    """Blocks of one reading of a file, with the line on which every row starts."""

    def __init__(self, part: CsvPart, names: list[str], rejected: Rejected) -> None:
        self.part = part
        self.names = names
        self.rejected = rejected
        self.skipped: list[Any] = []  # rows with a wrong number of values that are not rejected yet
        self.told = 0  # how many were rejected before
        self.breaks = 0  # line breaks inside the rows so far
        self.parsed = 0  # rows so far, blank ones included
        self.blanks = 0
        self.stream: MarkedUtf8 | None = None

    def blocks(self) -> Iterator[_Raw]:
        try:
            with pa.input_stream(str(self.part.path)) as raw:
                self.stream = MarkedUtf8(raw)
                for batch in self._open(self.stream):
                    yield self._numbered(batch)
                self._tell(np.zeros(0, np.int64))  # what stands after the last good row
        except (pa.ArrowException, OSError) as error:
            line = str(error).strip().splitlines()[0]
            if line.startswith(("Empty CSV", "Could not skip initial")):  # a header and nothing else
                return
            raise EventsError(f"{self.part.name}: not a readable CSV file: {line}") from error

    def _open(self, stream: Any) -> Iterator[pa.RecordBatch]:
        names = self.part.header
        return iter(
            pa_csv.open_csv(
                stream,
                read_options=pa_csv.ReadOptions(
                    use_threads=False,
                    block_size=BLOCK,
                    column_names=names,
                    skip_rows=self.part.header_lines,
                ),
                parse_options=pa_csv.ParseOptions(
                    delimiter=self.part.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=self._skip,
                ),
                convert_options=pa_csv.ConvertOptions(
                    include_columns=self.names,
                    column_types=dict.fromkeys(names, pa.string()),
                    check_utf8=False,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        )

    def _skip(self, row: Any) -> str:
        self.skipped.append(row)
        return "skip"

    def _numbered(self, batch: pa.RecordBatch) -> _Raw:
        count = batch.num_rows
        ordinals = np.arange(self.parsed, self.parsed + count, dtype=np.int64)
        here = np.searchsorted(self._places(), ordinals, side="right")
        before = self.told + here
        blank = np.logical_and.reduce([c.is_null().to_numpy(zero_copy_only=False) for c in batch.columns])
        blanks = self.blanks + np.cumsum(blank)
        breaks = self._breaks_before(batch)
        lines = ordinals + self.part.header_lines + 1 + before + breaks + self._skipped_breaks()[here]
        self._tell(breaks, self.parsed + count)
        self.parsed += count
        self.blanks = int(blanks[-1]) if count else self.blanks
        marked = self.stream is not None and self.stream.marked
        return _Raw(self.part.name, batch, blank, lines, ordinals + before - blanks, marked)

    def _places(self) -> Numbers:
        """For every skipped row, how many parsed rows stand before it."""
        numbers = np.array([row.number for row in self.skipped], np.int64)
        return numbers - self.part.header_lines - 1 - self.told - np.arange(len(numbers))

    def _skipped_breaks(self) -> Numbers:
        """The line breaks inside the first 0, 1, 2, .. skipped rows."""
        return np.cumsum([0] + [row.text.count("\n") for row in self.skipped])

    def _breaks_before(self, batch: pa.RecordBatch) -> Numbers:
        """For every row, the line breaks inside values of the parsed rows before it."""
        found = np.zeros(batch.num_rows, np.int64)
        for column in batch.columns:
            data = column.buffers()[2]
            if data is not None and (np.frombuffer(data, np.uint8) == 10).any():
                found += pc.fill_null(pc.count_substring(column, "\n"), 0).to_numpy(zero_copy_only=False)
        before = self.breaks + np.cumsum(found) - found
        self.breaks += int(found.sum())
        return before

    def _tell(self, breaks: Numbers, until: int | None = None) -> None:
        """Reject the skipped rows with fewer than `until` parsed rows before them."""
        places, inside = self._places(), self._skipped_breaks()
        count = len(places) if until is None else int(np.searchsorted(places, until, side="left"))
        for i in range(count):
            row, place = self.skipped[i], int(places[i]) - self.parsed
            line = row.number + int(inside[i]) + (int(breaks[place]) if place < len(breaks) else self.breaks)
            reason = f"{row.actual_columns} values, where the header has {row.expected_columns}"
            self.rejected.add(
                f"{self.part.name}: line {line}: {reason}", {}, row.text.replace(MARK, "\ufffd")
            )
        del self.skipped[:count]
        self.told += count
        self.breaks += int(inside[count])


def open_csv(path: Path, special: Special) -> CsvPart:
    """A CSV file, its kinds inferred from the first rows."""
    need_content(path)
    name = str(path)
    header, lines, delimiter = _header(path, tabs=".tsv" in path.suffixes)
    need_special(name, header, special)
    part = CsvPart(name, path, special, header, lines, delimiter)
    first = next(_Reader(part, header, Rejected()).blocks(), None)
    if first is not None:
        for column in header:
            part.decide(column, first.texts(column).slice(0, SAMPLE_ROWS))
    return part


def _header(path: Path, *, tabs: bool) -> tuple[list[str], int, str]:
    """The names of the columns, the lines up to and including them, and the delimiter."""
    try:
        with pa.input_stream(str(path)) as stream:
            start = stream.read(1 << 20)
    except (pa.ArrowException, OSError) as error:
        raise EventsError(f"{path}: not a readable CSV file: {error}") from error
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise EventsError(f"{path}: the text is UTF-16; save it as UTF-8")
    for lines, line in enumerate(start.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        if line.strip():
            text = line.decode(errors="replace")
            delimiter = "\t" if tabs else next((d for d in ",;\t|" if d in text), ",")
            return next(csv.reader([text], delimiter=delimiter)), lines, delimiter
    raise EventsError(f"{path}: the file has no header line")
