"""Positions in query text, the error types, and how a mistake is shown with a caret."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of query text; lines and columns count from 1, the end is excluded."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong with a workload: what, where, and what was expected or exists instead."""

    message: str
    at: Span | None = None
    note: str = ""

    def show(self, text: str = "", file: str = "") -> str:
        """The mistake as plain text that survives a log: place, line, caret, note."""
        if self.at is None:
            head = f"{file}: " if file else ""
            return f"{head}{self.message}" + (f" ({self.note})" if self.note else "")
        head = f"{file or '<workload>'}:{self.at.line}:{self.at.column}: {self.message}"
        lines = text.split("\n")
        if not 1 <= self.at.line <= len(lines):
            return head + (f" ({self.note})" if self.note else "")
        line = lines[self.at.line - 1].rstrip("\r")
        gutter = str(self.at.line)
        pad = "".join("\t" if char == "\t" else " " for char in line[: self.at.column - 1])
        one_line = self.at.end_line == self.at.line
        end = self.at.end_column if one_line else len(line) + 1
        carets = "^" * max(1, min(end, len(line) + 1) - self.at.column)
        note = f" {self.note}" if self.note else ""
        return f"{head}\n  {gutter} | {line}\n  {' ' * len(gutter)} | {pad}{carets}{note}"


class StrettoError(Exception):
    """Every error that Stretto raises on purpose."""


class QueryError(StrettoError):
    """A wrong workload, refused whole, with every mistake listed in the order of the text."""

    def __init__(self, mistakes: Iterable[Mistake], text: str = "", file: str = "") -> None:
        found = dict.fromkeys(mistakes)
        self.mistakes: tuple[Mistake, ...] = tuple(
            sorted(found, key=lambda m: (m.at is None, m.at or Span(0, 0, 0, 0)))
        )
        self.text = text
        self.file = file
        super().__init__(self.mistakes)

    def __str__(self) -> str:
        return "\n".join(mistake.show(self.text, self.file) for mistake in self.mistakes)


class PlanError(StrettoError):
    """A plan that breaks one of its invariants: our mistake, never the user's."""


class EventsError(StrettoError):
    """Events that cannot be read: a missing or broken file, or columns that are not there."""


class EngineError(StrettoError):
    """The engine had to stop while running; the text names the operator and its queries."""


def near(name: str, known: Sequence[str] | Iterable[str]) -> str:
    """A hint ", did you mean ...?" when some known name is close to `name`, else an empty text."""
    names = list(known)
    folded = {other.casefold(): other for other in names}
    if name.casefold() in folded:
        return f"did you mean `{folded[name.casefold()]}`?"
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else ""
