"""Texts that a Parquet file holds as codes are read as such, and are the same texts."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stretto.data.files import open_events

ROWS = 200_000


def table() -> pa.Table:
    return pa.table(
        {
            "ts": pa.array(range(ROWS), pa.timestamp("us")),
            "type": ["A"] * ROWS,
            "few": [None if i % 7 == 0 else f"host {i % 50}" for i in range(ROWS)],
            "each": [f"command line {i}" for i in range(ROWS)],
            "none": pa.nulls(ROWS, pa.string()),
            "number": range(ROWS),
        }
    )


@pytest.mark.parametrize("group", [ROWS, 30_000])
def test_texts_are_the_same(tmp_path: Path, group: int) -> None:
    events = table()
    pq.write_table(events, tmp_path / "e.parquet", row_group_size=group)
    found = pa.Table.from_batches(open_events(tmp_path / "e.parquet").batches(70_000))
    for name in ("few", "each", "none", "number"):
        values = found[name].combine_chunks().cast(events[name].type)
        assert pa.chunked_array([values]).equals(events[name]), name


def test_only_what_the_file_has_as_codes_is_read_so(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "e.parquet")
    pq.write_table(table(), tmp_path / "plain.parquet", use_dictionary=False)
    coded = open_events(tmp_path / "e.parquet").batch_schema
    plain = open_events(tmp_path / "plain.parquet").batch_schema
    assert pa.types.is_dictionary(coded.field("few").type)
    assert coded.field("each").type == plain.field("few").type == pa.string()


def test_files_may_differ_in_what_is_coded(tmp_path: Path) -> None:
    events = table()
    pq.write_table(events, tmp_path / "a.parquet")
    pq.write_table(events, tmp_path / "b.parquet", use_dictionary=False)
    found = pa.Table.from_batches(open_events(tmp_path).batches())
    assert found["few"].to_pylist() == events["few"].to_pylist() * 2
