"""Batch, stream and kill in one short test, also for other releases of PySpark: from a Delta table into Delta tables.

A stream that is killed in the middle, and started again, has written every match once.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import stretto
from stretto.spark import detect, matches_of

deltalake = pytest.importorskip("deltalake")

RULES = """\
QUERY rise PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 20 SECONDS RETURN b.x - a.x AS gain;
QUERY alone PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 3 SECONDS KEEP FIRST PER a.k FOR 10 SECONDS;
"""
COMMITS, EVENTS = 2, 120
PATIENCE_S = 600


def events(first: int, count: int) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "ts": pa.array(
                [1_700_000_000_000_000 + n * 1_000_000 for n in numbers], pa.timestamp("us", "UTC")
            ),
            "type": ["ABC"[n * 7 % 3] for n in numbers],
            "id": pa.array(numbers, pa.int64()),
            "k": pa.array([n % 4 for n in numbers], pa.int64()),
            "x": [float(n * 13 % 10) for n in numbers],
        }
    )


@contextmanager
def stream(folder: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """The stream, with all processes that it starts; they end with the context."""
    call = "from stretto.cli.main import main; main()"
    places = ("--source", "delta:in", "--sink", "delta:out", "--checkpoint", "state", "--master", "local[2]")
    options = ("--source-option", "maxBytesPerTrigger=1", "--spread", "whole")  # one task: quick
    with (
        (folder / "log.txt").open("ab") as log,
        subprocess.Popen(
            [sys.executable, "-c", call, "stream", "rules.cep", *places, *options, *more],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_killed_stream_between_delta_tables(tmp_path: Path) -> None:
    for number in range(COMMITS):
        deltalake.write_deltalake(str(tmp_path / "in"), events(EVENTS * number, EVENTS), mode="append")
    (tmp_path / "rules.cep").write_text(RULES)
    begun = monotonic()
    with stream(tmp_path) as first:
        while not (
            tmp_path / "out" / "matches" / "_delta_log"
        ).is_dir():  # the first micro-batch is being written
            assert first.poll() is None, (tmp_path / "log.txt").read_text()[-3000:]
            assert monotonic() - begun < PATIENCE_S
            sleep(0.02)
    with stream(tmp_path, "--trigger", "available-now") as second:
        assert second.wait(PATIENCE_S) == 0, (tmp_path / "log.txt").read_text()[-3000:]
    found = deltalake.DeltaTable(str(tmp_path / "out" / "matches")).to_pyarrow_table()["match_id"].to_pylist()
    engine = stretto.Engine(stretto.optimize(RULES, events(0, 4)))
    certain = engine.push(events(0, COMMITS * EVENTS)).to_arrow()["match_id"].to_pylist()
    assert len(certain) > 100
    assert sorted(found) == sorted(certain)


def test_a_batch(spark: SparkSession) -> None:
    table = events(0, 100)
    found = detect(RULES, table)
    ours = stretto.run(RULES, table)
    assert sorted(row.match_id for row in found.collect()) == sorted(match["match_id"] for match in ours)
    gains = sorted(row.gain for row in matches_of(found, "rise").collect())
    assert gains == sorted(ours["rise"]["gain"].to_pylist())
