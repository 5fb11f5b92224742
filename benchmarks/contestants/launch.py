"""Processes of their own for what is measured: on one core or on all, watched for time and memory."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
ONE_CORE = {
    "POLARS_MAX_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "ARROW_NUM_THREADS": "1",
}


class FailedError(Exception):
    """A measured process broke."""


class TooMuchError(Exception):
    """A measured process went past its limit of time or memory; the text says which."""


@dataclass(frozen=True, slots=True)
class Finished:
    """`seconds` from the start of the process to its end."""

    output: str
    seconds: float

    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.output.splitlines()[-1]))


def module(name: str, argument: str, *, memory: int, one_core: bool = True) -> Finished:
    """Run a module of this folder with one argument."""
    command = [sys.executable, "-m", f"benchmarks.contestants.{name}", argument]
    return launch(command, memory=memory, one_core=one_core)


def launch(
    command: Sequence[str], *, memory: int, env: Mapping[str, str] | None = None, one_core: bool = True
) -> Finished:
    """Run a command to its end; on one core where the system lets us choose, or on all."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    others = {name: value for name, value in os.environ.items() if name not in ONE_CORE}
    full = others | (ONE_CORE if one_core else {}) | {"PYTHONPATH": os.pathsep.join(paths)} | dict(env or {})
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, env=full, cwd=ROOT)
        try:
            over = _watch(process, memory, one_core=one_core)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        seconds = time.perf_counter() - started
        if over or process.returncode == -signal.SIGKILL:
            raise TooMuchError("out of memory")
        if process.returncode == -signal.SIGALRM:
            raise TooMuchError("out of time")
        err.seek(0)
        if process.returncode:
            raise FailedError(f"{' '.join(command)}: exit {process.returncode}\n{err.read()[-4000:]}")
        out.seek(0)
        return Finished(out.read(), seconds)


def _watch(process: subprocess.Popen[bytes], memory: int, *, one_core: bool) -> bool:
    """Wait for the end of the process; True if it had to be ended because it held more memory than allowed."""
    own = psutil.Process(process.pid)
    if one_core and hasattr(own, "cpu_affinity"):
        own.cpu_affinity(own.cpu_affinity()[-1:])
    while True:
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            try:
                if own.memory_info().rss > memory:
                    return True
            except psutil.NoSuchProcess:
                continue
        else:
            return False
