"""A stream on staged units: events become rows where they are read, and a stateful operator follows for each stage."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from stretto.engine.stream.intake import set_apart
from stretto.plan.spread.spreads import ByKey
from stretto.spark.errors import at_work
from stretto.spark.hash_partitions import partitions_for_stages
from stretto.spark.packed import (
    CHUNK_ROWS,
    EVENTS,
    LATE,
    MATCHES,
    PACKED,
    REJECTED,
    Batches,
    Packed,
    gathered,
    packed_rows,
    to_payload,
    without_far,
)
from stretto.spark.stream.processor import why_far
from stretto.spark.stream.unit_processor import UnitProcessor, UnitSettings
from stretto.spark.unit_rows import KEY, SCANNED, UnitsOfPlan, by_unit


def through_stages(events: DataFrame, settings: UnitSettings, ahead_us: int | None) -> DataFrame:
    """The packed rows of matches, of events that were set apart, and of metrics.

    Events that are more than `ahead_us` ahead of the clock are marked.
    """

    def packing(batches: Batches) -> Iterator[pa.RecordBatch]:
        with at_work("packing events", ()):
            yield from pack_scanned(batches, settings, ahead_us)

    rows, staged = events.mapInArrow(packing, PACKED), settings.units.staged
    for stage in range(1, staged.last_stage + 1):
        keyed = by_unit(rows, staged, stage).groupBy(KEY)
        rows = keyed.transformWithState(UnitProcessor(settings), PACKED, "append", "eventTime")
    return rows


def partitions_of(units: UnitsOfPlan) -> int:
    """Partitions in which few units of a stage share one."""
    staged = units.staged
    return partitions_for_stages([staged.addresses(stage) for stage in range(1, staged.last_stage + 1)])


def pack_scanned(
    batches: Iterable[pa.RecordBatch], settings: UnitSettings, ahead_us: int | None
) -> Iterator[pa.RecordBatch]:
    """Rows of single events for the units that need them.

    The time of an event goes to one unit of the first stage, its home, which knows the watermark: it counts those that
    are late. Another one leaves out what single events match if these are late.
    """
    units, special, kinds = settings.units, settings.special, settings.kinds
    source, homes = units.source(), units.staged.addresses(1)
    for batch in gathered(batches, CHUNK_ROWS):
        kept, far = without_far(batch)
        given = source.rows(kept)
        good = kept if given.good is None else kept.take(pa.array(given.good))
        apart = list(given.rejected)
        if far is not None:
            apart += set_apart(far, [(np.arange(far.num_rows), why_far(special, ahead_us))])
        found = [*units.rows(given, SCANNED)]
        for home, part in ByKey((special.id,), len(homes)).parts(good, special):
            told = part if LATE in kinds else part.select([special.ts])
            found.append(Packed(homes[home], EVENTS, to_payload(told), part.num_rows))
        for one in apart:
            payload = to_payload(one) if REJECTED in kinds else b""
            found.append(Packed(homes[0], REJECTED, payload, one.num_rows))
        for matches in units.matches(given).batches():
            found.append(Packed(homes[0], MATCHES, to_payload(matches), matches.num_rows))
        yield packed_rows(found)
