"""Files of events that tests write and read."""

import datetime as dt
from pathlib import Path

import pyarrow as pa

from stretto.data import files
from stretto.data.files import EventFile
from stretto.data.sinks import open_sink
from stretto.schema import Special

START = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - times have no zone here
EVENTS = pa.table(
    {
        "ts": pa.array([START + dt.timedelta(seconds=i) for i in range(6)], pa.timestamp("us")),
        "type": ["A", "B", "A", "C", "B", "A"],
        "n": pa.array([1, 2, None, 4, 5, 6], pa.int64()),
        "x": [0.5, 1.0, 2.0, None, 1e300, -0.1],
        "name": ["a", 'quo"te', "new\nline", "tab\tä", None, "back\\slash"],
        "ok": [True, False, None, True, False, True],
        "at": pa.array([START] * 5 + [None], pa.timestamp("us")),
    }
)
KINDS = {"n": "integer", "x": "double", "name": "string", "ok": "boolean", "at": "timestamp"}
ENDINGS = [".parquet", ".csv", ".jsonl", ".arrow"]


def open_events(path, special: Special | None = None, columns=None) -> EventFile:
    """Small integers as times are microseconds here."""
    return files.open_events(path, special or Special(unit="us"), columns)


def write(path: Path, table: pa.Table) -> Path:
    with open_sink(path, table.schema) as sink:
        for batch in table.to_batches():
            sink.write(batch)
    return path


def read(events: EventFile, size: int = 1000) -> pa.Table:
    return pa.Table.from_batches(list(events.batches(size)))


def rows(events: EventFile) -> list[dict]:
    return read(events).to_pylist()


def text(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path
