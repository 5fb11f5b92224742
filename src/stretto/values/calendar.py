"""Parts of times and times cut to units, on clocks of any zone, over many times at once.

The calendar is computed from day numbers (Hinnant, chrono-compatible low-level date algorithms), so every time that 64
bits hold has one. Far times are looked up in a zone 400-year cycles away, where the calendar is the same.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from stretto.values import arithmetic
from stretto.values.rows import I64, Bool
from stretto.values.times import CYCLE, CYCLE_US

DAY_US: Final = 86_400_000_000
SMALL: Final = {"second": 10**6, "minute": 60 * 10**6, "hour": 3_600 * 10**6}
_NEAR: Final = (-62_000_000_000_000_000, 253_000_000_000_000_000)  # well inside the years that Python knows
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def time_part(name: str, us: I64, zone: str = "UTC") -> I64:
    """YEAR, MONTH, .. of times; WEEKDAY is 1 for Monday to 7 for Sunday."""
    local, cycles = _local(us, zone)
    days, within = np.divmod(local, DAY_US)
    if name == "weekday":
        return (days + 3) % 7 + 1
    if name in SMALL:
        return within // SMALL[name] % (24 if name == "hour" else 60)
    year, month, day = _civil(days)
    return {"year": year + CYCLE * cycles, "month": month, "day": day}[name]


def truncated(unit: str, us: I64, zone: str = "UTC") -> tuple[I64, Bool | None]:
    """The latest start of a unit on the zone's clock, and where 64 bits hold it (None: everywhere).

    Hours and less are cut on the clock as it stands at the time itself.
    """
    local, cycles = _local(us, zone)
    days, within = np.divmod(local, DAY_US)
    if unit in SMALL:
        return arithmetic.subtract(us, within % SMALL[unit])
    if unit == "week":
        days = days - (days + 3) % 7
    elif unit != "day":
        year, month, day = _civil(days)
        days = days - (day - 1)
        if unit != "month":
            first = np.ones_like(month) if unit == "year" else (month - 1) // 3 * 3 + 1
            days = _days_before(year, first)
    starts, place = np.unique(days, return_inverse=True)
    begun = starts * DAY_US - (
        0 if zone == "UTC" else np.array([_midnight(zone, int(d)) for d in starts], np.int64)
    )
    near = begun[place.reshape(-1)].reshape(days.shape)
    # The cycle that the least time begins in begins before 64 bits do: one cycle is taken from the other side.
    early = cycles < 0
    return arithmetic.add(near - early * CYCLE_US, (cycles + early) * CYCLE_US)


def _local(us: I64, zone: str) -> tuple[I64, I64]:
    """What a clock of the zone shows, as microseconds, moved by cycles of 400 years to a year of four digits."""
    far = (us < _NEAR[0]) | (us > _NEAR[1])
    cycles = np.where(far, us // CYCLE_US, 0)
    near = us - cycles * CYCLE_US
    return near if zone == "UTC" else near + _offsets(near, zone), cycles


def _offsets(us: I64, zone: str) -> I64:
    """How far ahead of UTC the zone's clocks are at these times."""
    days, place = np.unique(us // DAY_US, return_inverse=True)
    # A day that begins and ends with one offset has no change in between; of the others, every second is looked up.
    begin = np.array([_offset(zone, int(day) * 86_400) for day in days], np.int64)
    end = np.array([_offset(zone, int(day) * 86_400 + 86_399) for day in days], np.int64)
    place = place.reshape(us.shape)
    found = begin[place]
    changing = (begin != end)[place]
    if changing.any():
        seconds, which = np.unique(us[changing] // 10**6, return_inverse=True)
        each = np.array([_offset(zone, int(second)) for second in seconds], np.int64)
        found[changing] = each[which.reshape(-1)]
    return found


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


@cache
def _offset(zone: str, second: int) -> int:
    local = (_EPOCH + timedelta(seconds=second)).astimezone(_zone(zone))
    return _us(local.utcoffset())


@cache
def _midnight(zone: str, day: int) -> int:
    """The offset of the zone at the beginning of a local day; of two, the earlier one."""
    naive = datetime(1970, 1, 1) + timedelta(days=day)  # noqa: DTZ001 - what the clock shows
    return _us(naive.replace(tzinfo=_zone(zone)).utcoffset())


def _us(offset: timedelta | None) -> int:
    assert offset is not None
    return offset // timedelta(microseconds=1)


def _civil(days: I64) -> tuple[I64, I64, I64]:
    """Year, month and day of days since 1970."""
    shifted = days + 719_468
    era, day_of_era = np.divmod(shifted, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = np.where(month_from_march < 10, month_from_march + 3, month_from_march - 9)
    return year_of_era + era * 400 + (month <= 2), month, day


def _days_before(year: I64, month: I64) -> I64:
    """Days since 1970 of the first day of a month: the inverse of `_civil`."""
    shifted = year - (month <= 2)
    era, year_of_era = np.divmod(shifted, 400)
    day_of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5
    days: I64 = (
        era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
    )
    return days
