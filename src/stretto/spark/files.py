"""Event files read inside the tasks, by pyarrow: rows never pass through the JVM.

A Parquet file is cut into its row groups; a slice of time reads just those that lie in it, and of them just the
columns that the plan needs. Other files are read whole, one task each, and their events are moved to their targets.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from stretto.data.casts import is_text
from stretto.data.columnar import ColumnarPart
from stretto.data.files import EventFile, Survey, open_events
from stretto.data.parts import Chunk, Part, Rejected
from stretto.engine.run import MEMORY_BYTES
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.spread.targets import ByTime, Load, Reach, Spread, Whole, choose, read_attributes
from stretto.plan.spread.time_slices import Stretch, Times
from stretto.schema import Schema, Special
from stretto.spark.batch import Shape, checked, cores_of, pack_arriving, planned, run_targets
from stretto.spark.chunks import (
    MATCHES,
    PACKED,
    REJECTED,
    TRENDS,
    Packed,
    as_schema,
    packed_rows,
    to_payload,
)
from stretto.spark.errors import StrettoSparkError, at_work, clear_failures
from stretto.spark.parquet import Window, read_group, row_groups, with_ids
from stretto.spark.profile import (
    Range,
    heaviest_of,
    payload_batches,
    sample_rows,
    stats_of,
    wanted_sample,
)
from stretto.spark.requested import Asked, query_names
from stretto.spark.session import session
from stretto.spark.streaming import everything
from stretto.spark.summary import Summary, total
from stretto.spark.tasks import Work
from stretto.stats.profile import Stats
from stretto.values.times import END_OF_TIME, START_OF_TIME

TASKS: Final = 4
"""Tasks per core of a job over all files, so that a large file does not keep the others waiting."""
ASIDE: Final = -1
"""The target of rows that go to none."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one task reads at a time: a row group of a Parquet file, or a whole file of another kind.

    `name` is that of the file as it was given, `path` where workers find it. `rows` counts rejected ones too. `first`
    and `last` are the earliest and the latest time, if they are known.
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


@dataclass(frozen=True)
class EventFiles:
    """Events of one or several files, in order of their names; `summary` is known after a survey.

    `columns` are those of each file.
    """

    path: str
    special: Special
    units: tuple[Unit, ...]
    columns: Mapping[str, pa.Schema]
    summary: Summary | None = None

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

    def load(self, stats: Stats | None) -> Load:
        """What is to be spread, once the times are known."""
        times = self.times
        assert times is not None, "a survey knows the times"
        held = None
        if self.in_place:
            pieces = [_Piece(unit, 0, None) for unit in self.units]
            held = max((sum(p.unit.rows or 0 for p in run) for run in _runs(pieces)), default=0)
        return Load(times, heaviest_of(stats), self.in_place, self.in_place, held)

    @property
    def before(self) -> list[int]:
        """How many rows stand before each unit; all rows must be known."""
        return [0, *accumulate(unit.rows or 0 for unit in self.units)][: len(self.units)]

    @cached_property
    def event_file(self) -> EventFile:
        """The same files as in-process readers see them: their schema, and the columns of events and rejected rows."""
        types = frozenset(self.summary.types) if self.summary is not None else frozenset[str]()
        rows = sum(unit.rows or 0 for unit in self.units)
        parts: tuple[Part, ...] = tuple(_Known(name, schema) for name, schema in self.columns.items())
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

    def columns(self) -> Mapping[str, pa.DataType]:
        return {column.name: column.type for column in self.found}

    def known_rows(self) -> int | None:
        return None

    def survey(self, special: Special, rejected: Rejected) -> Iterator[Chunk]:  # noqa: ARG002 - as every part
        yield from ()

    def batches(self, names: Iterable[str], rejected: Rejected, *, threads: bool) -> Iterator[Chunk]:  # noqa: ARG002 - as every part
        yield from ()


def open_files(path: str, special: Special | None = None) -> EventFiles:
    """The files of a path; of Parquet the footers are read, of others the first lines."""
    special = special or Special()
    units: list[Unit] = []
    columns: dict[str, pa.Schema] = {}
    for part in open_events(path, special).parts:
        columns[part.name] = pa.schema(list(part.columns().items()))
        units += _units(part, special)
    files = EventFiles(path, special, tuple(units), columns)
    if files.in_place:
        assert files.schema is not None  # files that do not go together are refused before they are read
    return files


def _units(part: Part, special: Special) -> list[Unit]:
    path = str(Path(part.name).absolute())
    in_groups = isinstance(part, ColumnarPart) and part.what == "Parquet"
    if not in_groups or is_text(part.columns()[special.ts]):
        return [Unit(part.name, path)]
    groups = [group for group in row_groups(path, special) if group.rows]
    return [Unit(part.name, path, g.number, g.rows, g.first, g.last) for g in groups]


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


def _surveyed(unit: Unit, special: Special) -> str:
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
    return EventFiles(files.path, files.special, tuple(units), columns, total(summaries))


def profile_files(
    spark: SparkSession, workload: Workload | None, files: EventFiles, sample: float = 0.01, *, seed: int = 0
) -> Stats:
    """The statistics of surveyed files; with a workload the terms of its queries are measured at once."""
    known = files.summary
    assert known is not None, "files are surveyed before they are profiled"
    special, wanted, before = files.special, files.selected(None), files.before
    ranges, rare = wanted_sample(known, sample, seed)

    def sampled(number: int) -> Iterator[pa.RecordBatch]:
        unit = files.units[number]
        if rare or _meets(unit, ranges):
            yield from sample_rows(unit_batches(unit, before[number], wanted, special), special, ranges, rare)

    with clear_failures():
        found = over_units(spark, files, sampled, PACKED, "sampling {}").toArrow()
    stats = stats_of(known, payload_batches(found), files.schema, ranges, seed)
    return stats if workload is None else stats.measured(workload)


def _meets(unit: Unit, ranges: Sequence[Range]) -> bool:
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


def opened(unit: Unit, special: Special, columns: Collection[str] | None = None) -> EventFile:
    """A unit that is a whole file, under the name that was given."""
    source = open_events(unit.path, special, columns)
    source.parts[0].name = unit.name
    return source


def unit_batches(
    unit: Unit, before: int, wanted: pa.Schema, special: Special, rejected: list[pa.Table] | None = None
) -> Iterator[pa.RecordBatch]:
    """The events of a unit, with the columns wanted; rows that cannot be read are added to `rejected`."""
    if unit.group is not None:
        for batch in with_ids(read_group(unit.path, unit.group, wanted, special), before, special):
            yield batch.select(wanted.names)
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


def detect_files(
    workload: Workload | str | Plan,
    path: str | EventFiles,
    *,
    spark: SparkSession | None = None,
    optimizer: str = "auto",
    budget: float | None = None,
    stats: Stats | None = None,
    spread: str | Spread = "auto",
    special: Special | None = None,
    outputs: Asked = "matches",
    cores: int | None = None,
) -> DataFrame:
    """All matches of a workload, or a plan, in the events of files, one row each; ids count the rows of all files.

    `path` is a file or a folder that every worker sees. Tasks read it themselves, so that no event passes through the
    JVM. `spark`: the session of this process, if no other is given. With a plan over Parquet files that say between
    which times their row groups lie, no job is started before the result is asked for.

    `outputs`: `trends`, the totals of trend queries instead, as of `aggregate`; `all`, both and rejected events, which
    `matches_of`, `trends_of` and `rejected_of` take apart. Rejected events have the columns that were read as texts,
    and `text`, what stood where an event should.
    """
    spark = spark or session()
    with clear_failures():
        files = path if isinstance(path, EventFiles) else open_files(path, special or _special(workload))
        cores = cores or cores_of(spark)
        if not isinstance(workload, Plan) or files.times is None:
            files = files if files.summary is not None else survey(spark, files)
        shape = Shape(_ts_type(files), outputs == "all", kind=TRENDS if outputs == "trends" else MATCHES)
        plan = planned(
            workload,
            files.schema,
            optimizer,
            budget,
            lambda read: stats or profile_files(spark, read, files),
            shape.asked,
        )
        if files.summary is None and Reach.of(plan).after_events:
            files = survey(spark, files)  # how many events there are is needed exactly
        if isinstance(spread, str):
            chosen = choose(plan, files.load(stats), cores, spread)
        else:
            chosen = checked(spread, plan)
        found = find(spark, plan, files, chosen, shape)
        if outputs != "all":
            return found
        told = files.event_file.select(attributes_of(plan)).rejected_schema
        events = StructType([StructField(name, StringType()) for name in told.names[:-1]])
        return everything(found, events, shape.ts)


def _special(workload: Workload | str | Plan) -> Special:
    return workload.schema.special if isinstance(workload, Plan) else Special()


def _ts_type(files: EventFiles) -> pa.DataType:
    """The type of the matches' times: with a zone, if those of the first file have one."""
    first = next(iter(files.columns.values())).field(files.special.ts).type
    return pa.timestamp("us", "UTC") if pa.types.is_timestamp(first) and first.tz else pa.timestamp("us")


def find(
    spark: SparkSession,
    plan: Plan,
    files: EventFiles,
    spread: Spread,
    shape: Shape,
    memory_bytes: int | None = None,
    lateness_us: int | None = None,
    latest_us: int = END_OF_TIME - 1,
) -> DataFrame:
    """The matches of a plan in the events of files, spread in a way that is right for it.

    With a lateness events that come later are left out, which needs all of them in one place; those after `latest_us`
    are rejected.
    """
    if lateness_us is not None and not isinstance(spread, Whole):
        raise StrettoSparkError(
            "which events are late is known only where all of them arrive: do not spread them"
        )
    work = Work(plan, files.special, memory_bytes or MEMORY_BYTES, lateness_us, latest_us)
    wanted = files.selected(read_attributes(plan, spread))
    if files.in_place and isinstance(spread, ByTime | Whole):
        return _in_place(spark, work, files, spread, shape, wanted)
    return run_targets(_packed_units(spark, files, spread, wanted), work, spread, shape)


@dataclass(frozen=True, slots=True)
class _Piece:
    """What a slice reads of a row group: the events in the window; None: all."""

    unit: Unit
    before: int
    window: Window | None


def _in_place(
    spark: SparkSession,
    work: Work,
    files: EventFiles,
    spread: ByTime | Whole,
    shape: Shape,
    wanted: pa.Schema,
) -> DataFrame:
    """Every target reads its own events; those with most of them start first."""
    pieces = [_pieces(files, spread, target) for target in range(spread.targets)]
    turns = sorted(range(spread.targets), key=lambda target: -sum(p.unit.rows or 0 for p in pieces[target]))
    found, queries, special = shape.found(work), query_names(work.plan), files.special
    arriving = work.lateness_us is not None

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for turn in batch.column(0).to_pylist():
                target = turns[turn]
                with at_work(f"finding matches at target {target} of {len(turns)}", queries):
                    runs = (_read(run, wanted, special) for run in _runs(pieces[target], arriving=arriving))
                    yield from found(runs, spread.owned(target))

    return spark.range(0, len(turns), 1, len(turns)).mapInArrow(run, shape.schema)


def _runs(pieces: Sequence[_Piece], *, arriving: bool = False) -> list[list[_Piece]]:
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
    runs: list[list[_Piece]] = []
    ends = START_OF_TIME
    for first, last, piece in sorted(known, key=lambda one: one[0]):
        if first > ends or not runs:
            runs.append([])
        runs[-1].append(piece)
        ends = max(ends, last)
    return [sorted(run, key=lambda piece: piece.before) for run in runs]


def _read(run: Sequence[_Piece], wanted: pa.Schema, special: Special) -> pa.Table:
    return pa.Table.from_batches([b for piece in run for b in _events(piece, wanted, special)], wanted)


def _events(piece: _Piece, wanted: pa.Schema, special: Special) -> Iterator[pa.RecordBatch]:
    unit = piece.unit
    assert unit.group is not None
    read = read_group(unit.path, unit.group, wanted, special, piece.window)
    for batch in with_ids(read, piece.before, special):
        yield batch.select(wanted.names)


def _pieces(files: EventFiles, spread: ByTime | Whole, target: int) -> list[_Piece]:
    """The row groups that a target reads, in order of arrival."""
    found = []
    for unit, before in zip(files.units, files.before, strict=True):
        if isinstance(spread, Whole):
            found.append(_Piece(unit, before, None))
            continue
        part = spread.slices[target]
        # Events without a time are left to one slice, which rejects them.
        if unit.first is None or unit.last is None:
            found.append(_Piece(unit, before, Window(part.start, part.stop, target == 0)))
            continue
        if unit.last < part.start or part.stop <= unit.first:
            continue
        timeless = part.low <= unit.first < part.high
        is_whole = timeless and part.start <= unit.first and unit.last < part.stop
        found.append(_Piece(unit, before, None if is_whole else Window(part.start, part.stop, timeless)))
    return found


def _packed_units(spark: SparkSession, files: EventFiles, spread: Spread, wanted: pa.Schema) -> DataFrame:
    special, before = files.special, files.before

    def packed(number: int) -> Iterator[pa.RecordBatch]:
        rejected: list[pa.Table] = []
        batches = unit_batches(files.units[number], before[number], wanted, special, rejected)
        yield from pack_arriving(batches, spread, special, before[number])
        for table in rejected:
            for batch in table.to_batches():
                yield packed_rows([Packed(ASIDE, REJECTED, to_payload(batch), batch.num_rows)])

    return over_units(spark, files, packed, PACKED, "reading {}")
