"""What every command shares: errors as plain text with an exit code, and output that suits terminals and pipes."""

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TextIO

import typer

from stretto.cli.interrupts import INTERRUPTED, failures_are_interrupts, say_interrupted
from stretto.errors import PlanError, QueryError, StrettoError, StrettoWarning
from stretto.screen import LINES, counted, visible

FAILED = 1
WRONG = 2
# Whatever the call, the disk is full or broken.
_NOT_THE_CALL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

TRACEBACK = "STRETTO_TRACEBACK"
"""The environment variable that asks for the stack of an internal error."""
LONGEST = 500
"""Characters of an internal error's own text that are shown."""


@contextmanager
def reported(code: int = WRONG) -> Iterator[None]:
    """Turn our own errors and those of the system into their text on standard error and this exit code."""
    try:
        with failures_are_interrupts():
            yield
    except PlanError:
        raise  # a mistake of ours, whatever the user wrote
    except QueryError as error:
        fail(str(error), code)
    except (StrettoError, MemoryError) as error:
        fail(visible(str(error)) or "out of memory", code if isinstance(error, StrettoError) else FAILED)
    except BrokenPipeError:
        # The reader of our output has gone, as with `| head`: nothing is left to say, here or when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        fail(visible(what), FAILED if error.errno in _NOT_THE_CALL else code)
    except KeyboardInterrupt:
        say_interrupted()
        raise typer.Exit(INTERRUPTED) from None


def admit(error: Exception) -> None:
    """Report an unforeseen error in one line; with STRETTO_TRACEBACK=1, also where it was."""
    if os.environ.get(TRACEBACK, "0") not in ("", "0"):
        traceback.print_exception(error)
    text = " ".join(str(error).split())
    what = type(error).__name__ + (f": {text[:LONGEST]}" if text else "")
    say(f"internal error: {what} ({TRACEBACK}=1 shows where; please report it)")


def fail(message: str, code: int = WRONG) -> NoReturn:
    """End with a message on standard error."""
    say(message)
    raise typer.Exit(code)


def say(message: str) -> None:
    """A message on standard error."""
    typer.echo(visible(message, LINES), err=True)


def show_warnings_as_lines() -> None:
    """Show our own warnings as one line each: where in the code they were raised says nothing to a caller."""
    usual = warnings.showwarning

    def line(message: Warning | str, category: type[Warning], *details: Any) -> None:
        if issubclass(category, StrettoWarning):
            say(f"warning: {message}")
        else:
            usual(message, category, *details)

    warnings.showwarning = line  # type: ignore[assignment]


def tell(message: str) -> None:
    """A message on standard output."""
    typer.echo(visible(message, LINES))


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody looks at a stream, or wants it to be as if."""
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))


def show(document: str) -> None:
    """A text on standard output, as it is; in a terminal, with control characters made visible."""
    sys.stdout.write(visible(document, LINES) if sys.stdout.isatty() else document)
    sys.stdout.flush()


def told(out: str, number: int, word: str) -> None:
    """Say how much a command wrote; on standard error where the output is standard output itself."""
    (say if out == "-" else tell)(f"{visible(out)}: {counted(number, word)}")


def repeated_ids(number: int) -> str:
    """A warning that several events have the same id."""
    have = "has" if number == 1 else "have"
    return (
        f"warning: {counted(number, 'event')} {have} the id of an earlier event: matches may share a match_id"
    )
