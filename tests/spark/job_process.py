"""A program that runs Spark, with all processes that it starts: Java and Python's workers die with it."""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path


class JobProcess:
    """Its lines are read one by one; what it writes beside goes to `log`."""

    def __init__(self, call: Iterable[str], log: Path, environment: Mapping[str, str]) -> None:
        self.log = log
        self._written = log.open("ab")
        self.process = subprocess.Popen(
            [*call],
            stdout=subprocess.PIPE,
            stderr=self._written,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def say(self) -> str:
        """The next line that it says; empty when it is gone."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def must_say(self, word: str) -> None:
        assert self.say() == word, self.last_words()

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> int:
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._written.close()
        return code
