"""Positions in query text, the error types, and how a mistake is shown with a caret."""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import currentframe
from typing import Final

from stretto.screen import shortened, visible

WIDEST: Final = 160
"""The most characters of a line that are shown with a mistake, ..."""
LONGEST: Final = 400
"""... the most characters of a message, ..."""
MOST: Final = 50
"""... and the most mistakes of one workload."""
FIRST: Final = 3
"""Of many warnings of one kind the number that is shown."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of query text; lines and columns count from 1, the end is excluded."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong with a workload: what, where, and what was expected or exists instead.

    `kind`: of a warning, what it is about, in the plural.
    """

    message: str
    at: Span | None = None
    note: str = ""
    kind: str = ""

    def show(self, text: str = "", file: str = "") -> str:
        """The mistake as plain text that survives a log: place, line (around the caret if it is long), caret, note."""
        message, note = (shortened(visible(part), LONGEST) for part in (self.message, self.note))
        place = visible(file)
        aside = f" ({note})" if note else ""
        if self.at is None:
            return f"{place}: {message}{aside}" if place else f"{message}{aside}"
        head = f"{place or '<workload>'}:{self.at.line}:{self.at.column}: {message}"
        line = _line(text, self.at.line)
        if line is None:
            return head + aside
        gutter = str(self.at.line)
        excerpt, pad, carets = _excerpt(line, self.at)
        return f"{head}\n  {gutter} | {excerpt}\n  {' ' * len(gutter)} | {pad}{'^' * carets}" + (
            f" {note}" if note else ""
        )


def _line(text: str, number: int) -> str | None:
    """A line of a text, counted from 1; None if there is none."""
    lines = text.split("\n", number)
    return lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else None


def _excerpt(line: str, at: Span) -> tuple[str, str, int]:
    """What is shown of a line, what stands below it before the carets, and how many carets."""
    first = at.column - 1
    stop = min(at.end_column - 1, len(line)) if at.end_line == at.line else len(line)
    start = 0 if len(line) <= WIDEST else max(0, min(first - WIDEST // 2, len(line) - WIDEST))
    end = min(len(line), start + WIDEST)
    stop = max(first, min(stop, end))
    before = (".." if start else "") + visible(line[start:first], keep="\t")
    marked = visible(line[first:stop], keep="\t")
    after = visible(line[stop:end], keep="\t") + (".." if end < len(line) else "")
    return before + marked + after, re.sub("[^\t]", " ", before), max(1, len(marked))


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning: its text, and what it is about, in the plural, such as "selections that no event passes"."""

    kind: str
    text: str


def summarized(remarks: Iterable[Remark]) -> list[str]:
    """The texts of warnings; of more than three of one kind their number and the first three, as one text."""
    texts: dict[str, list[str]] = {}
    for remark in remarks:
        texts.setdefault(remark.kind, []).append(remark.text)
    shown: list[str] = []
    for kind, some in texts.items():
        if len(some) <= FIRST:
            shown += some
        else:
            shown.append("\n".join([f"{len(some):,} {kind}; the first {FIRST}:", *some[:FIRST]]))
    return shown


class StrettoError(Exception):
    """Every error that Stretto raises on purpose."""


class QueryError(StrettoError):
    """A wrong workload, refused whole, with every mistake listed in the order of the text.

    Its own text shows the first ones; `mistakes` has them all.
    """

    def __init__(self, mistakes: Iterable[Mistake], text: str = "", file: str = "") -> None:
        found = dict.fromkeys(mistakes)
        self.mistakes: tuple[Mistake, ...] = tuple(
            sorted(found, key=lambda m: (m.at is None, m.at or Span(0, 0, 0, 0)))
        )
        self.text = text
        self.file = file
        super().__init__(self.mistakes)

    def __str__(self) -> str:
        shown = [mistake.show(self.text, self.file) for mistake in self.mistakes[:MOST]]
        more = len(self.mistakes) - len(shown)
        return "\n".join([*shown, *([f"and {more:,} more"] if more else [])])


class PlanError(StrettoError):
    """A plan that breaks one of its invariants: our mistake, never the user's."""


class EventsError(StrettoError):
    """Events that cannot be read: a missing or broken file, or columns that are not there."""


class EngineError(StrettoError):
    """The engine had to stop while running; the text names the operator and its queries."""


class StrettoWarning(UserWarning):
    """What is no mistake but perhaps not meant: a type that no event has, far too many matches, a unit by its looks."""


def warn(text: str) -> None:
    """A StrettoWarning that points to whoever called Stretto: the nearest line that is not ours."""
    depth, frame = 1, currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "stretto":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, StrettoWarning, stacklevel=depth)


def near(name: str, known: Iterable[str]) -> str:
    """A hint ", did you mean ...?" when some known name is close to `name`, else an empty text."""
    if len(name) > LONGEST:
        return ""  # comparing takes the product of the lengths
    names = list(known)
    folded = {other.casefold(): other for other in names}
    if name.casefold() in folded:
        return f"did you mean `{folded[name.casefold()]}`?"
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else ""


def instead_of(name: str, known: Iterable[str]) -> str:
    """What the message about an unknown name adds: the known one that is near, else all of them."""
    names = list(known)
    hint = near(name, names)
    return f", {hint}" if hint else f" (known: {', '.join(names) or 'none'})"
