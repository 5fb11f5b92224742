"""A clock that counts how often it is asked, so that what a search finds in its time does not depend on the machine."""

import sys

import pytest

TICK_S = 0.0001


class CountedClock:
    """Every look at it is a tick."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return self.looks * TICK_S


def count_time(monkeypatch: pytest.MonkeyPatch) -> CountedClock:
    """Every budget of the product goes by a counted clock from now on."""
    clock = CountedClock()
    users = [
        module
        for name, module in sys.modules.items()
        if name.startswith("stretto.solve.") and hasattr(module, "thread_time")
    ]
    assert users
    for module in users:
        monkeypatch.setattr(module, "thread_time", clock)
    return clock
