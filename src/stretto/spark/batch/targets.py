"""Targets of a batch: events are packed for them, moved, and run through the plan, target by target."""

from collections.abc import Callable, Iterable, Iterator
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.unseen import BatchTargets
from stretto.records import dataclass
from stretto.schema import Kind, Special
from stretto.spark.batch.last_time import LastTime, greatest_end, needs_last_time
from stretto.spark.batch.worker import Share, Work, chunks_of, rows_of
from stretto.spark.errors import at_work
from stretto.spark.hash_partitions import partitions_for
from stretto.spark.outputs import result_schema
from stretto.spark.packed import (
    CHUNK_ROWS,
    END,
    EVENTS,
    MATCHES,
    PACKED,
    TRENDS,
    OwnTypes,
    events_row,
    from_payload,
    gathered,
    packed_rows,
)
from stretto.spark.plans import Asked, query_names
from stretto.values.times import START_OF_TIME

TIMES = OwnTypes(Kind.TIME.arrow)
TargetRun = Callable[[Iterable[pa.Table], Share, int | None], Iterator[pa.RecordBatch]]
"""Takes the events of a target, what it reports of all it finds, and the time of the last event of the whole input."""


@dataclass(frozen=True, slots=True)
class ResultForm:
    """What comes out of a job: matches, or totals of trends, as rows with the events' `own` types; or, packed, at
    most `keep` of each query, or aggregate, and target (None: all), rejected events, and counts.
    """

    own: OwnTypes = TIMES
    packed: bool = False
    keep: int | None = None
    kind: str = MATCHES

    @classmethod
    def of(cls, asked: Asked, own: OwnTypes) -> Self:
        """The form of what was asked for; packed where it is everything."""
        return cls(own, packed=asked == "all", kind=TRENDS if asked == "trends" else MATCHES)

    @property
    def schema(self) -> str | StructType:
        return PACKED if self.packed else result_schema(self.kind, self.own)

    def found(self, work: Work) -> TargetRun:
        """What turns a target's events into the rows that come out."""
        if self.packed:
            return lambda runs, share, last_us: chunks_of(work, runs, share, self.keep, last_us)
        return lambda runs, share, last_us: rows_of(work, runs, share, self.kind, self.own, last_us)


def pack_arriving(
    batches: Iterator[pa.RecordBatch],
    spread: BatchTargets,
    special: Special,
    arrived: int,
    last: LastTime | None = None,
) -> Iterator[pa.RecordBatch]:
    """Events as packed rows per target; `version` is the number of a chunk's first event in order of arrival.

    Events without an id get their numbers, counted from `arrived` on. `last`: takes the time of the last event, which
    all targets are told.
    """
    for batch in gathered(batches, CHUNK_ROWS):
        numbered = batch
        if special.id not in batch.schema.names:
            numbers = np.arange(arrived, arrived + batch.num_rows, dtype=np.int64)
            numbered = batch.append_column(special.id, pa.array(numbers))
        parts = spread.parts(numbered, special)
        if parts:
            yield packed_rows(events_row(target, part, special, arrived) for target, part in parts)
        if last is not None:
            last.see(numbered)
        arrived += batch.num_rows
    if last is not None:
        yield from last.rows(spread.targets)


def run_targets(chunks: DataFrame, work: Work, spread: BatchTargets, form: ResultForm) -> DataFrame:
    """Packed events, moved to their targets and run there; packed rows of other kinds are passed through, packed."""
    found, queries, is_packed = form.found(work), query_names(work.plan), form.packed
    told = needs_last_time(work.plan, spread)

    def run(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        target = key[0].as_py()
        with at_work(f"finding matches at target {target} of {spread.targets}", queries):
            held: list[tuple[int, bytes]] = []
            last_us = START_OF_TIME
            for batch in batches:
                last_us = greatest_end(batch, last_us)
                is_event = pc.equal(batch.column("kind"), EVENTS)
                events = batch.filter(is_event).select(["version", "payload"])
                held += zip(*(column.to_pylist() for column in events.columns), strict=True)
                others = batch.filter(pc.invert(pc.or_(is_event, pc.equal(batch.column("kind"), END))))
                if is_packed and others.num_rows:
                    yield others
            if held:
                held.sort(key=lambda chunk: chunk[0])  # the order of arrival
                events = pa.Table.from_batches([from_payload(payload) for _, payload in held])
                yield from found([events], Share.of(spread, target), last_us if told else None)

    if isinstance(spread, ByCell):  # as few cells as there are cores: none should wait for another
        chunks = chunks.repartition(partitions_for(spread.targets), "target")
    return chunks.groupBy("target").applyInArrow(run, form.schema)
