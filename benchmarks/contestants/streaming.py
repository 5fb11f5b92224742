"""W1 over a file in batches, matches counted as they come: `python -m benchmarks.contestants.streaming FILE`."""

import json
import sys
import time
from typing import Any

import pyarrow.parquet as pq
from benchmarks.contestants.events import BATCH
from benchmarks.contestants.with_stretto import plan_of
from benchmarks.contestants.worker import peak_mb
from benchmarks.contestants.workloads import WORKLOADS

from stretto.engine.kernels import when_to_compile
from stretto.engine.run import Engine


def stream(path: str) -> dict[str, Any]:
    plan = plan_of(WORKLOADS["W1"].text, pq.read_schema(path))
    with pq.ParquetFile(path, pre_buffer=False) as file:
        when_to_compile.always = True  # so that the warm-up, on few events, warms up what is timed
        warm = Engine(plan)
        warm.push(next(file.iter_batches(BATCH)).slice(0, 20_000))
        warm.flush()
    engine = Engine(plan)
    matches, started = 0, time.perf_counter()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(BATCH):
            matches += len(engine.push(batch))
    matches += len(engine.flush())
    return {"seconds": time.perf_counter() - started, "matches": matches, "peak_mb": peak_mb()}


if __name__ == "__main__":
    print(json.dumps(stream(sys.argv[1])))
