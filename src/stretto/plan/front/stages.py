"""What makes derived streams of raw events, before the queries' own plan reads them: the front of a plan.

Selections and aggregates make one event of one. Joins and pattern streams are detection queries, and those that read
the same earlier streams are planned together, with all the sharing of other queries.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PatternStream,
    WindowAggregate,
    sources_of,
)
from stretto.pattern.nodes import Atom, Combine, Query, Return, Stream, Variable, Window
from stretto.pattern.predicates import Changed, Expr
from stretto.plan.families.members import Pairing
from stretto.plan.front.leaves import Leaves, StreamLeaf, ids_of
from stretto.records import dataclass
from stretto.schema import Kind

if TYPE_CHECKING:
    from stretto.plan.dag import Plan


@dataclass(frozen=True, slots=True)
class Projection:
    """One event of stream `name` per event of the source, with these columns.

    With a pairing: one per event and entry of a family that it concerns; columns may read the entry's constants.
    `rows`, `cost`: per second, as estimated; None where nothing is known of the events.
    """

    name: str
    source: Stream
    columns: tuple[Return, ...]
    pairing: Pairing | None = None
    rows: float | None = field(default=None, compare=False)
    cost: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Encoding:
    """One event of channel `name` per event of the source that some member selects; `members`: the terms of each."""

    name: str
    source: Stream
    columns: tuple[Return, ...]
    members: tuple[tuple[Expr, ...], ...]
    rows: float | None = field(default=None, compare=False)
    cost: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The same as a projection with windowed values among the columns.

    `encoded`: the source is a channel, and so is what comes of it.
    """

    stream: WindowAggregate
    carried: tuple[Return, ...]
    """Leaves of the source."""
    encoded: bool = False
    rows: float | None = field(default=None, compare=False)
    cost: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SharedAggregation:
    """Aggregates of the same events by several groupings, which keep them once."""

    parts: tuple[Aggregation, ...]


@dataclass(frozen=True, slots=True)
class Detected:
    """A stream with an event per match of the query of its name, at the time it is certain.

    `start`: the column of the match's first time. `leaves`: one per variable and leaf of it, in the order of its ids.
    """

    name: str
    start: str | None
    returns: tuple[Return, ...]
    leaves: tuple[StreamLeaf, ...]


Counted = tuple[str, ...]
"""Streams among whose events positions are counted; none: among all raw events."""


@dataclass(frozen=True, slots=True)
class Detections:
    """Streams of matches that one plan finds.

    `counted`: where its queries count positions, the streams among whose events they do; None: they do not.
    """

    plan: "Plan"
    streams: tuple[Detected, ...]
    counted: Counted | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """Queries that count positions among the events of some streams, in a plan of their own."""

    plan: "Plan"
    counted: Counted


Stage = Projection | Encoding | Aggregation | SharedAggregation | Detections


@dataclass(frozen=True, slots=True)
class Front:
    """Stages in an order in which each comes after those it reads; `columns` are all that streams have, with kinds.

    `attributes`: those of raw events; `raw`: those of them that stages read. `reach_us`: how far back they look, all
    together. `sides`: queries that count positions, in plans of their own. `streams`: what all of it makes for
    queries. `because`: the rule behind a stream that several share. `selective`: what no query selects is not made.
    """

    stages: tuple[Stage, ...]
    columns: Mapping[str, Kind]
    attributes: frozenset[str]
    raw: frozenset[str]
    names: frozenset[str]
    leaves: Leaves
    reach_us: int
    sides: tuple[Side, ...] = ()
    streams: tuple[DerivedStream, ...] = ()
    because: Mapping[str, str] = field(default_factory=dict)
    selective: bool = False

    @property
    def cost(self) -> float:
        """What making all streams and the queries of sides costs per second, as far as that was estimated."""
        return sum(map(_cost, self.stages)) + sum(side.plan.records_cost for side in self.sides)

    @property
    def unshared_cost(self) -> float:
        """The same with the detections of each stage as `none` would plan them."""
        plans = [stage.plan for stage in self.stages if isinstance(stage, Detections)]
        plans += [side.plan for side in self.sides]
        more = sum(0.0 if p.estimate is None else p.estimate.alone - p.estimate.cost for p in plans)
        return self.cost + more

    @property
    def horizon_events(self) -> int:
        """How many events back some window of events reaches; 0: there is none."""
        sides = max((side.plan.horizon_events for side in self.sides), default=0)
        return max(self.stream_horizon_events, sides)

    @property
    def stream_horizon_events(self) -> int:
        """Return how many events back a window of a derived stream reaches, windows of queries left out."""
        stages = [stage for stage in self.stages if isinstance(stage, Detections)]
        return max((stage.plan.horizon_events for stage in stages), default=0)


def _cost(stage: Stage) -> float:
    match stage:
        case SharedAggregation(parts):
            return sum(part.cost or 0.0 for part in parts)
        case Detections(plan):
            return plan.records_cost
        case _:
            return stage.cost or 0.0


def as_query(join: JoinStream) -> Query:
    """The pairs of two different events of a join, as a query."""
    atoms = tuple(Atom(number, source) for number, source in enumerate(join.sources))
    return Query(
        name=join.name,
        pattern=Combine("AND", atoms),
        variables=tuple(Variable(name) for name in join.aliases),
        terms=join.on,
        same=(),
        window=Window(join.window_us),
        returns=join.columns,
    )


def with_itself(join: JoinStream, leaves: Leaves) -> Projection | None:
    """The events of a join of a type with itself that pair with themselves; a match never binds an event twice."""
    one, other = join.sources
    if one.type != other.type:
        return None
    both = Changed({1: 0})
    where = (*one.where, *other.where, *(term.moved(both) for term in join.on))
    columns = tuple(Return(item.name, item.value.moved(both), item.kind) for item in join.columns)
    values = ids_of(one.type, leaves)
    own = [
        Return(leaf.column, values[number % len(values)], leaf.kind)
        for number, leaf in enumerate(leaves[join.name])
    ]
    return Projection(join.name, Stream(one.type, tuple(dict.fromkeys(where))), (*columns, *own))


def in_stages(
    streams: Sequence[DerivedStream], together: Mapping[str, str] | None = None
) -> Iterator[tuple[DerivedStream, ...]]:
    """The streams, each after those it reads; joins and pattern streams that can be found together are.

    `together`: of aggregates that keep one window, the name of the first.
    """
    depth: dict[str, int] = {}
    detected: dict[int, list[DerivedStream]] = {}
    made: dict[int, dict[str, list[DerivedStream]]] = {}
    for stream in streams:
        before = max((depth.get(name, 0) for name in sources_of(stream)), default=0)
        matched = isinstance(stream, JoinStream | PatternStream)
        depth[stream.name] = before + matched
        if matched:
            detected.setdefault(before + matched, []).append(stream)
        else:
            group = (together or {}).get(stream.name, stream.name)
            made.setdefault(before, {}).setdefault(group, []).append(stream)
    for level in range(max(depth.values(), default=0) + 1):
        if level in detected:
            yield tuple(detected[level])
        yield from map(tuple, made.get(level, {}).values())
