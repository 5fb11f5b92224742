"""Choice of a contestant's fastest formulation on the first events, before anything is timed."""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

V = TypeVar("V")

PREFIX = 200_000
"""Events that formulations are tried on."""


def fastest(variants: Sequence[V], run: Callable[[V], object]) -> V:
    """The variant that takes the least time, best of two runs each, after one to warm up."""
    if len(variants) == 1:
        return variants[0]
    run(variants[0])
    return min(variants, key=lambda variant: min(_seconds(run, variant) for _ in range(2)))


def _seconds(run: Callable[[V], object], variant: V) -> float:
    started = time.process_time()
    run(variant)
    return time.process_time() - started
