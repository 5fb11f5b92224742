"""The bound on memory: what the operators hold and what one step has made so far."""

from dataclasses import dataclass


class TooMuch(Exception):  # noqa: N818 - turned into an EngineError, which names the operator
    """An operator went past the bound on memory."""

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        self.rows = rows


@dataclass(slots=True)
class Meter:
    """Counts bytes made in a step; `limit` is what may be held at once, all operators together."""

    limit: int
    used: int = 0

    def charge(self, size: int, rows: int) -> None:
        """Add bytes that stay until the step ends; raises TooMuch past the limit."""
        self.used += size
        if self.used > self.limit:
            raise TooMuch(rows)
