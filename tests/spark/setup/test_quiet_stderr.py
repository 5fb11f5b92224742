"""Lines that nobody needs are taken out of what a program says; the others stay."""

import subprocess
import sys

PROGRAM = """
import subprocess, sys, threading, time
from stretto.spark.setup.quiet_stderr import NOISE, hush, without_noise

lines = [*(line.decode() for line in NOISE), "", "kept"]
child = [f"import sys; sys.stderr.write({chr(10).join(lines)!r})"]
with without_noise():
    process = subprocess.Popen([sys.executable, "-c", chr(10).join(child)])
print("mine", file=sys.stderr, flush=True)
process.wait()
while any(thread.name == 'stretto-noise' for thread in threading.enumerate()):
    time.sleep(0.01)
"""


def said(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return sorted(done.stderr.splitlines())


def test_noise_is_taken_out() -> None:
    assert said(PROGRAM) == ["kept", "mine"]


def test_nothing_is_passed_on_after_the_stop() -> None:
    assert said(PROGRAM.replace("with without_noise", "hush()\nwith without_noise")) == ["mine"]
