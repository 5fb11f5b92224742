"""The time a solver may take."""

from time import monotonic


class Budget:
    """A number of seconds that starts to run now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._start = monotonic()

    @property
    def spent(self) -> float:
        return monotonic() - self._start

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.spent)

    @property
    def over(self) -> bool:
        return self.spent >= self.seconds

    def share(self, part: float) -> "Budget":
        """A part of what is left, as a budget of its own."""
        return Budget(self.left * part)
