r"""Functions of texts, times and lists in plain Python, for the oracle: one value at a time, from their definitions.

LIKE is a walk over all ways to cut the text. Regular expressions are those of Python, where both mean the same: an
expression is brought into Python's words first (`$` is the end of the text, classes such as `\d` are ASCII).
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any, Final
from zoneinfo import ZoneInfo

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE_US: Final = 146_097 * 86_400_000_000  # 400 years, after which the calendar repeats
_NEAR_US: Final = (-62_000_000_000_000_000, 253_000_000_000_000_000)  # well inside the years 5 to 9987


# ---- case --------------------------------------------------------------------------------------------------


def _simple(text: str, change: Callable[[str], str]) -> str:
    """Character by character; one that would become several stays as it is."""
    return "".join(new if len(new := change(sign)) == 1 else sign for sign in text)


def lower(text: str) -> str:
    return _simple(text, str.lower)


def upper(text: str) -> str:
    return _simple(text, str.upper)


def folded(text: str) -> str:
    """Unicode's simple case folding: where the full one is several characters, the lower case, if that is one."""
    return "".join(f if len(f := sign.casefold()) == 1 else lower(sign) for sign in text)


# ---- patterns ----------------------------------------------------------------------------------------------


def like(text: str, pattern: str, escape: str = "") -> bool:
    """Whether the whole text is of the pattern, `%` being any text and `_` any character."""
    signs: list[tuple[str, bool]] = []  # characters, and whether they stand for others
    at = 0
    while at < len(pattern):
        if escape and pattern[at] == escape:
            signs.append((pattern[at + 1], False))
            at += 2
        else:
            signs.append((pattern[at], pattern[at] in "%_"))
            at += 1
    reached = {0}  # how much of the text the signs so far can have taken
    for sign, stands in signs:
        if stands and sign == "%":
            reached = set(range(min(reached), len(text) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if at < len(text) and (stands or text[at] == sign)}
    return len(text) in reached


def ilike(text: str, pattern: str, escape: str = "") -> bool:
    return like(folded(text), folded(pattern), folded(escape))


_CLASSES: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}


@cache
def _compiled(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    words, inside, at = [], False, 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\" and at + 1 < len(pattern):
            at += 1
            known = _CLASSES.get(pattern[at].lower())
            if known is None:
                words.append("\\Z" if pattern[at] == "z" else sign + pattern[at])
            elif pattern[at].islower():
                words.append(known if inside else f"[{known}]")
            else:
                assert not inside, "a class without a class is not known here"
                words.append(f"[^{known}]")
        else:
            inside = sign == "[" or (inside and sign != "]")
            words.append(r"\Z" if sign == "$" and not inside else sign)
        at += 1
    return re.compile("".join(words), re.IGNORECASE if ignore_case else 0)


def matches(text: str, pattern: str) -> bool:
    return _compiled(pattern, ignore_case=False).search(text) is not None


def imatches(text: str, pattern: str) -> bool:
    return _compiled(pattern, ignore_case=True).search(text) is not None


# ---- parts of texts ----------------------------------------------------------------------------------------


def substr(text: str, start: int, length: int | None = None) -> str:
    """The characters at places start, start + 1, .., `length` of them; places count from 1, those before are empty."""
    places = range(1, len(text) + 1)
    return "".join(
        sign
        for place, sign in zip(places, text, strict=True)
        if place >= start and (length is None or place < start + length)
    )


def cidr_match(text: str, *networks: str) -> bool | None:
    """Whether an address lies in a network; null where the text is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    found = [ip_network(network) for network in networks]
    return any(address.version == one.version and address in one for one in found)


# ---- times -------------------------------------------------------------------------------------------------


def _local(us: int, zone: str) -> tuple[datetime, int]:
    """The time on a clock of the zone, and how many cycles of 400 years it was moved.

    Far times are moved to the years 1970 to 2369, whose rules hold for them.
    """
    cycles = 0 if _NEAR_US[0] <= us <= _NEAR_US[1] else us // _CYCLE_US
    us -= cycles * _CYCLE_US
    return (_EPOCH + timedelta(microseconds=us)).astimezone(ZoneInfo(zone)), cycles


def _part(name: str) -> Callable[..., int]:
    def part(us: int, zone: str = "UTC") -> int:
        local, cycles = _local(us, zone)
        if name == "weekday":
            return local.isoweekday()
        value: int = getattr(local, name)
        return value + 400 * cycles if name == "year" else value

    return part


def date_trunc(unit: str, us: int, zone: str = "UTC") -> int:
    """The latest start of a unit on the zone's clock; hours and less are cut on the clock as it stands at the time."""
    local, cycles = _local(us, zone)
    small = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
    if unit in small:
        since_midnight = local.hour * 3600 + local.minute * 60 + local.second
        return us - (since_midnight * 10**6 + local.microsecond) % small[unit]
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    if unit == "week":
        day -= timedelta(days=day.isoweekday() - 1)
    elif unit == "month":
        day = day.replace(day=1)
    elif unit == "quarter":
        day = day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
    elif unit == "year":
        day = day.replace(day=1, month=1)
    start = day.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    return (start - _EPOCH) // timedelta(microseconds=1) + cycles * _CYCLE_US


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "like": like,
    "ilike": ilike,
    "matches": matches,
    "imatches": imatches,
    "lower": lower,
    "upper": upper,
    "trim": str.strip,
    "length": len,
    "substr": substr,
    "concat": lambda *texts: "".join(texts),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": lambda text, part: part in text,
    "cidr_match": cidr_match,
    "year": _part("year"),
    "month": _part("month"),
    "day": _part("day"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "weekday": _part("weekday"),
    "date_trunc": date_trunc,
    "size": len,
}
