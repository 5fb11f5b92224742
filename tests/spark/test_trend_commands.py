"""Commands on Spark over a workload with both kinds of queries: the files, tables and sinks of matches and totals."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import Result
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from stretto.cli.app import app

PAIRS = "QUERY pairs PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 SECONDS;\n"
COUNTS = """
QUERY rising PATTERN SEQ(A a, B b+) WHERE b[i].x > b[i-1].x WITHIN 20 SECONDS SLIDE 10 SECONDS
RETURN COUNT(*), SUM(b.x), MIN(b.x);
QUERY steps PATTERN B b+ WITHIN 10 SECONDS RETURN COUNT(*);
"""
KEY = ["query", "window_start", "group", "name"]

Call = Callable[..., Result]


@pytest.fixture
def call(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call `stretto` in a folder with a workload and events."""
    del spark  # the commands take the session that runs
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("rules.cep").write_text(PAIRS + COUNTS)
    Path("counts.cep").write_text(COUNTS)
    lines = [f"2024-01-01T00:00:{i:02d},{'AB'[i % 3 > 0]},{i % 7 / 4}" for i in range(60)]
    Path("events.csv").write_text("\n".join(["ts,type,x", *lines, "2024-01-01T00:05:00,C,1"]) + "\n")

    def invoke(*arguments: str) -> Result:
        on = ("--on", "spark") if arguments[0] in ("run", "stats") and "--on" not in arguments else ()
        result = CliRunner().invoke(app, [*arguments, *on])
        assert result.exit_code == 0, result.output
        return result

    return invoke


@pytest.mark.parametrize("spread", ["auto", "time"])
def test_both_files_as_in_process(call: Call, spread: str) -> None:
    local = call("run", "rules.cep", "--events", "events.csv", "--on", "local", "--out", "l.parquet")
    ours = call("run", "rules.cep", "--events", "events.csv", "--spread", spread, "--out", "s.parquet")
    assert ours.stdout == local.stdout
    assert "totals" in ours.stdout
    matches, totals = (
        [pq.read_table(f"{name}.{kind}.parquet") for name in "sl"] for kind in ("matches", "trends")
    )
    assert matches[0].sort_by("match_id") == matches[1].sort_by("match_id")
    order = [(name, "ascending") for name in KEY]
    assert totals[0].sort_by(order) == totals[1].sort_by(order)
    assert totals[0].num_rows > 10
    assert not Path("s.parquet").exists()


def test_totals_alone_are_one_file_or_a_table(call: Call) -> None:
    call("run", "counts.cep", "--events", "events.csv", "--out", "s.jsonl")
    written = [json.loads(line) for line in Path("s.jsonl").read_text().splitlines()]
    assert {row["query"] for row in written} == {"rising", "steps"}
    shown = call("run", "counts.cep", "--events", "events.csv")
    local = call("run", "counts.cep", "--events", "events.csv", "--on", "local")
    assert shown.stdout.splitlines()[-1] == local.stdout.splitlines()[-1]
    assert f"61 events, {len(written)} totals, 0 late, 0 rejected" in shown.stdout
    assert shown.stdout == local.stdout


def test_statistics_of_a_workload_with_trend_queries(call: Call) -> None:
    found = call("stats", "rules.cep", "--events", "events.csv", "--out", "stats.json")
    assert "61 events" in found.stderr
    assert json.loads(Path("stats.json").read_text())["rates"].keys() == {"A", "B", "C"}
    call("stats", "counts.cep", "--events", "events.csv", "--out", "stats.json")


def test_a_stream_keeps_totals_in_a_table(call: Call, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "events.csv").rename(tmp_path / "in" / "1.csv")
    places = ["--source", "files:in", "--sink", "sqlite:found.db", "--checkpoint", "state"]
    for _ in range(2):
        call("stream", "rules.cep", *places, "--trigger", "available-now")
    call("run", "rules.cep", "--events", "in/1.csv", "--on", "local", "--out", "l.parquet")
    wanted = pq.read_table("l.trends.parquet").to_pylist()
    with closing(sqlite3.connect("found.db")) as database:
        found = database.execute('SELECT query, "group", name, value, exact FROM trends').fetchall()
        (matches,) = database.execute("SELECT count(*) FROM matches").fetchone()
    ended = [tuple(row[name] for name in ("query", "group", "name", "value", "exact")) for row in wanted]
    assert sorted(found, key=repr) == sorted(ended, key=repr)
    assert matches == pq.read_table("l.matches.parquet").num_rows
