"""The result of planning trend queries: their automata, the graph of all of them, and what they share."""

from collections.abc import Iterable
from typing import Literal as OneOf

from stretto.pattern.nodes import Stream, TrendQuery
from stretto.pattern.predicates import Expr
from stretto.records import dataclass

Condition = tuple[tuple[Expr, ...], ...]
"""Any of these conjunctions holds. Column 0 is the (earlier) event, column 1 the later of two neighbours."""

What = OneOf["occurrences", "sum", "known", "min", "max"]


@dataclass(frozen=True, slots=True)
class Edge:
    """An event of `target` may directly follow one of `source`; condition None: always."""

    source: int
    target: int
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A trend may start, or end, with an event of `node` that meets the condition (column 0; None: always)."""

    node: int
    condition: Condition | None = None


def _any_condition(parts: Iterable[Edge | Entry]) -> bool:
    return any(part.condition is not None for part in parts)


@dataclass(frozen=True, slots=True)
class Measure:
    """What is gathered of a node's events over all trends: a sum, or the least or greatest value.

    `occurrences` counts the events (attribute ""), `known` those whose attribute is not null.
    """

    node: int
    attribute: str
    what: What

    @property
    def is_linear(self) -> bool:
        return self.what not in ("min", "max")


@dataclass(frozen=True, slots=True)
class Automaton:
    """The position automaton of a pattern: one state per variable, numbered as the variables are.

    A trend is a path from a start to an end. `loops` are the edges, by number, that close a Kleene. A state's stream
    holds all terms on single events; `edges`, `starts` and `ends` hold the others.
    """

    streams: tuple[Stream, ...]
    starts: tuple[Entry, ...]
    ends: tuple[Entry, ...]
    edges: tuple[Edge, ...]
    loops: frozenset[int]

    @property
    def is_conditioned(self) -> bool:
        """Whether more than the order of events decides which of them may be neighbours, first or last."""
        return _any_condition((*self.starts, *self.ends, *self.edges))


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the graph: the events of a stream; `copy` tells apart several uses in one pattern."""

    stream: Stream
    copy: int = 0


@dataclass(frozen=True, slots=True)
class LabelledEdge:
    """An edge of the graph, between numbers of nodes, with the queries that have it.

    `is_loop`: it closes a Kleene of some of them; `is_step`: it is an edge of a SEQ in some.
    """

    edge: Edge
    queries: tuple[int, ...]
    is_loop: bool = False
    is_step: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Queries that share an edge of the graph (its number), with the MatPoint (a node) where their sharing begins.

    `matstates`: how many MatStates a window is expected to need; `benefit`: in the units of the cost model.
    """

    edge: int
    queries: tuple[int, ...]
    matpoint: int
    matstates: float
    benefit: float


@dataclass(frozen=True, slots=True)
class Member:
    """One query in a unit, by its number: what it has beside what is shared. Measures: linear ones first."""

    query: int
    starts: tuple[Entry, ...]
    ends: tuple[Entry, ...]
    edges: tuple[Edge, ...]
    measures: tuple[Measure, ...]

    @property
    def is_conditioned(self) -> bool:
        """Whether a start, an end or an edge of its own has a condition."""
        return _any_condition((*self.starts, *self.ends, *self.edges))


@dataclass(frozen=True, slots=True)
class UnitPart:
    """What some members of a unit share: local nodes with one computation for all of them, along `edges`.

    `members`: their places in the unit; every one has these nodes and edges. `entries`: the MatPoints, nodes that some
    of them enters by a start or by an edge of its own.
    """

    nodes: tuple[int, ...]
    entries: tuple[int, ...]
    edges: tuple[Edge, ...]
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrendUnit:
    """Queries that are computed together. Edges, entries and measures have local nodes: places in `nodes`.

    `partition`: attributes whose values all events of a trend agree on, the same for every member. A local node is in
    at most one of `parts`, and then only the members of that part have it: a node of the graph that several parts
    share, or that some members have for themselves, is in `nodes` several times.
    """

    partition: tuple[str, ...]
    nodes: tuple[int, ...]
    parts: tuple[UnitPart, ...]
    members: tuple[Member, ...]

    @property
    def shared(self) -> tuple[int, ...]:
        """The local nodes of all parts."""
        return tuple(sorted(node for part in self.parts for node in part.nodes))

    @property
    def entries(self) -> tuple[int, ...]:
        """The MatPoints of all parts."""
        return tuple(sorted(node for part in self.parts for node in part.entries))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The shared edges."""
        return tuple(edge for part in self.parts for edge in part.edges)

    @property
    def is_conditioned(self) -> bool:
        """Whether an edge, start or end has a condition; the members' windows and slides are equal then."""
        return _any_condition(self.edges) or any(member.is_conditioned for member in self.members)

    def edges_of(self, member: int) -> tuple[Edge, ...]:
        """All edges of the member at a place: those it shares and its own."""
        shared = (edge for part in self.parts if member in part.members for edge in part.edges)
        return (*shared, *self.members[member].edges)

    def local_nodes(self, member: int) -> dict[int, int]:
        """By nodes of the graph the local ones that the member at a place has, if it has them at all."""
        shared = set(self.shared)
        own = {node: local for local, node in enumerate(self.nodes) if local not in shared}
        parts = (part for part in self.parts if member in part.members)
        return own | {self.nodes[local]: local for part in parts for local in part.nodes}


@dataclass(frozen=True, slots=True)
class UnitEstimate:
    """Of one unit, per second of the stream: MatStates and its cost; `alone` is its cost if nothing were shared."""

    matstates: float
    cost: float
    alone: float


@dataclass(frozen=True, slots=True)
class TrendEstimate:
    """By number: the events of each node per second, and what each unit does."""

    nodes: tuple[float, ...]
    units: tuple[UnitEstimate, ...]

    @property
    def cost(self) -> float:
        return sum(unit.cost for unit in self.units)

    @property
    def alone(self) -> float:
        return sum(unit.alone for unit in self.units)


@dataclass(frozen=True, slots=True)
class TrendPlan:
    """All trend queries planned: every query is a member of exactly one unit.

    `places[q][v]` is the node of variable v of query q. `decisions` are those that the units carry out, `benefits`
    what each unit is expected to save in a window; 0 where nothing is shared. `estimate`: in nanoseconds, where there
    are statistics.
    """

    queries: tuple[TrendQuery, ...]
    automata: tuple[Automaton, ...]
    places: tuple[tuple[int, ...], ...]
    nodes: tuple[GraphNode, ...]
    edges: tuple[LabelledEdge, ...]
    units: tuple[TrendUnit, ...]
    decisions: tuple[Decision, ...]
    benefits: tuple[float, ...]
    optimizer: str
    estimate: TrendEstimate | None = None
