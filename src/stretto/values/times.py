"""Times as texts and back, also those whose years need more than four digits."""

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.values.rows import I64, Bool

START_OF_TIME: Final = -(1 << 62)
END_OF_TIME: Final = 1 << 62
"""Every event's time lies strictly between these two."""

YEAR_0_US: Final = -62_167_219_200_000_000
YEAR_10000_US: Final = 253_402_300_800_000_000
CYCLE: Final = 400
CYCLE_US: Final = 146_097 * 86_400_000_000
"""The calendar repeats after 400 years: a far time is written and read as one of 1970 to 2369 with another year."""

EXPANDED: Final = r"^[+-]\d{4,6}-\d\d-\d\d"
_PARTS: Final = re.compile(r"([+-]\d{4,6})(.*)", re.DOTALL)


def in_time(us: I64) -> Bool:
    """Which times an event can have."""
    inside: Bool = (us > START_OF_TIME) & (us < END_OF_TIME)
    return inside


def time_text(us: int) -> str:
    """Microseconds since 1970 as ISO 8601; a year before 0 or after 9999 has a sign, `+12345-01-01 ..`."""
    near = pa.scalar(us, pa.timestamp("us")).cast(pa.string())
    return far_texts(np.array([us]))[0] if is_far(us) else str(near)


def is_far(us: Any) -> Any:
    """Whether a time, or which times, lie outside of the years 0 to 9999."""
    return (us < YEAR_0_US) | (us >= YEAR_10000_US)


def far_texts(us: I64) -> list[str]:
    """Times outside of the years 0 to 9999 as texts."""
    cycles, rest = np.divmod(us, CYCLE_US)
    near = pa.array(rest).view(pa.timestamp("us")).cast(pa.string()).to_pylist()
    return [
        f"{int(text[:4]) + CYCLE * cycle:+05d}{text[4:]}"
        for text, cycle in zip(near, cycles.tolist(), strict=True)
    ]


def brought_near(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Texts of far times, moved to the years 1970 to 2369, and by how many microseconds they were moved.

    ArrowInvalid where 64 bits do not hold one.
    """
    near: list[str | None] = []
    cycles: list[int] = []
    for text in texts.to_pylist():
        found = None if text is None else _PARTS.match(text)
        cycle, year = divmod(int(found[1]) - 1970, CYCLE) if found else (0, 0)
        near.append(f"{1970 + year}{found[2]}" if found else None)
        cycles.append(cycle)
    return pa.array(near, pa.string()), pc.multiply_checked(pa.array(cycles, pa.int64()), CYCLE_US)
