"""Streams whose rates change as they go (MCEP sec. 6.2.3): at regular intervals, some types change places.

For each stretch of events some types are picked in a random order, and each of them takes the name of the one after it.
The paper's transformations are independent of each other; with `lasting` each one starts from the names that the one
before it left, so that rates drift for good.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from stretto.errors import EventsError
from stretto.generate.arrivals import I64, coded
from stretto.records import dataclass

DRAWN = 256
"""Stretches whose random numbers are drawn together."""


@dataclass(frozen=True, slots=True)
class Reshuffle:
    """Every `every` events, `types` types change places; `lasting`: for all that follows."""

    every: int
    types: int = 5
    lasting: bool = False

    def __post_init__(self) -> None:
        if self.every < 1:
            raise EventsError(f"types are reshuffled every 1 or more events, not {self.every}")
        if self.types < 2:
            raise EventsError(f"at least 2 types change places, not {self.types}")


def reshuffled(blocks: Iterator[pa.RecordBatch], how: Reshuffle, seed: int) -> Iterator[pa.RecordBatch]:
    """The same events, with other types: stretches are counted from the first event, however the blocks are cut."""
    first = next(blocks)
    names = first["type"].dictionary.to_pylist()
    if how.types > len(names):
        raise EventsError(f"{how.types} types cannot change places: the stream has {len(names)}")
    tables = _tables(how, len(names), seed)
    table, done, block = next(tables), 0, first
    while True:
        codes = block["type"].indices.to_numpy().astype(np.int64)
        at = done + np.arange(len(codes))
        changed = np.empty_like(codes)
        start = 0
        while start < len(codes):
            until = (int(at[start]) // (how.every * DRAWN) + 1) * how.every * DRAWN
            stop = min(len(codes), start + until - int(at[start]))
            stretch = at[start:stop] // how.every % DRAWN
            changed[start:stop] = table[stretch, codes[start:stop]]
            if done + stop == until:
                table = next(tables)
            start = stop
        number = block.schema.get_field_index("type")
        yield block.set_column(number, "type", coded(changed, names))
        done, block = done + len(codes), next(blocks)


def _tables(how: Reshuffle, count: int, seed: int) -> Iterator[I64]:
    """Per stretch and type the type that takes its place, for `DRAWN` stretches at a time."""
    names = np.arange(count)
    drawn = 0
    while True:
        random = np.random.default_rng([seed, 1 << 33, drawn])
        keys = random.random((DRAWN, count))
        picked = np.argsort(keys, axis=1)[:, : how.types]
        table = np.empty((DRAWN, count), np.int64)
        for stretch, types in enumerate(picked):
            current = names.copy()
            current[types] = names[np.roll(types, -1)]
            table[stretch] = current
            names = current if how.lasting else names
        yield table
        drawn += 1
