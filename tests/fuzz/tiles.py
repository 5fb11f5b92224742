"""A million events that are judged exactly: short streams, judged by the oracle, laid behind each other many times.

Between two of them is more time than any window has, and are more events of no query's type than any window counts. So
no match reaches from one into the next: each has its own matches, moved by its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tests.fuzz.sized_streams import sized_events, window_sizes
from tests.support.random_events import ATTRIBUTES, TYPES, to_table
from tests.support.strategies import Event, random_query

from stretto.schema import Kind

TILES, TILE = 5, 300  # how many short streams, of about how many events
APART_US, APART = 100, 20  # what lies between two, in time and in events
QUERIES, HEAVIEST = 5, 4
MOVED = [name for name, kind in ATTRIBUTES.items() if kind is Kind.TIME]  # attributes that move with `ts`

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tiling:
    """Short streams that begin at time 0 with the id 0, and the order in which they follow each other."""

    tiles: tuple[tuple[Event, ...], ...]
    order: tuple[int, ...]

    @cached_property
    def ids(self) -> Array:
        """The first id of each place."""
        return _starts(self.lengths)

    @cached_property
    def times(self) -> Array:
        """The first time of each place."""
        return _starts([self.tiles[tile][-1].ts + APART_US for tile in self.order])

    @property
    def lengths(self) -> list[int]:
        return [len(self.tiles[tile]) for tile in self.order]

    def table(self) -> pa.Table:
        """All events; attributes that are times move along."""
        tables = [to_table(tile) for tile in self.tiles]
        whole = pa.concat_tables([tables[tile] for tile in self.order]).combine_chunks()
        for name in ("id", "ts", *MOVED):
            field = whole.schema.field(name)
            by = np.repeat(self.ids if name == "id" else self.times, self.lengths)
            column = pc.add(whole.column(name).cast(pa.int64()), pa.array(by)).cast(field.type)
            whole = whole.set_column(whole.column_names.index(name), field, column)
        return whole


def _starts(lengths: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)


def tiled_workload(rng: Random, size: int) -> tuple[dict[str, str], Tiling]:
    """Light queries by name, and at least so many events."""
    types = rng.sample(TYPES, rng.choice((1, 2, 3)))
    queries: dict[str, str] = {}
    while len(queries) < QUERIES:
        name = f"q{len(queries)}"
        text, weight = random_query(rng, name, types, window_sizes)
        if weight <= HEAVIEST:
            queries[name] = text
    tiles = tuple(_tile(rng, types) for _ in range(TILES))
    order: list[int] = []
    while sum(len(tiles[tile]) for tile in order) < size:
        order += rng.choices(range(TILES), k=200)
    return queries, Tiling(tiles, tuple(order))


def _tile(rng: Random, types: Sequence[str]) -> tuple[Event, ...]:
    drawn = sized_events(rng, types, rng.randint(TILE // 2, TILE * 3 // 2))
    first, last = drawn[0].ts, drawn[-1].ts
    others = [Event(0, last + APART_US + number, "E", {}) for number in range(APART)]
    return tuple(
        replace(event, id=number, ts=event.ts - first, attributes=_movable(event))
        for number, event in enumerate([*drawn, *others])
    )


def _movable(event: Event) -> dict[str, Any]:
    """The attributes without times that are so far away that they cannot move."""
    far = {name for name in MOVED if abs(event.attributes.get(name) or 0) > 10**6}
    return {name: None if name in far else value for name, value in event.attributes.items()}
