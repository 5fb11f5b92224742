"""How a key passes through derived streams: through renames, GROUP BY, ON and patterns.

A stream is made key by key where each of its events is made of raw events of one key alone; then all that it makes of
one key can be made on one target. Which of its attributes still hold the key decides what can be tied to it further on.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from stretto.pattern.comparisons import equality
from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PatternStream,
    Selection,
    WindowAggregate,
    sources_of,
)
from stretto.pattern.nodes import Policy, Query, Return, Stream, TrendQuery, atoms_of, streams_of
from stretto.pattern.normal import normalize
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Apply, Const, Expr, Param, Ref, partition_of, walk
from stretto.records import dataclass

Holders = Callable[[str], frozenset[str]]
"""The attributes of a type or a stream that hold the key."""


@dataclass(frozen=True, slots=True)
class KeyFlow:
    """Where the values of a raw attribute are found: in itself, and in attributes of derived streams.

    `broken` says why one of the streams is not made key by key; None if all are.
    """

    attribute: str
    streams: Mapping[str, frozenset[str]]
    broken: str | None = None

    def holders(self, name: str) -> frozenset[str]:
        return self.streams.get(name, frozenset({self.attribute}))


def key_flow(attribute: str, streams: Sequence[DerivedStream]) -> KeyFlow:
    """How a raw attribute passes through streams, each of which stands behind those it reads."""
    found: dict[str, frozenset[str]] = {}
    for stream in streams:
        flow = KeyFlow(attribute, dict(found))
        broken = _why_mixed(stream, flow.holders, attribute)
        if broken is not None:
            return KeyFlow(attribute, found, f"stream `{stream.name}` {broken}")
        found[stream.name] = frozenset(_holding(stream, flow.holders))
    return KeyFlow(attribute, found)


def read_streams(
    queries: Sequence[Query | TrendQuery], streams: Sequence[DerivedStream]
) -> tuple[DerivedStream, ...]:
    """The streams that queries read, through others too."""
    needed = {name for query in queries for name in streams_of(query)}
    found: list[DerivedStream] = []
    for stream in reversed(streams):
        if stream.name in needed:
            needed.update(sources_of(stream))
            found.append(stream)
    return tuple(reversed(found))


def _why_mixed(stream: DerivedStream, holders: Holders, attribute: str) -> str | None:
    """Why an event of a stream may be made of events with several keys, as the rest of a sentence about it."""
    match stream:
        case WindowAggregate():
            if not any(group.attribute in holders(stream.source.type) for group in stream.groups):
                return f"has aggregates over all values of `{attribute}`; write `GROUP BY {attribute}`"
        case JoinStream():
            sides = [holders(source.type) for source in stream.sources]
            pairs = filter(None, map(equality, stream.on))
            if not any(all(side.attribute in sides[side.column] for side in pair) for pair in pairs):
                return f"joins events with other values of `{attribute}`; compare them in ON"
        case PatternStream():
            return why_untied_query(stream.query, holders, attribute)
    return None


def why_untied_query(query: Query, holders: Holders, attribute: str) -> str | None:
    for branch in normalize(query).branches:
        reason = why_untied_piece(branch.piece, holders, attribute)
        if reason is not None:
            return reason
    return None


def _holding(stream: DerivedStream, holders: Holders) -> Iterator[str]:
    """The attributes of a stream that are the key of its source."""
    match stream:
        case Selection() | WindowAggregate():
            of_columns = [holders(stream.source.type)]
        case JoinStream():
            of_columns = [holders(source.type) for source in stream.sources]
        case PatternStream():
            types: dict[int, list[frozenset[str]]] = {}
            for atom in atoms_of(stream.query.pattern):
                types.setdefault(atom.variable, []).append(holders(atom.stream.type))
            of_columns = [frozenset.intersection(*types[number]) for number in sorted(types)]
    columns = stream.query.returns if isinstance(stream, PatternStream) else stream.columns
    for column in columns:
        value = column.value
        if (
            isinstance(column, Return)
            and isinstance(value, Ref)
            and value.attribute in of_columns[value.column]
        ):
            yield column.name


# ---- pieces ----------------------------------------------------------------------------------------------------


def why_untied_piece(piece: Piece, holders: Holders, attribute: str) -> str | None:
    """Why events of several keys could meet in a match of a piece, as the rest of a sentence about its query."""
    columns = [
        frozenset.intersection(*(holders(name) for name in piece.slots[slot].types))
        for slot in piece.slot_of_column
    ]
    forbidden = [holders(negation.stream.type) for negation in piece.negations]
    everywhere = frozenset.intersection(*columns, *forbidden)
    if piece.window.unit == "events":
        return "has a window in EVENTS, which counts those of all keys"
    if any(everywhere.isdisjoint(partition_of(name)) for name in _positions(piece)):
        return f"is STRICT over the events of all keys; write `[{attribute}]`"
    if not everywhere.isdisjoint(piece.same):
        return None
    if piece.follows:
        which = "next" if piece.policy is Policy.NEXT else "last"
        return f"takes the {which} event of any key; write `[{attribute}]`"
    reached = _reached(piece, columns)
    if len([node for node in reached if isinstance(node, int)]) < piece.width:
        return f"does not tie all of its events by `{attribute}`; write `[{attribute}]`"
    for negation, own in zip(piece.negations, forbidden, strict=True):
        links = [*_links(negation.terms, [*columns, own]), *_constants(negation.stream, piece.width, own)]
        tied = {node for link in links if piece.width in link for node in link} - {piece.width}
        if tied.isdisjoint(reached):
            return f"forbids `{negation.stream.type}` of any `{attribute}`; write `[{attribute}]`"
    return None


def _positions(piece: Piece) -> Iterator[str]:
    """The counts of positions that the terms of a piece read."""
    for term in piece.terms:
        for node in walk(term):
            if isinstance(node, Ref) and node.attribute.startswith("@"):
                yield node.attribute


def _reached(piece: Piece, columns: Sequence[frozenset[str]]) -> set[Hashable]:
    """The columns, and the constants, that equalities lead to from a column that is always bound.

    An equality of a repeated column holds for each of its events, so those agree with each other once they agree with
    an event outside, or with a constant. A group may leave a column unbound, so no way leads on through it.
    """
    slot_of = piece.slot_of_column
    singles = {column for column, slot in enumerate(slot_of) if isinstance(piece.slots[slot].source, Stream)}
    if not singles:
        return set()
    if len(piece.slots) == 1 and not piece.slots[0].repeats:
        return set(singles)
    links: list[tuple[Hashable, Hashable]] = [
        (a, b) for a, b in _links(piece.terms, columns) if slot_of[a] != slot_of[b]
    ]
    for column in singles:
        source = piece.slots[slot_of[column]].source
        assert isinstance(source, Stream)
        links += _constants(source, column, columns[column])
    start: Hashable = min(singles)
    found, pending = ({start}, [start]) if len(piece.slots) > 1 else (set[Hashable](), [start])
    while pending:
        at = pending.pop()
        linked = {node for link in links if at in link for node in link} - found
        found |= linked
        pending += [node for node in linked if node in singles or not isinstance(node, int)]
    return found


def _links(terms: Sequence[Expr], columns: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """The columns whose events are said to be equal in the key."""
    for left, right in filter(None, map(equality, terms)):
        if left.attribute in columns[left.column] and right.attribute in columns[right.column]:
            yield left.column, right.column


def _constants(stream: Stream, column: int, holders: frozenset[str]) -> Iterator[tuple[Hashable, Hashable]]:
    """The constants that the key of a column's events is said to be equal to."""
    for term in stream.where:
        if isinstance(term, Apply) and term.op == "=":
            for one, other in (term.arguments, term.arguments[::-1]):
                if isinstance(one, Ref) and one.attribute in holders and isinstance(other, Const | Param):
                    yield column, other
