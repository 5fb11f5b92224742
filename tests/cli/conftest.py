"""A small world for the commands: a workload, events, and a way to call."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stretto.cli.app import app

RULES = """\
QUERY rise
PATTERN SEQ(A a, B b)
WHERE   a.x < b.x
WITHIN  10 SECONDS
RETURN  b.x - a.x AS gain;

QUERY pair
PATTERN AND(A a, C c)
WITHIN  3 SECONDS;
"""

EVENTS = """\
ts,type,x
2024-01-01T00:00:00,A,1
2024-01-01T00:00:01,B,2
2024-01-01T00:00:02,A,5
2024-01-01T00:00:03,B,3
2024-01-01T00:00:04,C,
"""


class Result:
    """What a call printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call `stretto` in an empty folder with a workload and events in it."""
    (tmp_path / "rules.cep").write_text(RULES)
    (tmp_path / "events.csv").write_text(EVENTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def invoke(*arguments: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(app, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Result(result.exit_code, result.stdout, result.stderr)

    return invoke
