"""Which of a compiled loop and its NumPy twin does the work: each of them, or first the twin and later the loop."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from unittest import mock

from stretto.engine.kernels import when_to_compile

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
