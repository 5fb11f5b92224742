"""A snapshot of a running engine: the raw events in the window, cut by time, and a few numbers; nothing else.

Partial matches are a cache, rebuilt from these events. Chunks are added and dropped as time goes on, never rewritten,
so a store that keeps them by name writes only what is new.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from stretto.engine.results.returned_values import arrow_array
from stretto.engine.stream.arena import Block
from stretto.errors import EngineError
from stretto.records import dataclass
from stretto.schema import Kind, Special
from stretto.values.strings import Strings

VERSION = 1


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
            steps = tuple(StepRange(**step) for step in header["steps"])
            chunks = {step.name: from_ipc(files[step.name]) for step in steps}
            pending = tuple(from_ipc(files[f"pending-{i}"]) for i in range(header["pending"]))
            times = (header["greatest"], header["until"], header["lateness_us"])
            counts = Counts(**header["counts"])
            return cls(steps, chunks, pending, *times, counts, kept=header.get("kept", ""))
        except (KeyError, TypeError, ValueError, pa.ArrowInvalid) as error:
            raise EngineError(f"a damaged snapshot: {error!r}") from error


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
    """The batch that `to_ipc` wrote."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()
