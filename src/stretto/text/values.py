"""Values of digits and words: numbers, durations, times. ValueError if they have no value."""

import re
from datetime import UTC, datetime, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from typing import Final

MAX_INT: Final = 2**63 - 1
# Times are below 2^62 in size, so a time plus a window stays within 64 bits.
MAX_WINDOW: Final = 2**62 - 1
LIMIT: Final = "at most 2^62 - 1 microseconds or events"

_US = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6}
_US["DAY"] = 24 * _US["HOUR"]
_SHORT = {"US": "MICROSECOND", "MS": "MILLISECOND", "S": "SECOND", "MIN": "MINUTE", "H": "HOUR", "D": "DAY"}
UNITS: Final = (
    _US | {f"{unit}S": us for unit, us in _US.items()} | {short: _US[unit] for short, unit in _SHORT.items()}
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


def number(text: str) -> int | float:
    """The number that digits stand for, with or without a minus sign: a 64-bit integer or a finite double."""
    if not any(sign in text for sign in ".eE"):
        digits = text.lstrip("-").lstrip("0") or "0"
        if len(digits) > 19 or not -MAX_INT - 1 <= int(f"-{digits}" if text[0] == "-" else digits) <= MAX_INT:
            raise ValueError("this integer does not fit into 64 bits")
        return -int(digits) if text[0] == "-" else int(digits)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("this number is too large for a double")
    return value


def duration_us(text: str, unit: str) -> int:
    """The microseconds of a number of units, exactly; `unit` is a key of UNITS."""
    exact = Context(prec=len(text) + 20, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
    us = exact.multiply(exact.create_decimal(text), Decimal(UNITS[unit]))
    if not us.is_finite() or not -MAX_INT <= us <= MAX_INT:
        raise ValueError("this duration does not fit into 64 bits of microseconds")
    whole = us.to_integral_value(context=exact)
    if whole != us or exact.flags[Inexact]:
        raise ValueError("this duration is not a whole number of microseconds")
    return int(whole)


def size_problem(size: int, what: str) -> tuple[str, str] | None:
    """What is wrong with the size of a window, a SLIDE or an option, and a hint; None if nothing is."""
    if size <= 0:
        return f"the {what} must be longer than zero", ""
    return (f"the {what} is too long", LIMIT) if size > MAX_WINDOW else None


def duration_text(us: int) -> str:
    """A duration in the longest unit that gives a whole number, as `duration_us` reads it."""
    unit = next((unit for unit in reversed(_US) if us % _US[unit] == 0), "MICROSECOND") if us else "SECOND"
    count = us // _US[unit]
    return f"{count} {unit}" if count == 1 else f"{count} {unit}S"


def timestamp_us(text: str) -> int:
    """The microseconds since the epoch of an ISO date or date and time; UTC where no offset is given."""
    if not _TIME.fullmatch(text):
        raise ValueError("this is not a time; write it like '2013-10-07 09:30:00'")
    try:
        time = datetime.fromisoformat(text)
        return microseconds((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH)
    except (ValueError, OverflowError):
        raise ValueError("there is no such day or time") from None


def timestamp_text(us: int) -> str:
    """A time as `timestamp_us` reads it; ValueError outside the years 1 to 9999."""
    try:
        return (_EPOCH + timedelta(microseconds=us)).replace(tzinfo=None).isoformat(sep=" ")
    except OverflowError:
        raise ValueError(f"the time {us} us lies outside the years 1 to 9999 and cannot be written") from None


def microseconds(span: timedelta) -> int:
    """A timedelta as whole microseconds."""
    return (span.days * 86400 + span.seconds) * 10**6 + span.microseconds
