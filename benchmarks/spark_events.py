"""Generated event files for measurements on Spark, and how a result is counted, by public calls alone."""

import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.contestants import events as stream
from benchmarks.contestants.workloads import Query
from pyspark.sql import DataFrame

import stretto

FILE = 1_000_000
"""Events per file."""
KNOWN = 200_000
"""Events that plans are made for."""


def planned(queries: Sequence[Query], seed: int) -> stretto.Plan:
    """The plan of these queries for the stream of a seed."""
    return stretto.optimize("\n".join(query.text for query in queries), stream.table(KNOWN, seed))


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


def counted(found: DataFrame) -> tuple[float, dict[str, int]]:
    """Seconds by the clock to count the rows of a result by query, and the numbers."""
    start = time.perf_counter()
    rows = found.groupBy("query").count().collect()
    seconds = time.perf_counter() - start
    return seconds, {row["query"]: row["count"] for row in sorted(rows)}
