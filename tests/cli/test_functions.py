"""`--functions FILE.py`: code that registers functions for one call."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto.cli.app import app
from stretto.pattern import functions

CODE = """\
from __future__ import annotations

from dataclasses import dataclass

import stretto


@dataclass
class Factor:
    value: int


DOUBLE = Factor(2)


def double(numbers):
    return numbers * DOUBLE.value


stretto.register_function("double", double, ["integer"], "integer")
"""
RULES = "QUERY q PATTERN SEQ(A a, B b) WHERE DOUBLE(a.k) = b.k WITHIN 10 s;"
EVENTS = "ts,type,k\n2024-01-01 00:00:00,A,2\n2024-01-01 00:00:01,B,4\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(functions, "_registered", {})
    for name, text in (("code.py", CODE), ("rules.cep", RULES), ("events.csv", EVENTS)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "rules.cep"), "1 query, no mistake"),
        (("run", "rules.cep", "--events", "events.csv"), "2 events, 1 match"),
        (("explain", "rules.cep"), "DOUBLE(c0.k)"),
        (("stats", "rules.cep", "--events", "events.csv"), "DOUBLE(A.k)"),
    ],
)
def test_commands_call_functions(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    found = call(*arguments, "--functions", "code.py")
    assert found.exit_code == 0, found.output
    assert said in found.output
    functions._registered.clear()
    without = call(*arguments)
    assert without.exit_code == 2
    assert "unknown function `DOUBLE`" in without.output


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\n", "code.py registers no function"),
        ("import stretto\n\n1 / 0\n", "--functions: code.py:3: ZeroDivisionError: division by zero"),
        ("import stretto\ndef (\n", "--functions: code.py:2: SyntaxError"),
        (CODE.replace('["integer"]', '["number"]'), "`number` is no kind of values; kinds are"),
        (None, "code.py: No such file"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(folder: Path, code: str | None, said: str) -> None:
    (folder / "code.py").unlink() if code is None else (folder / "code.py").write_text(code)
    found = call("check", "rules.cep", "--functions", "code.py")
    assert found.exit_code == 2
    assert said in found.output


def test_a_workload_loads_no_code(folder: Path) -> None:
    for text in ("FUNCTIONS 'code.py';", "CREATE FUNCTION double FROM 'code.py';"):
        (folder / "rules.cep").write_text(text + RULES)
        assert call("check", "rules.cep").exit_code == 2
        assert functions.registered_functions() == {}
