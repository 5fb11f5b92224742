"""One run of a contestant on a workload in a process of its own: `python -m benchmarks.contestants.worker '<json>'`.

A second run in the same process would find the memory of the first one at hand, if the allocator kept it, and some
do: on W3 that is half of the time. So every run that is timed is the first after a warm-up on few events.
The last line of standard output is the outcome as JSON. A run past the time limit ends the process by SIGALRM.
"""

import gc
import importlib
import json
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.contestants import events
from benchmarks.contestants.answers import digests, sorted_rows
from benchmarks.contestants.workloads import WORKLOADS

MODULES = {
    "stretto": "with_stretto",
    "stretto-auto": "with_stretto_auto",
    "polars": "with_polars",
    "duckdb": "with_duckdb",
    "yardstick": "yardstick",
}
WARM_UP = 20_000


@dataclass(frozen=True, slots=True)
class Job:
    """`rows`: where to write the sorted matches as well."""

    contestant: str
    workload: str
    events: int
    seed: int
    limit: float
    rows: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def perform(job: Job) -> dict[str, Any]:
    """The time of one run, the memory held by its end, and the digests of its answer; or why there is none."""
    contestant = importlib.import_module(f"benchmarks.contestants.{MODULES[job.contestant]}")
    workload = WORKLOADS[job.workload]
    if reason := contestant.missing(workload):
        return {"missing": reason}
    table = events.table(job.events, job.seed)
    batches = table.to_batches(max_chunksize=events.BATCH)
    contestant.load(table.slice(0, WARM_UP).to_batches(), workload)()
    runner = contestant.load(batches, workload)
    gc.collect()
    signal.setitimer(signal.ITIMER_REAL, job.limit)
    started, started_cpu = time.perf_counter(), time.process_time()
    result = runner()
    seconds, cpu = time.perf_counter() - started, time.process_time() - started_cpu
    signal.setitimer(signal.ITIMER_REAL, 0)
    peak = peak_mb()
    answer = contestant.answer(result)
    if job.rows:
        np.savez(job.rows, **{name: sorted_rows(parts) for name, parts in answer.items()})
    found = {name: digest.to_json() for name, digest in digests(answer).items()}
    return {"seconds": seconds, "cpu": cpu, "found": found, "peak_mb": peak}


def peak_mb() -> float:
    """The most memory this process has held; of its own, not of the one it was started from."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    print(json.dumps(perform(Job(**json.loads(sys.argv[1])))))
