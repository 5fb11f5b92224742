"""Spark's state store and the micro-batches of a stream, in memory: what the stateful operator needs, and failures."""

# ruff: noqa: N802, N803 - Spark's names

import pickle
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pyarrow as pa
from pyspark.sql import Row

from stretto.engine.results.totals import TOTALS
from stretto.spark.packed import (
    ARROW,
    LATE,
    MATCHES,
    METRICS,
    REJECTED,
    TRENDS,
    Packed,
    from_payload,
    pack,
    packed_rows,
)
from stretto.spark.stream import engine_cache as cache
from stretto.spark.stream import processor
from stretto.spark.stream.engine_cache import EngineCache
from stretto.spark.stream.metrics import TargetMetrics
from stretto.spark.stream.processor import MatchProcessor, Settings, target_keys
from stretto.spark.stream.state import Head

DataRow = Row(*ARROW.names)


@dataclass
class Store:
    """Values, maps and timers of all targets."""

    values: dict[tuple[int, str], tuple] = field(default_factory=dict)
    maps: dict[tuple[int, str], dict[tuple, tuple]] = field(default_factory=dict)
    timers: set[tuple[int, int]] = field(default_factory=set)

    def copy(self) -> "Store":
        maps = {name: dict(values) for name, values in self.maps.items()}
        return Store(dict(self.values), maps, set(self.timers))

    @property
    def entries(self) -> int:
        return len(self.values) + sum(map(len, self.maps.values())) + len(self.timers)

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(
            len(value[0]) for (_, name), of in self.maps.items() if name == "chunks" for value in of.values()
        )

    def head(self, target: int) -> Head | None:
        found = self.values.get((target, "head"))
        return None if found is None else Head.from_text(found[0])

    def events(self, target: int) -> list[pa.RecordBatch]:
        chunks = self.maps.get((target, "chunks"), {})
        return [from_payload(chunks[key][0]) for key in sorted(chunks)]


class Handle:
    """Spark's handle, with the target that is at work."""

    def __init__(self, store: Store) -> None:
        self.store, self.target = store, 0

    def getValueState(self, stateName, schema):
        return _Value(self, stateName)

    def getMapState(self, stateName, userKeySchema, valueSchema):
        return _Map(self, stateName)

    def registerTimer(self, expiryTimestampMs):
        self.store.timers.add((self.target, expiryTimestampMs))

    def deleteTimer(self, expiryTimestampMs):
        self.store.timers.discard((self.target, expiryTimestampMs))


class _Value:
    def __init__(self, handle: Handle, name: str) -> None:
        self.handle, self.name = handle, name

    def get(self):
        return self.handle.store.values.get((self.handle.target, self.name))

    def update(self, newValue):
        self.handle.store.values[self.handle.target, self.name] = newValue


class _Map:
    def __init__(self, handle: Handle, name: str) -> None:
        self.handle, self.name = handle, name

    @property
    def values(self) -> dict:
        return self.handle.store.maps.setdefault((self.handle.target, self.name), {})

    def getValue(self, key):
        return self.values.get(key)

    def updateValue(self, key, value):
        assert key not in self.values, "a chunk is never written again"
        self.values[key] = value

    def removeKey(self, key):
        del self.values[key]

    def iterator(self):
        return iter(sorted(self.values.items(), reverse=True))


@dataclass(frozen=True)
class Times:
    watermark_ms: int

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark_ms


@dataclass
class Stream:
    """A stream of micro-batches as Spark would run them; failures, lost caches and restarts by chance."""

    settings: Settings
    folder: Path
    rng: Random
    trouble: float = 0.3
    store: Store = field(default_factory=Store)
    runs: int = 0
    watermark_ms: int = 0
    greatest_us: int | None = None
    out: list[Row] = field(default_factory=list)

    def batch(self, events: pa.RecordBatch | None = None, workloads: Sequence[Packed] = ()) -> None:
        """One micro-batch, and the empty one that follows whenever the watermark has moved."""
        self._batch(events, workloads)
        before = self.watermark_ms
        if self.greatest_us is not None:
            delay = -(-self.settings.lateness_us // 1000)
            self.watermark_ms = max(before, self.greatest_us // 1000 - delay)
        if self.watermark_ms > before:
            self._batch(None, ())

    def _batch(self, events: pa.RecordBatch | None, workloads: Sequence[Packed]) -> None:
        tried = None
        if (
            self.rng.random() < self.trouble
        ):  # tasks, or the whole process, die when all is done but the commit
            tried = self._attempt(self.store.copy(), events, workloads)
            self._trouble()
        out = self._attempt(self.store, events, workloads)
        if tried is not None:
            assert sorted(map(_plain, tried)) == sorted(map(_plain, out)), "a batch that is run again differs"
        self.out += out
        if events is not None and events.num_rows:
            ts = events.column("ts").cast(pa.int64()).drop_null().to_pylist()
            self.greatest_us = max(
                [*ts, *([self.greatest_us] if self.greatest_us is not None else [])], default=None
            )
        if self.rng.random() < self.trouble:
            self._trouble()

    def _trouble(self) -> None:
        """Caches get lost, or a new run of the stream begins."""
        if self.rng.random() < 0.5:
            self.runs += 1
        elif self.rng.random() < 0.5:
            shutil.rmtree(self.folder / f"stretto-{cache.os.getuid()}", ignore_errors=True)

    def _attempt(self, store: Store, events: pa.RecordBatch | None, workloads: Sequence[Packed]) -> list[Row]:
        out: list[Row] = []
        handle = Handle(store)
        processor: MatchProcessor = pickle.loads(pickle.dumps(MatchProcessor(self.settings)))
        processor.init(handle)
        times, keys = Times(self.watermark_ms), target_keys(self.settings.spread)
        for target, rows in self._rows(events, workloads).items():
            handle.target = target
            out += processor.handleInputRows((keys[target],), iter(rows), times)
        for target, expiry in sorted(store.timers):
            if expiry <= self.watermark_ms:
                handle.target = target
                out += processor.handleExpiredTimer((keys[target],), times, None)
                handle.deleteTimer(expiry)
        processor.close()
        return out

    def _rows(self, events: pa.RecordBatch | None, workloads: Sequence[Packed]) -> dict[int, list[Row]]:
        """The packed rows of each target; tasks, and the order in which a shuffle brings chunks, are by chance."""
        packed = [packed_rows(workloads)] if workloads else []
        if events is not None:
            cut = self.rng.randint(0, events.num_rows)
            for task in (events.slice(0, cut), events.slice(cut)):
                packed += pack([task], self.settings.spread, self.settings.special)
        rows = [DataRow(*row.values()) for batch in packed for row in batch.to_pylist()]
        self.rng.shuffle(rows)
        found: dict[int, list[Row]] = {}
        for row in rows:
            found.setdefault(row["target"], []).append(row)
        return found

    # ---- what came out -----------------------------------------------------------------------------------------

    def tables(self, kind: str) -> list[pa.RecordBatch]:
        return [from_payload(row["payload"]) for row in self.out if row["kind"] == kind]

    @property
    def matches(self) -> list[dict]:
        return [match for batch in self.tables(MATCHES) for match in batch.to_pylist()]

    @property
    def totals(self) -> pa.Table:
        return pa.Table.from_batches(self.tables(TRENDS), TOTALS)

    @property
    def late(self) -> list[dict]:
        return [event for batch in self.tables(LATE) for event in _events(batch)]

    @property
    def rejected(self) -> list[dict]:
        return [event for batch in self.tables(REJECTED) for event in _events(batch)]

    @property
    def metrics(self) -> list[TargetMetrics]:
        return [
            TargetMetrics.from_json(bytes(row["payload"]).decode())
            for row in self.out
            if row["kind"] == METRICS
        ]


def _events(batch: pa.RecordBatch) -> list[dict]:
    """Events with times in microseconds: Python has none for all of them."""
    columns = [c.view(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist()


def use_folder(stream: Stream, monkeypatch) -> Stream:
    """Caches are kept below the stream's folder, by its current run, however quickly an engine could be rebuilt."""
    monkeypatch.setattr(processor, "WORTH_S", 0.0)
    monkeypatch.setattr(
        EngineCache,
        "of_task",
        classmethod(lambda cls, _: cls.at(stream.folder, "query", f"run{stream.runs}")),
    )
    return stream


def _plain(row: Row) -> tuple:
    if row["kind"] == METRICS:
        return (METRICS, row["target"])
    content = _events(from_payload(row["payload"])) if row["payload"] else row["rows"]
    if row["kind"] == TRENDS:  # in any order of groups; doubles may be rounded in another order of addition
        content = sorted(
            (str(total["window_start"]), total["group"], total["exact"] or "") for total in content
        )
    if row["kind"] in (LATE, REJECTED) and row["payload"]:  # as they came through the shuffle
        content = sorted(map(repr, content))
    return (row["kind"], row["target"], repr(content))
