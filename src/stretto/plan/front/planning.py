"""Plans for derived streams: the stages of a front, and the queries that read what it makes."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from stretto.errors import QueryError
from stretto.memo.mops.channel_cost import ENCODE, READ
from stretto.memo.mops.mplan import MPlan
from stretto.memo.mops.operators import OperatorKind
from stretto.pattern.derived.columns import NoCommonColumn, StreamColumns
from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PairedSelection,
    PatternStream,
    Selection,
    WindowAggregate,
    sources_of,
)
from stretto.pattern.nodes import Policy, Query, Stream, TrendQuery, streams_of
from stretto.pattern.predicates import Expr, Reduce, Ref, walk
from stretto.pattern.workload import BoundWorkload
from stretto.plan.dag import Plan, read_columns
from stretto.plan.families.members import Constants, Pairing
from stretto.plan.families.pair_cost import pairing_cost, pairs_per_event
from stretto.plan.front.channel_streams import EncodedAggregate, EncodedSelections, class_column
from stretto.plan.front.leaves import Leaves, Listing, carried, leaves_of, listings, variables_of
from stretto.plan.front.merging import MergedQuery, MergedWorkload, QueryMember, merged_workload
from stretto.plan.front.stages import (
    Aggregation,
    Counted,
    Detected,
    Detections,
    Encoding,
    Front,
    Projection,
    SharedAggregation,
    Side,
    Stage,
    as_query,
    in_stages,
    with_itself,
)
from stretto.plan.ops import Emit
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats

PlanQueries = Callable[[tuple[Query, ...], Stats], Plan]
"""How the queries of a stage are planned."""


T = TypeVar("T", DerivedStream, Query)


@dataclass(frozen=True, slots=True)
class Fronted:
    """A workload whose queries read columns of what the front makes, with statistics that know its streams."""

    bound: BoundWorkload
    stats: Stats
    front: Front
    merged: tuple[MergedQuery, ...] = ()


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
    bound: BoundWorkload,
    streams: Sequence[DerivedStream],
    stats: Stats,
    plan: PlanQueries,
    mops: MPlan | None = None,
) -> Fronted:
    """The front of a workload with derived streams; QueryError for what cannot be run over them yet.

    `mops`: what is to be computed together; None: nothing.
    """
    written = streams
    merged = MergedWorkload(tuple(streams), bound.detections)
    if mops is not None:
        merged = _merged(mops, bound, streams, stats)
        streams = merged.streams
    columns = StreamColumns.over(stats.schema.attributes, streams)
    try:
        streams = tuple(_stream_over(stream, columns) for stream in streams)
        detections = tuple(columns.query(query) for query in merged.detections)
        queries = tuple(_over_columns(one, columns) for one in merged.queries)
        trends = tuple(columns.trend(query) for query in bound.trends)
    except NoCommonColumn as error:
        raise QueryError([error.mistake], bound.text, bound.file) from None
    text_ids = columns.kinds.get(stats.schema.special.id) is Kind.STRING
    leaves = leaves_of(streams, text=text_ids)
    kinds = {**columns.kinds, **{leaf.column: leaf.kind for found in leaves.values() for leaf in found}}
    encoded = [one for one in streams if isinstance(one, EncodedSelections | EncodedAggregate)]
    kinds |= {class_column(stream.name): Kind.STRING for stream in encoded}
    names = frozenset(stream.name for stream in streams)
    types = stats.schema.types
    schema = replace(stats.schema, attributes=kinds, types=None if types is None else types | names)
    maker = _Maker(replace(stats, schema=schema), leaves, names, plan)
    for together in in_stages(streams, merged.together):
        maker.make(together, columns)
    groups = _grouped((*detections, *(one.query for one in queries)), names)
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
        (*written, *(stream for stream in streams if stream.name not in {one.name for one in written})),
        merged.because,
        selective=mops is not None,
    )
    return Fronted(replace(bound, detections=plain, trends=trends), maker.stats, front, queries)


def _merged(
    mops: MPlan, bound: BoundWorkload, streams: Sequence[DerivedStream], stats: Stats
) -> MergedWorkload:
    """What is computed together, and beside it what stands apart: templates of families, and what they read."""
    inside, apart = _parted(streams, mops), _parted(bound.detections, mops)
    others: list[Query | TrendQuery] = [*apart[1], *bound.trends]
    found = merged_workload(mops, inside[0], apart[0], others, stats.schema.attributes)
    return replace(found, streams=(*found.streams, *inside[1]), detections=(*found.detections, *apart[1]))


def _parted(things: Sequence[T], mops: MPlan) -> tuple[list[T], list[T]]:
    """Streams or queries that the m-ops know, and those that they do not."""
    known = [one for one in things if one.name in mops.by_output]
    return known, [one for one in things if one.name not in mops.by_output]


def _stream_over(stream: DerivedStream, columns: StreamColumns) -> DerivedStream:
    found = columns.stream(stream)
    if not isinstance(found, EncodedSelections):
        return found
    members = (columns.source(Stream(found.source.type, where)).where for where in found.members)
    return replace(found, members=tuple(members))


def _over_columns(merged: MergedQuery, columns: StreamColumns) -> MergedQuery:
    """A merged query that reads columns, with its members."""
    over = columns.query(merged.query)
    found = tuple(_member(one, merged.query, columns) for one in merged.members)
    return replace(merged, query=over, members=found)


def _member(member: QueryMember, merged: Query, columns: StreamColumns) -> QueryMember:
    """What is left of a member reads the columns of the merged query: its first event is of another stream."""
    query = replace(member.query, pattern=merged.pattern, terms=member.reported, having=())
    found = columns.query(query)
    returned = replace(member.query, returns=found.returns)
    return replace(member, query=returned, reported=found.terms)


def listing_leaves(plan: Plan, queries: Sequence[Query], leaves: Leaves, derived: Collection[str]) -> Plan:
    """The plan with matches that list the raw events behind those of joins and pattern streams."""
    listed = {query.name: _listings(query, leaves, derived) for query in queries}
    ops = tuple(
        replace(op, listings=tuple(listed[op.query][name] for name in op.variables))
        if isinstance(op, Emit) and listed[op.query]
        else op
        for op in plan.ops
    )
    return replace(plan, ops=ops)


def _listings(query: Query, leaves: Leaves, derived: Collection[str]) -> dict[str, tuple[Listing, ...]]:
    """What is listed of each variable; nothing where the ids of its events are all that there is to say of them.

    LONGEST compares events, and those of several streams may have one id.
    """
    variables = variables_of(query)
    longest = query.thinning is not None and query.thinning.word == "LONGEST"
    if not any(
        name in leaves or (longest and len(bound.types) > 1 and name in derived)
        for bound in variables
        for name in bound.types
    ):
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


def _pairing(stream: Selection) -> Pairing | None:
    if not isinstance(stream, PairedSelection):
        return None
    assert isinstance(stream.rows, Constants)
    return Pairing(stream.rows, stream.terms)


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
            case EncodedSelections():
                own = carried(first.name, first.source.type, self.leaves)
                columns_ = (*first.columns, *own)
                rows = self._follow(first)
                cost = self._known(ENCODE * self.stats.rate(first.source.type))
                stage = Encoding(first.name, first.source, columns_, first.members, self._known(rows), cost)
                self.stages.append(stage)
                terms = [term for where in first.members for term in where]
                self._read(*first.source.where, *terms, *(item.value for item in columns_))
            case Selection():
                own = carried(first.name, first.source.type, self.leaves)
                made = Projection(first.name, first.source, (*first.columns, *own), _pairing(first))
                pairs = self.stats.rates.get(first.name)  # as counted on sampled events
                rows = self._follow(first)
                if made.pairing is not None:
                    self._project(self._priced(made, made.pairing, pairs))
                else:
                    self._project(self._copied(made, rows))
            case WindowAggregate():
                parts = tuple(self._aggregation(stream) for stream in together)
                self.stages.append(parts[0] if len(parts) == 1 else SharedAggregation(parts))
            case _:
                self._detect(together, columns)

    def _aggregation(self, stream: DerivedStream) -> Aggregation:
        assert isinstance(stream, WindowAggregate)
        source = stream.source.type
        values = [one.value for one in stream.columns if one.value is not None]
        self._read(*stream.source.where, *values, *stream.groups)
        encoded = isinstance(stream, EncodedAggregate)
        if encoded:
            self.reads.add(class_column(source))
        rows = self._follow(stream, stream.window_us)
        cost = self._known(rows * READ[OperatorKind.ALPHA])
        own = carried(stream.name, source, self.leaves)
        return Aggregation(stream, own, encoded, self._known(rows), cost)

    def _copied(self, stage: Projection, rows: float) -> Projection:
        """A selection with its events per second and its cost."""
        cost = rows * READ[OperatorKind.PI]
        if stage.source.where:
            cost += self.stats.rate(stage.source.type) * READ[OperatorKind.SIGMA]
        return replace(stage, rows=self._known(rows), cost=self._known(cost))

    def _known(self, rows: float) -> float | None:
        """A figure, if it rests on events that somebody counted."""
        return rows if self.stats.events else None

    def _priced(self, stage: Projection, pairing: Pairing, pairs: float | None) -> Projection:
        """A pairing with its events per second, which are those that others read, and its cost."""
        events = self.stats.rate(stage.source.type)
        if pairs is None:
            pairs = events * pairs_per_event(self.stats, stage.source, pairing.entries, pairing.terms)
            self.stats = self.stats.with_rates({stage.name: pairs})
        if not self.stats.events:
            return stage
        return replace(stage, rows=pairs, cost=pairing_cost(events, pairs))

    def _project(self, stage: Projection) -> None:
        self.stages.append(stage)
        self._read(*stage.source.where, *(item.value for item in stage.columns))
        self._read(*(() if stage.pairing is None else stage.pairing.terms))

    def _follow(self, stream: Selection | WindowAggregate, window_us: int = 0) -> float:
        """Return the events per second of a stream that has at most one for each event of its source."""
        source = stream.source.type
        self.reach[stream.name] = self.reach.get(source, 0) + window_us
        rate = self.stats.rates.get(stream.name)
        if rate is None:
            rate = Estimator(self.stats).rate(stream.source)
            self.stats = self.stats.with_rates({stream.name: rate})
        return rate

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
            if stream.name not in self.stats.rates:
                self.stats = self.stats.with_rates({stream.name: guess if rate is None else rate})
            if isinstance(stream, JoinStream):
                itself = with_itself(stream, self.leaves)
                if itself is not None:
                    self._project(self._copied(itself, Estimator(self.stats).rate(itself.source)))

    def plan_of(self, queries: Sequence[Query]) -> Plan:
        """The plan of some queries over what there is so far."""
        plan = listing_leaves(self._plan(tuple(queries), self.stats), queries, self.leaves, self._names)
        self.reads |= read_columns(plan)
        return plan

    def _read(self, *exprs: Expr) -> None:
        nodes = (node for expr in exprs for node in walk(expr))
        self.reads |= {node.attribute for node in nodes if isinstance(node, Ref | Reduce) and node.attribute}
