"""What is to be spread over targets."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from stretto.plan.spread.time_slices import Times
from stretto.records import dataclass

MOST_ROWS: Final = 1 << 22
"""Events that one target may have to hold in memory at a time."""


@dataclass(frozen=True, slots=True)
class EventLoad:
    """What is to be spread: when events come, and the share of the commonest value of attributes.

    `in_place`: a slice of time is read by the process that runs it, so that its events need not be moved. `exact`: all
    events that were counted are there when they are run, none of them is rejected then. `held`: so many events at most
    are held at a time, however large a slice is; None: all of them. `shares`: those of types among all events.
    """

    times: Times
    heaviest: Mapping[str, float] = field(default_factory=dict)
    in_place: bool = False
    exact: bool = True
    held: int | None = None
    shares: Mapping[str, float] = field(default_factory=dict)

    def fits(self, target: float) -> bool:
        """Whether a target of so many events has room."""
        return (target if self.held is None else min(target, self.held)) <= MOST_ROWS
