"""A command ends at once, when it is done and when it is interrupted, whatever it is at: planning, compiling, Spark.

Before Python ends it takes all modules apart, half a second's work where loops were compiled, though the process goes
anyway. And it tells the main thread of an interrupt only when that comes back from what it has called. So another
thread is told too, by the system; it gives the main thread time to clean up, and then ends the process.
"""

import atexit
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import Any, Final

from stretto.atomic import drop_unfinished

INTERRUPTED: Final = 130
PATIENCE_S: Final = 0.5
NOTICED_S: Final = 0.02
"""By then the other thread knows of an interrupt that the main thread was told of."""
COMPILERS: Final = ("numba", "llvmlite")
SHOW_CURSOR: Final = b"\x1b[?25h"

_CAME: Final = Event()
_SAID: Final = Event()
_CODES: Final[list[int]] = []


def within_a_second() -> None:
    """From now on an interrupt ends this process soon."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # else it is ignored, as of jobs in the background
        signal.signal(signal.SIGINT, _raise_unless_compiling)
    sys.unraisablehook = _unless_interrupted
    # PySpark answers an interrupt by a call to Java, perhaps in the middle of another one. Py4J logs how that ends with
    # a stack trace, not as itself but as the root of all loggers.
    logging.getLogger().addFilter(lambda record: "py4j" not in Path(record.pathname).parts)
    atexit.register(_end_at_once)  # the first that is registered is the last that is called
    Thread(target=_watch, args=(read,), name="stretto-interrupts", daemon=True).start()


def ends_with(code: int) -> None:
    """The process is about to end with this exit code, and nothing is left to do but what others have registered."""
    _CODES.append(code)


@contextmanager
def failures_are_interrupts() -> Iterator[None]:
    """What fails once an interrupt has come fails because of it, as a job does that Spark was told to cancel."""
    try:
        yield
    except Exception as error:
        if _CAME.wait(NOTICED_S):
            raise KeyboardInterrupt from error
        raise


def say_interrupted() -> None:
    """One line on standard error, once."""
    if not _SAID.is_set():
        _SAID.set()
        print("interrupted", file=sys.stderr)


def _raise_unless_compiling(number: int, frame: FrameType | None) -> None:
    """An exception in the middle of what LLVM calls is lost, or ends in a crash: then only the other thread acts."""
    at = frame
    while at is not None:
        if at.f_globals.get("__name__", "").partition(".")[0] in COMPILERS:
            return
        at = at.f_back
    signal.default_int_handler(number, frame)


def _watch(read: int) -> None:
    while signal.SIGINT not in os.read(read, 64):
        pass
    _CAME.set()
    time.sleep(PATIENCE_S)
    drop_unfinished()
    _end_children()
    if not _SAID.is_set():
        # Past Python's own buffer, which the main thread may hold.
        os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + b"interrupted\n")
    os._exit(INTERRUPTED)


def _end_at_once() -> None:
    """End with the exit code that is known, if what was printed can be written; else as Python ends."""
    if _SAID.is_set():
        _end_children()
        _CODES.append(INTERRUPTED)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        if not _SAID.is_set():
            return
    if _CODES:
        os._exit(_CODES[-1])


def _end_children() -> None:
    """Java above all: one that is still starting would wait for ever, in a folder that PySpark has removed."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended in the meantime
            parent = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                os.kill(int(stat.parent.name), signal.SIGTERM)


def _unless_interrupted(found: Any) -> None:
    """An interrupt that comes while an object is deleted is raised nowhere; Python would print a stack trace."""
    if not issubclass(found.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(found)
