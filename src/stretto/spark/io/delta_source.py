"""Delta tables as a source: what commits add, in their order. An offset is a version of the table.

Spark's log notes from which version to which a micro-batch reads, so one that is run again reads the same files. Tables
are read by the package `deltalake` and a data source in Python, so that any release of Spark serves; a session that has
Delta's own extension (delta-spark) reads by that.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from stretto.records import dataclass
from stretto.spark.errors import StrettoSparkError, at_work
from stretto.spark.io.delta import deltalake
from stretto.spark.packed import as_schema

FORMAT: Final = "stretto_delta"
EXTENSION: Final = "DeltaSparkSessionExtension"
BATCH_BYTES: Final = 256 << 20
"""So much of a backlog goes into one micro-batch."""
MOST: Final = "maxbytespertrigger"
"""The option for another amount, as Spark hands it on."""
BEFORE: Final = -1
"""The version before the first one."""


def delta_stream(
    spark: SparkSession, place: str, columns: StructType, options: Mapping[str, str]
) -> DataFrame:
    """The rows that are, and will be, added to a table; of the options `maxBytesPerTrigger` bounds a micro-batch."""
    reader = spark.readStream.options(**options)
    if EXTENSION in (spark.conf.get("spark.sql.extensions", "") or ""):
        return reader.format("delta").load(place)
    spark.dataSource.register(DeltaRows)
    return reader.format(FORMAT).schema(columns).load(place)


def delta_columns(place: str) -> StructType:
    """The columns of a table; StrettoSparkError where there is none, or one that cannot be read as it grows."""
    lake = deltalake()
    if not lake.DeltaTable.is_deltatable(place):
        inside = sorted(
            at.parent.name for at in Path(place).glob("*/_delta_log")
        )  # the folder of a stream's sink
        hint = f"; in it are {', '.join(inside)}" if inside else ""
        raise StrettoSparkError(f"--source: {place} is no Delta table{hint}")
    table = lake.DeltaTable(place)
    mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapped != "none":
        raise StrettoSparkError(
            f"--source: {place} maps its columns by {mapped}, which needs a session with delta-spark"
        )
    return from_arrow_schema(_plain(pa.schema(table.schema().to_arrow())), prefer_timestamp_ntz=True)


def _plain(schema: pa.Schema) -> pa.Schema:
    """The schema with texts and bytes of the kind that Spark knows."""
    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary(), pa.large_string(): pa.string()}
    return pa.schema([pa.field(field.name, views.get(field.type, field.type)) for field in schema])


class DeltaRows(DataSource):
    """What `spark.readStream.format` finds by the name FORMAT."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return delta_columns(self.options["path"])

    def streamReader(self, schema: StructType) -> "DeltaReader":  # noqa: N802 - Spark's name
        return DeltaReader(self.options["path"], schema, int(self.options.get(MOST, BATCH_BYTES)))


@dataclass(frozen=True, slots=True)
class Added(InputPartition):
    """A file that a commit added; `values` are those of its partition, which do not stand in it."""

    path: str
    size: int
    values: tuple[tuple[str, str | None], ...] = ()


class DeltaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the files that commits add."""

    def __init__(self, place: str, schema: StructType, batch_bytes: int = BATCH_BYTES) -> None:
        self.place, self.columns = place, to_arrow_schema(schema, timezone="UTC")
        self.batch_bytes = batch_bytes
        self.until: int | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self.until = deltalake().DeltaTable(self.place).version()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"version": BEFORE}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802, ARG002 - Spark's names
        """As many versions as make up a micro-batch, one at least."""
        first = start["version"] + 1
        last = deltalake().DeltaTable(self.place).version() if self.until is None else self.until
        if not commit_file(self.place, first).exists():  # a log that was cleared is read as one version
            return {"version": max(last, start["version"])}
        size = 0
        for version in range(first, last + 1):
            size += sum(file.size for file in added_by(self.place, version))
            if size >= self.batch_bytes:
                return {"version": version}
        return {"version": last}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Added]:
        first, last = start["version"] + 1, end["version"]
        if first > last:
            return []
        if commit_file(self.place, first).exists():
            return [file for version in range(first, last + 1) for file in added_by(self.place, version)]
        if start["version"] == BEFORE:
            return files_at(self.place, last)
        raise StrettoSparkError(
            f"{self.place}: version {first} is gone from the table's log, and was not read yet"
            " (delta.logRetentionDuration says how long it is kept)"
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Added)
        with at_work(f"reading {partition.path}", ()), pq.ParquetFile(partition.path) as file:
            inside = [name for name in self.columns.names if name in file.schema_arrow.names]
            for batch in file.iter_batches(columns=inside):
                yield as_schema(self._with_values(batch, dict(partition.values)), self.columns)

    def _with_values(self, batch: pa.RecordBatch, values: dict[str, str | None]) -> pa.RecordBatch:
        for name, text in values.items():
            if name in self.columns.names and name not in batch.schema.names:
                kind = self.columns.field(name).type
                value = pa.scalar(text, pa.string()).cast(kind)
                batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
        return batch


def commit_file(place: str, version: int) -> Path:
    return Path(place, "_delta_log", f"{version:020d}.json")


def added_by(place: str, version: int) -> list[Added]:
    """The files that a commit adds; StrettoSparkError where it takes events away."""
    lines = commit_file(place, version).read_text(encoding="utf-8").splitlines()
    actions = [json.loads(line) for line in lines if line.strip()]
    if any(action["remove"].get("dataChange", True) for action in actions if "remove" in action):
        raise StrettoSparkError(
            f"{place}: version {version} changes or removes rows, and a source of events may only grow"
        )
    found = [action["add"] for action in actions if "add" in action]
    return [_added(place, add) for add in found if add.get("dataChange", True)]


def files_at(place: str, version: int) -> list[Added]:
    """All files of a version."""
    table = deltalake().DeltaTable(place, version=version)
    rows = pa.table(table.get_add_actions()).to_pylist()
    return [
        _added(
            place,
            {
                "path": row["path"],
                "size": row["size_bytes"],
                "partitionValues": {
                    name: None if value is None else str(value)
                    for name, value in (row.get("partition") or {}).items()
                },
            },
        )
        for row in rows
    ]


def _added(place: str, add: dict[str, Any]) -> Added:
    if add.get("deletionVector"):
        raise StrettoSparkError(f"{place} has deletion vectors, which need a session with delta-spark")
    path = unquote(urlsplit(add["path"]).path)
    values = tuple((add.get("partitionValues") or {}).items())
    return Added(str(Path(place, path)), int(add["size"]), values)
