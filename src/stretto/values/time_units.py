"""Integers as times: in which unit they count from 1970, judged by their size where nobody says."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from stretto.errors import EventsError
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.values.convert import as_kind
from stretto.values.rows import I64
from stretto.values.times import time_text

PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
WORDS: Final = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
FIRST_S, LAST_S = 94_694_400, 4_133_980_800
"""From 1973 up to and with 2100: in no two units do these years have a number in common."""
SHARE: Final = 0.9
LOOKED_AT: Final = 1_000


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """The unit that most of some integers have, and one of them."""

    unit: str
    example: int

    def told(self, column: str) -> str:
        """One line that says how integers are read."""
        us = self.example * 1_000_000 // PER_SECOND[self.unit]
        return (
            f"column `{column}` holds integers, read as {WORDS[self.unit]} since 1970:"
            f" {self.example} is {time_text(us)} (--ts-unit, or ts_unit=, says otherwise)"
        )


def judged_unit(numbers: I64) -> JudgedUnit | None:
    """The unit in which nine in ten of the numbers are times of the years 1973 to 2100; None where there is none."""
    for unit, factor in PER_SECOND.items():
        inside = (numbers >= FIRST_S * factor) & (numbers < LAST_S * factor)
        if len(numbers) and inside.mean() >= SHARE:
            return JudgedUnit(unit, int(numbers[int(np.argmax(inside))]))
    return None


def as_numbers(column: Any) -> I64:
    """The first integers of a column, which its unit is judged by."""
    numbers: I64 = as_kind(column.drop_null().slice(0, LOOKED_AT), Kind.INT).to_numpy(zero_copy_only=False)
    return numbers


def need_unit(column: Any, name: str, where: str) -> JudgedUnit | None:
    """The unit of integers of a column of times; None where there are none. EventsError where it is not clear."""
    found = as_numbers(column)
    if not len(found):
        return None
    judged = judged_unit(found)
    if judged is None:
        raise EventsError(
            f"{where}: column `{name}` holds integers such as {int(found[0])}, and it is not clear in which unit:"
            " give --ts-unit s, ms, us or ns (in Python ts_unit=)"
        )
    return judged


def in_unit(column: pa.Array, unit: str | None) -> pa.Array:
    """Integers as timestamps of a unit (None: microseconds); a column of anything else as it is."""
    if not pa.types.is_integer(column.type):
        return column
    return as_kind(column, Kind.INT).view(pa.timestamp(unit or "us"))
