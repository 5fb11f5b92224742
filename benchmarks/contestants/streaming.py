"""W1 over a file, batch by batch, with the columns of every batch's matches.

`python -m benchmarks.contestants.streaming FILE` prints seconds, matches and memory as JSON.
"""

import json
import sys
import time
from typing import Any

import pyarrow.parquet as pq
from benchmarks.contestants.events import BATCH
from benchmarks.contestants.with_stretto import warming
from benchmarks.contestants.with_stretto_none import plan_of
from benchmarks.contestants.worker import peak_mb
from benchmarks.contestants.workloads import WORKLOADS

import stretto


def stream(path: str) -> dict[str, Any]:
    plan = plan_of(WORKLOADS["W1"].text, pq.read_schema(path))
    with pq.ParquetFile(path, pre_buffer=False) as file, warming():
        warm = stretto.Engine(plan)
        warm.push(next(file.iter_batches(BATCH)).slice(0, 20_000))
        warm.flush()
    engine = stretto.Engine(plan)
    matches, started = 0, time.perf_counter()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(BATCH):
            matches += engine.push(batch)["W1"].num_rows
    matches += engine.flush()["W1"].num_rows
    return {"seconds": time.perf_counter() - started, "matches": matches, "peak_mb": peak_mb()}


if __name__ == "__main__":
    print(json.dumps(stream(sys.argv[1])))
