"""What a run did for the trend queries of a plan."""

from collections.abc import Sequence
from dataclasses import astuple

from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class UnitWork:
    """Of one unit: events it took, seconds at work, MatStates it made.

    `shared`: of all `turns` in which there was something to share, those that did so. A turn is a step of one
    partition, or where conditions decide, a window of it.
    """

    events: int = 0
    seconds: float = 0.0
    matstates: int = 0
    shared: int = 0
    turns: int = 0

    def plus(self, other: "UnitWork", sign: int = 1) -> "UnitWork":
        return UnitWork(*(a + sign * b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class TrendWork:
    """By number, the events that each node of the graph took, and the work of each unit."""

    nodes: Sequence[int]
    units: Sequence[UnitWork]
