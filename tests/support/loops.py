"""Which of a compiled loop and its NumPy twin does the work: each of them, or first the twin and later the loop."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from random import Random
from typing import ParamSpec, TypeVar
from unittest import mock

from stretto.engine.kernels import when_to_compile

P = ParamSpec("P")
T = TypeVar("T")

WAYS = ("compiled", "twins", "later")
"""`later`: a loop takes over from its twin in the middle of a run, as in a process that has just started."""
SHORT = (0, 3, 10, 30, 100, 1_000)
LONG = (100, 3_000, 100_000, when_to_compile.PATIENCE)
"""Elements that twins look at before their loops take over, for streams of dozens and of thousands of events."""


@contextmanager
def loops(way: str, rng: Random | None = None, patience: Sequence[int] = SHORT) -> Iterator[None]:
    """Have all loops do their work in one of the `WAYS`; `rng` draws how long twins serve, out of `patience`."""
    patch = mock.patch.multiple
    if way != "later":
        with patch(when_to_compile, always=way == "compiled"):
            yield
        return
    work = (rng or Random(0)).choice(patience)
    counters = {"_spent": Counter(), "_due": {}, "is_compiled": lambda _loop: False}
    with patch(when_to_compile, always=None, PATIENCE=work, **counters):
        yield


def in_every_way(check: Callable[P, T]) -> Callable[P, T]:
    """Return a check that runs in each of the `WAYS` and returns the last result; a failure names the way.

    Integers among the arguments, such as a seed, decide how long twins serve.
    """

    @wraps(check)
    def check_all(*arguments: P.args, **more: P.kwargs) -> T:
        patience = Random(str([seed for seed in arguments if isinstance(seed, int)]))
        for way in WAYS:
            with loops(way, patience):
                try:
                    result = check(*arguments, **more)
                except Exception as error:
                    error.add_note(f"loops: {way}")
                    raise
        return result

    return check_all
