"""The bound on memory: what the operators hold and what one step has made so far."""

from dataclasses import dataclass


class TooMuch(Exception):  # noqa: N818 - turned into an EngineError, which names the operator
    """An operator went past the bound on memory."""


@dataclass(slots=True)
class Meter:
    """Counts bytes made in a step; `limit` is what may be held at once, all operators together.

    `rows` are those that the operator at work has made in this step.
    """

    limit: int
    used: int = 0
    rows: int = 0

    def charge(self, size: int, rows: int) -> None:
        """Add rows that stay until the step ends; raises TooMuch past the limit."""
        self.used += size
        self.rows += rows
        if self.used > self.limit:
            raise TooMuch
