"""The `stretto` command. Little is loaded before an interrupt would end it without a stack trace."""

import signal
import sys

from stretto.cli.garbage import seldom
from stretto.cli.interrupts import (
    INTERRUPTED,
    ends_with,
    failures_are_interrupts,
    say_interrupted,
    within_a_second,
)


def main() -> None:
    """Run the command line; the exit code is 0, 1, 2 or 130."""
    seldom()
    within_a_second()
    # As an interrupt does, so that no half-written file is left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        _run()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            ends_with(end.code or 0)
        raise
    except KeyboardInterrupt:
        say_interrupted()
        sys.exit(INTERRUPTED)


def _run() -> None:
    from stretto.cli.app import app
    from stretto.cli.console import FAILED, admit, show_warnings_as_lines

    show_warnings_as_lines()
    try:
        with failures_are_interrupts():
            app()
    except Exception as error:  # noqa: BLE001 - what is left is a mistake of ours
        admit(error)
        sys.exit(FAILED)
