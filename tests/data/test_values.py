"""Wild values through every reader, the engine and every file: equal, but for numbers that JSON does not have."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.wild_values import TEXTS, TIMES, events, iso, plain

from stretto import Schema, Workload, optimize, run
from stretto.data.files import open_events
from stretto.data.sinks import open_sink

FORMATS = (".parquet", ".arrow", ".csv", ".jsonl")
QUERY = "QUERY q PATTERN A a WITHIN 1 s RETURN a.s AS s, a.x AS x, a.n AS n, a.t AS t, a.ok AS ok;"


def write(path: Path, table: pa.Table) -> Path:
    with open_sink(path, table.schema) as sink:
        for batch in table.to_batches():
            sink.write(batch)
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_events_read_back(tmp_path: Path, ending: str) -> None:
    table = events()
    source = open_events(write(tmp_path / f"e{ending}", table))
    again = pa.Table.from_batches(list(source.batches()))
    finite = ending == ".jsonl"
    assert plain(again.select(table.column_names), finite=finite) == plain(table, finite=finite)
    assert source.take_rejected().num_rows == 0


@pytest.mark.parametrize("ending", FORMATS)
def test_matches_read_back(tmp_path: Path, ending: str) -> None:
    table = events()
    schema = Schema.of(table.schema, {"A"})
    found = run(optimize(Workload.parse(QUERY), schema, "none"), table).to_arrow()
    rows = read(write(tmp_path / f"m{ending}", found))
    assert len({row["match_id"] for row in rows}) == len(TEXTS)
    by_id = {row["id"]: (row, us) for row, us in zip(plain(table, finite=True), TIMES, strict=True)}
    for row in rows:
        event, us = by_id.pop(dict(row["events"])["a"][0])
        assert {row[name].replace(" ", "T") for name in ("start", "end", "detected")} == {iso(us)}
        value = json.loads(row["returned"])
        assert value["s"] == event["s"]
        assert value["x"] == (None if event["x"] is None else float(event["x"]))
        assert (value["n"], value["t"], value["ok"]) == (event["n"], iso(us), event["ok"])
    assert not by_id


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of a file of matches with times as texts and events as a map."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]
    if path.suffix == ".csv":
        csv.field_size_limit(1 << 24)
        with path.open(newline="", encoding="utf-8") as file:
            return [{**row, "events": json.loads(row["events"])} for row in csv.DictReader(file)]
    table = pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()
    return plain(table, finite=False)
