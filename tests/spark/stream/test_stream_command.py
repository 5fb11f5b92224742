"""`stretto stream` from the call to the rows in the sink: restarts, other workloads, bad ones, failures, interrupts."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from stretto import Workload
from stretto.cli.app import app
from stretto.spark.io.specs import Spec
from stretto.spark.stream.job import StreamJob, prepare

STRETTO = [sys.executable, "-c", "from stretto.cli.main import main; main()"]
RISE = "QUERY rise PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 SECONDS RETURN b.x - a.x AS gain;\n"
PAIR = "QUERY pair PATTERN AND(A a, C c) WITHIN 3 SECONDS;\n"
HEADER = "ts,type,x\n"

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a stream to the end of what there is, in an empty folder with a workload and a folder of events."""
    del spark  # the command takes the session that runs
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "rules.cep").write_text(RISE)

    def call(*options: str, sink: str = "sqlite:found.db") -> tuple[int, str]:
        places = ["--source", "files:in", "--sink", sink, "--checkpoint", "state"]
        result = CliRunner().invoke(
            app, ["stream", "rules.cep", *places, "--trigger", "available-now", *options]
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        (tmp_path / "shown").write_text(result.stdout)
        return result.exit_code, result.stderr

    return call


def put(folder: Path, name: str, *rows: str) -> None:
    hidden = folder / "in" / f".{name}"
    hidden.write_text(HEADER + "".join(f"2024-01-01T00:00:{row}\n" for row in rows))
    hidden.rename(folder / "in" / name)


def table(name: str, what: str) -> list[tuple]:
    with closing(sqlite3.connect("found.db")) as database:
        return sorted(database.execute(f"SELECT {what} FROM {name}").fetchall())


def test_a_stream_goes_on_with_other_workloads(stream: Call, tmp_path: Path) -> None:
    put(tmp_path, "1.csv", "00,A,1", "01,B,2", "02,A,5", "03,B,3", "10,D,0")
    code, said = stream()
    assert code == 0, said
    assert "5 events, 2 matches, 0 late, 0 rejected in" in said
    assert [json.loads(returned) for (returned,) in table("matches", "returned")] == [
        {"gain": 1.0},
        {"gain": 2.0},
    ]

    (tmp_path / "rules.cep").write_text(RISE + PAIR)
    put(tmp_path, "2.csv", "04,A,9", "05,A,odd", "11,A,7", "12,B,8", "12.5,C,0", "30,D,0")
    code, said = stream()
    assert code == 0, said
    assert "version 2 of the workload: 2 queries (added pair)" in said
    assert "6 events, 3 matches, 1 late, 1 rejected in" in said
    assert [query for (query,) in table("matches", "query")] == ["pair", *["rise"] * 4]
    assert [json.loads(event)["type"] for (event,) in table("late", "event")] == ["A"]

    (tmp_path / "rules.cep").write_text(
        RISE + "QUERY odd PATTERN SEQ(A a, B b) WHERE a.y = 1 WITHIN 1 SECOND;"
    )
    put(tmp_path, "3.csv", "31,A,1", "32,C,2", "50,D,0")
    code, said = stream()
    assert code == 2, said
    assert "unknown attribute `y`" in said
    assert "the stream keeps version 2 of the workload" in said
    assert "rules.cep was refused: the events were read with the version before" in said
    assert [query for (query,) in table("matches", "query")] == ["pair", "pair", *["rise"] * 4]


def test_a_stream_of_single_events_takes_others_later(stream: Call, tmp_path: Path) -> None:
    (tmp_path / "rules.cep").write_text("QUERY one PATTERN A a WHERE a.x > 0 WITHIN 1 SECOND;\n")
    put(tmp_path, "1.csv", "00,A,1", "01,B,2", "10,D,0")
    code, said = stream()
    assert (code, "3 events, 1 match" in said) == (0, True), said
    (tmp_path / "rules.cep").write_text(RISE)
    put(tmp_path, "2.csv", "11,A,1", "12,B,2", "30,D,0")
    code, said = stream()
    assert code == 0, said
    assert "version 2 of the workload: 1 query (added rise; removed one)" in said
    assert "3 events, 1 match" in said


def test_a_checkpoint_refuses_another_sink_other_columns_and_damaged_notes(
    stream: Call, tmp_path: Path
) -> None:
    put(tmp_path, "1.csv", "00,A,1", "01,B,2", "10,D,0")
    assert stream()[0] == 0
    for options, sink, message in (
        ((), "files:out", f"its results went to sqlite:{tmp_path}/found.db so far, not files:"),
        (("--id", "number"), "sqlite:found.db", "its column of ids (--id) was id so far, not number"),
        (("--ts", "x"), "sqlite:found.db", "its column of times (--ts) was ts so far, not x"),
        (("--type", "x"), "sqlite:found.db", "its column of types (--type) was type so far, not x"),
    ):
        code, said = stream(*options, sink=sink)
        assert (code, message in said) == (2, True), said
        assert "needs another checkpoint" in said
        assert len(said.splitlines()) == 1
    for name in ("source.json", "job.json", "spread.json"):
        note = tmp_path / "state" / "stretto" / name
        whole = note.read_bytes()
        note.write_bytes(whole[:-9])
        code, said = stream()
        assert code == 2
        assert said.startswith(f"the checkpoint is damaged: {note} cannot be read; ")
        assert len(said.splitlines()) == 1
        note.write_bytes(whole)
    assert stream()[0] == 0


def test_a_wrong_start_ends_with_two(stream: Call, tmp_path: Path) -> None:
    code, said = stream()
    assert (code, "in holds no event files yet" in said) == (2, True)
    put(tmp_path, "1.csv", "00,A,1")
    (tmp_path / "rules.cep").write_text(RISE.replace("b.x", "b.z"))
    code, said = stream()
    assert (code, "rules.cep:1" in said, "unknown attribute `z`" in said) == (2, True, True)
    assert not (tmp_path / "state" / "stretto" / "workloads").exists()


def test_a_failure_is_one_message_and_ends_with_one(stream: Call, tmp_path: Path) -> None:
    put(tmp_path, "1.csv", "00,A,1", "01,B,2", "09,D,2")
    (tmp_path / "found.db").write_text("this is no database, and long enough that one can tell" * 20)
    code, said = stream()
    assert code == 1
    assert "file is not a database" in said
    assert "Traceback" not in said


def test_what_spark_refuses_to_start_is_one_message(stream: Call, tmp_path: Path) -> None:
    put(tmp_path, "1.csv", "00,A,1")
    secured = ("--sink-option", "kafka.security.protocol=SSL")  # such brokers are not asked before
    code, said = stream(*secured, sink="kafka:localhost:1/found")  # the session of the tests has no connector
    assert code == 1
    assert "Failed to find data source: kafka" in said
    assert "SQLSTATE" not in said


def test_far_too_many_matches_are_told_before_a_stream_starts(spark: SparkSession, tmp_path: Path) -> None:
    del spark
    times = pa.array(range(0, 4_000_000, 1_000), pa.timestamp("us", "UTC"))
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": times, "type": ["A", "B"] * 2_000}), tmp_path / "in" / "1.parquet")
    workload = Workload.parse("QUERY q PATTERN SEQ(A a, B b, A c) WITHIN 1 SECOND;")
    source, sink = Spec("files", str(tmp_path / "in")), Spec("console", "")
    told: list[str] = []
    job = StreamJob(workload=workload, source=source, sink=sink, checkpoint=tmp_path / "state")
    prepare(job, told.append)
    assert [text for text in told if "matches expected of 4,000 events" in text]


def test_a_damaged_file_is_named_and_ends_with_one(stream: Call, tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array([0, 1], pa.timestamp("us")), "type": ["A", "B"], "x": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "in" / "1.parquet")
    (tmp_path / "in" / "2 b.parquet").write_bytes((tmp_path / "in" / "1.parquet").read_bytes()[:-100])
    for sink in ("sqlite:found.db", "files:out"):
        code, said = stream(sink=sink)
        assert code == 1
        spread, stopped = said.splitlines()
        assert spread.startswith("not spread: all events go to one target")
        assert stopped.startswith(
            f"the stream stopped: {tmp_path}/in/2 b.parquet: not a readable file of events, or damaged"
        )
        shutil.rmtree(tmp_path / "state")


def test_matches_on_the_console(stream: Call, tmp_path: Path) -> None:
    put(tmp_path, "1.csv", "00,A,1", "01,B,2", "09,D,2")
    code, said = stream("--quiet", sink="console")
    assert code == 0, said
    assert "batch 0" not in said
    shown = [json.loads(line) for line in (tmp_path / "shown").read_text().splitlines()]
    assert [(match["query"], match["returned"]) for match in shown] == [("rise", {"gain": 1})]


def test_an_interrupt_ends_with_130(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "rules.cep").write_text(RISE)
    put(tmp_path, "1.csv", "00,A,1", "01,B,2", "09,D,2")
    places = ["--source", "files:in", "--sink", "files:out", "--checkpoint", "state", "--master", "local[1]"]
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [*STRETTO, "stream", "rules.cep", *places],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + 120
        while "1 match" not in (tmp_path / "log").read_text() and time.monotonic() < until:
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(10)  # a second, on a machine that has nothing else to do
    finally:
        process.kill()
    said = (tmp_path / "log").read_text()
    assert code == 130, said
    assert said.splitlines()[-1] == "interrupted"
    assert "Traceback" not in said


def test_a_stream_is_spread_by_slices_of_time(stream: Call, tmp_path: Path) -> None:
    put(tmp_path, "1.csv", "00,A,1", "01,B,2")
    code, said = stream("--spread", "time")
    assert (code, "no column of ids: spread by time" in said) == (2, True), said
    (tmp_path / "in" / "1.csv").unlink()
    rows = ["00,A,1", "08,B,2", "02,A,5", "13,A,1", "22,B,3", "40,D,0"]
    lines = [f"2024-01-01T00:00:{row},{number}\n" for number, row in enumerate(rows)]
    (tmp_path / "in" / "1.csv").write_text("ts,type,x,id\n" + "".join(lines))
    slices = ("--spread", "time", "--slice", "11 seconds")
    code, said = stream(*slices)
    assert code == 0, said
    assert "6 events, 2 matches, 0 late, 0 rejected in" in said
    (tmp_path / "in" / "2.csv").write_text("ts,type,x,id\n2024-01-01T00:00:01,B,9,6\n")
    code, said = stream()
    assert code == 0, said
    assert "1 event, 0 matches, 1 late, 0 rejected in" in said
    code, said = stream("--spread", "time", "--slice", "5 minutes")
    assert (code, "its slices were 11 SECONDS wide so far, not 5 MINUTES" in said) == (2, True), said
