"""A program whose executors are processes of their own: batches of the events in a folder, or streams, by some spreads.

    cluster_job.py FOLDER MASTER|- batch|stream:SPREAD..

FOLDER holds `events/`, `batch.cep`, `stream.cep` and, for streams, `arrived/`, the events so far; `-`: the master is
that of spark-submit. Batches are done one by one, then all streams at a time. Says where executors found the package,
`started` when streams have done what had arrived, `done` at the end: all has arrived once `arrived/_all` is there.

Streams are started one by one: Spark gives a Python process of a stream ten seconds to start, whatever else there is
to do, and that of a driver has one trial.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import sleep

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.spreads import ByKey, Whole
from stretto.plan.spread.staged import staged_for
from stretto.plan.spread.stream_slices import Slices
from stretto.schema import Kind, Schema
from stretto.spark import detect, session

SPREADS = ("whole", "key", "time", "cells", "staged")
COMMON: dict[str, Callable[[Plan], object]] = {
    "whole": lambda _: Whole(),
    "key": lambda _: ByKey(("k",), 2),
    "cells": lambda _: ByCell((("A", 2),)),
    "staged": lambda plan: staged_for(plan, 2),
}
"""What batches and streams are given; only slices of time are another thing for each."""


def main(folder: Path, master: str, jobs: Iterable[str]) -> None:
    spark = session() if master == "-" else session(master, "stretto on a cluster")
    print(_where(spark), flush=True)
    events = spark.read.parquet(str(folder / "events"))
    asked = [job.split(":") for job in jobs]
    for name in (name for kind, name in asked if kind == "batch"):
        plan = _planned(folder / "batch.cep")
        spread = "time" if name == "time" else COMMON[name](plan)
        detect(plan, events, spread=spread).write.parquet(str(folder / f"batch-{name}"))
    plan = _planned(folder / "stream.cep")
    running = [_started(spark, folder, plan, events, name) for kind, name in asked if kind == "stream"]
    print("started", flush=True)
    while running and not (folder / "arrived" / "_all").exists():
        sleep(0.05)
    for query in running:
        query.processAllAvailable()
    print("done", flush=True)
    spark.stop()


def _planned(path: Path) -> Plan:
    schema = Schema({"k": Kind.INT, "x": Kind.FLOAT})
    return optimize(Workload.parse(path.read_text()), schema, "none")


def _started(spark: SparkSession, folder: Path, plan: Plan, events: DataFrame, name: str) -> StreamingQuery:
    spread = Slices.of(plan) if name == "time" else COMMON[name](plan)
    spark.conf.set("spark.sql.shuffle.partitions", "2")  # units set their own
    files = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
    found = detect(plan, files.parquet(str(folder / "arrived")), spread=spread, lateness="5 seconds")
    writer = found.writeStream.option("checkpointLocation", str(folder / f"checkpoint-{name}"))
    query = writer.format("parquet").start(str(folder / f"stream-{name}"))
    query.processAllAvailable()
    return query


def _where(spark: SparkSession) -> str:
    """Where an executor finds the package."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import stretto

        for _ in batches:
            yield pa.record_batch({"path": [str(Path(stretto.__file__).resolve())]})

    return str(spark.range(1, numPartitions=1).mapInArrow(look, "path string").collect()[0].path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
