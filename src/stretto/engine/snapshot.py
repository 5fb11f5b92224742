"""A snapshot of a running engine: the raw events in the window, cut by time, and a few numbers; nothing else.

Partial matches are a cache, rebuilt from these events. Chunks are added and dropped as time goes on, never rewritten,
so a store that keeps them by name writes only what is new.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields, replace
from itertools import pairwise
from typing import Any, Final, Self, TypeVar

import numpy as np
import pyarrow as pa

from stretto.engine.results.returned_values import arrow_array
from stretto.engine.stream.arena import Block
from stretto.errors import EngineError, StrettoError
from stretto.records import dataclass
from stretto.schema import Kind, Special
from stretto.screen import shortened
from stretto.values.strings import Strings

VERSION = 1
MOST: Final = int(np.iinfo(np.int64).max)
SHOWN: Final = 60
Numbers = TypeVar("Numbers", "StepRange", "Counts")


@dataclass(frozen=True, slots=True)
class Counts:
    """What has happened so far. Events are all that arrived, late and rejected ones too."""

    events: int = 0
    late: int = 0
    rejected: int = 0
    matches: int = 0

    def plus(self, **more: int) -> "Counts":
        return replace(self, **{name: getattr(self, name) + n for name, n in more.items()})


@dataclass(frozen=True, slots=True)
class StepRange:
    """One step of the engine: positions `start`..`end` - 1, no event before `since`, no later event before `until`."""

    start: int
    end: int
    since: int
    until: int

    @property
    def name(self) -> str:
        return f"events-{self.start:020d}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`chunks` holds the events of each step by name, `pending` those that still wait for the watermark, `kept` what
    KEEP and LIMIT remember.
    """

    steps: tuple[StepRange, ...]
    chunks: Mapping[str, pa.RecordBatch]
    pending: tuple[pa.RecordBatch, ...]
    greatest: int
    until: int
    lateness_us: int
    counts: Counts
    version: int = VERSION
    kept: str = ""

    def to_bytes(self) -> dict[str, bytes]:
        """The snapshot as named files: a JSON header and Arrow streams."""
        header = {
            "version": self.version,
            "steps": [asdict(step) for step in self.steps],
            "pending": len(self.pending),
            "greatest": self.greatest,
            "until": self.until,
            "lateness_us": self.lateness_us,
            "counts": asdict(self.counts),
            "kept": self.kept,
        }
        files = {"header": json.dumps(header).encode()}
        files |= {name: to_ipc(batch) for name, batch in self.chunks.items()}
        files |= {f"pending-{i}": to_ipc(batch) for i, batch in enumerate(self.pending)}
        return files

    @classmethod
    def from_bytes(cls, files: Mapping[str, bytes]) -> Self:
        """The snapshot that `to_bytes` wrote."""
        try:
            header: dict[str, Any] = json.loads(files["header"])
            if header["version"] != VERSION:
                raise EngineError(
                    f"a snapshot of version {header['version']}; this engine reads version {VERSION}"
                )
            steps = tuple(numbers_in(StepRange, step) for step in header["steps"])
            chunks = {step.name: from_ipc(files[step.name]) for step in steps}
            pending = tuple(from_ipc(files[f"pending-{i}"]) for i in range(header["pending"]))
            greatest, until, lateness_us = map(
                number_in, map(header.get, ("greatest", "until", "lateness_us"))
            )
            counts = numbers_in(Counts, header["counts"])
            _check_steps(steps, chunks)
            kept = _text(header.get("kept", ""))
            return cls(steps, chunks, pending, greatest, until, lateness_us, counts, kept=kept)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            what: object = f"{error} is missing" if isinstance(error, KeyError) else error
            if isinstance(error, AttributeError | TypeError):
                what = "something else stands where an object or a list is due"
            raise EngineError(
                f"a damaged snapshot: {what} (restore an older one, or start afresh)"
            ) from error


@contextmanager
def damage_named() -> Iterator[None]:
    """Turn an unexpected error while a snapshot is restored into an EngineError that says what to do."""
    try:
        yield
    except (MemoryError, StrettoError):
        raise
    except Exception as error:
        raise EngineError(
            "the snapshot cannot be restored: it is damaged, or of another plan"
            " (restore an older one, or start afresh)"
        ) from error


def need_waiting(snapshot: Snapshot, pending: Sequence[Block]) -> None:
    """Raise EngineError where a pending event is earlier than the events that were run."""
    if any(len(block) and int(block.ts.min()) < snapshot.until for block in pending):
        raise EngineError(
            "a damaged snapshot: pending events are earlier than events that were run"
            " (restore an older one, or start afresh)"
        )


def numbers_in(kind: type[Numbers], read: Any) -> Numbers:
    """Return the record that a header has as an object; raise ValueError where it is not one of integers."""
    names = {one.name: one for one in fields(kind)}
    if not isinstance(read, dict) or not read.keys() <= names.keys():
        raise ValueError(f"{shortened(repr(read), SHOWN)} stands where {', '.join(names)} are due")
    missing = [name for name, one in names.items() if one.default is MISSING and name not in read]
    if missing:
        raise ValueError(f"`{missing[0]}` is missing")
    return kind(**{name: number_in(value) for name, value in read.items()})


def number_in(read: Any) -> int:
    """Return an integer of a header; raise ValueError where it is none of 64 bits."""
    if type(read) is not int or not -MOST <= read <= MOST:
        raise ValueError(f"{shortened(repr(read), SHOWN)} stands where an integer is due")
    return read


def _text(read: Any) -> str:
    """Return a text of a header; raise ValueError where it is none."""
    if not isinstance(read, str):
        raise ValueError(f"{shortened(repr(read), SHOWN)} stands where a text is due")  # noqa: TRY004 - what is wrong is the file
    return read


def _check_steps(steps: Sequence[StepRange], chunks: Mapping[str, pa.RecordBatch]) -> None:
    """Raise ValueError where steps do not follow each other, or have other numbers of events than their chunks."""
    for step in steps:
        if step.start < 0 or chunks[step.name].num_rows != step.end - step.start:
            raise ValueError(f"the chunk {step.name} has {chunks[step.name].num_rows:,} events")
    for before, after in pairwise(steps):
        if before.end != after.start or before.until > after.since:
            raise ValueError(f"{after.name} does not follow {before.name}")


NO_RAW_EVENT: Final = int(np.iinfo(np.int64).min)
"""In place of the id of an event of a join or of a pattern stream."""


def to_arrow(
    block: Block, codes: Mapping[str, int], kinds: Mapping[str, Kind], special: Special, strings: Strings
) -> pa.RecordBatch:
    """A block with the attributes of these kinds; events of a type without a code get a name that no type has."""
    names = {code: name for name, code in codes.items()}
    other = "other"
    while other in codes:
        other += "_"
    words = pa.array([names.get(code, other) for code in range(len(names) + 1)])
    columns: dict[str, pa.Array] = {
        special.ts: pa.array(block.ts).view(pa.timestamp("us")),
        special.type: pa.DictionaryArray.from_arrays(pa.array(block.types), words),
        special.id: pa.array(np.asarray(block.ids, np.int64)),
    }
    for name, kind in kinds.items():
        if name not in columns:
            columns[name] = arrow_array(block.attributes[name], kind, strings)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def with_text_ids(batch: pa.RecordBatch, special: Special, strings: Strings) -> pa.RecordBatch:
    """The same events with the texts that their ids are codes of."""
    ids = np.asarray(batch.column(special.id))
    raw = ids != NO_RAW_EVENT
    texts = strings.texts(ids, None if raw.all() else raw)
    return batch.set_column(batch.schema.get_field_index(special.id), special.id, texts)


def to_ipc(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions | None = None) -> bytes:
    """A batch as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def from_ipc(data: bytes) -> pa.RecordBatch:
    """Return the batch that `to_ipc` wrote. Raise ValueError for damaged data: Arrow trusts offsets and codes."""
    batch = from_trusted_ipc(data)
    try:
        batch.validate(full=True)
    except pa.ArrowException as error:
        raise damaged(error) from error
    return batch


def from_trusted_ipc(data: bytes) -> pa.RecordBatch:
    """Return a batch that this program wrote a moment ago. Texts that are not UTF-8 stay for the intake to reject."""
    try:
        with pa.ipc.open_stream(data) as reader:
            return reader.read_next_batch()
    except (pa.ArrowException, OSError, StopIteration) as error:
        raise damaged(error) from error


def damaged(error: Exception) -> ValueError:
    """Return the error that says what is wrong with Arrow data."""
    lines = str(error).strip().splitlines() or ["it ends before the first batch"]
    return ValueError(f"no Arrow data, or damaged: {lines[0]}")
