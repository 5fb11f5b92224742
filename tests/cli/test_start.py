"""A command loads what it needs: its start is most of the time that a small file takes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import json, sys
from stretto.cli.main import main
sys.argv = ["stretto", *sys.argv[2:]]
try:
    main()
except SystemExit as end:
    assert not end.code
with open({out!r}, "w") as file:
    json.dump(sorted(sys.modules), file)
"""
WORKLOAD = "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 SECONDS;"
EVENTS = "type,ts,x\nA,2024-01-01T00:00:01Z,1\nB,2024-01-01T00:00:02Z,2\n"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules that a small run has loaded when it ends."""
    folder = tmp_path_factory.mktemp("start")
    (folder / "w.cep").write_text(WORKLOAD)
    (folder / "e.csv").write_text(EVENTS)
    code = RUN.format(out=str(folder / "modules.json"))
    call = ["run", str(folder / "w.cep"), "--events", str(folder / "e.csv")]
    done = subprocess.run(
        [sys.executable, "-c", code, "-", *call], capture_output=True, text=True, check=True
    )
    assert "1 match" in done.stdout
    return set(json.loads(Path(folder / "modules.json").read_text()))


@pytest.mark.parametrize(
    "module",
    [
        "numba",  # until a loop is called that has enough to do
        "rich",  # outside terminals
        "pandas",
        "pyspark",
        "stretto.spark",
        "stretto.oracle",
        "stretto.generate",
        "stretto.engine.trends",
        "stretto.explain.html",
        "stretto.cli.results.terminal",
    ],
)
def test_a_small_run_does_without(loaded: set[str], module: str) -> None:
    assert module not in loaded
