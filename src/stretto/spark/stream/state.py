"""A target's state in Spark's store: the raw events that its window can still reach, as chunks, and a few numbers.

Chunks are added and dropped, never written again. How long each is needed stands beside it, so that dropping the oldest
ones reads no events. Partial matches are no state: they can be found again from the events.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, field, fields, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from stretto.engine.snapshot import SHOWN, Counts, from_ipc, numbers_in
from stretto.records import dataclass
from stretto.screen import shortened
from stretto.spark.errors import StrettoSparkError
from stretto.spark.packed import to_payload
from stretto.values.rows import I64
from stretto.values.times import START_OF_TIME

LAYOUT: Final = 1
PIECE_ROWS: Final = 1 << 17
"""Events of one chunk at most: what has left the window is dropped by the chunk."""
NO_TIMER: Final = -1


@dataclass(frozen=True, slots=True)
class Head:
    """The numbers of a target.

    `counter`: how often the engine moved on; `until_us`: all events before it were run; `greatest_us`: the greatest
    time seen; `floor_us`: events before it are not looked at any more; `due_us`: the engine waits for this time to
    pass; `horizon_us`: how long events are needed (None: as long as there are not enough later ones); `oldest` and
    `next`: the numbers of the chunks; `rows` and `bytes` are those of all chunks; `given`: ids given so far; `version`
    of the workload; `timer_ms`: when the target is called; `spread`: how events get to targets, in words; `kept`: what
    KEEP and LIMIT remember.
    """

    counter: int = 0
    until_us: int = START_OF_TIME
    greatest_us: int = START_OF_TIME
    floor_us: int = START_OF_TIME
    due_us: int | None = None
    horizon_us: int | None = None
    oldest: int = 0
    next: int = 0
    rows: int = 0
    bytes: int = 0
    given: int = 0
    version: int | None = None
    timer_ms: int = NO_TIMER
    spread: str = ""
    counts: Counts = field(default_factory=Counts)
    kept: str = ""

    def to_text(self) -> str:
        return json.dumps({"layout": LAYOUT, **asdict(self)})

    @classmethod
    def from_text(cls, text: str) -> "Head":
        """Return what `to_text` wrote; raise StrettoSparkError for damaged text, or that of another layout."""
        try:
            value = json.loads(text)
            layout = value.pop("layout")
            found = _head_of(value) if layout == LAYOUT else cls()
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            what: object = f"{error} is missing" if isinstance(error, KeyError) else error
            if isinstance(error, AttributeError | TypeError):
                what = "they are no object"
            raise StrettoSparkError(
                f"the checkpoint is damaged: the numbers of a target cannot be read: {what}"
                " (start with another checkpoint)"
            ) from error
        if layout != LAYOUT:
            raise StrettoSparkError(
                f"the checkpoint holds a state of layout {layout}, and this release reads layout {LAYOUT}: "
                "start with a new checkpoint, or go on with the release that wrote it"
            )
        return found


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """When the events of a chunk are, how many they are, and the bytes of their payload."""

    first_us: int
    last_us: int
    rows: int
    bytes: int


class TargetState:
    """The state of the target that Spark has at hand."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._head = handle.getValueState("head", "numbers string")
        self._workload = handle.getValueState("workload", "version bigint, payload binary")
        self._spans = handle.getMapState(
            "spans", "number bigint", "first_us bigint, last_us bigint, rows bigint, bytes bigint"
        )
        self._chunks = handle.getMapState("chunks", "number bigint", "payload binary")

    def head(self) -> Head | None:
        """The numbers; None where the target has seen nothing yet."""
        found = self._head.get()
        return None if found is None else Head.from_text(found[0])

    def write(self, head: Head) -> None:
        self._head.update((head.to_text(),))

    def workload(self) -> bytes | None:
        """The payload of the version that runs, if it came with the stream."""
        found = self._workload.get()
        return None if found is None else bytes(found[1])

    def set_workload(self, version: int, payload: bytes) -> None:
        self._workload.update((version, payload))

    # ---- events ------------------------------------------------------------------------------------------------

    def add(self, head: Head, events: pa.RecordBatch, ts: I64, payload: bytes | None = None) -> Head:
        """Append events in time order, with their times, in chunks; `payload` is theirs, if it is known already."""
        for start in range(0, len(ts), PIECE_ROWS):
            piece = events.slice(start, PIECE_ROWS)
            written = payload if payload is not None and len(ts) <= PIECE_ROWS else to_payload(piece)
            last = start + piece.num_rows - 1
            head = self.append(head, written, int(ts[start]), int(ts[last]), piece.num_rows)
        return head

    def append(self, head: Head, payload: bytes, first_us: int, last_us: int, rows: int) -> Head:
        """Append a chunk of so many rows, with their first and their last time."""
        self._chunks.updateValue((head.next,), (payload,))
        self._spans.updateValue((head.next,), (first_us, last_us, rows, len(payload)))
        return replace(head, next=head.next + 1, rows=head.rows + rows, bytes=head.bytes + len(payload))

    def drop(self, head: Head) -> Head:
        """Drop the oldest chunks, as far as all of their events are before the floor.

        They arrived in about the order of time, so one that has to stay keeps few behind it that need not.
        """
        while head.oldest < head.next:
            span = self.span(head.oldest)
            if span.last_us >= head.floor_us:
                break
            self._chunks.removeKey((head.oldest,))
            self._spans.removeKey((head.oldest,))
            rows, size = head.rows - span.rows, head.bytes - span.bytes
            head = replace(head, oldest=head.oldest + 1, rows=rows, bytes=size)
        return head

    def span(self, number: int) -> ChunkSpan:
        found = self._spans.getValue((number,))
        if found is None:
            raise _missing(number)
        return ChunkSpan(*found)

    def batches(self, head: Head) -> Iterator[pa.RecordBatch]:
        """The events of all chunks, in the order in which they were added."""
        for payload in self.payloads(head):
            try:
                yield from_ipc(payload)
            except ValueError as error:
                raise StrettoSparkError(
                    f"the checkpoint is damaged: a chunk of the window: {error}"
                ) from error

    def payloads(self, head: Head) -> Iterator[bytes]:
        """All chunks, in the order in which they were added."""
        found = {int(key[0]): value[0] for key, value in self._chunks.iterator()} if head.rows else {}
        for number in range(head.oldest, head.next):
            if number not in found:
                raise _missing(number)
            yield bytes(found.pop(number))

    # ---- timers ------------------------------------------------------------------------------------------------

    def expires_us(self, head: Head) -> int | None:
        """The oldest chunk can be dropped when the watermark has passed this; None: never, or by events alone."""
        if head.horizon_us is None or head.oldest == head.next:
            return None
        return self.span(head.oldest).last_us + head.horizon_us

    def set_timer(self, head: Head, watermark_ms: int) -> Head:
        """Have the target called when something is due, also if no more events come to it."""
        times = [time for time in (head.due_us, self.expires_us(head)) if time is not None]
        timer = max(min(times) // 1000 + 1, watermark_ms + 1) if times else NO_TIMER
        if timer != head.timer_ms:
            if head.timer_ms != NO_TIMER:
                self._handle.deleteTimer(head.timer_ms)
            if timer != NO_TIMER:
                self._handle.registerTimer(timer)
        return replace(head, timer_ms=timer)


def _head_of(read: dict[str, Any]) -> Head:
    """Return the head of its fields; raise ValueError where there are others, or they hold something else."""
    unknown = read.keys() - {one.name for one in fields(Head)}
    if unknown:
        raise ValueError(f"nothing is called `{min(unknown)}`")
    for name, value in read.items():
        fits = (
            isinstance(value, str) if name in ("spread", "kept") else type(value) is int or name == "counts"
        )
        if not fits and not (value is None and name in ("due_us", "horizon_us", "version")):
            raise ValueError(f"`{name}` is {shortened(repr(value), SHOWN)}")
    return Head(**read | {"counts": numbers_in(Counts, read["counts"])})


def _missing(number: int) -> StrettoSparkError:
    return StrettoSparkError(f"the checkpoint is damaged: chunk {number} of the window is missing")


def from_floor(ts: I64, floor_us: int) -> int:
    """How many events, in time order, lie before the floor."""
    return int(np.searchsorted(ts, floor_us, side="left"))
