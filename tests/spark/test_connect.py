"""`detect` through Spark Connect finds what the engine finds, batch and streaming."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stretto import Engine, Schema, Workload, optimize
from stretto.pattern import functions

JOB = Path(__file__).with_name("connect_job.py")
RULES = """\
QUERY rise PATTERN SEQ(A a, B b) WHERE UNDER(a.x, b.x) AND [k] WITHIN 20 SECONDS;
QUERY alone PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 3 SECONDS;
"""


def events(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "ts": pa.array([number * 1_000_000 for number in numbers], pa.timestamp("us", "UTC")),
            "type": ["ABC"[number * 7 % 3] for number in numbers],
            "id": pa.array(numbers, pa.int64()),
            "k": pa.array([number % 4 for number in numbers], pa.int64()),
            "x": [float(number * 13 % 10) for number in numbers],
        }
    )


def found_by_the_engine(table: pa.Table) -> tuple[list[str], list[str]]:
    """Matches of all the events, and those that are certain before the last of them."""
    engine = Engine(optimize(Workload.parse(RULES), Schema.of(table.schema)))
    before = engine.push(table).to_arrow()
    rest = engine.flush().to_arrow()
    ids = [part.column("match_id").to_pylist() for part in (before, rest)]
    return sorted(ids[0] + ids[1]), sorted(ids[0])


def test_batch_and_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "_registered", {})
    functions.register_function("UNDER", lambda low, high: low < high, ["double", "double"], "boolean")
    pytest.importorskip("grpc", reason="grpcio, which Spark Connect needs, is not installed")
    (tmp_path / "events").mkdir()
    parts = [events(0, 50), events(50, 50)]
    for number, part in enumerate(parts):
        path = tmp_path / "events" / f"{number}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes older files first
    (tmp_path / "rules.cep").write_text(RULES)
    done = subprocess.run(
        [sys.executable, JOB, tmp_path], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    whole, certain = found_by_the_engine(pa.concat_tables(parts))
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["batch"] == whole
    assert answer["stream"] == certain
    assert len(certain) > 50
