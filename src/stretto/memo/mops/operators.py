"""Derived streams and queries as operators between streams: what can be computed together is found on these.

A selection is sigma, then pi; an aggregate alpha over a sigma; a join stands over a sigma for each source, and under
one that says how far apart events may be. A query is a sigma on its first event, `;` or mu, and a sigma on what is
reported.
"""

from collections.abc import Hashable, Iterable, Iterator
from enum import StrEnum

from stretto.memo.mops.patterns import Parts, parts_of
from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PatternStream,
    Selection,
    WindowAggregate,
    WindowedValue,
)
from stretto.pattern.nodes import Query, Return, Stream
from stretto.records import dataclass


class OperatorKind(StrEnum):
    """What an operator does: select, project, aggregate, join, follow by one event or by a run of them."""

    SIGMA = "sigma"
    PI = "pi"
    ALPHA = "alpha"
    JOIN = "join"
    SEQ = "seq"
    MU = "mu"


@dataclass(frozen=True, slots=True)
class StreamOperator:
    """`definition`: all that it does, but for the names of streams; operators with equal ones are the same operator.

    `alike`: what operators over the same streams must have in common to be computed as one.
    `of`: the derived stream or the query that it is a part of.
    """

    kind: OperatorKind
    inputs: tuple[str, ...]
    output: str
    definition: Hashable
    alike: Hashable
    of: str


def operators_of(streams: Iterable[DerivedStream], queries: Iterable[Query]) -> tuple[StreamOperator, ...]:
    """The operators of streams, each behind those it reads, and of queries."""
    found: list[StreamOperator] = []
    for stream in streams:
        match stream:
            case Selection():
                found += _selection(stream)
            case WindowAggregate():
                found += _aggregate(stream)
            case JoinStream():
                found += _join(stream)
            case PatternStream():
                found += _pattern(stream.name, parts_of(stream.query, as_stream=True))
    for query in queries:
        found += _pattern(query.name, parts_of(query))
    return tuple(found)


def selected(of: str, place: str) -> str:
    """The stream of the events that a statement selects for one of its inputs."""
    return f"{of}.{place}"


def _sigma(of: str, source: Stream, output: str) -> StreamOperator:
    return StreamOperator(OperatorKind.SIGMA, (source.type,), output, frozenset(source.where), None, of)


def _selected(of: str, source: Stream, place: str) -> tuple[str, list[StreamOperator]]:
    """What a statement reads of a source, and the selection that gives it, if there is one."""
    if not source.where:
        return source.type, []
    output = selected(of, place)
    return output, [_sigma(of, source, output)]


def _selection(stream: Selection) -> Iterator[StreamOperator]:
    columns = frozenset((item.name, item.value) for item in stream.columns)
    name, below = _selected(stream.name, stream.source, "selected")
    yield from below
    yield StreamOperator(OperatorKind.PI, (name,), stream.name, columns, columns, stream.name)


def _aggregate(stream: WindowAggregate) -> Iterator[StreamOperator]:
    name, below = _selected(stream.name, stream.source, "selected")
    yield from below
    columns = frozenset(_column(item) for item in stream.columns)
    functions = frozenset(
        (one.function, one.value) for one in stream.columns if isinstance(one, WindowedValue)
    )
    definition = columns, stream.groups, stream.window_us
    yield StreamOperator(OperatorKind.ALPHA, (name,), stream.name, definition, functions, stream.name)


def _column(item: Return | WindowedValue) -> Hashable:
    function = item.function if isinstance(item, WindowedValue) else None
    return item.name, function, item.value


def _join(stream: JoinStream) -> Iterator[StreamOperator]:
    inputs = []
    for alias, source in zip(stream.aliases, stream.sources, strict=True):
        name, below = _selected(stream.name, source, alias)
        inputs.append(name)
        yield from below
    columns = frozenset((item.name, item.value) for item in stream.columns)
    alike, pairs = (frozenset(stream.on), columns, stream.aliases), selected(stream.name, "pairs")
    definition = alike, stream.window_us
    yield StreamOperator(OperatorKind.JOIN, tuple(inputs), pairs, definition, alike, stream.name)
    apart = "apart", stream.window_us
    yield StreamOperator(OperatorKind.SIGMA, (pairs,), stream.name, apart, None, stream.name)


def _pattern(name: str, parts: Parts) -> Iterator[StreamOperator]:
    first, *others = parts.streams
    if parts.single and parts.first is not None:
        yield _sigma(name, parts.first, name)
        return
    if parts.first is not None and parts.first.where:
        first = selected(name, "first")
        yield _sigma(name, parts.first, first)
    kind = OperatorKind.MU if parts.repeats else OperatorKind.SEQ
    above = bool(parts.reported) or parts.extent is not None
    output = selected(name, "runs") if above else name
    # What counts positions, or begins otherwise, is no continuation of one event: it is nobody else's.
    definition = parts.definition if parts.first is not None else (name, parts.definition)
    yield StreamOperator(kind, (first, *others), output, definition, definition, name)
    if above:
        checked = frozenset(parts.reported), parts.extent
        yield StreamOperator(OperatorKind.SIGMA, (output,), name, checked, None, name)
