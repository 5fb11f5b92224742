"""A command's process ends at once: with its exit code, all that was printed, and what others registered."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import atexit, sys, time, stretto.cli.app, stretto.cli.main

class Slow:
    def __del__(self):
        time.sleep(30)

def command():
    atexit.register(lambda: print("cleaned up"))
    sys.held_for_ever = Slow()
    print("x" * 200_000)
    sys.exit({code})

stretto.cli.app.app = command
stretto.cli.main.main()
"""
SLOW_S = 25


@pytest.mark.parametrize(("code", "ends"), [("0", 0), ("None", 0), ("1", 1), ("2", 2)])
def test_process_is_not_taken_apart(code: str, ends: int) -> None:
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(code=code)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (ends, "")
    assert done.stdout == "x" * 200_000 + "\ncleaned up\n"
    assert time.monotonic() - start < SLOW_S


def test_output_that_nobody_takes_is_told_as_python_tells_it() -> None:
    """Nothing that could not be written is passed over in silence."""
    with Path("/dev/full").open("w") as full:
        code = PROGRAM.format(code=0).replace("time.sleep(30)", "pass")
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode != 0
    assert b"No space left" in done.stderr
