"""The time that planning may take, and who asks for it."""

from collections.abc import Callable
from time import monotonic

Clock = Callable[[], float]


class Budget:
    """A number of seconds that starts to run now, by the clock of the machine or by another one.

    `free`: units of work that are done however short the time, so that small workloads have good plans without any.
    """

    def __init__(self, seconds: float, clock: Clock | None = None, free: int = 0) -> None:
        self.seconds = seconds
        self.free = free
        self._clock = monotonic if clock is None else clock
        self._start = self._clock()

    @property
    def spent(self) -> float:
        return self._clock() - self._start

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.spent)

    @property
    def over(self) -> bool:
        return self.spent >= self.seconds

    def denies(self, work: int = 1) -> bool:
        """Whether so many more units of work are not to be done; those that are free come first."""
        self.free -= work
        return self.free < 0 and self.over

    def share(self, part: float) -> "Budget":
        """A part of what is left, as a budget of its own."""
        return self.of(self.left * part)

    def at_least(self, part: float, free: int = 0) -> "Budget":
        """What is left, but no less than a part of the whole, as a budget of its own."""
        return self.of(max(self.left, part * self.seconds), free)

    def of(self, seconds: float, free: int = 0) -> "Budget":
        """So many seconds from now, by the same clock."""
        return Budget(seconds, self._clock, free)
