"""Streams through the stateful operator without Spark: what its tests begin with."""

from random import Random

import pyarrow as pa

from stretto import Schema, Workload, optimize
from stretto.plan.dag import Plan
from stretto.plan.spread.partition_keys import tying_attributes
from stretto.plan.spread.reach import MatchReach
from stretto.plan.spread.spreads import ByKey, Whole
from stretto.plan.spread.stream_slices import Slices, StreamSpread
from stretto.schema import Special
from stretto.spark.packed import LATE, REJECTED, WORKLOAD, Packed
from stretto.spark.stream.processor import Settings
from stretto.spark.stream.versions import Version

SCHEMA = Schema.of(pa.schema([("k", pa.int64()), ("x", pa.float64()), ("id", pa.int64())]), {"A", "B", "C"})


def plan_of(text: str) -> Plan:
    return optimize(Workload.parse(text), SCHEMA, "none")


def batch_of(*rows: tuple) -> pa.RecordBatch:
    """Events as (ts in ms, type, k, id)."""
    ts, types, keys, ids = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(
        {
            "ts": pa.array([None if t is None else t * 1000 for t in ts], pa.timestamp("us", "UTC")),
            "type": pa.array(types, pa.string()),
            "k": pa.array(keys, pa.int64()),
            "x": pa.array([0.5] * len(ts), pa.float64()),
            "id": pa.array(ids, pa.int64()),
        }
    )


def settings_of(plan: Plan, spread: StreamSpread | None = None, **more) -> Settings:
    version = Version(more.pop("number", -1), "" if plan.workload is None else plan.workload.to_text(), plan)
    kinds = frozenset({LATE, REJECTED})
    return Settings(version, spread or Whole(), Special(), kinds=kinds, **more)


def some_spread(plan: Plan, rng: Random) -> StreamSpread:
    attributes = tying_attributes(plan)
    return ByKey(attributes, rng.choice((1, 3, 5))) if attributes and rng.random() < 0.8 else Whole()


def some_slices(plan: Plan, rng: Random) -> Slices:
    """Slices for a plan without windows in EVENTS: narrow ones, so that matches cross their borders."""
    reach = MatchReach.of(plan)
    before, after = reach.before_us + rng.choice((0, 0, 2000)), reach.after_us + rng.choice((0, 0, 1))
    width = max(before + after, 1) + rng.choice((0, 0, 1, 500, 1000, 3000))
    return Slices(width, before, after, rng.choice((2, 2, 3, 5)))


def workload_rows(version: Version, targets: int) -> list[Packed]:
    return [Packed(target, WORKLOAD, version.to_bytes(), version=version.number) for target in range(targets)]
