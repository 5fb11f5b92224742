"""The batch that is counted on Spark: ten sequences over a generated stream in files, and how long a run takes."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.contestants import events as stream
from benchmarks.contestants.workloads import Query
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.plan.spread.spreads import Spread
from stretto.spark.batch.event_files import EventFiles
from stretto.spark.batch.find_in_files import find
from stretto.spark.batch.targets import ResultForm
from stretto.spark.packed import METRICS
from stretto.stats.profile import Stats

FILE = 1_000_000
"""Events per file."""
KNOWN = 200_000
"""Events that plans are made for."""


def planned(queries: Sequence[Query], seed: int) -> Plan:
    """The plan of these queries for the stream of a seed."""
    workload = Workload.parse("\n".join(query.text for query in queries))
    return optimize(workload, Stats.of(stream.table(KNOWN, seed), workload=workload))


def write_stream(folder: Path, count: int, seed: int, per_file: int = FILE) -> Path:
    """The stream of a seed as a folder of Parquet files; made once."""
    if not folder.exists():
        folder.mkdir()
        table = stream.table(count, seed)
        table = table.append_column("id", pa.array(range(count), pa.int64()))
        table = table.set_column(1, "type", table.column("type").cast(pa.string()))
        for number, start in enumerate(range(0, count, per_file)):
            pq.write_table(table.slice(start, per_file), folder / f"{number:05d}.parquet")
    return folder


def counted(
    spark: SparkSession, plan: Plan, files: EventFiles, spread: Spread
) -> tuple[float, dict[str, int]]:
    """Seconds by the clock, and matches by query: these are found and counted, none is sent."""
    start = time.perf_counter()
    packed = find(spark, plan, files, spread, ResultForm(packed=True, keep=0))
    rows = packed.where(F.col("kind") == METRICS).select("payload").collect()
    seconds = time.perf_counter() - start
    counts: Counter[str] = Counter(dict.fromkeys(plan.queries, 0))
    for row in rows:
        counts.update(json.loads(bytes(row.payload))["matches"])
    return seconds, dict(sorted(counts.items()))
