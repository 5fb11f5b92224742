"""Derived streams at work: the events of a step in, and out come these and all that streams make of them.

A step holds all events of the times it covers. So every stream is complete up to the end of a step, and nothing that
was made has to be taken back.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from stretto.engine.derived.asked_aggregates import AskedAggregates
from stretto.engine.derived.block_events import BlockEvents, EarlySelections, passing_some, with_columns
from stretto.engine.derived.channel_aggregates import ChannelAggregates
from stretto.engine.derived.event_classes import EventClasses
from stretto.engine.derived.event_order import RankedEvents, in_total_order
from stretto.engine.derived.read_streams import selections, source_types
from stretto.engine.live_plan import LivePlan, outputs_of
from stretto.engine.memory.limits import Meter, vector_size
from stretto.engine.results.leaf_ids import leaf_values
from stretto.engine.results.match_chunks import NO_ID, MatchChunk
from stretto.engine.results.matches import Matches
from stretto.engine.results.thinning import Thinners
from stretto.engine.rows.next_moves import EVENT
from stretto.engine.stream.arena import Block, concat_blocks, ids_at
from stretto.engine.stream.constants import WithConstants, over_constants, vectors
from stretto.engine.stream.pair_index import pair_index
from stretto.pattern.nodes import Return, Stream
from stretto.pattern.predicates import Expr, Ref, walk
from stretto.plan.dag import Plan, read_columns
from stretto.plan.families.members import ENTRY, Pairing
from stretto.plan.front.channel_streams import class_column
from stretto.plan.front.leaves import Leaves
from stretto.plan.front.stages import (
    Aggregation,
    Counted,
    Detected,
    Detections,
    Encoding,
    Front,
    Projection,
    SharedAggregation,
)
from stretto.schema import Kind, Special
from stretto.values.evaluate import holds, value
from stretto.values.member_sets import member_sets
from stretto.values.rows import Bool
from stretto.values.strings import Strings
from stretto.values.vector import DTYPES, Vector


class FrontRunner:
    """Runs the stages of a front; `codes` are the types' numbers in blocks, `kinds` those of columns that go out.

    `read`: what the plan behind it selects.
    """

    def __init__(
        self,
        front: Front,
        codes: dict[str, int],
        kinds: Mapping[str, Kind],
        strings: Strings,
        meter: Meter,
        special: Special,
        read: Collection[Stream] = (),
    ) -> None:
        self._front, self._codes, self._kinds, self._strings = front, codes, kinds, strings
        self._text_ids = front.columns.get(special.id) is Kind.STRING
        wheres_of = selections(read) if front.selective else {}
        self._early = EarlySelections(wheres_of, strings)
        made: list[_Projecting | _Pairing | _Encoding | _Aggregating | _ChannelAggregating | _Detecting] = []
        for stage in front.stages:
            match stage:
                case Projection(pairing=None):
                    made.append(_Projecting(stage))
                case Projection(pairing=pairing) if pairing is not None:
                    made.append(_Pairing(stage, pairing, strings))
                case Encoding():
                    made.append(_Encoding(stage, strings))
                case Aggregation() if stage.encoded:
                    unread = stage.stream.name not in frozenset(source_types(front))
                    wheres = wheres_of.get(stage.stream.name, ()) if unread else ()
                    made.append(_ChannelAggregating(stage, strings, wheres))
                case Aggregation():
                    made.append(_Aggregating((stage,)))
                case SharedAggregation():
                    made.append(_Aggregating(stage.parts))
                case Detections():
                    made.append(_Detecting(stage, front, strings, meter, special))
        self._stages = made
        self._sides = [
            _Reading(side.plan, side.counted, front, strings, meter, special) for side in front.sides
        ]
        ranks = {name: rank for rank, name in enumerate(sorted(codes))}
        self._ranks = ranks
        self._sources = {name: codes[name] for name in source_types(front) if name in codes}
        self._made = frozenset(codes[name] for name in front.names if name in codes)

    def thin(self, thinning: Thinners | None) -> None:
        """Report what is left of the matches of sides; what stages find is no result."""
        for side in self._sides:
            side.thin(thinning)

    @property
    def held(self) -> int:
        return sum(stage.held for stage in (*self._stages, *self._sides))

    @property
    def since(self) -> int | None:
        """The time of the earliest event that some window of events still reaches; None: there is no such window."""
        return min((time for one in self._readings if (time := one.since) is not None), default=None)

    @property
    def due_us(self) -> int | None:
        """The earliest time that a stream or a side waits for."""
        return min((due for one in self._readings if (due := one.due_us) is not None), default=None)

    @property
    def _readings(self) -> list["_Reading"]:
        return [*self._sides, *(stage.reading for stage in self._stages if isinstance(stage, _Detecting))]

    def raw(self, block: Block) -> Block:
        """The raw events among those of a step."""
        if not self._made:
            return block
        return block.take(np.flatnonzero(~np.isin(block.types, list(self._made))))

    def step(self, raw: Block, until: int, matches: Matches, *, closing: bool) -> Block:
        """Raw events, with those that are made of them, in order of time; matches of sides are added."""
        if not self._stages and not self._sides:
            return self.padded(raw)
        streams = _Streams(raw, self._sources, self._ranks, self._front.leaves, self._strings)
        for stage in self._stages:
            stage.step(streams, until, closing=closing)
        for side in self._sides:
            side.step(streams, until, matches, closing=closing)
        parts = [replace(streams.ranked_raw(), events=self.padded(raw))]
        asked = {name: block for name, block in streams.made() if name in self._codes}
        for name, block in self._early.selected(asked).items():
            if len(block):
                types = np.full(len(block), self._codes[name], np.int32)
                parts.append(streams.ranked(name, self.padded(replace(block, types=types)), block))
        return in_total_order(parts, self._strings, text_ids=self._text_ids)

    def padded(self, block: Block) -> Block:
        """The events with all columns that go out."""
        return with_columns(block, self._kinds)


class _Streams:
    """The events of one step by type and stream, those that are there so far."""

    def __init__(
        self, raw: Block, codes: Mapping[str, int], ranks: Mapping[str, int], leaves: Leaves, strings: Strings
    ) -> None:
        self.raw, self.codes, self.strings = raw, codes, strings
        self._ranks, self._leaves = ranks, leaves
        self._found: dict[str, Block] = {}
        self._made: dict[str, list[Block]] = {}

    def events(self, name: str) -> Block:
        if name in self._made:
            return _by_time(self._made[name])
        if name not in self._found:
            code = self.codes.get(name)
            index = np.flatnonzero(self.raw.types == code) if code is not None else np.zeros(0, np.int64)
            self._found[name] = self.raw.take(index)
        return self._found[name]

    def add(self, name: str, block: Block) -> None:
        self._made.setdefault(name, []).append(block)

    def made(self) -> Iterator[tuple[str, Block]]:
        for name, blocks in self._made.items():
            yield name, _by_time(blocks)

    def ranked(self, name: str, events: Block, source: Block | None = None) -> RankedEvents:
        """Events of a stream, as they are put in order with others; `source`: with their own columns, if not all."""
        ranks = np.full(len(events), self._ranks.get(name, -1))
        source = self.events(name) if source is None else source
        return RankedEvents(events, source, ranks, self._leaves.get(name, ()))

    def ranked_raw(self) -> RankedEvents:
        """All raw events, the same way."""
        ranks = np.full(max(self.codes.values(), default=0) + 1, -1)
        for name, code in self.codes.items():
            ranks[code] = self._ranks[name]
        known = np.where(self.raw.types < len(ranks), self.raw.types, 0)
        return RankedEvents(self.raw, self.raw, ranks[known])

    def passing(self, stream: Stream) -> Block:
        """The events of a type or stream that pass the terms."""
        block = self.events(stream.type)
        if not stream.where or not len(block):
            return block
        events = BlockEvents((block,), self.strings)
        return block.take(np.flatnonzero(holds(stream.where, (events.places,), len(block), events)))


def _by_time(blocks: list[Block]) -> Block:
    """The blocks as one, in order of time."""
    whole = concat_blocks(blocks)
    blocks[:] = [whole if len(blocks) == 1 else whole.take(np.argsort(whole.ts, kind="stable"))]
    return blocks[0]


def _values(items: Sequence[Return], block: Block, strings: Strings) -> dict[str, Vector]:
    if not items:
        return {}
    events, n = BlockEvents((block,), strings), len(block)
    return {item.name: value(item.value, (events.places,), n, events).over(n) for item in items}


class _Pairing:
    """One event per event of the source and entry of a family that it concerns."""

    def __init__(self, stage: Projection, pairing: Pairing, strings: Strings) -> None:
        self._stage, entries = stage, pairing.entries
        self._index = pair_index(pairing.terms, EVENT, entries, strings)
        self._constants = {**vectors(entries, strings), ENTRY: Vector(np.arange(len(entries)))}
        self._items = [replace(item, value=over_constants(item.value, 1)) for item in stage.columns]

    @property
    def held(self) -> int:
        return self._index.held + sum(map(vector_size, self._constants.values()))

    def step(self, streams: _Streams, until: int, *, closing: bool) -> None:
        del until, closing
        block = streams.passing(self._stage.source)
        events = BlockEvents((block,), streams.strings)
        rows, entries = self._index.pairs((events.places,), len(block), events)
        known = WithConstants(events, self._constants)
        n = len(rows)
        attributes = {item.name: value(item.value, (rows, entries), n, known).over(n) for item in self._items}
        ids = ids_at(block.ids, rows)
        streams.add(self._stage.name, Block(block.ts[rows], block.types[rows], ids, attributes))


class _Projecting:
    held = 0

    def __init__(self, stage: Projection) -> None:
        self._stage = stage

    def step(self, streams: _Streams, until: int, *, closing: bool) -> None:
        del until, closing
        block = streams.passing(self._stage.source)
        attributes = _values(self._stage.columns, block, streams.strings)
        streams.add(self._stage.name, Block(block.ts, block.types, block.ids, attributes))


class _Encoding:
    """Events of several selections, each of them once."""

    held = 0

    def __init__(self, stage: Encoding, strings: Strings) -> None:
        self._stage = stage
        self._classes = EventClasses(stage.members, strings)
        self._empty = member_sets(strings).empty

    def step(self, streams: _Streams, until: int, *, closing: bool) -> None:
        del until, closing
        stage, block = self._stage, streams.passing(self._stage.source)
        events = BlockEvents((block,), streams.strings)
        classes = self._classes.step(events.places, events)
        rows = np.flatnonzero(classes != self._empty)
        if len(rows) < len(block):
            block, classes = block.take(rows), classes[rows]
        attributes = _values(stage.columns, block, streams.strings)
        attributes[class_column(stage.name)] = Vector(classes)
        streams.add(stage.name, Block(block.ts, block.types, block.ids, attributes))


class _Aggregating:
    """Aggregates of the same events, which are kept once however they are grouped."""

    def __init__(self, parts: Sequence[Aggregation]) -> None:
        self._parts = [(part.stream.name, (*_plain(part), *part.carried)) for part in parts]
        self._source = parts[0].stream.source
        self._asked = AskedAggregates.of([part.stream for part in parts])
        self._window = self._asked.window()

    @property
    def held(self) -> int:
        return self._window.nbytes

    def step(self, streams: _Streams, until: int, *, closing: bool) -> None:
        del until, closing
        block = streams.passing(self._source)
        events = BlockEvents((block,), streams.strings)
        found = self._window.step(block.ts, *self._asked.read(events, events.places))
        known: dict[Expr, Vector] = {}  # of the whole block, which most parts have all of
        for (name, items), names, rows in zip(self._parts, self._asked.names, found, strict=True):
            whole = len(rows.events) == len(block)
            own = block if whole else block.take(rows.events)
            new = [item for item in items if not whole or item.value not in known]
            attributes = _values(new, own, streams.strings)
            if whole:
                known |= {item.value: attributes[item.name] for item in new}
                attributes = {item.name: known[item.value] for item in items}
            attributes |= dict(zip(names, rows.values, strict=True))
            streams.add(name, Block(own.ts, own.types, own.ids, attributes))


class _ChannelAggregating:
    """Aggregates of all streams of a channel; streams that have the same events so far are one.

    `wheres`: what alone is selected of them. Where it is about aggregates, the others are never put together.
    """

    def __init__(self, stage: Aggregation, strings: Strings, wheres: Sequence[tuple[Expr, ...]] = ()) -> None:
        self._stage, self._wheres = stage, wheres
        self._aggregates = ChannelAggregates(stage.stream, strings)
        read = {
            node.attribute
            for where in wheres
            for term in where
            for node in walk(term)
            if isinstance(node, Ref)
        }
        self._early = bool(wheres) and read <= frozenset(self._aggregates.names)

    @property
    def held(self) -> int:
        return self._aggregates.nbytes

    def step(self, streams: _Streams, until: int, *, closing: bool) -> None:
        del until, closing
        stage, stream = self._stage, self._stage.stream
        block = streams.passing(stream.source)
        classes = block.attributes[class_column(stream.source.type)].data

        def wanted(values: Sequence[Vector]) -> Bool:
            unread = np.broadcast_to(np.int64(0), len(values[0]))
            found = Block(
                unread,
                unread.astype(np.int32),
                unread,
                dict(zip(self._aggregates.names, values, strict=True)),
            )
            return passing_some(self._wheres, BlockEvents((found,), streams.strings))

        events = BlockEvents((block,), streams.strings)
        rows = self._aggregates.step(block.ts, classes, events, wanted if self._early else None)
        block = block.take(rows.events)
        attributes = _values((*_plain(stage), *stage.carried), block, streams.strings)
        attributes |= dict(zip(self._aggregates.names, rows.values, strict=True))
        attributes[class_column(stream.name)] = Vector(rows.classes)
        streams.add(stream.name, Block(block.ts, block.types, block.ids, attributes))


def _plain(part: Aggregation) -> list[Return]:
    return [one for one in part.stream.columns if isinstance(one, Return)]


class _Reading:
    """A plan of its own over some of the events, which keeps those that its windows reach."""

    def __init__(
        self,
        plan: Plan,
        counted: Counted | None,
        front: Front,
        strings: Strings,
        meter: Meter,
        special: Special,
    ) -> None:
        self._live = LivePlan(plan, meter, special, strings=strings)
        self._text_ids = front.columns.get(special.id) is Kind.STRING
        self._kinds = {name: front.columns[name] for name in sorted(read_columns(plan))}
        self._counted = counted

    def thin(self, thinning: Thinners | None) -> None:
        self._live.thin(thinning)

    @property
    def held(self) -> int:
        return self._live.held

    @property
    def due_us(self) -> int | None:
        return self._live.due_us

    @property
    def since(self) -> int | None:
        """The earliest event that a window of events reaches."""
        live = self._live
        return (
            int(live.arena.borrowed_ts[0])
            if live.plan.horizon_events and len(live.arena.borrowed_ts)
            else None
        )

    def step(self, streams: "_Streams", until: int, matches: Matches, *, closing: bool) -> None:
        block = self._read(streams)
        for _ in self._live.take([block] if len(block) else [], until, matches, closing=closing):
            pass

    def _read(self, streams: "_Streams") -> Block:
        codes = self._live.index.codes
        if self._counted is not None and not self._counted:
            raw = streams.raw
            types = np.zeros(len(raw), np.int32)
            for name, code in codes.items():
                types[raw.types == streams.codes.get(name, -1)] = code
            return with_columns(replace(raw, types=types), self._kinds)
        names = codes if self._counted is None else self._counted
        parts = [
            streams.ranked(name, self._block(streams, name, codes.get(name, 0)))
            for name in names
            if len(streams.events(name))
        ]
        if not parts:
            return empty_block(self._kinds)
        return in_total_order(parts, streams.strings, text_ids=self._text_ids)

    def _block(self, streams: "_Streams", name: str, code: int) -> Block:
        block = streams.events(name)
        types = np.full(len(block), code, np.int32)
        return with_columns(replace(block, types=types), self._kinds)


class _Detecting:
    """Events of matches."""

    def __init__(
        self, stage: Detections, front: Front, strings: Strings, meter: Meter, special: Special
    ) -> None:
        self._stage = stage
        self.reading = _Reading(stage.plan, stage.counted, front, strings, meter, special)
        self._outputs = outputs_of(stage.plan)

    @property
    def held(self) -> int:
        return self.reading.held

    def step(self, streams: "_Streams", until: int, *, closing: bool) -> None:
        matches = Matches(self._outputs)
        self.reading.step(streams, until, matches, closing=closing)
        for stream in self._stage.streams:
            for chunk in matches.chunks(stream.name):
                streams.add(stream.name, _made_of(stream, chunk.wide(), streams.strings))
            streams.add(stream.name, empty_block(self._columns(stream)))

    @staticmethod
    def _columns(stream: Detected) -> dict[str, Kind]:
        start = {} if stream.start is None else {stream.start: Kind.TIME}
        returned = {item.name: item.kind for item in stream.returns}
        return start | returned | {leaf.column: leaf.kind for leaf in stream.leaves}


def empty_block(columns: Mapping[str, Kind]) -> Block:
    none = np.zeros(0, np.int64)
    attributes = {name: Vector(np.zeros(0, DTYPES[kind])) for name, kind in columns.items()}
    return Block(none, np.zeros(0, np.int32), none, attributes)


def _made_of(stream: Detected, chunk: MatchChunk, strings: Strings) -> Block:
    """An event per match, at the time it became certain."""
    n = len(chunk)
    attributes = {item.name: vector for item, vector in zip(stream.returns, chunk.returned, strict=True)}
    if stream.start is not None:
        attributes[stream.start] = Vector(chunk.start)
    for leaf, column in zip(stream.leaves, chunk.ids, strict=True):
        attributes[leaf.column] = leaf_values(leaf, column, strings)
    block = Block(chunk.detected, np.zeros(n, np.int32), np.full(n, NO_ID), attributes)
    return block.take(np.argsort(block.ts, kind="stable"))
