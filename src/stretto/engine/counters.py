"""What each operator of a running plan has done so far."""

from typing import Self

from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Counters:
    """By the operators' numbers in the plan.

    `rows` they gave (matches, of an Emit); `seconds` at work, where all scans, which are looked up together, have equal
    shares; `candidates`, the kept rows in the ranges of time that were searched for partners (of those with an equality
    only the equal ones are looked at); `held`, the bytes of rows kept now.
    """

    rows: list[int]
    seconds: list[float]
    candidates: list[int]
    held: list[int]

    @classmethod
    def of(cls, operators: int) -> Self:
        """Nothing done yet."""
        return cls([0] * operators, [0.0] * operators, [0] * operators, [0] * operators)
