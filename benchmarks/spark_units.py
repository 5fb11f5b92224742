"""Cells against one target on two cores, and a standalone cluster of two workers against one: `bench spark --cluster`.

`python benchmarks/spark_units.py MASTER FOLDER SPREAD..` is the driver of one measurement: the events in FOLDER as a
batch by each spread, and, on a local master, as a stream. It prints JSON.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # so that the folder's modules are found however this one was loaded

from benchmarks.contestants.answers import WrongAnswerError  # noqa: E402  (after the path is set)
from benchmarks.standalone_cluster import HOST, StandaloneCluster, standalone  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402

from stretto.plan.placement.cells import ByCell  # noqa: E402
from stretto.plan.spread.spreads import Spread, Whole  # noqa: E402
from stretto.spark import detect, session  # noqa: E402
from stretto.spark.stream.metrics import read_metrics  # noqa: E402

TEXT = "QUERY near PATTERN SEQ(A a, B b) WHERE ABS(a.x * b.x - a.y * b.y) < 0.000001 WITHIN 2 SECONDS;"
"""No key, and a term that no index answers: two thousand pairs to look at for every event."""
RATE = 4_000
SPREADS: dict[str, Spread] = {"whole": Whole(), "units": ByCell((("A", 2),))}
GOALS = {"cells by one target, local[2], stream": 1.6, "two workers by one worker, batch": 1.5}


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds and matches of runs, by how they were run."""

    seconds: dict[str, float]
    matches: dict[str, int]


def write_events(folder: Path, count: int, files: int, seed: int) -> None:
    """Events of two types at an even rate, without a key, in files."""
    rng = np.random.default_rng(seed)
    ts = 1_700_000_000_000_000 + np.arange(count) * (1_000_000 // RATE)
    columns = {
        "ts": pa.array(ts, pa.timestamp("us", "UTC")),
        "type": pa.array(np.array(["A", "B"])[rng.integers(0, 2, count)]),
        "id": pa.array(np.arange(count)),
        "x": pa.array(rng.random(count)),
        "y": pa.array(rng.random(count)),
    }
    folder.mkdir()
    table, size = pa.table(columns), -(-count // files)
    for number in range(files):
        pq.write_table(table.slice(number * size, size), folder / f"{number:04d}.parquet")


def measure(folder: Path, events: int, seed: int) -> tuple[dict[str, float], list[str]]:
    """The ratios of the goals, and a line on each; WrongAnswerError where numbers of matches differ."""
    write_events(folder / "many", events, 8, seed)
    here = _driver("local[2]", folder / "many", "whole", "units")
    alone, both = (_on_cluster(folder, workers) for workers in (1, 2))
    counts = {*here.matches.values(), *alone.matches.values(), *both.matches.values()}
    if len(counts) != 1:
        raise WrongAnswerError(f"numbers of matches differ: {here}, {alone}, {both}")
    whole, cells = here.seconds["stream whole"], here.seconds["stream units"]
    one, two = alone.seconds["batch units"], both.seconds["batch units"]
    ratios = {
        "cells by one target, local[2], stream": whole / cells,
        "two workers by one worker, batch": one / two,
    }
    per_event = 1e6 * here.seconds["stream whole"] / events
    notes = [
        (
            f"cells: {events:,} events, {per_event:.1f} us each on one target, {counts.pop():,} matches; stream"
            f" {whole:.1f} s whole, {cells:.1f} s in 2 cells; batch {here.seconds['batch whole']:.1f} s"
            f" whole, {here.seconds['batch units']:.1f} s in 2 cells"
        ),
        f"standalone cluster, workers of one core: batch in 2 cells {one:.1f} s on one, {two:.1f} s on two",
    ]
    return ratios, notes


def _on_cluster(folder: Path, workers: int) -> Measured:
    place = folder / f"cluster-{workers}"
    place.mkdir()
    with standalone(place, workers) as cluster:
        return _driver(cluster.url, folder / "many", "units", cluster=cluster)


def _driver(master: str, events: Path, *spreads: str, cluster: StandaloneCluster | None = None) -> Measured:
    """A measurement in a process of its own, as a session of Spark is one for all of its process."""
    call = [sys.executable, str(Path(__file__).resolve()), master, str(events), *spreads]
    environment = None if cluster is None else cluster.environment
    done = subprocess.run(call, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


# ---- the driver ------------------------------------------------------------------------------------------------


def main(master: str, folder: str, names: Sequence[str]) -> None:
    is_local = master.startswith("local")
    conf: dict[str, Any] = {"spark.executorEnv.PYTHONPATH": str(ROOT / "src"), "spark.driver.host": HOST}
    spark = session(master, "stretto bench", **({} if is_local else conf | {"spark.executor.memory": "800m"}))
    found = Measured({}, {})
    for name in names:
        _batch(spark, folder, name, found)
        if is_local:
            _stream(spark, folder, name, found)
    print(json.dumps({"seconds": found.seconds, "matches": found.matches}), flush=True)


def _batch(spark: SparkSession, folder: str, name: str, found: Measured) -> None:
    events = spark.read.parquet(folder)
    for _ in range(2):  # the first one starts workers and loads the kernels
        begun = perf_counter()
        found.matches[f"batch {name}"] = _matches(events, name).count()
        found.seconds[f"batch {name}"] = perf_counter() - begun


def _stream(spark: SparkSession, folder: str, name: str, found: Measured) -> None:
    """The time of all micro-batches but for the first, for as many events as all have."""
    files = spark.readStream.schema(spark.read.parquet(folder).schema).option("maxFilesPerTrigger", 1)
    query = (
        _matches(files.parquet(folder), name).writeStream.format("noop").trigger(availableNow=True).start()
    )
    query.awaitTermination()
    with_events = [one for one in query.recentProgress if one.numInputRows]
    times = [one.durationMs["triggerExecution"] for one in with_events[1:]]
    found.seconds[f"stream {name}"] = sum(times) / 1e3 * len(with_events) / len(times)
    reports = filter(None, map(read_metrics, query.recentProgress))
    found.matches[f"stream {name}"] = sum(report.matches for report in reports)


def _matches(events: DataFrame, name: str) -> DataFrame:
    return detect(TEXT, events, optimizer="none", spread=SPREADS[name])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
