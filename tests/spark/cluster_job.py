"""A program for spark-submit: batches and a stream of the events in a folder, by every spread, on executors elsewhere.

Its folder holds `events/` and `workload.cep`. Says `stream` when the batches are done and the stream runs.
"""

import sys
from pathlib import Path

from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.plan.placement.cells import ByCell
from stretto.plan.spread.spreads import ByKey
from stretto.plan.spread.staged import staged_for
from stretto.schema import Kind, Schema
from stretto.spark import detect, session

BATCHES = {
    "whole": "whole",
    "key": ByKey(("k",), 4),
    "time": "time",
    "cells": ByCell((("A", 2),)),
    "staged": "staged",
}
"""The spreads of batches; the stream goes by cells."""


def main(folder: Path) -> None:
    spark = session()
    workload = Workload.parse((folder / "workload.cep").read_text())
    events = spark.read.parquet(str(folder / "events"))
    plan = optimize(workload, Schema({"k": Kind.INT, "x": Kind.FLOAT}), "none")
    staged = staged_for(plan, 2)
    for name, spread in BATCHES.items():
        found = detect(plan, events, spread=staged if name == "staged" else spread)
        found.write.parquet(str(folder / f"batch-{name}"))
    files = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1)
    arriving = files.parquet(str(folder / "events"))
    found = detect(plan, arriving, spread=BATCHES["cells"], lateness="5 seconds")
    writer = found.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.format("parquet").start(str(folder / "stream"))
    print("stream", flush=True)
    query.processAllAvailable()
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
