"""The rows of totals: one per query, window, group and aggregate of trends."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa

from stretto.values.rows import I64, Bool

TOTALS: Final = pa.schema(
    [
        ("query", pa.string()),
        ("window_start", pa.timestamp("us")),
        ("window_end", pa.timestamp("us")),
        ("group", pa.string()),
        ("name", pa.string()),
        ("value", pa.float64()),
        ("exact", pa.string()),
        ("log2_count", pa.float64()),
    ]
)


def totals_beginning(
    batches: Iterable[pa.RecordBatch], kept: Callable[[I64], Bool]
) -> Iterator[pa.RecordBatch]:
    """The totals of windows that begin at a time, in microseconds, that is `kept`."""
    for batch in batches:
        begins = kept(batch.column("window_start").cast(pa.int64()).to_numpy())
        if begins.any():
            yield batch if begins.all() else batch.filter(pa.array(begins))
