"""What derived streams mean, by brute force: every event of every stream, from the raw events on.

Written from docs/semantics.md, section 8. An event of a selection or an aggregate has the time and the identity of the
event it is made of; one of a join or of a pattern stream is told apart by its leaves, the raw ids behind each name.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from stretto.oracle.aggregates import aggregate
from stretto.oracle.bindings import is_of
from stretto.oracle.detections import Match, bound_matches
from stretto.oracle.values import Event, evaluate
from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PatternStream,
    Selection,
    WindowAggregate,
    WindowedValue,
)
from stretto.pattern.nodes import Query, Return, Stream, TrendQuery, atoms_of, streams_of
from stretto.pattern.predicates import Expr, Value, Which

Streams = Mapping[str, Sequence[Event]]  # the events of each derived stream


def derive(
    streams: Sequence[DerivedStream], events: Sequence[Event], decided_by: int | None = None
) -> Streams:
    """The events of all derived streams; `streams` are in an order in which each comes after those it reads.

    `decided_by`: the time of the last raw event. Events of matches that are undecided there are left out.
    """
    found: dict[str, Sequence[Event]] = {}
    paths = _leaf_paths(streams)
    last = max((event.ts for event in events), default=0)
    for stream in streams:
        match stream:
            case Selection():
                made = [_made(stream, event, {}) for event in source(stream.source, found, events)]
            case WindowAggregate():
                made = _aggregated(stream, source(stream.source, found, events))
            case JoinStream():
                made = _joined(stream, found, events)
            case PatternStream():
                read = inputs(stream.query, found, events)
                matches = [match for match, _ in bound_matches(stream.query, read, decided_by)]
                made = [_matched(stream, match, paths[stream.name]) for match in matches]
        found[stream.name] = [replace(event, is_after_input=event.ts > last) for event in made]
    return found


def inputs(query: Query | TrendQuery, derived: Streams, events: Sequence[Event]) -> list[Event]:
    """The events that a query reads and counts positions among: all raw ones, or those of the streams that it names,
    if one of these is derived.
    """
    named = streams_of(query)
    if not any(name in derived for name in named):
        return list(events)
    return [event for name in named for event in source(Stream(name), derived, events)]


def source(stream: Stream, derived: Streams, events: Sequence[Event]) -> list[Event]:
    """The events of one type or derived stream that pass the terms."""
    return [event for event in derived.get(stream.type, events) if is_of(event, stream)]


def _value(expr: Expr, *events: Event) -> Value:
    """An expression over one event, or over the two of a join."""
    sets = {column: [event] for column, event in enumerate(events)}
    return evaluate(expr, sets, {(column, Which.EACH): event for column, event in enumerate(events)})


def _made(stream: Selection | WindowAggregate, event: Event, windowed: Mapping[str, Value]) -> Event:
    """The event of a stream that is made of one event, with what was computed over its window."""
    values = {
        column.name: _value(column.value, event) if isinstance(column, Return) else windowed[column.name]
        for column in stream.columns
    }
    return Event(event.id, event.ts, stream.name, values, event.leaves)


def _aggregated(stream: WindowAggregate, events: Sequence[Event]) -> list[Event]:
    made = []
    for event in events:
        key = [_value(group, event) for group in stream.groups]
        if any(value is None or (isinstance(value, float) and math.isnan(value)) for value in key):
            continue
        window = [
            other
            for other in events
            if event.ts - stream.window_us < other.ts <= event.ts
            and [_value(group, other) for group in stream.groups] == key
        ]
        windowed = {
            column.name: _windowed(column, window)
            for column in stream.columns
            if isinstance(column, WindowedValue)
        }
        made.append(_made(stream, event, windowed))
    return made


def _windowed(column: WindowedValue, window: Sequence[Event]) -> Value:
    if column.value is None:
        return len(window)
    return aggregate(column.function, [_value(column.value, event) for event in window])


def _joined(stream: JoinStream, derived: Streams, events: Sequence[Event]) -> list[Event]:
    """Every pair of two events that are near in time and pass the terms; of one stream both orders, and itself."""
    left, right = (source(read, derived, events) for read in stream.sources)
    return [
        Event(
            -1,
            max(a.ts, b.ts),
            stream.name,
            {column.name: _value(column.value, a, b) for column in stream.columns},
            (*a.leaves_of(stream.aliases[0]), *b.leaves_of(stream.aliases[1])),
        )
        for a in left
        for b in right
        if abs(a.ts - b.ts) <= stream.window_us and all(_value(term, a, b) is True for term in stream.on)
    ]


def _matched(stream: PatternStream, match: Match, paths: Sequence[str]) -> Event:
    """Return the event of a match; its leaves are in the order of `paths`."""
    values = {**match.returned, "start": match.start}
    leaves = sorted(match.events.items(), key=lambda leaf: paths.index(leaf[0]))
    return Event(-1, match.detected, stream.name, values, tuple(leaves))


def _leaf_paths(streams: Sequence[DerivedStream]) -> Mapping[str, Sequence[str]]:
    """Return the ordered names of the leaves of each stream; a stream of raw events has no entry."""
    paths: dict[str, Sequence[str]] = {}
    for stream in streams:
        match stream:
            case Selection() | WindowAggregate():
                if stream.source.type in paths:
                    paths[stream.name] = paths[stream.source.type]
            case JoinStream():
                sides = zip(stream.aliases, (source.type for source in stream.sources), strict=True)
                paths[stream.name] = [path for side in sides for path in _paths_under(*side, paths)]
            case PatternStream(query=query):
                atoms = sorted(
                    atoms_of(query.pattern), key=lambda atom: atom.variable
                )  # stable: streams as named
                named = [(query.variables[atom.variable].name, atom.stream.type) for atom in atoms]
                paths[stream.name] = list(
                    dict.fromkeys(path for side in named for path in _paths_under(*side, paths))
                )
    return paths


def _paths_under(name: str, stream: str, paths: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of the leaves of an event of a stream that goes by `name`."""
    return [f"{name}.{path}" for path in paths[stream]] if stream in paths else [name]
