"""One run of a contestant on a workload in a process of its own: `python -m benchmarks.contestants.worker '<json>'`.

A second run in the same process would reuse the memory of the first one, if the allocator kept it, and some do: on W3
that is half of the time. So every timed run is the first after a warm-up on few events. The time begins with a table
of events in memory and ends with Arrow columns of all matches in memory. Imports, the compilation of loops (in the
warm-up) and the choice of a database's fastest formulation are not part of it.
The last line of standard output is the outcome as JSON. A run past the time limit ends the process by SIGALRM.
"""

import gc
import importlib
import json
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
from benchmarks.contestants import events
from benchmarks.contestants.answers import Steps, Tables, answer_of, bytes_per_match, check_finished, digests
from benchmarks.contestants.workloads import WORKLOADS, Workload

MODULES = {
    "stretto": "with_stretto",
    "stretto-none": "with_stretto_none",
    "polars": "with_polars",
    "duckdb": "with_duckdb",
    "loops": "yardstick",
}
WARM_UP = 20_000
PREFIX = 200_000
"""Events on which a contestant's formulations are compared."""


@dataclass(frozen=True, slots=True)
class Job:
    """`variant`: the number of a contestant's formulation; None tries all of them on the first events.

    `judged`: also give the digests of all matches.
    """

    contestant: str
    workload: str
    events: int
    seed: int
    limit: float
    threads: int = 1
    variant: int | None = None
    judged: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Clocked:
    """Seconds by the clock, and of the processor, from events in memory to columns in memory.

    `planning`, `planning_cpu`: the parts of these in which a plan was made before the run.
    """

    wall: float
    cpu: float
    planning: float
    planning_cpu: float


def timed(steps: Steps, queries: Iterable[str]) -> tuple[Tables, Clocked]:
    """The columns of all matches, and how long they took; UnfinishedError if any are still to be built."""
    gc.collect()
    began, began_cpu = time.perf_counter(), time.process_time()
    plan = steps.plan()
    planned, planned_cpu = time.perf_counter(), time.process_time()
    tables = steps.run(plan)
    ended, ended_cpu = time.perf_counter(), time.process_time()
    clocked = Clocked(ended - began, ended_cpu - began_cpu, planned - began, planned_cpu - began_cpu)
    check_finished(tables, queries)
    return tables, clocked


def perform(job: Job) -> dict[str, Any]:
    """The times of one run, its matches per query and the memory held by its end; or why there are none."""
    contestant = importlib.import_module(f"benchmarks.contestants.{MODULES[job.contestant]}")
    workload = WORKLOADS[job.workload]
    if reason := contestant.missing(workload):
        return {"missing": reason}
    queries = [query.name for query in workload.queries]
    table = events.table(job.events, job.seed)
    variants = contestant.variants(workload)
    variant = job.variant if job.variant is not None else fastest(contestant, workload, table, job.threads)
    with getattr(contestant, "warming", nullcontext)():
        timed(contestant.load(table.slice(0, WARM_UP), workload, variants[variant], job.threads), queries)
    steps = contestant.load(table, workload, variants[variant], job.threads)
    signal.setitimer(signal.ITIMER_REAL, job.limit)
    tables, clocked = timed(steps, queries)
    signal.setitimer(signal.ITIMER_REAL, 0)
    outcome: dict[str, Any] = asdict(clocked) | {"peak_mb": peak_mb(), "variant": variant}
    outcome["bytes_per_match"] = bytes_per_match(tables)
    outcome["matches"] = {name: matches.num_rows for name, matches in tables.items()}
    if job.judged:
        found = digests(answer_of(tables))
        outcome["digests"] = {name: digest.to_json() for name, digest in found.items()}
    return outcome


def fastest(contestant: ModuleType, workload: Workload, table: pa.Table, threads: int) -> int:
    """The number of the formulation that takes the least time on the first events, best of two runs each."""
    variants = contestant.variants(workload)
    if len(variants) == 1:
        return 0
    queries, few = [query.name for query in workload.queries], table.slice(0, PREFIX)

    def wall(variant: Any) -> float:
        return timed(contestant.load(few, workload, variant, threads), queries)[1].wall

    wall(variants[0])
    seconds = [min(wall(variant) for _ in range(2)) for variant in variants]
    return seconds.index(min(seconds))


def peak_mb() -> float:
    """The most memory that this process has held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    print(json.dumps(perform(Job(**json.loads(sys.argv[1])))))
