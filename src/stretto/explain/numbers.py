"""Estimates as short text: rows, rates, times, shares and factors, in units that people use; and columns."""

from collections.abc import Callable, Iterator, Sequence
from json import dumps
from math import isfinite
from typing import Final

from stretto.errors import StrettoError
from stretto.screen import visible

FORMATS: Final = ("text", "json")

_SCALES: Final = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_TIMES: Final = ((86400e9, "days"), (3600e9, "hours"), (120e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "us"))
_MINUTE: Final = 60e9
_PERIODS: Final = (("s", 1), ("minute", 60), ("hour", 3600), ("day", 86400), ("year", 365 * 86400))
_BYTES: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
LEAST: Final = 0.1
"""Percent; a smaller share is written as less than it."""


def number_text(number: float) -> str:
    """`0`, `0.012`, `3.4`, `1,204`, `56 million`; beyond a quadrillion as a power of ten."""
    if not isfinite(number) or abs(number) >= 1e15:
        return f"{number:.1e}" if isfinite(number) else str(number)
    for size, word in _SCALES:
        if abs(number) >= 0.9995 * size:
            return f"{_digits(number / size)} {word}"
    return _digits(number)


def rows_text(rows: float) -> str:
    """Rows, of which an estimate may have a part: `1,204 rows`, `1 row`, `0.3 rows`, `0 rows`."""
    rows = 0.0 if rows < 0.05 else round(rows, 1) if rows < 1 else rows
    text = number_text(rows)
    return f"{text} row" if text == "1" else f"{text} rows"


def rate_text(rows: float) -> str:
    """Rows per second, or per the shortest longer period that has one: `1,204/s`, `2/hour`, `0.5/year`."""
    for period, seconds in _PERIODS:
        if not rows or rows * seconds >= 1 or period == "year":
            return f"{number_text(rows * seconds)}/{period}"
    raise AssertionError("a year is the last period")


def bytes_text(size: float) -> str:
    """`850 B`, `1.2 MB`."""
    for scale, unit in _BYTES:
        if abs(size) >= 0.9995 * scale:
            return f"{_digits(size / scale)} {unit}"
    return f"{_digits(size)} B"


def time_text(nanoseconds: float) -> str:
    """`0 ns`, `850 ns`, `1.2 us`, `34 ms`, `5.6 s`, `3.4 min`, `5.6 hours`, `4.7 days`."""
    for size, unit in _TIMES:
        if abs(nanoseconds) >= 0.9995 * size:
            count = nanoseconds / (_MINUTE if unit == "min" else size)
            return f"{_tenths(count) if unit in ('min', 'hours', 'days') else number_text(count)} {unit}"
    return f"{_digits(nanoseconds)} ns"


def share_text(part: float, whole: float) -> str:
    """A part in percent of a whole: `93%`, `0.4%`, `<0.1%`, `99.8%`; `0%` of nothing, and 100% only of all."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < LEAST:
        return f"<{LEAST:g}%"
    if 99.5 <= percent < 100:
        return ">99.9%" if percent >= 99.95 else f"{percent:.1f}%"
    return f"{percent:.0f}%" if percent >= 9.95 or percent == 0 else f"{percent:.1f}%"


def factor_text(factor: float) -> str:
    """How many times: `1.04x`, `3.2x`, `14x`, `1,204x`."""
    return f"{factor:.2f}x" if 0.95 < factor < 2 else f"{number_text(factor)}x"


def _digits(number: float) -> str:
    """Whole from ten on, with commas; two digits below."""
    if abs(number) >= 9.95 or number == 0:
        return f"{number:,.0f}"
    return f"{number:.2g}" if abs(number) >= 1e-3 else f"{number:.1e}"


def _tenths(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 99.95 else f"{number:.1f}".removesuffix(".0")


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """Rows of cells as lines: the first `left` columns flush left, the others flush right."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in shown) for i in range(len(shown[0]))]
    for row in shown:
        cells = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def some(names: Sequence[str], most: int = 4) -> str:
    """The first few of some names, and how many more there are: a scan can serve thousands of queries."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1:,} more"


def cut(text: str, longest: int) -> str:
    """The text, or its beginning if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def in_format(format: str, text: Callable[[], str], json: Callable[[], object]) -> str:  # noqa: A002 - as in `explain`
    """One of the FORMATS of EXPLAIN, made by its function."""
    if format == "text":
        return text()
    if format == "json":
        return dumps(json(), indent=2)
    raise StrettoError(f"unknown format `{format}` of EXPLAIN; there are: {', '.join(FORMATS)}")
