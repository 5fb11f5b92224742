"""How `rumor` measures: clocks that tell milliseconds, and work that is given up."""

import time
from collections.abc import Callable

from benchmarks.rumor_measure import Cell, apart


def _busy(rounds: int) -> int:
    return sum(i & 1 for i in range(rounds))


def _least(clock: Callable[[], float]) -> float:
    """The best of several short runs. Clocks are read at both ends only: to read one may set another."""
    times = []
    for _ in range(60):
        began = clock()
        _busy(20_000)
        times.append(clock() - began)
    return min(times)


def test_short_runs_have_their_time_in_a_process_of_their_own() -> None:
    cell = apart(
        "short", lambda: Cell("short", run=_least(time.process_time) / _least(time.thread_time)), 30.0
    )
    assert not cell.missing
    assert 0.5 < cell.run < 2


def test_what_takes_too_long_is_given_up() -> None:
    cell = apart("long", lambda: Cell("long", run=_busy(10**10)), 0.5)
    assert cell.missing.startswith("over")
