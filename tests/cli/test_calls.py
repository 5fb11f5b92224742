"""The frame of the commands: help, versions, wrong calls, and what is loaded."""

import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

import stretto
from stretto.cli.app import app
from stretto.cli.main import main
from stretto.cli.options import bytes_of, duration_of
from stretto.errors import PlanError, StrettoError

COMMANDS = (
    "check",
    "run",
    "stats",
    "explain",
    "stream",
    "generate",
    "workload",
    "calibrate",
    "bench",
    "demo",
)


def test_version(call) -> None:
    result = call("--version")
    assert (result.code, result.out) == (0, f"stretto {stretto.__version__}\n")


def test_help_names_every_command(call) -> None:
    result = call("--help")
    assert result.code == 0
    assert all(name in result.out for name in COMMANDS)
    assert len(app.registered_commands) == len(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(call, command: str) -> None:
    result = call(command, "--help")
    assert result.code == 0
    assert f"Example: stretto {command}" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense"], "No such option"),
        (["fly"], "No such command 'fly'"),
        (["run", "rules.cep"], "Missing option '--events'"),
        (["run", "--events", "events.csv"], "Missing argument 'WORKLOAD'"),
        (["run", "rules.cep", "--events", "events.csv", "--batch", "0"], "Invalid value for '--batch'"),
        (["run", "rules.cep", "--events", "events.csv", "--evnts", "x"], "No such option"),
        (["run", "rules.cep", "--events", "events.csv", "--on", "moon"], "Invalid value for '--on'"),
        (["generate", "uniform", "--events", "-5", "--out", "e.csv"], "Invalid value for '--events'"),
        (["explain", "rules.cep", "--format", "png"], "Invalid value for '--format'"),
    ],
)
def test_wrong_calls(call, arguments: list[str], message: str) -> None:
    result = call(*arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_help_and_check_load_no_kernels(tmp_path: Path) -> None:
    (tmp_path / "rules.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 SECOND;")
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from stretto.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "early = {m.partition('.')[0] for m in sys.modules}\n"
        "assert not early & {'numba', 'pyarrow', 'lark', 'numpy'}, early\n"
        "assert CliRunner().invoke(app, ['check', 'rules.cep']).exit_code == 0\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OverflowError("int too large\nto convert"), "OverflowError: int too large to convert"),
        (StopIteration(), "StopIteration"),
        (
            PlanError("operator 2: a step's bounds are (0, 0)"),
            "PlanError: operator 2: a step's bounds are (0, 0)",
        ),
        (ValueError("x" * 10_000), f"ValueError: {'x' * 500}"),
    ],
)
@pytest.mark.parametrize("shown", ["", "1"])
def test_what_nobody_foresaw_is_one_line(
    call, monkeypatch, capsys, error: Exception, said: str, shown: str
) -> None:
    monkeypatch.setenv("STRETTO_TRACEBACK", shown)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(
        sys, "argv", ["stretto", "run", "rules.cep", "--events", "events.csv", "--on", "local"]
    )
    monkeypatch.setattr("stretto.cli.inputs.plan_for", Mock(side_effect=error))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    captured = capsys.readouterr()
    *trace, line = captured.err.splitlines()
    assert line == f"internal error: {said} (STRETTO_TRACEBACK=1 shows where; please report it)"
    assert ("Traceback" in "\n".join(trace)) == bool(shown)
    assert not captured.out
    assert shown or not trace


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100", 100),
        ("1kB", 1000),
        ("1 KiB", 1024),
        ("2g", 2 << 30),
        ("1.5GiB", 3 << 29),
        ("512MB", 512_000_000),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "many", "1XB", "-1GB", "0", "nan", "infGB", "GB"])
def test_wrong_sizes(text: str) -> None:
    with pytest.raises(StrettoError, match="--memory"):
        bytes_of(text)


def test_lateness() -> None:
    assert duration_of(None, "--lateness") is None
    assert duration_of("0", "--lateness") == 0
    assert duration_of("1.5 seconds", "--lateness") == 1_500_000
    for wrong in ("soon", "5", "-1 second", ""):
        with pytest.raises(StrettoError, match="--lateness"):
            duration_of(wrong, "--lateness")
