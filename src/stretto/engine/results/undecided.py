"""The option `undecided`: what the end of the input does with matches that wait for a time after the last event."""

from typing import Literal

from stretto.errors import EngineError

Undecided = Literal["keep", "drop"]
"""`keep`: such matches are reported. `drop`: they are left out."""


def need_undecided(undecided: str) -> Undecided:
    """Return the option; raise EngineError with its two values where it is neither."""
    if undecided == "drop":
        return "drop"
    if undecided == "keep":
        return "keep"
    raise EngineError(f"undecided= is 'keep' or 'drop', not {undecided!r}")
