"""One pass over events: counts per type, the span, and the stretches that become the sample."""

from collections.abc import Callable, Iterable
from math import inf
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from stretto.errors import EventsError
from stretto.schema import Schema, Special, column_of, need_once
from stretto.stats.sample import Sample, micros_of, types_of
from stretto.values.rows import I64
from stretto.values.times import in_time

SIZE: Final = 200_000  # events of a sample
NUMBER: Final = 8  # stretches they come in
FITTING: Final = 4  # windows that a stretch should hold one after another
LOOSE: Final = 500  # events of its own that a rare type gets
STEP: Final = 1 << 17
MICROSECONDS: Final = 1e6


class Stretches:
    """What one pass over `rows` events tells, fed batch by batch in any order that is near that of time."""

    def __init__(self, schema: Schema, rows: int, size: int, seed: int, number: int = NUMBER) -> None:
        self.events = 0
        self._schema = schema
        self._ranges = _ranges(rows, size, number, np.random.default_rng(seed))
        self._kept: list[list[pa.Table]] = [[] for _ in self._ranges]
        self._loose: list[pa.Table] = []
        self._counts: dict[str, int] = {}
        self._waiting: dict[str, int] = {}  # loose events that a type may still get
        self._first: int | None = None
        self._last = 0

    @property
    def seconds(self) -> float:
        """From the first to the last event."""
        return 0.0 if self._first is None else (self._last - self._first) / MICROSECONDS

    def rates(self) -> dict[str, float]:
        """Events per second by type; a span of zero counts as one second."""
        return {name: count / (self.seconds or 1.0) for name, count in self._counts.items()}

    def add(self, batch: pa.RecordBatch) -> None:
        special = self._schema.special
        names = [special.ts, special.type, *self._schema.attributes]
        table = pa.table({name: column_of(batch, name) for name in dict.fromkeys(names)})
        ts = micros_of(table[special.ts])
        here = ts.data if ts.valid is None else ts.data[ts.valid]
        here = here[in_time(here)]
        if len(here):
            low, high = int(here.min()), int(here.max())
            self._last = high if self._first is None else max(high, self._last)
            self._first = low if self._first is None else min(low, self._first)
        self._count(table, self._keep(table))
        self.events += table.num_rows

    def _keep(self, table: pa.Table) -> I64:
        """Keep what lies in a stretch; the numbers of the other rows."""
        outside = np.ones(table.num_rows, np.bool_)
        for (start, end), kept in zip(self._ranges, self._kept, strict=True):
            low = max(start - self.events, 0)
            high = min(end - self.events, table.num_rows)
            if low < high:
                kept.append(table.slice(low, high - low))
                outside[low:high] = False
        return np.flatnonzero(outside)

    def _count(self, table: pa.Table, outside: I64) -> None:
        names, codes = types_of(table[self._schema.special.type])
        counts = np.bincount(codes, minlength=len(names)).tolist()[: len(names)]
        for name, count in zip(names, counts, strict=True):
            if count:
                self._counts[name] = self._counts.get(name, 0) + count
        wanted = [i for i, name in enumerate(names) if counts[i] and self._waiting.setdefault(name, LOOSE)]
        if not wanted or not len(outside):
            return
        chosen: list[I64] = []
        here = codes[outside]
        for code in wanted:
            rows = outside[here == code][: self._waiting[names[code]]]
            self._waiting[names[code]] -= len(rows)
            chosen.append(rows)
        rows = np.sort(np.concatenate(chosen))
        if len(rows):
            self._loose.append(table.take(pa.array(rows)))

    def sample(self) -> Sample | None:
        """The sample, if there are events."""
        stretches = [self._sorted(pa.concat_tables(kept)) for kept in self._kept if kept]
        stretches = [table for table in stretches if table.num_rows]
        if not stretches:
            return None
        loose = [self._good(table) for table in self._loose]
        whole = self._ranges[0][1] >= 1 << 62
        return Sample(stretches, pa.concat_tables(loose) if loose else None, self._schema, whole=whole)

    def _good(self, table: pa.Table) -> pa.Table:
        return good(table, self._schema.special)

    def _sorted(self, table: pa.Table) -> pa.Table:
        return in_order(self._good(table), self._schema.special.ts)


def good(table: pa.Table, special: Special) -> pa.Table:
    """The events that have a time and a type."""
    times, types = micros_of(table[special.ts]), table[special.type]
    known = in_time(times.data) if times.valid is None else in_time(times.data) & times.valid
    if types.null_count:
        known &= types.is_valid().to_numpy()
    return table if known.all() else table.filter(pa.array(known))


def _ranges(rows: int, size: int, number: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Half-open ranges of rows, one in each equal part of the stream."""
    # A count may be out of date: whatever comes behind it still belongs to the one stretch.
    if rows <= size:
        return [(0, max(rows, 1 << 62))]
    length = max(size // number, 1)
    part = rows / number
    found = []
    for i in range(number):
        start = int(i * part + random.random() * max(part - length, 0.0))
        found.append((start, min(start + length, int((i + 1) * part))))
    return found


class Sized(Protocol):
    """A window of a query, as written or bound."""

    @property
    def size(self) -> int: ...

    @property
    def unit(self) -> str: ...


def number_for(windows: Iterable[Sized], length: Callable[[int], tuple[float, float]]) -> int:
    """How many stretches a sample has: fewer and longer ones where several windows do not fit into one.

    `length` says how long one of so many stretches usually is, in microseconds and in events.
    """
    windows, number = list(windows), NUMBER
    while number > 1:
        us, events = length(number)
        if all(FITTING * window.size <= (us if window.unit == "us" else events) for window in windows):
            break
        number //= 2
    return number


def stretches_for(windows: Iterable[Sized], usual_us: Callable[[int], float], size: int = SIZE) -> int:
    """In how many stretches a sample of `size` events comes; `usual_us`: what so many events usually take."""
    return number_for(windows, lambda number: (usual_us(max(size // number, 1)), size / number))


def usual_length(times: I64, size: int, number: int) -> tuple[float, float]:
    """Of one of `number` stretches with `size` of the events at these times, in microseconds and in events."""
    rows = max(size // number, 1)
    return float(np.median(times[rows:] - times[:-rows])) if rows < len(times) else inf, float(rows)


def in_order(table: pa.Table, ts: str) -> pa.Table:
    """The events in order of time, those of one time as they arrived."""
    times = micros_of(table[ts])
    if times.valid is None and bool((times.data[1:] >= times.data[:-1]).all()):
        return table
    return table.take(pa.array(np.argsort(times.data, kind="stable")))


def check_columns(schema: pa.Schema, special: Special) -> None:
    """Refuse events without times or types, or with a column twice."""
    need_once(schema.names)
    for name in (special.ts, special.type):
        if name not in schema.names:
            raise EventsError(f"no column `{name}`; there are: {', '.join(schema.names)}")
    arrow = schema.field(special.ts).type
    if not (pa.types.is_integer(arrow) or pa.types.is_timestamp(arrow) or pa.types.is_date(arrow)):
        raise EventsError(f"times are timestamps or whole microseconds, not {arrow}")
