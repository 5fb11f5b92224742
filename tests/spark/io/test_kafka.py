"""Kafka as sink and as source, with a real broker: the matches of one stream are the events of the next."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from tests.spark.io.kafka_broker import broker, connector_jars

from stretto.spark.io.sinks import committed_files
from stretto.spark.setup.kafka_connector import SETTING

PROGRAM = Path(__file__).with_name("stream_calls.py")
RISE = "QUERY rise PATTERN SEQ(A a, B b) WITHIN 2 SECONDS RETURN b.x - a.x AS gain;"
# What records hold as objects are structs to their reader.
TWICE = """
QUERY twice PATTERN SEQ(rise a, rise b)
WHERE a.match_id != b.match_id AND a.returned.gain = b.returned.gain WITHIN 1 MINUTE;
"""


def streams(folder: Path, *calls: list[str]) -> list[tuple[int, str]]:
    """The exit codes and messages of calls, in one process: Java starts with the connector once."""
    to_end = ["--trigger", "available-now", "--master", "local[2]"]
    (folder / "calls.json").write_text(json.dumps([[*call, *to_end] for call in calls]))
    jars = ",".join(map(str, connector_jars()))
    done = subprocess.run(
        [sys.executable, PROGRAM, "calls.json", "said.json"],
        cwd=folder,
        env={**os.environ, SETTING: jars},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(code, said) for code, said in json.loads((folder / "said.json").read_text())]


def test_matches_of_matches(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [f"2024-01-01T09:00:{second:02d},{'AB'[second % 2]},{second}" for second in range(40)]
    never = "never" * 400_000  # more than a record may hold
    (tmp_path / "in" / "1.csv").write_text("\n".join(["ts,type,x", *lines, f"{never},A,1"]) + "\n")
    (tmp_path / "rise.cep").write_text(RISE)
    (tmp_path / "twice.cep").write_text(TWICE)
    with broker(tmp_path) as address:
        columns = ["--ts", "detected", "--type", "query", "--sink", "files:out", "--checkpoint"]
        first, wrong, second = streams(
            tmp_path,
            ["rise.cep", "--source", "files:in", "--sink", f"kafka:{address}/found", "--checkpoint", "one"],
            ["twice.cep", "--source", f"kafka:{address}/fount", *columns, "wrong"],
            ["twice.cep", "--source", f"kafka:{address}/found", *columns, "two"],
        )
    assert first[0] == 0, first
    assert "41 events, 19 matches, 0 late, 1 rejected, 1 replaced" in first[1]
    assert wrong == (2, f"--source: {address} has no topic `fount`, did you mean `found`?\n")
    assert not (tmp_path / "wrong").exists()
    assert second[0] == 0, second
    assert "19 events" in second[1]
    files = [file for file in committed_files(tmp_path / "out") if file.parent.name == "kind=matches"]
    rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert {row["query"] for row in rows} == {"twice"}
    pairs = {(dict(row["events"])["a"][0], dict(row["events"])["b"][0]) for row in rows}
    assert {offset for pair in pairs for offset in pair} < set(range(19))
    assert len(rows) == len(pairs) == 18 * 17 // 2  # the last event is still open
    read = {field["name"]: field["type"] for field in _noted(tmp_path / "two")["fields"]}
    assert [field["name"] for field in read["returned"]["fields"]] == ["gain"]


def _noted(checkpoint: Path) -> dict:
    """The columns of a stream's source, as they were told by the first events."""
    return json.loads((checkpoint / "stretto" / "source.json").read_text())
