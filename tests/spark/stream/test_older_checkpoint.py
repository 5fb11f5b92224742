"""A stream goes on from the checkpoint of an older release: no match is lost, and none comes twice.

`checkpoints/stretto-0.1.0.tar.xz` holds what `stretto stream` of release 0.1.0 left behind after two files of events:
its workload, the files, what it wrote and its checkpoint. That release's modules had other names, so that its pickled
plans cannot be read any more. A placeholder stands where Spark's logs name the folder.
"""

import json
import os
import tarfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from stretto import Schema, Special, Workload, optimize, run
from stretto.cli.app import app
from stretto.spark import committed_files

WRITTEN = Path(__file__).with_name("checkpoints") / "stretto-0.1.0.tar.xz"
PLACEHOLDER = b"/HOME-OF-THE-STREAM"
NEW = """\
ts,type,k,x
2024-01-01T00:00:31,B,1,8.0
2024-01-01T00:00:05,B,1,9.0
2024-01-01T00:00:35,C,1,0.0
2024-01-01T00:00:50,B,2,6.0
2024-01-01T00:01:10,A,2,1.0
2024-01-01T00:05:00,D,1,0.0
"""
COLUMNS = {
    "matches": ("query", "start", "end", "detected", "returned"),
    "trends": ("query", "window_start", "window_end", "group", "name", "exact"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the old stream, in another place than it was."""
    with tarfile.open(WRITTEN) as written:
        written.extractall(tmp_path, filter="data")
    for file in tmp_path.rglob("*"):
        if file.is_file() and PLACEHOLDER in (found := file.read_bytes()):
            file.write_bytes(found.replace(PLACEHOLDER, str(tmp_path).encode()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def go_on() -> str:
    places = ["--source", "files:in", "--sink", "files:out", "--sink-format", "json", "--checkpoint", "state"]
    how = ["--trigger", "available-now", "--lateness", "2 seconds"]
    result = CliRunner().invoke(app, ["stream", "rules.cep", *places, *how])
    assert result.exit_code == 0, result.output
    return result.stderr


def written(kind: str) -> Counter[tuple]:
    files = [file for file in committed_files("out") if f"kind={kind}" in file.parts]
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return Counter(tuple(_plain(row.get(name)) for name in COLUMNS[kind]) for row in rows)


def expected(home: Path) -> dict[str, Counter[tuple]]:
    """What the engine finds in all events that are in time."""
    parts = [pa_csv.read_csv(file) for file in sorted((home / "in").glob("*.csv"))]
    table = pa.concat_tables(parts)
    late = pa.compute.and_(
        pa.compute.equal(table["ts"], pa.scalar("2024-01-01 00:00:05").cast(table["ts"].type)),
        pa.compute.equal(table["type"], "B"),
    )
    table = table.filter(pa.compute.invert(late))
    plan = optimize(Workload.read("rules.cep"), Schema.of(table.schema, None, Special()))
    found = run(plan, table)
    return {
        kind: Counter(tuple(map(_plain, row)) for row in zip(*_columns(results, kind), strict=True))
        for kind, results in (("matches", found.to_arrow()), ("trends", found.totals()))
    }


def _columns(results: pa.Table, kind: str) -> list[list]:
    return [results[name].to_pylist() for name in COLUMNS[kind]]


def _plain(value: object) -> object:
    """Times as JSON has them; objects, which the older release wrote as texts, in one form."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, dict):
        return tuple(sorted(value.items()))
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}" if hasattr(value, "strftime") else value


def test_a_stream_of_an_older_release_goes_on(spark: SparkSession, home: Path) -> None:
    del spark  # the command takes the session that runs
    version = json.loads((home / "state" / "stretto" / "workloads" / "000001.json").read_text())
    assert version["stretto"] == "0.1.0"
    before = written("matches")
    assert sum(before.values()) == 5
    (home / "in" / ".3.csv").write_text(NEW)
    os.utime(home / "in" / ".3.csv", (1_704_067_500,) * 2)
    (home / "in" / ".3.csv").rename(home / "in" / "3.csv")
    said = go_on()
    assert "6 events" in said
    assert "1 late" in said
    right = expected(home)
    assert written("matches") == right["matches"]
    assert written("trends") == right["trends"]
    assert before < right["matches"]
    assert right["trends"]
    assert [file.name for file in (home / "state" / "stretto" / "workloads").iterdir()] == ["000001.json"]
