"""JSON lines: parsed block by block by Arrow; only lines that Arrow refuses are looked at one by one."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from stretto.data.casts import TYPES, fit, to_time, to_types
from stretto.data.json_paths import Path, Places, at, blocked, flat, nested_schema, paths_in
from stretto.data.json_values import convert, kind_of_values, load
from stretto.data.parts import Numbers, ReadChunk, Rejected, need_special, need_time
from stretto.errors import EventsError
from stretto.json_depth import has_half_pair, is_flat
from stretto.records import dataclass
from stretto.schema import Kind, Special, fields_of, kind_of
from stretto.values.convert import MOST
from stretto.values.time_units import JudgedUnit, need_unit

SAMPLE_ROWS = 2000
BLOCK = 1 << 20
FEW = 32

Open = Callable[[], AbstractContextManager[Any]]


@dataclass(slots=True)
class _JsonBlock:
    """Lines that are not blank, with the 1-based line and the 0-based row of each."""

    texts: list[bytes]
    lines: Numbers
    rows: Numbers

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, start: int, stop: int) -> "_JsonBlock":
        return _JsonBlock(self.texts[start:stop], self.lines[start:stop], self.rows[start:stop])

    def take(self, kept: list[int]) -> "_JsonBlock":
        return _JsonBlock([self.texts[i] for i in kept], self.lines[kept], self.rows[kept])

    def objects(self) -> list[dict[str, Any]]:
        return [found for text in self.texts if isinstance(found := load(text), dict)]


@dataclass(slots=True)
class JsonPart:
    """A file or pipe of JSON lines, one object each; `kinds` is complete after a survey.

    `paths`: where the value of a column stands, inside of objects too. `nested` names the columns that mostly hold
    lists of objects, `empty` those with nothing but nulls so far.
    """

    name: str
    open: Open
    special: Special
    kinds: dict[str, Kind] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    nested: set[str] = field(default_factory=set)
    empty: set[str] = field(default_factory=set)
    rows: int | None = None
    judged: JudgedUnit | None = None
    timeless: EventsError | None = None

    def columns(self) -> Mapping[str, pa.DataType]:
        known = {name: kind.arrow for name, kind in self.kinds.items()}
        return known | {self.special.type: TYPES} | {name: pa.list_(pa.null()) for name in self.nested}

    def known_rows(self) -> int | None:
        return self.rows

    def survey(self, special: Special, rejected: Rejected) -> Iterator[ReadChunk]:
        """Also finds the columns that the sample did not have."""
        names = [special.ts, special.type]
        rows = 0
        for block in self._blocks():
            table = _parsed(block, self._shape(self.kinds), "infer")
            self._learn(block, table)
            whole = [] if table is None else [self._typed(self._flat(table, names), block, rejected)]
            for chunk in whole or self._chunks(block, names, rejected):
                rows += chunk.batch.num_rows
                yield chunk
        places = self._places()
        for name in self.empty - set(self.kinds):
            if places.admit(self._path(name)):
                self.kinds[name] = Kind.STRING
        self.rows = rows

    def batches(self, names: Collection[str], rejected: Rejected, *, threads: bool) -> Iterator[ReadChunk]:  # noqa: ARG002 - lines are numbered as they are parsed, in one thread
        wanted = [name for name in self.kinds if name in names]
        for block in self._blocks():
            yield from self._chunks(block, wanted, rejected)

    def sample(self) -> None:
        """Learn the kinds from the first lines, and refuse events without times and types."""
        for block in self._blocks():
            first = block.part(0, SAMPLE_ROWS)
            objects = first.objects()
            if not objects:
                raise self._no_objects(first)
            self._decide(objects)
            need_special(self.name, list(dict.fromkeys(map(".".join, paths_in(objects)))), self.special)
            ts = self.kinds.setdefault(self.special.ts, Kind.TIME)
            if ts not in (Kind.INT, Kind.TIME):
                self.timeless = need_time(self.name, self.special, f"{ts}s", self._no_time(objects))
                self.kinds[self.special.ts] = Kind.TIME
            self.kinds.setdefault(self.special.type, Kind.STRING)
            if ts is Kind.INT and self.special.unit is None:
                self._judge(objects)
            return

    def _no_time(self, objects: list[dict[str, Any]]) -> str:
        """The first value in the place of times that is none."""
        times = (at(o, self._path(self.special.ts)) for o in objects)
        texts = [str(value) for value in times if value is not None]
        bad = to_time(pa.array(texts, pa.string()))[1]
        return texts[0 if bad is None else int(bad.argmax())]

    def _judge(self, objects: list[dict[str, Any]]) -> None:
        name = self.special.ts
        values = (at(o, self._path(name)) for o in objects)
        numbers = [value for value in values if type(value) is int and abs(value) < MOST]
        self.judged = need_unit(pa.array(numbers, pa.int64()), name, self.name)
        self.special = replace(self.special, unit=None if self.judged is None else self.judged.unit)

    def _no_objects(self, block: _JsonBlock) -> EventsError:
        if block.texts[0].lstrip().startswith(b"["):
            return EventsError(
                f"{self.name}: a JSON array; events are read as JSON lines, one object per line"
            )
        return EventsError(f"{self.name}: not JSON lines: line {block.lines[0]}: {load(block.texts[0])}")

    def _learn(self, block: _JsonBlock, table: pa.Table | None) -> None:
        """Kinds of the columns that this block is the first to have."""
        if table is None:  # a line that Arrow refuses: look at the objects
            self._decide(block.objects())
            return
        found = {name: kind for one in table.schema for name, kind in fields_of(one.name, one.type)}
        open_questions = False
        for name, arrow in found.items():
            if name in self.kinds:
                continue
            plain = name in table.schema.names  # what is inside of objects is decided by its path
            kind = kind_of(arrow) if plain else None
            if pa.types.is_null(arrow):
                open_questions |= not plain and name not in self.empty
                self.empty.add(name)
            elif kind in (Kind.INT, Kind.FLOAT, Kind.BOOL):
                self.kinds[name] = kind
            else:
                open_questions |= name not in self.nested
        if open_questions:
            self._decide(block.objects())

    def _decide(self, objects: list[dict[str, Any]]) -> None:
        places = self._places()
        for path in paths_in(objects):
            name = ".".join(path)
            if name in self.kinds:
                continue
            values = [value for o in objects if (value := at(o, path)) is not None]
            kind = kind_of_values(values)
            if kind is None:
                (self.nested if values else self.empty).add(name)
                self.paths.setdefault(name, path)
            elif places.admit(path):
                self.nested.discard(name)
                self.kinds[name], self.paths[name] = kind, path
            else:
                self.nested.add(name)

    def _places(self) -> Places:
        return Places(map(self._path, self.kinds))

    def _path(self, name: str) -> Path:
        return self.paths.get(name, (name,))

    def _shape(self, names: Collection[str]) -> pa.Schema:
        """The columns as JSON has them, with objects in objects: a time is a text there."""
        return nested_schema({self._path(name): _in_json(self.kinds[name]) for name in names})

    def _flat(self, table: pa.Table, names: Collection[str]) -> pa.Table:
        return flat(table, {name: self._path(name) for name in names})

    def _chunks(self, block: _JsonBlock, names: list[str], rejected: Rejected) -> Iterator[ReadChunk]:
        """The good events of a block, in order; halves what Arrow refuses until few lines are left."""
        shape = self._shape(names)
        pending = [(0, len(block))]
        while pending:
            start, stop = pending.pop()
            part = block.part(start, stop)
            table = _parsed(part, shape, "ignore")
            if table is None and stop - start > FEW:
                middle = (start + stop) // 2
                pending += [(middle, stop), (start, middle)]
                continue
            if table is None:
                table, part = self._one_by_one(part, names, rejected)
            else:
                table = self._flat(table, names)
            if len(part):
                yield self._typed(table, part, rejected)

    def _one_by_one(
        self, block: _JsonBlock, names: Collection[str], rejected: Rejected
    ) -> tuple[pa.Table, _JsonBlock]:
        kinds = {name: self.kinds[name] for name in names}
        kept: list[int] = []
        rows: list[dict[str, Any]] = []
        for i, text in enumerate(block.texts):
            found = load(text)
            shown = text.decode(errors="replace").rstrip("\r")
            if isinstance(found, str):
                rejected.add(f"{self.name}: line {block.lines[i]}: {found}", {}, shown)
                continue
            values = {name: at(found, self._path(name)) for name in names}
            row, problem = convert(values, kinds)
            problem = problem or next(filter(None, (blocked(found, self._path(name)) for name in names)), "")
            if problem:
                rejected.add(f"{self.name}: line {block.lines[i]}: {problem}", values, shown)
                continue
            kept.append(i)
            rows.append(row)
        shape = pa.schema([(name, _in_json(kind)) for name, kind in kinds.items()])
        return pa.Table.from_pylist(rows, schema=shape), block.take(kept)

    def _typed(self, table: pa.Table, block: _JsonBlock, rejected: Rejected) -> ReadChunk:
        """The table with its times and types converted, without the rows whose time cannot be read."""
        arrays: list[Any] = []
        bad = np.zeros(table.num_rows, np.bool_)
        for name in table.schema.names:
            values = _one(table.column(name))
            if self.kinds[name] is Kind.TIME:
                texts = values
                values, misfit = fit(texts, Kind.TIME)
                for i in np.flatnonzero(misfit & ~bad).tolist():
                    reason = f"{name}: {texts[i].as_py()!r} is not a time"
                    rejected.add(
                        f"{self.name}: line {block.lines[i]}: {reason}", table.slice(i, 1).to_pylist()[0]
                    )
                bad |= misfit
            elif name == self.special.ts:
                values, _ = to_time(values, self.special.unit)
            arrays.append(to_types(values) if name == self.special.type else values)
        batch = pa.RecordBatch.from_arrays(arrays, names=table.schema.names)
        return ReadChunk(batch, block.rows).without(bad)

    def _blocks(self) -> Iterator[_JsonBlock]:
        """The lines, about a megabyte at a time."""
        line, row = 1, 0
        rest = b""
        try:
            with self.open() as stream:
                data = stream.read(BLOCK)
                while data:
                    following = stream.read(BLOCK)
                    # The last line may lack its end.
                    whole, end, rest = (
                        (rest + data).rpartition(b"\n") if following else (rest + data, b"\n", b"")
                    )
                    data = following
                    if end:
                        block = _without_blanks(whole.split(b"\n"), line, row)
                        line += whole.count(b"\n") + 1
                        row += len(block)
                        if len(block):
                            yield block
        except (pa.ArrowException, OSError) as error:
            raise EventsError(f"{self.name}: cannot be read: {error}") from error


def _in_json(kind: Kind) -> pa.DataType:
    return pa.string() if kind is Kind.TIME else kind.arrow


def _without_blanks(texts: list[bytes], line: int, row: int) -> _JsonBlock:
    if line == 1:
        texts[0] = texts[0].removeprefix(b"\xef\xbb\xbf")
    lines = np.arange(line, line + len(texts), dtype=np.int64)
    kept = [i for i, text in enumerate(texts) if text and not text.isspace()]
    rows = np.arange(row, row + len(kept), dtype=np.int64)
    if len(kept) == len(texts):
        return _JsonBlock(texts, lines, rows)
    return _JsonBlock([texts[i] for i in kept], lines[kept], rows)


def _parsed(block: _JsonBlock, shape: pa.Schema, others: str) -> pa.Table | None:
    """The lines as a table, one row each, or None where Arrow would refuse or misread one."""
    data = b"\n".join(block.texts) + b"\n"
    if not is_flat(data) or has_half_pair(data):
        return None
    try:
        data.decode()  # Arrow takes any bytes inside a text
        table = pa_json.read_json(
            pa.BufferReader(data),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=shape, unexpected_field_behavior=others),
        )
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return table if table.num_rows == len(block) else None


def _one(column: Any) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def open_json(name: str, opener: Open, special: Special) -> JsonPart:
    """JSON lines, their kinds inferred from the first ones."""
    part = JsonPart(name, opener, special)
    part.sample()
    return part
