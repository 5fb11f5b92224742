"""A process that reads hostile files, so that one that ends it is noticed; and the process that watches it.

python -m tests.fuzz.hostile_worker < CASES     one case of JSON per line; an outcome of JSON per line comes out
"""

import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.hostile_files import Unclear, check_hostile
from tests.fuzz.trials import Tally

TIME_S = 60
MEMORY_BYTES = 12 << 30
"""Address space of a worker: a length that is far too large is an error, and no swapping machine."""


@dataclass
class FileTally(Tally):
    """How many hostile files were read or refused, by kind, and how many texts were checked."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    texts: int = 0

    def add(self, other: Tally) -> None:
        self.workloads += other.workloads
        self.comparisons += other.comparisons
        if isinstance(other, FileTally):
            self.outcomes.update(other.outcomes)
            self.texts += other.texts

    def __str__(self) -> str:
        kinds = sorted({kind for kind, _ in self.outcomes})
        parts = [
            f"{kind} " + "/".join(f"{self.outcomes[kind, how]:,}" for how in ("read", "refused"))
            for kind in kinds
        ]
        files = self.outcomes.total()
        return f"{files:,} hostile files, {self.texts:,} texts (read/refused: {', '.join(parts)})"


class Watched:
    """The worker that is alive; it is started when it is asked first, and again when it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, case: dict[str, Any]) -> str:
        """How reading went; raises Unclear, also where the process ended or did not answer."""
        process = self._process
        if process is None:
            process = self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.hostile_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(case).encode() + b"\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], TIME_S)
            line = process.stdout.readline() if ready else b"late"
        except BrokenPipeError:
            line = b""
        if line in (b"", b"late"):
            how = f"did not answer in {TIME_S} s" if line else f"ended with {process.wait()}"
            self.close()
            raise Unclear(f"died: the process {how}")
        outcome = json.loads(line)
        if outcome["wrong"]:
            wrong = Unclear(outcome["wrong"])
            wrong.text = outcome["text"]
            raise wrong
        return str(outcome["how"])

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        self._process = None


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        case = json.loads(line)
        if case.get("end"):  # as a reader would that crashes
            os.kill(os.getpid(), case["end"])
        try:
            outcome = {"how": check_hostile(case), "wrong": ""}
        except Unclear as error:
            outcome = {"how": "", "wrong": str(error), "text": error.text}
        answers.write(json.dumps(outcome) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
