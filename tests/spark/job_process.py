"""A program that runs Spark, with all processes that it starts: Java and Python's workers die with it."""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

WIDEST = 300
LAST_LINES = 120


class JobProcess:
    """Its lines are read one by one; what it writes beside goes to `log`. Left by `with`, it is gone."""

    def __init__(self, call: Iterable[str], log: Path, environment: Mapping[str, str]) -> None:
        self.log = log
        with log.open("ab") as written:
            self.process = subprocess.Popen(
                [*call],
                stdout=subprocess.PIPE,
                stderr=written,
                text=True,
                env=environment,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        else:
            self.end()

    def say(self) -> str:
        """The next line that it says; empty when it is gone."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def must_say(self, word: str) -> None:
        assert self.say() == word, self.last_words()

    def last_words(self) -> str:
        """What it wrote at last, without Spark's drawings of plans, which are longer than what was wrong."""
        lines = self.log.read_text(errors="replace").splitlines()
        told = [line[:WIDEST] for line in lines if not line.lstrip(" :").startswith("+-")]
        return "\n".join(told[-LAST_LINES:])

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> int:
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code
