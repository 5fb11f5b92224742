"""Plans for derived streams: the stages of a front, and the queries that read what it makes."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from stretto.errors import QueryError
from stretto.pattern.derived.columns import NoCommonColumn, StreamColumns
from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PatternStream,
    Selection,
    WindowAggregate,
    sources_of,
)
from stretto.pattern.nodes import Policy, Query, TrendQuery, streams_of
from stretto.pattern.predicates import Expr, Reduce, Ref, walk
from stretto.pattern.workload import BoundWorkload
from stretto.plan.dag import Plan, read_columns
from stretto.plan.front.leaves import Leaves, Listing, carried, leaves_of, listings, variables_of
from stretto.plan.front.stages import (
    Aggregation,
    Counted,
    Detected,
    Detections,
    Front,
    Projection,
    Side,
    Stage,
    as_query,
    in_stages,
    with_itself,
)
from stretto.plan.ops import Emit
from stretto.stats.profile import Stats

PlanQueries = Callable[[tuple[Query, ...], Stats], Plan]
"""How the queries of a stage are planned."""


@dataclass(frozen=True, slots=True)
class Fronted:
    """A workload whose queries read columns of what the front makes, with statistics that know its streams."""

    bound: BoundWorkload
    stats: Stats
    front: Front


def needed_streams(bound: BoundWorkload) -> tuple[DerivedStream, ...]:
    """The derived streams that some query reads, through others too."""
    queries: tuple[Query | TrendQuery, ...] = (*bound.detections, *bound.trends)
    needed = {name for query in queries for name in streams_of(query)}
    found: list[DerivedStream] = []
    for stream in reversed(bound.streams):  # each stands behind those it reads
        if stream.name in needed:
            needed.update(sources_of(stream))
            found.append(stream)
    return tuple(reversed(found))


def fronted(
    bound: BoundWorkload, streams: Sequence[DerivedStream], stats: Stats, plan: PlanQueries
) -> Fronted:
    """The front of a workload with derived streams; QueryError for what cannot be run over them yet."""
    columns = StreamColumns.over(stats.schema.attributes, streams)
    try:
        streams = tuple(columns.stream(stream) for stream in streams)
        detections = tuple(columns.query(query) for query in bound.detections)
        trends = tuple(columns.trend(query) for query in bound.trends)
    except NoCommonColumn as error:
        raise QueryError([error.mistake], bound.text, bound.file) from None
    leaves = leaves_of(streams)
    kinds = {**columns.kinds, **{leaf.column: leaf.kind for found in leaves.values() for leaf in found}}
    names = frozenset(stream.name for stream in streams)
    types = stats.schema.types
    schema = replace(stats.schema, attributes=kinds, types=None if types is None else types | names)
    maker = _Maker(replace(stats, schema=schema), leaves, names, plan)
    for together in in_stages(streams):
        maker.make(together, columns)
    groups = _grouped(detections, names)
    plain = tuple(groups.pop(None, ()))
    sides = tuple(Side(maker.plan_of(some), counted or ()) for counted, some in groups.items())
    raw = frozenset(stats.schema.attributes) & frozenset(maker.reads)
    reach = max(maker.reach.values(), default=0)
    front = Front(
        tuple(maker.stages),
        kinds,
        frozenset(stats.schema.attributes),
        raw,
        names,
        leaves,
        reach,
        sides,
        streams,
    )
    return Fronted(replace(bound, detections=plain, trends=trends), maker.stats, front)


def listing_leaves(plan: Plan, queries: Sequence[Query], leaves: Leaves) -> Plan:
    """The plan with matches that list the raw events behind those of joins and pattern streams."""
    listed = {query.name: _listings(query, leaves) for query in queries}
    ops = tuple(
        replace(op, listings=tuple(listed[op.query][name] for name in op.variables))
        if isinstance(op, Emit) and listed[op.query]
        else op
        for op in plan.ops
    )
    return replace(plan, ops=ops)


def _listings(query: Query, leaves: Leaves) -> dict[str, tuple[Listing, ...]]:
    """What is listed of each variable; nothing where all of them hold raw events."""
    variables = variables_of(query)
    if not any(name in leaves for bound in variables for name in bound.types):
        return {}
    return {bound.variable: listings(bound.types, leaves) for bound in variables}


def counted_by(query: Query, derived: Collection[str]) -> Counted | None:
    """The streams among whose events a query counts positions; None where it counts none."""
    if query.policy is not Policy.STRICT and query.window.unit != "events":
        return None
    named = streams_of(query)
    return named if any(name in derived for name in named) else ()


def _grouped(queries: Iterable[Query], derived: Collection[str]) -> dict[Counted | None, list[Query]]:
    """Queries that can stand in one plan: those that count among the same events, and those that do not count."""
    found: dict[Counted | None, list[Query]] = {}
    for query in queries:
        counted = counted_by(query, derived)
        found.setdefault(None if counted is None else tuple(sorted(counted)), []).append(query)
    return found


class _Maker:
    """Makes one stage after another, and learns how many events each stream has, about."""

    def __init__(self, stats: Stats, leaves: Leaves, names: Collection[str], plan: PlanQueries) -> None:
        self.stats, self.leaves, self._names, self._plan = stats, leaves, names, plan
        self.stages: list[Stage] = []
        self.reads: set[str] = set()
        self.reach: dict[str, int] = {}

    def make(self, together: tuple[DerivedStream, ...], columns: StreamColumns) -> None:
        (first, *_) = together
        match first:
            case Selection():
                own = carried(first.name, first.source.type, self.leaves)
                self._project(Projection(first.name, first.source, (*first.columns, *own)))
                self._follow(first)
            case WindowAggregate():
                self.stages.append(Aggregation(first, carried(first.name, first.source.type, self.leaves)))
                values = [one.value for one in first.columns if one.value is not None]
                self._read(*first.source.where, *values, *first.groups)
                self._follow(first, first.window_us)
            case _:
                self._detect(together, columns)

    def _project(self, stage: Projection) -> None:
        self.stages.append(stage)
        self._read(*stage.source.where, *(item.value for item in stage.columns))

    def _follow(self, stream: Selection | WindowAggregate, window_us: int = 0) -> None:
        source = stream.source.type
        self.reach[stream.name] = self.reach.get(source, 0) + window_us
        self.stats = self.stats.with_rates({stream.name: self.stats.rate(source)})

    def _detect(self, together: tuple[DerivedStream, ...], columns: StreamColumns) -> None:
        queries: dict[str, Query] = {}
        found: dict[str, Detected] = {}
        for stream in together:
            assert isinstance(stream, JoinStream | PatternStream)
            start = None
            if isinstance(stream, JoinStream):
                query = as_query(stream)
            else:
                query, start = replace(stream.query, name=stream.name), columns.column(stream.name, "start")
            queries[stream.name] = query
            found[stream.name] = Detected(stream.name, start, query.returns, self.leaves[stream.name])
        rates: dict[str, float | None] = {}
        for counted, some in _grouped(queries.values(), self._names).items():
            plan = self.plan_of(some)
            self.stages.append(Detections(plan, tuple(found[query.name] for query in some), counted))
            rates |= {name: plan.records[number].rows for name, number in plan.queries.items()}
            for query in some:
                before = max((self.reach.get(name, 0) for name in streams_of(query)), default=0)
                self.reach[query.name] = before + plan.horizon_us
        for stream in together:
            rate = rates[stream.name]
            guess = max((self.stats.rate(name) for name in sources_of(stream)), default=1.0)
            self.stats = self.stats.with_rates({stream.name: guess if rate is None else rate})
            if isinstance(stream, JoinStream):
                itself = with_itself(stream, self.leaves)
                if itself is not None:
                    self._project(itself)

    def plan_of(self, queries: Sequence[Query]) -> Plan:
        """The plan of some queries over what there is so far."""
        plan = listing_leaves(self._plan(tuple(queries), self.stats), queries, self.leaves)
        self.reads |= read_columns(plan)
        return plan

    def _read(self, *exprs: Expr) -> None:
        nodes = (node for expr in exprs for node in walk(expr))
        self.reads |= {node.attribute for node in nodes if isinstance(node, Ref | Reduce) and node.attribute}
