"""What Java prints while a stream runs, without what PySpark's own workers print to nobody in particular.

A stream that is stopped in the middle of a micro-batch has Spark log the interruption as errors: then all is left out.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from threading import Event, Thread
from typing import Final

from stretto.records import dataclass

NOISE: Final = (
    b"Starting Streaming TransformWithStateInPandas Python worker",
    b"Streaming TransformWithStateInPandas Python worker",
)

END: Final = b"[stretto] started\n"
PATIENCE_S: Final = 5.0

_STOPPING: Final = Event()


def hush() -> None:
    """From now on nothing is passed on: what comes is about the end that was asked for."""
    _STOPPING.set()


@dataclass(slots=True)
class HeldLines:
    """Lines that are held back, and dropped, up to the call of `let_through`."""

    lines: list[bytes] = field(default_factory=list)
    is_open: bool = False
    reader: Thread | None = None

    def let_through(self) -> None:
        """Hold back nothing that is written from now on."""
        os.write(2, END)

    def text(self) -> str:
        """All that was held back, once nobody writes any more."""
        if self.reader is not None:
            self.reader.join(PATIENCE_S)
        return b"".join(self.lines).decode("utf-8", "replace")


@contextmanager
def without_noise(held: HeldLines | None = None) -> Iterator[None]:
    """Programs that are started in here have a standard error from which such lines are taken out.

    `held`: what they write first is held back.
    """
    sys.stderr.flush()
    real = os.dup(2)
    read, write = os.pipe()
    os.dup2(write, 2)
    os.close(write)
    reader = Thread(target=_pass_on, args=(read, os.dup(real), held), name="stretto-noise", daemon=True)
    if held is not None:
        held.reader = reader
    reader.start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(real, 2)
        os.close(real)


def _pass_on(read: int, write: int, held: HeldLines | None) -> None:
    """Pass lines on until nobody holds the other end any more."""
    with os.fdopen(read, "rb") as lines, os.fdopen(write, "wb", buffering=0) as out:
        for line in lines:
            if held is not None and not held.is_open:
                held.lines.append(line)
                held.is_open = line == END
            elif line.strip() and not line.startswith(NOISE) and not _STOPPING.is_set():
                out.write(line)
