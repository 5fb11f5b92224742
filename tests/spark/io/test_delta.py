"""Delta tables as a sink: every row once, whenever a micro-batch is cut off and run again."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from stretto.spark.io.delta import DeltaSink
from stretto.spark.io.upsert import RESULT_TABLES
from stretto.spark.packed import LATE, MATCHES

deltalake = pytest.importorskip("deltalake")


def sink(tmp_path: Path, stream: str = "one") -> DeltaSink:
    checkpoint = tmp_path / stream
    checkpoint.mkdir(exist_ok=True)
    (checkpoint / "metadata").write_text(json.dumps({"id": stream}))
    return DeltaSink(str(tmp_path / "found"), str(checkpoint))


def matches(*numbers: int) -> pa.Table:
    kinds = {
        name: pa.map_(pa.string(), pa.list_(pa.int64()))
        if name == "events"
        else pa.timestamp("us")
        if name in ("start", "end", "detected")
        else pa.string()
        for name in RESULT_TABLES[MATCHES].columns
    }
    rows = [
        {"match_id": str(n), "query": "q", "start": n, "end": n, "detected": n, "events": [("a", [n])]}
        for n in numbers
    ]
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


def ids(tmp_path: Path) -> list[str]:
    return sorted(
        deltalake.DeltaTable(tmp_path / "found" / MATCHES).to_pyarrow_table()["match_id"].to_pylist()
    )


def test_a_micro_batch_that_comes_again_is_not_written_again(tmp_path: Path) -> None:
    one = sink(tmp_path)
    one.write(MATCHES, matches(1, 2), 0)
    one.write(MATCHES, matches(1, 2), 0)
    one.write(MATCHES, matches(3), 1)
    sink(tmp_path).write(MATCHES, matches(3), 1)  # after a restart
    one.write(MATCHES, matches(), 2)
    one.write(MATCHES, matches(4), 3)
    assert ids(tmp_path) == ["1", "2", "3", "4"]
    table = deltalake.DeltaTable(tmp_path / "found" / MATCHES).to_pyarrow_table()
    assert table.schema.field("start").type == pa.timestamp("us", "UTC")
    assert sorted(table["events"].to_pylist()) == [[("a", [n])] for n in (1, 2, 3, 4)]


def test_another_stream_has_micro_batches_of_its_own(tmp_path: Path) -> None:
    sink(tmp_path, "one").write(MATCHES, matches(1), 0)
    sink(tmp_path, "two").write(MATCHES, matches(2), 0)
    assert ids(tmp_path) == ["1", "2"]


def test_tables_are_there_from_the_first_micro_batch_on(tmp_path: Path) -> None:
    empty = pa.table({"event": pa.array([], pa.string()), "reason": pa.array([], pa.string())})
    sink(tmp_path).write(LATE, empty, 0)
    assert deltalake.DeltaTable(tmp_path / "found" / LATE).to_pyarrow_table().num_rows == 0
