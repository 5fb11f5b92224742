"""`stretto bench`: finding and calling an experiment."""

import json
from pathlib import Path

import pytest

from stretto.cli import bench as module

EXPERIMENT = """\
import json


def run(out, data, options):
    (out / "call.json").write_text(json.dumps([str(data), list(options)]))
    return 0 if "--fail" not in options else 1
"""


@pytest.fixture
def experiment(call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    Path("benchmarks").mkdir()
    Path("benchmarks/trial.py").write_text(EXPERIMENT)
    Path("benchmarks/shared.py").write_text("x = 1\n")
    return call


def test_run(experiment) -> None:
    Path("data").mkdir()
    result = experiment("bench", "trial", "--data", "data", "--out", "results", "--size", "5", "x")
    assert result.code == 0
    assert json.loads(Path("results/call.json").read_text()) == ["data", ["--size", "5", "x"]]


def test_its_exit_code_is_ours(experiment) -> None:
    assert experiment("bench", "trial", "--fail").code == 1


def test_unknown_experiment(experiment) -> None:
    result = experiment("bench", "trail")
    assert result.code == 2
    assert "unknown experiment `trail`, did you mean `trial`?" in result.err
    assert "shared" not in result.err
    assert experiment("bench", "../benchmarks/trial").code == 2
    assert "is not a folder" in experiment("bench", "trial", "--data", "nowhere").err


def test_without_a_checkout(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_folders", list)
    result = call("bench", "trial")
    assert result.code == 2
    assert "experiments come with the source checkout" in result.err
