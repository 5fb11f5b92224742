"""An interrupt ends a command soon, whatever it does, with exit code 130 and without a stack trace."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# It says when our code begins: until then an interrupt is Python's own to answer, in several ways.
MAIN = [sys.executable, "-c", "from stretto.cli.main import main; print('begun', flush=True); main()"]
# A call that does not come back for an interrupt, as a solver or a compiler may not.
PROGRAM = """
import signal, subprocess, time, stretto.cli.app, stretto.cli.main
from stretto.atomic import PartialFile

def stuck():
    half = PartialFile("half.txt")
    child = subprocess.Popen(["sleep", "600"], stdout=-3, stderr=-3)
    signal.signal(signal.SIGINT, lambda *_: None)
    print(child.pid, flush=True)
    while True:
        time.sleep(30)

stretto.cli.app.app = stuck
stretto.cli.main.main()
"""

# An interrupt that is seen, with time to clean up on a busy machine too, and a process that would then take long to be
# taken apart. What Py4J logs about a call to Java that was interrupted is told from the file that it comes from.
SLOW_END = """
import logging, time, stretto.cli.app, stretto.cli.interrupts, stretto.cli.main

stretto.cli.interrupts.PATIENCE_S = 20

class Slow:
    def __del__(self):
        time.sleep(30)

def waiting():
    try:
        print("waiting", flush=True)
        time.sleep(30)
    except KeyboardInterrupt:
        py4j = "import logging; logging.error('KeyboardInterrupt while sending command.', exc_info=True)"
        exec(compile(py4j, "/site-packages/py4j/java_gateway.py", "exec"), {})
        logging.warning("another one is told")
        raise

kept = Slow()
stretto.cli.app.app = waiting
stretto.cli.main.main()
"""


# Spark cancels its jobs at an interrupt, and what waits for one may hear of that before it hears of the interrupt.
CANCELLED = """
import signal, stretto.cli.app, stretto.cli.main
from stretto.cli.console import reported
from stretto.errors import StrettoError

came = []

def waiting():
    signal.signal(signal.SIGINT, lambda *_: came.append(True))
    print("waiting", flush=True)
    with reported():
        while not came:
            pass
        raise {}("the job was cancelled")

stretto.cli.app.app = waiting
stretto.cli.main.main()
"""


# Frames of the compiler are known by their module.
COMPILING = """
import stretto.cli.app, stretto.cli.main

LOOP = '''
def compiled():
    print("compiling", flush=True)
    try:
        while True:
            pass
    finally:
        print("taken apart", flush=True)
'''
names = {"__name__": "numba.core.compiler"}
exec(LOOP, names)
stretto.cli.app.app = lambda: names["compiled"]()
stretto.cli.main.main()
"""


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str, float]:
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    return process.returncode, err, time.monotonic() - begun


def _has_ended(process: int) -> bool:
    """Soon; if nobody asks how it ended, it stays in the system's list."""
    for _ in range(100):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_an_interrupt_that_python_does_not_see(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        code, err, _ = interrupted(process)
    assert (code, err) == (130, "interrupted\n")
    assert not list(tmp_path.iterdir())
    assert _has_ended(child)


def test_nothing_holds_the_end_up_and_no_stack_is_shown(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_END], cwd=tmp_path, stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        code, err, took_s = interrupted(process)
    assert (code, err) == (130, "WARNING:root:another one is told\ninterrupted\n")
    assert took_s < 10


@pytest.mark.parametrize("error", ["StrettoError", "ValueError"])
def test_what_an_interrupt_makes_fail_is_no_failure(tmp_path: Path, error: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CANCELLED.format(error)], cwd=tmp_path, stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        code, err, _ = interrupted(process)
    assert (code, err) == (130, "interrupted\n")


def test_an_interrupt_takes_no_compiler_apart(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COMPILING], cwd=tmp_path, stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "compiling\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


@pytest.mark.parametrize("after_s", [0.3, 1.0])
def test_an_interrupt_while_planning(tmp_path: Path, after_s: float) -> None:
    text = "".join(
        f"QUERY q{i} PATTERN AND(A{i % 17} a, B{i % 13} b, C{i % 11} c, D{i % 7} d, E e) WHERE a.x < {i}"
        f" WITHIN {i + 1} SECONDS;\n"  # too different to be one family, which is planned in no time
        for i in range(300)
    )
    (tmp_path / "w.cep").write_text(text)
    command = [*MAIN, "explain", "w.cep", "--out", "plan.txt", "--budget", "60"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True, env=os.environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(after_s)
        code, err, _ = interrupted(process)
    assert code == 130
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["w.cep"]
