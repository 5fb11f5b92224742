"""Bound derived streams: what CREATE STREAM means, names resolved and kinds known. The oracle reads this form.

A workload lists its derived streams so that each comes after those it reads. `Stream.type` names an event type or a
derived stream, wherever it stands: in these sources and in the atoms of patterns.

- Terms in the `where` of a source, `columns` and `groups` read the source's event as column 0; in a join the second
  source's event is column 1.
- The events of a selection and of an aggregate have the time and the id of the event they are made of. Those of a join
  and of a pattern stream are told apart by the ids of their leaves: the join's aliases, the variables of the query.
"""

from typing import Literal as OneOf

from stretto.pattern.nodes import Query, Return, Stream, streams_of
from stretto.pattern.predicates import Expr, Ref
from stretto.records import dataclass
from stretto.schema import Kind

Function = OneOf["AVG", "SUM", "COUNT", "MIN", "MAX", "STDDEV"]


@dataclass(frozen=True, slots=True)
class WindowedValue:
    """A column of an aggregate: `function` of `value` over the window of the event's group; no value for COUNT(*)."""

    name: str
    function: Function
    value: Expr | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Selection:
    """One event per event of the source, with these columns: sigma and pi."""

    name: str
    source: Stream
    columns: tuple[Return, ...]


@dataclass(frozen=True, slots=True)
class WindowAggregate:
    """One event e per event of the source; a windowed value is over the source's events e' with equal values of all
    `groups` and `e.ts - window_us < e'.ts <= e.ts`. An event with a null or NaN in a group has none: alpha.
    """

    name: str
    source: Stream
    columns: tuple[Return | WindowedValue, ...]
    groups: tuple[Ref, ...]
    window_us: int


@dataclass(frozen=True, slots=True)
class JoinStream:
    """One event per pair of events at most `window_us` apart that passes the terms of `on`, at the later time."""

    name: str
    aliases: tuple[str, str]
    sources: tuple[Stream, Stream]
    on: tuple[Expr, ...]
    columns: tuple[Return, ...]
    window_us: int


@dataclass(frozen=True, slots=True)
class PatternStream:
    """One event per match of the query, at its `detected`, with the query's RETURN columns and `start`."""

    name: str
    query: Query


@dataclass(frozen=True, slots=True)
class PairedSelection(Selection):
    """One event per event of the source and row of constants that passes the terms: columns may read both.

    `rows` are the constants, of a type that plans know. `terms` read the event as column 0.
    """

    rows: object
    terms: tuple[Expr, ...]


DerivedStream = Selection | WindowAggregate | JoinStream | PatternStream


def attributes_of(stream: DerivedStream) -> dict[str, Kind]:
    """The attributes of a stream's events; `ts` is one of every event, and not listed."""
    if isinstance(stream, PatternStream):
        return {"start": Kind.TIME, **{item.name: item.kind for item in stream.query.returns}}
    return {column.name: column.kind for column in stream.columns}


def sources_of(stream: DerivedStream) -> tuple[str, ...]:
    """The types and streams that a stream reads, each once."""
    match stream:
        case Selection() | WindowAggregate():
            return (stream.source.type,)
        case JoinStream():
            return tuple(dict.fromkeys(source.type for source in stream.sources))
        case PatternStream():
            return streams_of(stream.query)
