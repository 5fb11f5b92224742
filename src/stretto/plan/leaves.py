"""What a match lists of an event that is no raw one: the raw events behind it, by the names of a join or a pattern."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stretto.pattern.derived.streams import DerivedStream, JoinStream, PatternStream, Selection, WindowAggregate
from stretto.pattern.nodes import Query, Return, atoms_of
from stretto.pattern.predicates import Expr, Ref
from stretto.schema import Kind

ID = "@id"
"""The id of an event, as if it were an attribute."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A name under which a derived event lists raw events: `path` after a variable, and the column they lie in.

    `many`: the column holds lists of ids, written as text.
    """

    path: str
    column: str
    many: bool

    @property
    def kind(self) -> Kind:
        return Kind.STRING if self.many else Kind.INT


Leaves = Mapping[str, tuple[Leaf, ...]]
"""The leaves of each stream whose events are no raw ones; a stream without an entry has raw events."""


def leaves_of(streams: Iterable[DerivedStream]) -> Leaves:
    """The leaves of all streams whose events are no raw ones."""
    found: dict[str, tuple[Leaf, ...]] = {}
    for stream in streams:
        match stream:
            case JoinStream():
                bound = [(alias, source.type, False) for alias, source in zip(stream.aliases, stream.sources, strict=True)]
                found[stream.name] = tuple(_leaves(stream.name, bound, found))
            case PatternStream():
                found[stream.name] = tuple(_leaves(stream.name, variables_of(stream.query), found))
            case Selection() | WindowAggregate() if stream.source.type in found:
                found[stream.name] = tuple(
                    Leaf(leaf.path, leaf_column(stream.name, leaf.path), leaf.many)
                    for leaf in found[stream.source.type]
                )
    return found


def variables_of(query: Query) -> list[tuple[str, str, bool]]:
    """The positive variables of a query with the types of their events, and whether they hold several."""
    types = {atom.variable: atom.stream.type for atom in atoms_of(query.pattern)}
    return [
        (variable.name, types[number], variable.kleene or bool(variable.groups))
        for number, variable in enumerate(query.variables)
        if not variable.negated
    ]


def _leaves(stream: str, variables: Iterable[tuple[str, str, bool]], known: Leaves) -> Iterator[Leaf]:
    for name, type_, several in variables:
        for leaf in known.get(type_, (Leaf("", "", many=False),)):
            path = f"{name}.{leaf.path}" if leaf.path else name
            yield Leaf(path, leaf_column(stream, path), several or leaf.many)


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


