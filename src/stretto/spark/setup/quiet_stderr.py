"""What Java prints while a stream runs, without what PySpark's own workers print to nobody in particular.

A stream that is stopped in the middle of a micro-batch has Spark log the interruption as errors: then all is left out.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

NOISE: Final = (
    b"Starting Streaming TransformWithStateInPandas Python worker",
    b"Streaming TransformWithStateInPandas Python worker",
)

_STOPPING: Final = Event()


def hush() -> None:
    """From now on nothing is passed on: what comes is about the end that was asked for."""
    _STOPPING.set()


@contextmanager
def without_noise() -> Iterator[None]:
    """Programs that are started in here have a standard error from which such lines are taken out."""
    sys.stderr.flush()
    real = os.dup(2)
    read, write = os.pipe()
    os.dup2(write, 2)
    os.close(write)
    Thread(target=_pass_on, args=(read, os.dup(real)), name="stretto-noise", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(real, 2)
        os.close(real)


def _pass_on(read: int, write: int) -> None:
    """Pass lines on until nobody holds the other end any more."""
    with os.fdopen(read, "rb") as lines, os.fdopen(write, "wb", buffering=0) as out:
        for line in lines:
            if line.strip() and not line.startswith(NOISE) and not _STOPPING.is_set():
                out.write(line)
