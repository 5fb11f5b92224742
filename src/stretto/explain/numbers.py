"""Estimates as short text: rows per second, times, shares and factors, with two or three digits; and columns."""

from collections.abc import Callable, Iterator, Sequence
from json import dumps
from math import isfinite
from typing import Final

from stretto.errors import StrettoError
from stretto.screen import visible

FORMATS: Final = ("text", "json")

_STEPS: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))
SMALLEST: Final = 0.001
"""Shares and rates below it are written as less than it."""


def number_text(number: float) -> str:
    """`0`, `0.012`, `3.4`, `340`, `1.2k`, `56M`; beyond a quadrillion as a power of ten."""
    if not isfinite(number) or abs(number) >= 1e15:
        return f"{number:.1e}" if isfinite(number) else str(number)
    for size, unit in _STEPS:
        if abs(number) >= 0.9995 * size:
            return f"{_digits(number / size)}{unit}"
    return _digits(number)


def rate_text(rows: float) -> str:
    """Rows per second: `1.2k/s`."""
    return f"<{SMALLEST:g}/s" if 0 < rows < SMALLEST else f"{number_text(rows)}/s"


def time_text(nanoseconds: float) -> str:
    """`850ns`, `1.2us`, `34ms`, `5.6s`, `1.2ks`."""
    for size, unit in _TIMES:
        if abs(nanoseconds) >= 0.9995 * size:
            return f"{number_text(nanoseconds / size)}{unit}"
    return f"{_digits(nanoseconds)}ns"


def share_text(part: float, whole: float) -> str:
    """A part in percent of a whole: `93%`, `0.4%`, `<0.1%`, `99.8%`; `0%` of nothing, and 100% only of all."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 100 * SMALLEST:
        return f"<{100 * SMALLEST:g}%"
    if 99.5 <= percent < 100:
        return ">99.9%" if percent >= 99.95 else f"{percent:.1f}%"
    return f"{percent:.0f}%" if percent >= 9.95 or percent == 0 else f"{percent:.1f}%"


def factor_text(factor: float) -> str:
    """How many times: `1.04x`, `3.2x`, `14x`, `1.2kx`."""
    return f"{factor:.2f}x" if 0.95 < factor < 2 else f"{number_text(factor)}x"


def _digits(number: float) -> str:
    """Whole from ten on, two digits below."""
    return f"{number:.0f}" if abs(number) >= 9.95 or number == 0 else f"{number:.2g}"


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
