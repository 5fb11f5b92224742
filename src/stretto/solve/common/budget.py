"""The time that planning may take, counted in work, and who asks for it."""

from collections.abc import Callable
from time import thread_time
from typing import Final

Clock = Callable[[], float]

PATIENCE: Final = 4.0
"""By how much longer than it counts a search may take of the processor before that ends it: work was miscounted."""
BUSY: Final = 4.0
"""By how much longer that is by the time of day where others use the processor; solvers that are not ours go by it."""


class WorkClock:
    """Seconds by the work that was done, so that the same input has the same plan however busy the machine is.

    Whoever searches says what it has done, in seconds that this takes on an idle machine: measured once, about right
    elsewhere. The time of this thread on a processor counts where it went by `PATIENCE` times as fast; that of day
    never does, since then a busy machine would plan otherwise.
    """

    def __init__(self) -> None:
        self._done = 0.0
        self._counts: list[Clock] = []
        self._start = thread_time()

    def work(self, seconds: float) -> None:
        """Count what was done."""
        self._done += seconds

    def counting(self, work: Clock) -> None:
        """Count also what another one counts from now on."""
        self._counts.append(work)
        self._done -= work()

    def __call__(self) -> float:
        done = self._done + sum(work() for work in self._counts)
        return max(done, (thread_time() - self._start) / PATIENCE)


class Budget:
    """A number of seconds that starts to run now, by the work that is done or by another clock.

    `free`: units of work that are done however short the time, so that small workloads have good plans without any.
    `once`: what is planned runs once, over events that were counted, so that planning is worth what it saves of that.
    """

    def __init__(
        self, seconds: float, clock: Clock | None = None, free: int = 0, *, once: bool = False
    ) -> None:
        self.seconds = seconds
        self.free = free
        self.once = once
        self._clock = WorkClock() if clock is None else clock
        self._start = self._clock()

    def work(self, seconds: float) -> None:
        """Count what was done, by the seconds that it takes; a clock that is no count of work has its own."""
        if isinstance(self._clock, WorkClock):
            self._clock.work(seconds)

    def counting(self, work: Clock) -> None:
        """Count what another one counts, in seconds, from now on."""
        if isinstance(self._clock, WorkClock):
            self._clock.counting(work)

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
        return Budget(seconds, self._clock, free, once=self.once)
