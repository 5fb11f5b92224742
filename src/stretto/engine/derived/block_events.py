"""Events of blocks as terms read them, and which of them some selection takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce

import numpy as np

from stretto.engine.stream.arena import Block, ids_at
from stretto.pattern.predicates import Expr
from stretto.plan.front.leaves import ID
from stretto.schema import Kind
from stretto.values.evaluate import holds
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.vector import DTYPES, Vector, concat_vectors

AT_ONCE = 1 << 16
"""Events of several streams are judged together up to so many, whose values a processor keeps at hand."""


class BlockEvents:
    """The events of some blocks, one behind the other, by their places."""

    def __init__(self, blocks: Sequence[Block], strings: Strings) -> None:
        self._blocks, self.strings = blocks, strings

    @cached_property
    def places(self) -> I64:
        """Of all events. Whoever asks for values by these has them as they are, without a copy."""
        return np.arange(sum(map(len, self._blocks)))

    def values(self, attribute: str, positions: I64) -> Vector:
        whole = concat_vectors([_values(one, attribute) for one in self._blocks])
        return whole if positions is self.places else whole.take(positions)


def _values(block: Block, attribute: str) -> Vector:
    if attribute == "ts":
        return Vector(block.ts)
    if attribute == ID:
        return Vector(ids_at(block.ids, np.arange(len(block))))
    return block.attributes[attribute]


def with_columns(block: Block, kinds: Mapping[str, Kind]) -> Block:
    """The events with just these columns; those that they do not have are null."""
    nulls: dict[Kind, Vector] = {}  # one for all columns of a kind: most streams lack most columns
    attributes: dict[str, Vector] = {}
    for name, kind in kinds.items():
        found = block.attributes.get(name, nulls.get(kind))
        if found is None:
            found = nulls[kind] = Vector(np.zeros(len(block), DTYPES[kind]), np.zeros(len(block), np.bool_))
        attributes[name] = found
    return Block(block.ts, block.types, block.ids, attributes)


Wheres = tuple[tuple[Expr, ...], ...]
"""Selections of one stream."""


def passing_some(wheres: Iterable[tuple[Expr, ...]], events: BlockEvents) -> Bool:
    """Which events pass all terms of some selection."""
    places = events.places
    return reduce(np.logical_or, [holds(where, (places,), len(places), events) for where in wheres])


class EarlySelections:
    """What is selected of streams, judged together for those of which the same is."""

    def __init__(self, wheres: Mapping[str, Sequence[tuple[Expr, ...]]], strings: Strings) -> None:
        self._strings = strings
        self._alike: dict[Wheres, list[str]] = {}
        for name, mine in wheres.items():
            self._alike.setdefault(tuple(mine), []).append(name)

    def selected(self, made: Mapping[str, Block]) -> dict[str, Block]:
        """The events of streams that some query selects; all of a stream of which nothing else is known."""
        found = dict(made)
        for wheres, names in self._alike.items():
            there = [name for name in names if len(made.get(name, ()))]
            for some in _portions(there, made):
                self._select(wheres, some, found)
        return found

    def _select(self, wheres: Wheres, names: Sequence[str], found: dict[str, Block]) -> None:
        blocks = [found[name] for name in names]
        ends = np.cumsum([len(block) for block in blocks])
        kept = np.flatnonzero(passing_some(wheres, BlockEvents(blocks, self._strings)))
        start, cuts = 0, np.searchsorted(kept, ends).tolist()
        for name, block, end, cut in zip(names, blocks, ends.tolist(), cuts, strict=True):
            if cut - start < len(block):
                found[name] = block.take(kept[start:cut] - (end - len(block)))
            start = cut


def _portions(names: Sequence[str], made: Mapping[str, Block]) -> Iterator[list[str]]:
    """Streams, as many at a time as are judged together."""
    some: list[str] = []
    count = 0
    for name in names:
        if some and count + len(made[name]) > AT_ONCE:
            yield some
            some, count = [], 0
        some.append(name)
        count += len(made[name])
    if some:
        yield some
