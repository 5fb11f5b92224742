"""Staged units of a batch: events become rows where they are read, rows go from stage to stage, matches come out."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from stretto.engine.results.undecided import Undecided
from stretto.engine.units.staged_unit import Given
from stretto.plan.spread.staged import Staged
from stretto.plan.spread.unseen import BatchSpread
from stretto.spark.batch.last_time import LastTime, greatest_end, needs_last_time
from stretto.spark.batch.targets import ResultForm, pack_arriving, run_targets
from stretto.spark.batch.worker import Work, first_matches
from stretto.spark.errors import at_work
from stretto.spark.hash_partitions import partitions_for_stages
from stretto.spark.outputs import results_of
from stretto.spark.packed import (
    ARROW,
    CHUNK_ROWS,
    END,
    MATCHES,
    METRICS,
    PACKED,
    REJECTED,
    Packed,
    gathered,
    packed_rows,
    to_payload,
)
from stretto.spark.plans import query_names
from stretto.spark.unit_rows import KEY, ROWS, UnitsOfPlan, by_unit
from stretto.values.times import END_OF_TIME, START_OF_TIME

UnitRun = Callable[[tuple[pa.Scalar, ...], Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def packed_for(
    batches: Iterator[pa.RecordBatch], work: Work, spread: BatchSpread, form: ResultForm, arrived: int
) -> Iterator[pa.RecordBatch]:
    """Events for targets, or rows for units, as packed rows; where needed, also the time of the last event."""
    last = LastTime(work.plan, work.special) if needs_last_time(work.plan, spread) else None
    if isinstance(spread, Staged):
        return pack_rows(batches, work, spread, form, arrived, last)
    return pack_arriving(batches, spread, work.special, arrived, last)


def run_packed(packed: DataFrame, work: Work, spread: BatchSpread, form: ResultForm) -> DataFrame:
    """What `packed_for` made, moved to targets or units, and run there."""
    if isinstance(spread, Staged):
        return run_stages(packed, work, spread, form)
    return run_targets(packed, work, spread, form)


def pack_rows(
    batches: Iterator[pa.RecordBatch],
    work: Work,
    staged: Staged,
    form: ResultForm,
    arrived: int,
    last: LastTime | None = None,
) -> Iterator[pa.RecordBatch]:
    """Rows for the units that need them, packed; rejected events and what single events match.

    Events without an id get their numbers, counted from `arrived` on. `last`: takes the time of the last event, which
    all units are told.
    """
    units, special = UnitsOfPlan(work.plan, staged), work.special
    source, giving = units.source(), _Giving(units, form)
    for batch in gathered(batches, CHUNK_ROWS):
        numbered = batch
        if special.id not in batch.schema.names:
            numbers = np.arange(arrived, arrived + batch.num_rows, dtype=np.int64)
            numbered = batch.append_column(special.id, pa.array(numbers))
        yield from giving.rows(source.rows(numbered, latest_us=work.latest_us), events=batch.num_rows)
        if last is not None:
            last.see(numbered)
        arrived += batch.num_rows
    if last is not None:
        yield from last.rows(staged.targets)


def run_stages(rows: DataFrame, work: Work, staged: Staged, form: ResultForm) -> DataFrame:
    """Packed rows through all stages, one after another; what is for no unit of a stage passes through it."""
    units = UnitsOfPlan(work.plan, staged)
    partitions = partitions_for_stages([staged.addresses(n) for n in range(1, staged.last_stage + 1)])
    for stage in range(1, staged.last_stage + 1):
        moved = by_unit(rows, staged, stage).repartition(partitions, KEY).groupBy(KEY)
        rows = moved.applyInArrow(_stage(units, form, work), PACKED)
    return rows if form.packed else results_of(rows, form.kind, form.own)


def _stage(units: UnitsOfPlan, form: ResultForm, work: Work) -> UnitRun:
    queries = query_names(units.plan)

    def run(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        address = key[0].as_py()
        if address < 0:
            for batch in batches:
                yield batch.select(ARROW.names)
            return
        with at_work(f"finding matches at unit {address} of {units.staged.targets}", queries):
            unit = units.unit(address, work.memory.bytes_here)
            last_us = START_OF_TIME
            for batch in batches:
                last_us = greatest_end(batch, last_us)
                is_row = pc.equal(batch.column("kind"), ROWS)
                found = batch.filter(is_row).select(["payload", "version"])
                for payload, side in zip(*(column.to_pylist() for column in found.columns), strict=True):
                    unit.take([units.parcel(address, payload, side)])
                is_end = pc.equal(batch.column("kind"), END)
                others = batch.filter(pc.invert(pc.or_(is_row, is_end))).select(ARROW.names)
                if others.num_rows:
                    yield others
            giving = _Giving(units, form, address)
            if last_us > START_OF_TIME:
                yield from giving.rows(unit.advance(last_us + 1))
                yield from giving.undecided(unit.advance(END_OF_TIME, closing=True), work.undecided)
            else:
                yield from giving.rows(unit.advance(END_OF_TIME, closing=True))

    return run


class _Giving:
    """What a source or a unit gives as packed rows, in the form that is asked for."""

    def __init__(self, units: UnitsOfPlan, form: ResultForm, address: int = 0) -> None:
        self._units, self._form, self._address = units, form, address
        self._kept: Counter[str] = Counter()

    def undecided(self, given: Given, undecided: Undecided) -> Iterator[pa.RecordBatch]:
        """The same of matches that wait for a time after the last event: they are counted, and reported or dropped."""
        counts = self._units.matches(given).counts()
        if undecided == "drop":
            given.matches = []
        yield from self.rows(given, waited=counts)

    def rows(
        self, given: Given, events: int = 0, waited: Mapping[str, int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        for row in self._units.rows(given, ROWS):
            yield packed_rows([row])
        matches = self._units.matches(given)
        for batch in first_matches(matches, self._kept, self._form.keep):
            yield self._packed(MATCHES, batch)
        if not self._form.packed:
            return
        for batch in given.rejected:
            yield self._packed(REJECTED, batch)
        counts = {
            "events": events,
            "rejected": sum(batch.num_rows for batch in given.rejected),
            "late": 0,
            "repeated": 0,
            "matches": matches.counts(),
            "totals": 0,
            "undecided": dict(waited or {}),
        }
        yield packed_rows([Packed(self._address, METRICS, json.dumps(counts).encode(), 1)])

    def _packed(self, kind: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        return packed_rows([Packed(self._address, kind, to_payload(batch), batch.num_rows)])
