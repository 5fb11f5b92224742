"""Families of a workload as queries that a plan can answer, each with the way from its rows to the members."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.pattern.derived.columns import StreamColumns
from stretto.pattern.derived.families import Family, member_name
from stretto.pattern.derived.streams import DerivedStream, PairedSelection, attributes_of, sources_of
from stretto.pattern.nodes import Atom, Combine, Pattern, Query, Return, Stream, Window, streams_of
from stretto.pattern.normal import normalize
from stretto.pattern.piece import Group, Piece, Place
from stretto.pattern.predicates import Expr, Param, Ref, numbered, rewrite, walk
from stretto.pattern.workload import BoundWorkload
from stretto.plan.dag import Plan
from stretto.plan.families.choosing import (
    Early,
    Late,
    NoTemplate,
    chosen,
    has_constants,
    read_attributes,
    without,
)
from stretto.plan.families.classes import begins_with_class, over_classes
from stretto.plan.families.member_matches import LateTerms, member_matches
from stretto.plan.families.members import ENTRY, Constants, FamilyMembers, Route, by_entry
from stretto.plan.families.pair_cost import pairs_per_event
from stretto.plan.ops import Emit, Op
from stretto.records import dataclass
from stretto.schema import Kind, Schema
from stretto.stats.profile import Stats
from stretto.values.rows import I64


@dataclass(slots=True)
class Settled:
    """A workload without families: their templates are among its queries, or their members, one by one.

    `routes`: by query, from rows to members. `late`: by query, the terms that rows find their members by.
    """

    bound: BoundWorkload
    routes: dict[str, Route] = field(default_factory=dict)
    late: dict[str, LateTerms] = field(default_factory=dict)


def settled(bound: BoundWorkload, stats: Stats) -> Settled:
    """What a plan is made for; nothing changes where there are no families."""
    found = Settled(bound)
    queries: list[Query] = list(bound.detections)
    streams: list[DerivedStream] = list(bound.streams)
    for family in bound.templates:
        try:
            for query, stream, route, late in _templates(family, stats, bound.streams):
                queries.append(query)
                found.routes[query.name] = route
                found.late |= {} if late is None else {query.name: late}
                streams += [] if stream is None else [stream]
        except NoTemplate as reason:
            for query in family.queries():
                queries.append(query)
                found.routes |= _of_one(query, str(reason))
    found.bound = replace(bound, detections=tuple(queries), streams=tuple(streams), templates=())
    return found


def apart_from_families(
    streams: Sequence[DerivedStream], found: Settled
) -> tuple[list[DerivedStream], list[Query]]:
    """The streams and queries that have nothing to do with families: what else may be computed together."""
    queries = found.bound.detections
    derived = {stream.name for stream in streams}
    gone = {name for query in queries if query.name in found.routes for name in streams_of(query)} & derived
    for stream in reversed(streams):  # each stands behind those it reads
        if stream.name in gone:
            gone.update(derived.intersection(sources_of(stream)))
    for stream in streams:
        if not gone.isdisjoint(sources_of(stream)):
            gone.add(stream.name)
    return (
        [stream for stream in streams if stream.name not in gone],
        [query for query in queries if query.name not in found.routes and gone.isdisjoint(streams_of(query))],
    )


def reading_entries(plan: Plan, found: Settled) -> Plan:
    """Return the plan with the numbers of entries among what is read, so that sampled pairs of events have them."""
    if plan.front is None:
        return plan

    def ops_of(one: Plan) -> Plan:
        return replace(one, ops=tuple(map(reading, one.ops)))

    def reading(op: Op) -> Op:
        route = found.routes.get(op.query) if isinstance(op, Emit) else None
        if not isinstance(op, Emit) or route is None or not isinstance(route.entry, Ref):
            return op
        return replace(
            op, returns=(*op.returns, Return(route.entry.attribute, route.entry, route.entry.kind))
        )

    sides = tuple(replace(side, plan=ops_of(side.plan)) for side in plan.front.sides)
    return replace(ops_of(plan), front=replace(plan.front, sides=sides))


def routed(plan: Plan, found: Settled, stats: Stats) -> Plan:
    """Return the plan with the ways to the members of families, and with the matches expected of all members."""
    if not found.routes:
        return plan
    columns = StreamColumns.over(plan.schema.attributes, plan.derived)
    queries = {query.name: query for query in found.bound.detections}

    def ops_of(one: Plan) -> Plan:
        ops = tuple(
            replace(op, route=_in_columns(route, queries[op.query], columns))
            if isinstance(op, Emit) and (route := found.routes.get(op.query)) is not None
            else op
            for op in one.ops
        )
        records = list(one.records)
        for number, op in enumerate(ops):
            rows = records[number].rows
            if isinstance(op, Emit) and op.query in found.routes and rows is not None:
                matches = member_matches(
                    replace(one, front=plan.front), op, rows, found.late.get(op.query), stats
                )
                records[number] = replace(records[number], rows=matches)
        return replace(one, ops=ops, records=tuple(records))

    front = plan.front
    if front is not None:
        sides = tuple(replace(side, plan=ops_of(side.plan)) for side in front.sides)
        front = replace(front, sides=sides)
    return replace(ops_of(plan), front=front)


def _in_columns(route: Route, query: Query, columns: StreamColumns) -> Route:
    """The route with terms over the positive variables, which read columns."""
    if not route.terms:
        return route
    terms = columns.query(replace(query, terms=route.terms, having=(), returns=(), same=())).terms
    positive = numbered([n for n, variable in enumerate(query.variables) if not variable.negated])
    return replace(route, terms=tuple(term.moved(positive) for term in terms))


# ---- one family ------------------------------------------------------------------------------------------


def _templates(
    family: Family, stats: Stats, streams: Sequence[DerivedStream]
) -> Iterator[tuple[Query, DerivedStream | None, Route, LateTerms | None]]:
    """The template of a family; one for each window where a negation depends on it."""
    windows = None if family.windows is None else np.array(family.windows, np.int64)
    rows = np.arange(len(family.members))

    def pairs(early: Early) -> float:
        to_event = {early.variable: 0}
        terms = tuple(term.moved(to_event) for term in early.terms)
        entries, _ = _entries(family, _params(terms), rows)
        rate = (
            stats.rate(early.source.type) or stats.total_rate or 1.0
        )  # of a derived stream nothing is known yet
        return rate * pairs_per_event(stats, early.source, entries, terms)

    how = chosen(family.template, pairs)
    kinds = {stream.name: attributes_of(stream) for stream in streams}
    query = family.template
    if family.names is not None:  # one of them has the template's name
        query = replace(query, name=f"queries like {query.name}")
    if windows is not None:
        query = replace(query, window=Window(int(windows.max(initial=1))))
        windows = None if not len(windows) or (windows == windows[0]).all() else windows
    if windows is None or not _waits(query):
        yield _template(family, query, how, rows, windows, stats.schema, kinds)
        return
    for size in np.unique(windows).tolist():
        name = f"{query.name} within {size} us"
        own = replace(query, name=name, window=Window(size))
        yield _template(family, own, how, rows[windows == size], None, stats.schema, kinds)


def _template(
    family: Family,
    query: Query,
    how: Early | Late,
    rows: I64,
    windows: I64 | None,
    schema: Schema,
    streams: Mapping[str, Mapping[str, Kind]],
) -> tuple[Query, DerivedStream | None, Route, LateTerms | None]:
    terms = _judged(query)
    entries, of = _entries(family, _params(terms), rows)
    order, starts, sizes = by_entry(of, windows, len(entries))
    members = FamilyMembers(family.template.name, order, starts, sizes, *_names(family, rows))
    read = _params(item.value for item in query.returns)
    returned = _constants(family, read, rows)
    if isinstance(how, Early):
        known = streams.get(how.source.type, schema.attributes)
        template, stream, entry = _paired(query, how, entries, known)
        return template, stream, Route(members, entries, entry, (), returned), None
    late = LateTerms(family, query, how.terms, rows)
    if begins_with_class(query, how, entries):
        first = streams_of(query)[0]
        template, events, entry = over_classes(query, how, entries, streams.get(first, schema.attributes))
        return template, events, Route(members, entries, entry, (), returned), late
    return without(query, how.terms), None, Route(members, entries, None, how.terms, returned), late


def _judged(query: Query) -> tuple[Expr, ...]:
    return (*query.terms, *query.having)


def _params(exprs: Iterable[Expr]) -> tuple[str, ...]:
    """The constants that expressions read, each once."""
    nodes = (node for expr in exprs for node in walk(expr))
    return tuple(dict.fromkeys(node.attribute for node in nodes if isinstance(node, Param)))


def _names(family: Family, rows: I64) -> tuple[pa.Array | None, pa.Array | None]:
    """The queries' own names, or the keys of their rows."""
    names = family.names
    if names is not None:
        return pa.array(names, pa.string()).take(pa.array(rows)), None
    return None, pa.array(family.members, pa.string()).take(pa.array(rows))


def _constants(family: Family, names: Sequence[str], rows: I64) -> Constants:
    table = family.table
    columns = {name: _whole(table.rows.column(name)).take(pa.array(rows)) for name in names}
    return Constants(columns, {name: table.kinds[name] for name in names}, len(rows))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _entries(family: Family, names: Sequence[str], rows: I64) -> tuple[Constants, I64]:
    """The different combinations of constants, and the number of each row's."""
    whole = _constants(family, names, rows)
    of = np.zeros(len(rows), np.int64)
    for column in whole.columns.values():
        codes = _ranks(column)
        _, of = np.unique(of * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    _, first = np.unique(of, return_index=True)
    columns = {name: column.take(pa.array(first)) for name, column in whole.columns.items()}
    return Constants(columns, whole.kinds, len(first)), of


def _ranks(column: pa.Array) -> I64:
    """Numbers of constants in their order: classes of events then list combinations that follow one another."""
    encoded = column.dictionary_encode(null_encoding="encode")
    ranks = np.empty(len(encoded.dictionary), np.int64)
    ranks[np.asarray(pc.sort_indices(encoded.dictionary))] = np.arange(len(ranks))
    found: I64 = ranks[np.asarray(encoded.indices)]
    return found


def _waits(query: Query) -> bool:
    """Whether a negation of the template depends on its window."""
    late = without(query, [term for term in query.terms if has_constants(term)])
    detection = normalize(replace(late, having=(), returns=()))
    return any(_depends(branch.piece) for branch in detection.branches)


def _depends(piece: Piece) -> bool:
    if any(negation.place is not Place.BETWEEN for negation in piece.negations):
        return True
    groups = [slot.source for slot in piece.slots if isinstance(slot.source, Group)]
    return any(_depends(branch.piece) for group in groups for branch in group.branches)


def _of_one(query: Query, reason: str) -> dict[str, Route]:
    """The route of a member that is a query of its own; none where that has its own name."""
    if query.family is None or query.member is None:
        return {}
    order, starts = np.zeros(1, np.int64), np.array([0, 1])
    members = FamilyMembers(query.family, order, starts, None, None, pa.array([query.member], pa.string()))
    assert query.name == member_name(query.family, query.member)
    return {query.name: Route(members, Constants({}, {}, 1), alone=reason)}


# ---- events paired with constants ------------------------------------------------------------------------


def _paired(
    query: Query, how: Early, entries: Constants, known: Mapping[str, Kind]
) -> tuple[Query, PairedSelection, Expr]:
    """The template over paired events, the stream of these, and where a match has the number of its entry.

    `known`: the attributes of the events that are paired.
    """
    name = f"{query.name} {query.variables[how.variable].name}"

    def column(constant: str) -> str:
        return f"{query.name}[{constant}]"

    def rule(node: Expr) -> Expr | None:
        return Ref(how.variable, column(node.attribute), node.kind) if isinstance(node, Param) else None

    left = without(query, (*how.terms, *how.plain))
    terms = tuple(rewrite(term, rule) for term in left.terms)
    having = tuple(rewrite(term, rule) for term in left.having)
    exprs = (*left.terms, *left.having, *(item.value for item in left.returns))
    kinds: dict[str, Kind] = {
        **{attribute: known[attribute] for attribute in left.same if attribute in known},
        **{attribute: _kind(node) for attribute, node in read_attributes(exprs, how.variable).items()},
    }
    own = [Return(a, Ref(0, a, kind), kind) for a, kind in kinds.items() if a != "ts"]
    constants = [
        Return(column(p), Param(p, entries.kinds[p]), entries.kinds[p]) for p in _params(_judged(left))
    ]
    number = Return(column(ENTRY), Param(ENTRY, Kind.INT), Kind.INT)
    to_event = {how.variable: 0}
    where = (*how.source.where, *(term.moved(to_event) for term in how.plain))
    stream = PairedSelection(
        name,
        Stream(how.source.type, where),
        (*own, *constants, number),
        entries,
        tuple(term.moved(to_event) for term in how.terms),
    )
    pattern = _reading(query.pattern, how.variable, Stream(name))
    template = replace(left, pattern=pattern, terms=terms, having=having)
    positive = [n for n, variable in enumerate(query.variables) if not variable.negated]
    return template, stream, Ref(positive.index(how.variable), column(ENTRY), Kind.INT)


def _kind(node: Expr) -> Kind:
    kind = getattr(node, "kind", None)
    assert isinstance(kind, Kind)
    return kind


def _reading(node: Pattern, variable: int, stream: Stream) -> Pattern:
    """The pattern with another stream for one variable."""
    match node:
        case Atom(number) if number == variable:
            return Atom(number, stream)
        case Combine(word, parts):
            return Combine(word, tuple(_reading(part, variable, stream) for part in parts))
    return node
