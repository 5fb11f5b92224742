"""Event files read inside the tasks, by pyarrow: rows never pass through the JVM.

A Parquet file is cut into its row groups; a slice of time reads just those that lie in it, and of them just the
columns that the plan needs. Other files are read whole, one task each, and their events are moved to their targets.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from stretto.data.casts import is_text
from stretto.data.columnar import ColumnarPart
from stretto.data.files import EventFile, Survey, open_events
from stretto.data.parts import FilePart, ReadChunk, Rejected
from stretto.errors import EventsError
from stretto.pattern.workload import Workload
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.time_slices import Times
from stretto.records import dataclass
from stretto.schema import Schema, Special
from stretto.spark.batch.profile import Range, heaviest_of, sample_rows, stats_of, wanted_sample
from stretto.spark.batch.row_groups import ReadUnit, TimeRange, read_group, row_groups
from stretto.spark.batch.summary import Summary, total
from stretto.spark.errors import at_work, clear_failures
from stretto.spark.packed import PACKED, as_schema
from stretto.spark.setup.session import cores_of
from stretto.stats.profile import Stats
from stretto.values.time_units import JudgedUnit
from stretto.values.times import START_OF_TIME

TASKS: Final = 4
"""Tasks per core of a job over all files, so that a large file does not keep the others waiting."""


@dataclass(frozen=True)
class EventFiles:
    """Events of one or several files, in order of their names; `summary` is known after a survey.

    `columns` are those of each file.
    """

    path: str
    special: Special
    units: tuple[ReadUnit, ...]
    columns: Mapping[str, pa.Schema]
    summary: Summary | None = None
    unit_told: str | None = None

    @property
    def in_place(self) -> bool:
        """Whether slices of time can be read where they are run."""
        return all(unit.group is not None for unit in self.units)

    @property
    def times(self) -> Times | None:
        """When events come, if that is known: from a survey, or from the files' footers."""
        edges = [unit.first for unit in self.units if unit.first is not None and unit.group is not None]
        if self.summary is not None:
            return Times.of(self.summary.stretches, edges)
        stretches = [unit.stretch for unit in self.units]
        known = [stretch for stretch in stretches if stretch is not None]
        return Times.of(known, edges) if len(known) == len(stretches) else None

    def load(self, stats: Stats | None) -> EventLoad:
        """What is to be spread, once the times are known."""
        times = self.times
        assert times is not None, "a survey knows the times"
        held = None
        if self.in_place:
            pieces = [SliceRead(unit, 0, None) for unit in self.units]
            held = max((sum(p.unit.rows or 0 for p in run) for run in runs_of(pieces)), default=0)
        shares = self.summary.shares if self.summary is not None else {}
        return EventLoad(times, heaviest_of(stats), self.in_place, self.in_place, held, shares)

    @property
    def before(self) -> list[int]:
        """How many rows stand before each unit; all rows must be known."""
        return [0, *accumulate(unit.rows or 0 for unit in self.units)][: len(self.units)]

    @cached_property
    def event_file(self) -> EventFile:
        """The same files as in-process readers see them: their schema, and the columns of events and rejected rows."""
        types = frozenset(self.summary.types) if self.summary is not None else frozenset[str]()
        rows = sum(unit.rows or 0 for unit in self.units)
        parts: tuple[FilePart, ...] = tuple(_Known(name, schema) for name, schema in self.columns.items())
        return EventFile(self.path, parts, self.special, None, Rejected(), Survey(types, rows, 0))

    @property
    def schema(self) -> Schema:
        """All columns, and the types that occur (any, before a survey)."""
        return self.event_file.schema

    def selected(self, columns: Iterable[str] | None) -> pa.Schema:
        """The columns of events: time, type, id, and those asked for (None: all)."""
        return (
            self.event_file if columns is None else self.event_file.select(frozenset(columns))
        ).batch_schema


@dataclass(slots=True)
class _Known:
    """A file whose columns are known; it is read elsewhere."""

    name: str
    found: pa.Schema
    judged: JudgedUnit | None = None
    timeless: EventsError | None = None

    def columns(self) -> Mapping[str, pa.DataType]:
        return {column.name: column.type for column in self.found}

    def known_rows(self) -> int | None:
        return None

    def survey(self, special: Special, rejected: Rejected) -> Iterator[ReadChunk]:  # noqa: ARG002 - as every part
        yield from ()

    def batches(self, names: Iterable[str], rejected: Rejected, *, threads: bool) -> Iterator[ReadChunk]:  # noqa: ARG002 - as every part
        yield from ()


def open_files(path: str, special: Special | None = None) -> EventFiles:
    """The files of a path; of Parquet the footers are read, of others the first lines."""
    special = special or Special()
    units: list[ReadUnit] = []
    columns: dict[str, pa.Schema] = {}
    source = open_events(path, special)
    special = source.special
    for part in source.parts:
        columns[part.name] = pa.schema(list(part.columns().items()))
        units += _units(part, special)
    files = EventFiles(path, special, tuple(units), columns, unit_told=source.unit_told)
    if files.in_place:
        assert files.schema is not None  # files that do not go together are refused before they are read
    return files


def _units(part: FilePart, special: Special) -> list[ReadUnit]:
    path = str(Path(part.name).absolute())
    in_groups = isinstance(part, ColumnarPart) and part.what == "Parquet"
    if not in_groups or is_text(part.columns()[special.ts]):
        return [ReadUnit(part.name, path)]
    return [unit for unit in row_groups(path, special, part.name) if unit.rows]


# ---- surveys and samples ---------------------------------------------------------------------------------------


def survey(spark: SparkSession, files: EventFiles) -> EventFiles:
    """The files with all that one pass over their times and types tells, by a job."""
    special = files.special

    def surveyed(unit: int) -> Iterator[pa.RecordBatch]:
        found = _surveyed(files.units[unit], special)
        yield pa.record_batch({"unit": pa.array([unit]), "found": pa.array([found], pa.string())})

    with clear_failures():
        rows = over_units(spark, files, surveyed, "unit bigint, found string", "reading {}").collect()
    return _with_survey(files, {row.unit: json.loads(row.found) for row in rows})


def _surveyed(unit: ReadUnit, special: Special) -> str:
    if unit.group is not None:
        wanted = pa.schema(
            [(special.ts, pa.timestamp("us")), (special.type, pa.dictionary(pa.int32(), pa.string()))]
        )
        batches = (batch for batch, _ in read_group(unit.path, unit.group, wanted, special))
        return json.dumps({"summary": Summary.of(batches, special).to_json(), "columns": None, "rejected": 0})
    (part,) = opened(unit, special).parts
    rejected = Rejected(keep=False)
    summary = Summary.of((chunk.batch for chunk in part.survey(special, rejected)), special)
    columns = pa.schema(list(part.columns().items())).serialize().to_pybytes()
    return json.dumps(
        {"summary": summary.to_json(), "columns": b64encode(columns).decode(), "rejected": rejected.count}
    )


def _with_survey(files: EventFiles, found: Mapping[int, dict[str, str]]) -> EventFiles:
    units, columns, summaries = list(files.units), dict(files.columns), []
    for number, unit in enumerate(files.units):
        read = found[number]
        summary = Summary.from_json(read["summary"])
        summaries.append(summary)
        rows = summary.rows + int(read["rejected"])
        units[number] = replace(unit, rows=rows, first=summary.first, last=summary.last)
        if read["columns"] is not None:
            columns[unit.name] = pa.ipc.read_schema(pa.py_buffer(b64decode(read["columns"])))
    return replace(files, units=tuple(units), columns=columns, summary=total(summaries))


def profile_files(
    spark: SparkSession, workload: Workload | None, files: EventFiles, sample: float = 0.01, *, seed: int = 0
) -> Stats:
    """The statistics of surveyed files; with a workload the terms of its queries are measured at once."""
    known = files.summary
    assert known is not None, "files are surveyed before they are profiled"
    special, wanted, before = files.special, files.selected(None), files.before
    ranges, rare = wanted_sample(known, sample, seed, workload)

    def sampled(number: int) -> Iterator[pa.RecordBatch]:
        unit = files.units[number]
        if rare or _meets(unit, ranges):
            yield from sample_rows(unit_batches(unit, before[number], wanted, special), special, ranges, rare)

    with clear_failures():
        found = over_units(spark, files, sampled, PACKED, "sampling {}").toArrow()
    return stats_of(known, found, files.schema, ranges, seed, workload)


def _meets(unit: ReadUnit, ranges: Sequence[Range]) -> bool:
    if unit.first is None or unit.last is None:
        return True
    return any(low <= unit.last and unit.first < high for low, high in ranges)


def over_units(
    spark: SparkSession,
    files: EventFiles,
    read: Callable[[int], Iterator[pa.RecordBatch]],
    schema: str,
    step: str,
) -> DataFrame:
    """What `read` makes of every unit, a few units to a task; `step` says what is done, with a place for the file."""
    count = min(len(files.units), TASKS * cores_of(spark)) or 1
    shares = [list(range(len(files.units)))[i::count] for i in range(count)]
    names = [unit.name for unit in files.units]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                for unit in shares[task]:
                    with at_work(step.format(names[unit]), ()):
                        yield from read(unit)

    return spark.range(0, count, 1, count).mapInArrow(run, schema)


def opened(unit: ReadUnit, special: Special, columns: Collection[str] | None = None) -> EventFile:
    """A unit that is a whole file, under the name that was given."""
    source = open_events(unit.path, special, columns, alone=False)
    source.parts[0].name = unit.name
    return source


def unit_batches(
    unit: ReadUnit,
    before: int,
    wanted: pa.Schema,
    special: Special,
    rejected: list[pa.Table] | None = None,
    window: TimeRange | None = None,
) -> Iterator[pa.RecordBatch]:
    """The events of a unit, with the columns wanted; rows that cannot be read are added to `rejected`.

    `window`: those of a row group that lie in it; None: all. An event without an id has its row, counted from `before`.
    """
    if unit.group is not None:
        for batch, rows in read_group(unit.path, unit.group, wanted, special, window):
            has_ids = special.id in batch.schema.names
            numbered = batch if has_ids else batch.append_column(special.id, pa.array(rows + before))
            yield numbered.select(wanted.names)
        return
    source = opened(unit, special, wanted.names)
    has_ids = special.id in source.parts[0].columns()
    for batch in source.batches():
        numbered = batch
        if not has_ids:
            at = batch.schema.get_field_index(special.id)
            moved = pc.add(batch.column(at), before)
            numbered = batch.set_column(at, special.id, moved)
        yield as_schema(numbered, wanted)
    if rejected is not None:
        rejected.append(source.take_rejected())


# ---- matches ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SliceRead:
    """What a slice reads of a row group: the events in the window; None: all."""

    unit: ReadUnit
    before: int
    window: TimeRange | None


def runs_of(pieces: Sequence[SliceRead], *, arriving: bool = False) -> list[list[SliceRead]]:
    """The pieces in order of time as runs, each of which ends before the next one begins; or as they arrive.

    Inside of a run they stay in order of arrival.
    """
    if arriving:
        return [[piece] for piece in pieces]
    known = [
        (p.unit.first, p.unit.last, p) for p in pieces if p.unit.first is not None and p.unit.last is not None
    ]
    if len(known) < len(pieces):
        return [list(pieces)] if pieces else []
    runs: list[list[SliceRead]] = []
    ends = START_OF_TIME
    for first, last, piece in sorted(known, key=lambda one: one[0]):
        if first > ends or not runs:
            runs.append([])
        runs[-1].append(piece)
        ends = max(ends, last)
    return [sorted(run, key=lambda piece: piece.before) for run in runs]
