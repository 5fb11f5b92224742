"""Stretto: the workload as it is written, each query's own left-to-right plan."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from benchmarks.contestants.answers import Answer, Column, Found, Lists
from benchmarks.contestants.events import TYPES
from benchmarks.contestants.workloads import Workload

from stretto.engine.kernels import when_to_compile
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.pattern.workload import Workload as Parsed
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.schema import Schema

MEMORY = 16 << 30
Result = list[Matches]


def missing(_workload: Workload) -> str | None:
    return None


def plan_of(text: str, schema: pa.Schema, types: Sequence[str] = TYPES) -> Plan:
    return optimize(Parsed.parse(text), Schema.of(schema, types), optimizer="none")


def load(batches: Sequence[pa.RecordBatch], workload: Workload) -> Callable[[], Result]:
    """From Arrow batches to the matches of each batch, whose columns of ids and times are complete in memory."""
    return running(plan_of(workload.text, batches[0].schema), batches)


def running(plan: Plan, batches: Sequence[pa.RecordBatch]) -> Callable[[], Result]:
    """A run of the plan, of which each call is another."""
    when_to_compile.always = True  # so that the warm-up, on few events, warms up what is timed

    def run() -> Result:
        engine = Engine(plan, memory_bytes=MEMORY)
        chunks = [engine.push(batch) for batch in batches]
        chunks.append(engine.flush())
        return chunks

    return run


def answer(result: Result) -> Answer:
    return {
        name: [_found(batch) for matches in result for batch in matches[name].to_batches()]
        for name in result[0].counts()
    }


def _found(batch: pa.RecordBatch) -> Found:
    variables = [v for v in batch.schema.names if v not in ("start", "end", "detected")]
    start, end = (batch[name].view(pa.int64()).to_numpy() for name in ("start", "end"))
    return Found(tuple(_column(batch[v]) for v in variables), start, end)


def _column(column: pa.Array) -> Column:
    if pa.types.is_integer(column.type):
        return column.to_numpy()
    return Lists(column.offsets.to_numpy().astype(np.int64), column.values.to_numpy())
