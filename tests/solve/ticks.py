"""A clock that counts who asks it, so that budgets are tested in steps and not in seconds."""


class Ticks:
    """One second later each time it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> float:
        self.asked += 1
        return float(self.asked)
