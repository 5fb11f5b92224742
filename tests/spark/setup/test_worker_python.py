"""A session whose workers run another Python is told before the first of them fails."""

import sys
from types import SimpleNamespace

import pytest

from stretto.spark.setup.worker_python import other_python


def session(python: str | None, master: str = "local[2]"):
    found = SimpleNamespace(conf={"spark.master": master})
    if python is not None:
        found.sparkContext = SimpleNamespace(pythonExec=python)
    return found


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/somewhere/env")
    monkeypatch.setattr(sys, "base_prefix", "/usr")


@pytest.mark.parametrize("python", ["/bin/sh", "python-that-is-nowhere"])
def test_another_python_is_named_with_what_to_set(python: str) -> None:
    told = other_python(session(python))
    assert told is not None
    assert python in told
    assert f"PYSPARK_PYTHON={sys.executable}" in told


def test_outside_of_environments_pythons_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr")
    assert other_python(session("/bin/sh")) is None


@pytest.mark.parametrize(
    "known",
    [session(sys.executable), session("/bin/sh", "spark://127.0.0.1:7077"), session(None)],
    ids=["its own", "a cluster", "Connect"],
)
def test_nothing_is_said_where_it_is_right_or_unknown(known) -> None:
    assert other_python(known) is None
