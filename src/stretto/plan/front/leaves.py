"""What a match lists of an event that is no raw one: the raw events behind it, by the names of a join or a pattern."""

from collections.abc import Iterable, Iterator, Mapping

from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PatternStream,
    Selection,
    WindowAggregate,
)
from stretto.pattern.nodes import Query, Return, atoms_of
from stretto.pattern.predicates import Expr, Ref
from stretto.records import dataclass
from stretto.schema import Kind

ID = "@id"
"""The id of an event, as if it were an attribute."""


@dataclass(frozen=True, slots=True)
class StreamLeaf:
    """A name under which a derived event lists raw events: `path` after a variable, and the column they lie in.

    `many`: the column holds lists of ids, written as text. `text`: ids are texts.
    """

    path: str
    column: str
    many: bool
    text: bool = False

    @property
    def kind(self) -> Kind:
        return Kind.STRING if self.many or self.text else Kind.INT


Leaves = Mapping[str, tuple[StreamLeaf, ...]]
"""The leaves of each stream whose events are no raw ones; a stream without an entry has raw events."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Raw events that a match lists of a variable: under its own name, or under `variable.path`.

    `own`: ids of the events themselves, where they are raw ones. `leaves`: of those that are not, what is behind them.
    """

    path: str
    own: bool
    leaves: tuple[StreamLeaf, ...]

    @property
    def many(self) -> bool:
        """Whether one event may list several."""
        return any(leaf.many for leaf in self.leaves)

    def under(self, variable: str) -> str:
        return f"{variable}.{self.path}" if self.path else variable


def listings(types: Iterable[str], leaves: Leaves) -> tuple[Listing, ...]:
    """What is listed of a variable whose events may be of these types and streams."""
    found: dict[str, list[StreamLeaf]] = {}
    own = False
    for name in types:
        if name not in leaves:
            own = True
            found.setdefault("", [])
        for leaf in leaves.get(name, ()):
            found.setdefault(leaf.path, []).append(leaf)
    return tuple(Listing(path, own and not path, tuple(under)) for path, under in found.items())


def leaves_of(streams: Iterable[DerivedStream], *, text: bool = False) -> Leaves:
    """The leaves of all streams whose events are no raw ones; `text`: ids are texts."""
    found: dict[str, tuple[StreamLeaf, ...]] = {}
    for stream in streams:
        match stream:
            case JoinStream():
                bound = [
                    Bound(alias, (source.type,), several=False)
                    for alias, source in zip(stream.aliases, stream.sources, strict=True)
                ]
                found[stream.name] = tuple(_leaves(stream.name, bound, found, text=text))
            case PatternStream():
                found[stream.name] = tuple(_leaves(stream.name, variables_of(stream.query), found, text=text))
            case Selection() | WindowAggregate() if stream.source.type in found:
                found[stream.name] = tuple(
                    StreamLeaf(leaf.path, leaf_column(stream.name, leaf.path), leaf.many, text)
                    for leaf in found[stream.source.type]
                )
    return found


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable, the types and streams that its events may be of, and whether it may hold several events."""

    variable: str
    types: tuple[str, ...]
    several: bool


def variables_of(query: Query) -> list[Bound]:
    """The positive variables of a query."""
    types: dict[int, dict[str, None]] = {}
    for atom in atoms_of(query.pattern):
        types.setdefault(atom.variable, {})[atom.stream.type] = None
    return [
        Bound(variable.name, tuple(types[number]), variable.kleene or bool(variable.groups))
        for number, variable in enumerate(query.variables)
        if not variable.negated
    ]


def _leaves(stream: str, variables: Iterable[Bound], known: Leaves, *, text: bool) -> Iterator[StreamLeaf]:
    for bound in variables:
        for listing in listings(bound.types, known):
            path = listing.under(bound.variable)
            yield StreamLeaf(path, leaf_column(stream, path), bound.several or listing.many, text)


def leaf_column(stream: str, path: str) -> str:
    return f"{stream}.{path}#"


def ids_of(stream: str, leaves: Leaves) -> list[Expr]:
    """What the leaves of an event are: its own, or its id."""
    if stream not in leaves:
        return [Ref(0, ID, Kind.INT)]
    return [Ref(0, leaf.column, leaf.kind) for leaf in leaves[stream]]


def carried(stream: str, source: str, leaves: Leaves) -> tuple[Return, ...]:
    """The columns of leaves that a stream made of a source's events has from them."""
    if source not in leaves:
        return ()
    return tuple(
        Return(mine.column, Ref(0, theirs.column, theirs.kind), mine.kind)
        for mine, theirs in zip(leaves[stream], leaves[source], strict=True)
    )
