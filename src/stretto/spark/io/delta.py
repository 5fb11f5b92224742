"""Results as Delta tables, each row exactly once: a commit says which micro-batch it holds, and is not made again.

For `foreachBatch`, through the package `deltalake`, so that any release of Spark serves. Below the folder there is a
table for each kind of results: matches, trends, late, rejected.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from stretto.records import dataclass
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.io.upsert import RESULT_TABLES, with_event_texts
from stretto.spark.packed import LATE, MATCHES, REJECTED, TRENDS

KINDS: Final = (MATCHES, TRENDS, LATE, REJECTED)


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """Writes the results of a micro-batch; what `foreachBatch` calls."""

    folder: str
    checkpoint: str

    def __call__(self, found: DataFrame, batch: int) -> None:
        rows = with_event_texts(found).toArrow()
        with at_work("writing a micro-batch to Delta", ()):
            for kind in KINDS:
                mine = rows.filter(pc.equal(rows.column("kind"), kind)).select(_columns(kind))
                self.write(kind, mine, batch)

    def write(self, kind: str, rows: pa.Table, batch: int) -> None:
        """Append the rows of a micro-batch to the table of a kind, unless they are there already."""
        lake = deltalake()
        place, stream = str(Path(self.folder, kind)), f"stretto-{self._stream()}"
        if lake.DeltaTable.is_deltatable(place):
            done = lake.DeltaTable(place).transaction_version(stream)
            if not rows.num_rows or (done is not None and done >= batch):
                return
        mark = lake.CommitProperties(app_transactions=[lake.Transaction(stream, batch)])
        lake.write_deltalake(place, _held(rows), mode="append", commit_properties=mark)

    def _stream(self) -> str:
        """What Spark calls the stream of a checkpoint: another checkpoint begins with its micro-batches anew."""
        noted = json.loads(Path(self.checkpoint, "metadata").read_text(encoding="utf-8"))
        return str(noted["id"])


def deltalake() -> Any:
    """The package; StrettoSparkError with what to install where it is missing."""
    try:
        return import_module("deltalake")
    except ImportError as error:
        raise StrettoSparkError("Delta tables need a package: pip install 'stretto[delta]'") from error


def _columns(kind: str) -> list[str]:
    return list(RESULT_TABLES[kind].columns) if kind in RESULT_TABLES else ["event", "reason"]


def _held(rows: pa.Table) -> pa.Table:
    """The rows with times in UTC, as Delta has them."""
    for number, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz is None:
            times = rows.column(number).cast(pa.timestamp("us", "UTC"))
            rows = rows.set_column(number, column.name, times)
    return rows
