"""What every kind of event file offers to the reader, and how rows that cannot be read are set apart."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stretto.errors import EventsError, near
from stretto.records import dataclass
from stretto.schema import Kind, Special, need_once
from stretto.values.time_units import JudgedUnit

Numbers = npt.NDArray[np.int64]


class ReadChunk(NamedTuple):
    """Good events, and the 0-based row of each in its file; rejected rows count, blank lines do not."""

    batch: pa.RecordBatch
    rows: Numbers

    def without(self, bad: npt.NDArray[np.bool_]) -> "ReadChunk":
        """The same events without the bad ones."""
        return ReadChunk(self.batch.filter(pa.array(~bad)), self.rows[~bad]) if bad.any() else self


@dataclass(slots=True)
class Rejected:
    """Rows set apart with a reason: their values as texts, or the whole text where it has no columns.

    With `keep` off they are only counted.
    """

    keep: bool = True
    rows: list[dict[str, str | None]] = field(default_factory=list)
    count: int = 0

    def add(self, reason: str, values: Mapping[str, Any], text: str | None = None) -> None:
        """Set a row apart; every value is kept as a text."""
        self.count += 1
        if self.keep:
            kept = {name: None if value is None else str(value) for name, value in values.items()}
            self.rows.append({**kept, "text": text, "reason": reason})

    def take(self, schema: pa.Schema) -> pa.Table:
        """The rows since the last call."""
        rows, self.rows = self.rows, []
        return pa.Table.from_pylist(rows, schema=schema)


class FilePart(Protocol):
    """One file of events; `judged`: the unit of times that are integers, where nobody said it.

    `timeless`: what to say of a text file none of whose values looks like a time; beside files that have times, its
    events are bad ones.
    """

    name: str
    judged: JudgedUnit | None
    timeless: EventsError | None

    def columns(self) -> Mapping[str, pa.DataType]:
        """All columns with the Arrow types that `batches` gives them; complete after a whole `survey`."""

    def known_rows(self) -> int | None:
        """The number of rows, if the file tells it."""

    def survey(self, special: Special, rejected: Rejected) -> Iterator[ReadChunk]:
        """Only the time and the type of every event; on the way it decides what a sample left open."""

    def batches(self, names: Collection[str], rejected: Rejected, *, threads: bool) -> Iterator[ReadChunk]:
        """The events, only these columns (those that exist), in the order of the file."""


def need_special(file: str, columns: Collection[str], special: Special) -> None:
    """Refuse a file that has no column of times or types, or a column twice."""
    need_once(columns, file)
    for name, meaning, option in ((special.ts, "times", "--ts"), (special.type, "types", "--type")):
        if name not in columns:
            hint = f", {found}" if (found := near(name, columns)) else ""
            raise EventsError(
                f"{file}: no column `{name}` for the {meaning} of the events{hint}"
                f" (columns: {_listed(columns)}; name the right one with {option})"
            )


def _listed(columns: Collection[str], limit: int = 20) -> str:
    names = list(columns)
    more = f", and {len(names) - limit} more" if len(names) > limit else ""
    return (", ".join(names[:limit]) + more) or "none"


def need_time(file: str, special: Special, kind: Kind | str, example: str | None = None) -> EventsError:
    """The error for a column of times that holds something else."""
    seen = f", such as {example!r}" if example is not None else ""
    return EventsError(
        f"{file}: column `{special.ts}` holds {kind}{seen}, not times (expected: timestamps, dates, ISO"
        " texts, or integers since 1970 in --ts-unit; name another column with --ts)"
    )


def need_some_times(parts: Iterable[FilePart]) -> None:
    """Refuse files none of which has times."""
    wrong = [part.timeless for part in parts]
    if wrong and None not in wrong:
        raise next(filter(None, wrong))


def unknown_ending(path: str, ending: str, known: Iterable[str]) -> EventsError:
    """The error for a file whose name does not tell its format."""
    what = f"unknown ending {ending!r}" if ending else "the name has no ending"
    return EventsError(f"{path}: {what} (known: {', '.join(known)})")


def need_content(path: Path) -> None:
    """Refuse a path that is not a file, cannot be read, or has no bytes."""
    try:
        size = path.stat().st_size if path.is_file() else None
        with path.open("rb"):
            pass
    except OSError as error:
        raise EventsError(f"{path}: cannot be read: {error.strerror}") from error
    if size == 0:
        raise EventsError(f"{path}: the file is empty (0 bytes)")
