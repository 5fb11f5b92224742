"""Stream S1: ten types, uniform; Poisson, ten events a second; x uniform in [0, 1); k one of a thousand values."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = tuple("ABCDEFGHIJ")
BATCH = 131_072
BLOCK = 1 << 20
GAP_US = 100_000.0
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us"),
        "type": pa.dictionary(pa.int32(), pa.string()),
        "x": pa.float64(),
        "k": pa.int64(),
    }
)


def blocks(events: int, seed: int) -> Iterator[pa.RecordBatch]:
    """The first `events` events, in order of time; a longer stream of the same seed starts with the shorter one.

    Times are whole microseconds, so a few neighbours in a million share theirs.
    """
    clock = 0.0
    for number, start in enumerate(range(0, events, BLOCK)):
        random = np.random.default_rng([seed, number])
        times = clock + np.cumsum(random.exponential(GAP_US, BLOCK))
        clock = float(times[-1])
        codes = random.integers(0, len(TYPES), BLOCK, dtype=np.int32)
        x, k = random.random(BLOCK), random.integers(0, 1_000, BLOCK)
        n = min(BLOCK, events - start)
        columns = [
            pa.array(times[:n].astype(np.int64)).cast(SCHEMA.field("ts").type),
            pa.DictionaryArray.from_arrays(pa.array(codes[:n]), pa.array(TYPES)),
            pa.array(x[:n]),
            pa.array(k[:n]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def table(events: int, seed: int) -> pa.Table:
    """The same events as one table with one chunk per column."""
    return pa.Table.from_batches(blocks(events, seed), SCHEMA).combine_chunks()


def plain(table: pa.Table) -> pa.Table:
    """The form that databases are fastest with: ids as a column, times as integers, types as bytes."""
    whole = table.combine_chunks()
    return pa.table(
        {
            "id": np.arange(table.num_rows),
            "ts": whole["ts"].chunk(0).view(pa.int64()),
            "type": whole["type"].chunk(0).indices.cast(pa.uint8()),
            "x": whole["x"],
            "k": whole["k"],
        }
    )


def write(path: Path, events: int, seed: int) -> None:
    """The same events as a Parquet file, never all in memory."""
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for block in blocks(events, seed):
            writer.write_batch(block)
