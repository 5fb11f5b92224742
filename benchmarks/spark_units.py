"""Cells against one target on two cores, and a standalone cluster of two workers against one: `bench spark --cluster`.

`python benchmarks/spark_units.py MASTER FOLDER SEED JOB..` is the driver of one measurement, of the events in FOLDER.
It prints JSON.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
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
from benchmarks.contestants.workloads import WORKLOADS  # noqa: E402
from benchmarks.spark_events import counted, planned, write_stream  # noqa: E402
from benchmarks.standalone_cluster import HOST, StandaloneCluster, standalone  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402

from stretto.plan.placement.cells import ByCell  # noqa: E402
from stretto.plan.spread.spreads import Spread, Whole  # noqa: E402
from stretto.spark import detect, detect_files, session  # noqa: E402
from stretto.spark.stream.metrics import read_metrics  # noqa: E402

TEXT = "QUERY near PATTERN SEQ(A a, B b) WHERE ABS(a.x * b.x - a.y * b.y) < 0.000001 WITHIN 2 SECONDS;"
"""No key, and a term that no index answers: two thousand pairs to look at for every event."""
MICRO_BATCHES = 4
"""Few and large ones: one costs Spark about a second, whatever is in it."""
FILES = 2
"""Of each micro-batch, as many as cores: a file is read by one task."""
RATE = 4_000
"""Events per second, and half as many pairs to look at for each: 40 us of work."""
SPREADS: dict[str, Spread] = {"whole": Whole(), "units": ByCell((("A", 2),))}
GOALS = {"cells by one target, local[2], stream": 1.6, "two workers by one worker, batch": 1.5}
TIMES = 3
"""Runs, of which the fastest counts; of the batch after one that starts workers and loads the kernels."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds and matches of runs, by how they were run; `slowest`: those of the slowest target of a stream."""

    seconds: dict[str, float]
    matches: dict[str, int]
    slowest: dict[str, float]


def write_events(folder: Path, count: int, files: int, seed: int, rate: int = RATE) -> None:
    """Events of two types at an even rate, without a key, in files."""
    rng = np.random.default_rng(seed)
    ts = 1_700_000_000_000_000 + np.arange(count) * (1_000_000 // rate)
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


def measure(
    folder: Path, events: int, batch: int, seed: int, rate: int = RATE
) -> tuple[dict[str, float], list[str]]:
    """The ratios of the goals, and a line on each; WrongAnswerError where numbers of matches differ.

    `events`: those of the stream in cells, so many per second; `batch`: those of the batch of `bench spark` on the
    cluster.
    """
    write_events(folder / "many", events, FILES * MICRO_BATCHES, seed, rate)
    write_stream(folder / "ten", batch, seed)
    # In turn: Java is slower in its first minute, and what else runs on the machine comes and goes.
    here = _driver("local[2]", folder, seed, *("stream whole", "stream units") * TIMES)
    alone, both = (_on_cluster(folder, seed, workers) for workers in (1, 2))
    counts = {*here.matches.values(), alone.matches["batch units"], both.matches["batch units"]}
    if len(counts) != 1 or alone.matches != both.matches:
        raise WrongAnswerError(f"numbers of matches differ: {here}, {alone}, {both}")
    whole, cells = here.seconds["stream whole"], here.seconds["stream units"]
    one, two = alone.seconds["batch ten"], both.seconds["batch ten"]
    ratios = {
        "cells by one target, local[2], stream": whole / cells,
        "two workers by one worker, batch": one / two,
    }
    slowest = here.slowest
    notes = [
        (
            f"cells: {events:,} events in {MICRO_BATCHES} micro-batches, {counts.pop():,} matches;"
            f" {1e6 * here.slowest['stream whole'] / events:.1f} us of work for each"
        ),
        (
            f"stream: {whole:.1f} s whole, {cells:.1f} s in 2 cells; of that the slowest target"
            f" {slowest['stream whole']:.1f} s and {slowest['stream units']:.1f} s"
        ),
        _break_even(here),
        (
            f"standalone cluster, workers of one core: ten queries over {batch:,} events,"
            f" {both.matches['batch ten']:,} matches, {one:.1f} s on one, {two:.1f} s on two;"
            f" the events of the stream as a batch in 2 cells"
            f" {alone.seconds['batch units']:.1f} s on one, {both.seconds['batch units']:.1f} s on two"
        ),
    ]
    return ratios, notes


def _break_even(here: Measured) -> str:
    """From which work per micro-batch on cells reach their goal, if they halve it: what is not work stays.

    With w seconds of work and f and g of the rest, whole and in cells, the gain is (w + f) / (w / 2 + g).
    """
    f, g = (
        (here.seconds[job] - here.slowest[job]) / MICRO_BATCHES for job in ("stream whole", "stream units")
    )
    goal = GOALS["cells by one target, local[2], stream"]
    least = max((goal * g - f) / (1 - goal / 2), 0.0)
    return f"beside the work {f:.2f} s and {g:.2f} s per micro-batch: a gain of {goal} from {least:.1f} s of work on"


def _on_cluster(folder: Path, seed: int, workers: int) -> Measured:
    place = folder / f"cluster-{workers}"
    place.mkdir()
    with standalone(place, workers) as cluster:
        return _driver(cluster.url, folder, seed, "batch ten", "batch units", cluster=cluster)


def _driver(
    master: str, folder: Path, seed: int, *jobs: str, cluster: StandaloneCluster | None = None
) -> Measured:
    """A measurement in a process of its own, as a session of Spark is one for all of its process."""
    call = [sys.executable, str(Path(__file__).resolve()), master, str(folder), str(seed), *jobs]
    environment = None if cluster is None else cluster.environment
    done = subprocess.run(call, stdout=subprocess.PIPE, check=True, text=True, env=environment)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


# ---- the driver ------------------------------------------------------------------------------------------------


def main(master: str, folder: Path, seed: int, jobs: Sequence[str]) -> None:
    conf: dict[str, Any] = {"spark.executorEnv.PYTHONPATH": str(ROOT / "src"), "spark.driver.host": HOST}
    elsewhere = {} if master.startswith("local") else conf | {"spark.executor.memory": "800m"}
    spark = session(master, "stretto bench", **elsewhere)
    found = Measured({}, {}, {})
    for job in jobs:
        kind, _, name = job.partition(" ")
        if name == "ten":
            _ten(spark, str(folder / "ten"), seed, job, found)
        else:
            (_stream if kind == "stream" else _batch)(spark, str(folder / "many"), job, SPREADS[name], found)
    print(json.dumps(asdict(found)), flush=True)


def _ten(spark: SparkSession, folder: str, seed: int, job: str, found: Measured) -> None:
    """The batch of `bench spark`: tasks read the files, slice by slice."""
    plan = planned(WORKLOADS["W2"].queries, seed)
    runs = [counted(detect_files(plan, folder, spark=spark)) for _ in range(1 + TIMES)]
    found.seconds[job] = min(seconds for seconds, _ in runs[1:])
    found.matches[job] = sum(runs[0][1].values())


def _batch(spark: SparkSession, folder: str, job: str, spread: Spread, found: Measured) -> None:
    events = spark.read.parquet(folder)
    for _ in range(2):  # the first one starts workers and loads the kernels
        begun = perf_counter()
        found.matches[job] = _matches(events, spread).count()
        found.seconds[job] = perf_counter() - begun


def _stream(spark: SparkSession, folder: str, job: str, spread: Spread, found: Measured) -> None:
    """The time of all micro-batches but for the first, for as many events as all have; the fastest run counts."""
    files = spark.readStream.schema(spark.read.parquet(folder).schema).option("maxFilesPerTrigger", FILES)
    matches = _matches(files.parquet(folder), spread)
    query = matches.writeStream.format("noop").trigger(availableNow=True).start()
    query.awaitTermination()
    with_events = [one for one in query.recentProgress if one.numInputRows]
    whole = len(with_events) / (len(with_events) - 1)
    seconds = whole * sum(one.durationMs["triggerExecution"] for one in with_events[1:]) / 1e3
    reports = [report for report in map(read_metrics, query.recentProgress) if report is not None]
    found.matches[job] = sum(report.matches for report in reports)
    if seconds < found.seconds.get(job, inf):
        timed = [report for report in reports if report.events][1:]
        found.seconds[job] = seconds
        found.slowest[job] = whole * sum(max(target.seconds for target in report.targets) for report in timed)


def _matches(events: DataFrame, spread: Spread) -> DataFrame:
    return detect(TEXT, events, optimizer="none", spread=spread)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
