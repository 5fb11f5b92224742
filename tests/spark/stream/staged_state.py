"""A stream on staged units without Spark: its stages one after another, with a store in memory, and failures."""

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import Row
from tests.spark.stream.stream_state import DataRow, Handle, Store, Stream, Times

from stretto.spark.packed import EVENTS, MATCHES, REJECTED, Packed
from stretto.spark.stream.staged_stream import pack_scanned
from stretto.spark.stream.unit_processor import UnitProcessor, UnitSettings
from stretto.spark.unit_rows import ROWS, SCANNED


@dataclass
class StagedStream(Stream):
    """As a stream on targets; the operator of a stage takes what comes out of the one before."""

    of_units: UnitSettings = field(kw_only=True)

    def _attempt(self, store: Store, events: pa.RecordBatch | None, workloads: Sequence[Packed]) -> list[Row]:
        assert not workloads
        rows, staged = self._packed(events), self.of_units.units.staged
        for stage in range(1, staged.last_stage + 1):
            rows = self._stage(store, stage, rows)
        return rows

    def _stage(self, store: Store, stage: int, rows: Iterable[Row]) -> list[Row]:
        handle, times, out = Handle(store), Times(self.watermark_ms), []
        processor = pickle.loads(pickle.dumps(UnitProcessor(self.of_units)))
        mine = self.of_units.units.staged.addresses(stage)
        processor.init(handle)
        given: dict[int, list[Row]] = {}
        taken = (SCANNED, ROWS, *((EVENTS, REJECTED, MATCHES) if stage == 1 else ()))
        for row in rows:
            is_mine = row["target"] in mine and row["kind"] in taken
            given.setdefault(row["target"] if is_mine else -1, []).append(row)
        for target, own in given.items():
            handle.target = target
            out += processor.handleInputRows((target,), iter(own), times)
        for target, expiry in sorted(store.timers):
            if expiry <= self.watermark_ms and target in mine:
                handle.target = target
                out += processor.handleExpiredTimer((target,), times, None)
                handle.deleteTimer(expiry)
        processor.close()
        return out

    def _packed(self, events: pa.RecordBatch | None) -> list[Row]:
        if events is None:
            return []
        cut = self.rng.randint(0, events.num_rows)
        tasks = (events.slice(0, cut), events.slice(cut))
        packed = [batch for task in tasks for batch in pack_scanned([task], self.of_units, None)]
        rows = [DataRow(*row.values()) for batch in packed for row in batch.to_pylist()]
        self.rng.shuffle(rows)
        return rows
