"""Delta tables as a source: what commits add, once and in their order."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition

from stretto.spark.errors import StrettoSparkError
from stretto.spark.io import delta_source
from stretto.spark.io.delta_source import DeltaReader, delta_columns

deltalake = pytest.importorskip("deltalake")


def add(place: Path, *numbers: int, **more) -> None:
    table = pa.table(
        {
            "ts": pa.array([n * 1_000_000 for n in numbers], pa.timestamp("us", "UTC")),
            "type": ["A" if n % 2 else "B" for n in numbers],
            "n": pa.array(numbers, pa.int64()),
        }
    )
    deltalake.write_deltalake(str(place), table, mode="append", **more)


def reader_of(place: Path) -> DeltaReader:
    return DeltaReader(str(place), delta_columns(str(place)))


def numbers(reader: DeltaReader, partitions: list[InputPartition]) -> list[int]:
    return sorted(n for part in partitions for batch in reader.read(part) for n in batch["n"].to_pylist())


def test_a_micro_batch_holds_what_came_since_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, 1, 2)
    add(tmp_path, 3)
    reader = reader_of(tmp_path)
    start = reader.initialOffset()
    first = reader.latestOffset(start, None)
    assert numbers(reader, reader.partitions(start, first)) == [1, 2, 3]
    assert reader.latestOffset(first, None) == first
    assert reader.partitions(first, first) == []
    add(tmp_path, 4)
    deltalake.DeltaTable(str(tmp_path)).optimize.compact()  # other files, the same rows
    add(tmp_path, 5)
    second = reader.latestOffset(first, None)
    assert numbers(reader, reader.partitions(first, second)) == [4, 5]
    assert numbers(reader_of(tmp_path), reader.partitions(first, second)) == [4, 5]  # after a restart
    reader.batch_bytes = 1
    reader.prepareForTriggerAvailableNow()
    add(tmp_path, 6)
    assert reader.latestOffset(second, None) == second
    assert [reader.latestOffset({"version": v}, None)["version"] for v in (-1, 0)] == [0, 1]


def test_a_table_in_partitions_whose_log_was_cleared(tmp_path: Path) -> None:
    add(tmp_path, 1, 2, 3, partition_by=["type"])
    add(tmp_path, 4)
    reader = reader_of(tmp_path)
    parts = reader.partitions({"version": -1}, {"version": 1})
    rows = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
    assert sorted((row["n"], row["type"]) for row in rows) == [(1, "A"), (2, "B"), (3, "A"), (4, "B")]
    whole = delta_source.files_at(str(tmp_path), 1)
    assert numbers(reader, whole) == [1, 2, 3, 4]
    assert sorted(dict(one.values)["type"] for one in whole) == ["A", "B", "B"]
    with pytest.raises(StrettoSparkError, match="version 9 is gone"):
        reader.partitions({"version": 8}, {"version": 9})


def test_what_is_no_growing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StrettoSparkError, match="is no Delta table"):
        delta_columns(str(tmp_path / "none"))
    add(tmp_path / "found" / "matches", 1)
    with pytest.raises(StrettoSparkError, match="found is no Delta table; in it are matches"):
        delta_columns(str(tmp_path / "found"))
    add(tmp_path, 1, 2)
    deltalake.DeltaTable(str(tmp_path)).delete("n = 1")
    reader = reader_of(tmp_path)
    with pytest.raises(StrettoSparkError, match="version 1 changes or removes rows"):
        reader.latestOffset({"version": -1}, None)
