"""From decisions about edges to units: which queries are computed together, and what of it is shared.

A query may share different edges with different queries, so it may be in several parts, but each of its nodes is in one
of them at most: a value has one computation. Parts are picked greedily: of all sets of queries that share something,
the one that saves most, with everything its members share and no part before it has taken. Queries that parts connect
are one unit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations

from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.nodes import TrendQuery
from stretto.records import dataclass
from stretto.trends.graph import TrendGraph
from stretto.trends.judge import Edges, Judge, Queries, SharedPart
from stretto.trends.measures import measures_of
from stretto.trends.plan import Decision, Edge, Entry, Measure, Member, TrendUnit, UnitPart
from stretto.trends.rates import Nodes

MOST_SETS = 24
"""Sets of sharing queries of which also every two are tried for what they have in common."""


@dataclass(slots=True)
class Sharing:
    """Decisions by edge, the nodes that each takes to be shared, and how often each node was analysed."""

    decisions: dict[int, list[Decision]] = field(default_factory=dict)
    spans: dict[Decision, Nodes] = field(default_factory=dict)
    analyses: Counter[int] = field(default_factory=Counter)

    def shared_by(self, queries: Queries) -> Edges:
        """The edges that all of these queries share, with one another or with more."""
        return frozenset(
            edge
            for edge, decisions in self.decisions.items()
            if any(queries <= set(decision.queries) for decision in decisions)
        )


def shared_parts(judge: Judge, sharing: Sharing) -> list[SharedPart]:
    """Parts of at least two queries, the most beneficial first; no two of them have a node of one query."""
    # Each round takes the best part of what is left. It ends, as every part takes nodes of at least two queries.
    taken: dict[int, set[int]] = {query: set() for query in range(len(judge.queries))}
    worth: dict[SharedPart, float] = {}
    found: list[SharedPart] = []
    while True:
        best = _best(judge, _parts(judge, sharing, taken), worth)
        if best is None:
            return found
        found.append(best)
        for query in best.queries:
            taken[query] |= best.nodes


def _best(
    judge: Judge, parts: Iterable[SharedPart], worth: dict[SharedPart, float] | None = None
) -> SharedPart | None:
    """The first of the most beneficial parts; None where none saves anything. `worth`: what is known of some."""
    known = {} if worth is None else worth
    best, most = None, 0.0
    for part in parts:
        if part not in known:
            known[part] = judge.benefit(part)
        if known[part] > most:
            best, most = part, known[part]
    return best


def _parts(judge: Judge, sharing: Sharing, taken: Mapping[int, set[int]]) -> Iterator[SharedPart]:
    """Everything a set of sharing queries has in common, and the pieces of it that hang together.

    Of what is taken in part, those queries that have all of it left, and what all queries have left of it.
    """
    for queries, pieces in _pieces(judge, sharing):
        whole = [frozenset().union(*pieces)] if len(pieces) > 1 else []
        for nodes in (*whole, *pieces):
            untouched = frozenset(query for query in queries if taken[query].isdisjoint(nodes))
            rest = nodes.difference(*(taken[query] for query in queries))
            for some, left in {(untouched, nodes): None, (queries, rest): None}:
                edges = judge.graph.common_edges(some, left) if len(some) > 1 else ()
                if edges:
                    yield SharedPart(some, left, frozenset(edges))


def _pieces(judge: Judge, sharing: Sharing) -> Iterator[tuple[Queries, list[Nodes]]]:
    """Sets of queries with the nodes that the edges which they share connect."""
    for queries in _sets(sharing):
        ends = [judge.graph.edges[number].edge for number in sorted(sharing.shared_by(queries))]
        yield queries, list(map(frozenset, DisjointSets((edge.source, edge.target) for edge in ends).sets()))


def _sets(sharing: Sharing) -> list[Queries]:
    decided = {
        frozenset(decision.queries) for decisions in sharing.decisions.values() for decision in decisions
    }
    if len(decided) <= MOST_SETS:
        decided |= {one & other for one, other in combinations(decided, 2)}
    return sorted((queries for queries in decided if len(queries) > 1), key=sorted)


def pane_part(judge: Judge, query: int) -> SharedPart | None:
    """What of one query its overlapping windows had best share, if that pays."""
    if judge.overlap(query) <= 1.0:
        return None
    graph, mine = judge.graph, frozenset({query})
    ends = [graph.edges[number].edge for number in graph.of_query[query]]
    repeated = {edge.source for edge in ends if edge.source == edge.target}
    options = [frozenset(graph.places[query]), frozenset(repeated)]
    return _best(judge, (SharedPart(mine, some, graph.common_edges(mine, some)) for some in options if some))


def decisions_of(judge: Judge, part: SharedPart) -> Iterator[Decision]:
    """What a part means for each edge that it shares."""
    matstates, entries = judge.matstates(part), judge.entries(part)
    for number in sorted(part.edges):
        benefit = judge.edge_benefit(number, part, matstates)
        matpoint = _matpoint(judge.graph, part, number, entries)
        yield Decision(number, tuple(sorted(part.queries)), matpoint, matstates, benefit)


def _matpoint(graph: TrendGraph, part: SharedPart, edge: int, entries: Nodes) -> int:
    """The nearest entry from which the shared edges lead to an edge; the lowest of equally near ones."""
    seen = {graph.edges[edge].edge.source}
    front = set(seen)
    while front and not front & entries:
        into = (graph.edges[number].edge for number in part.edges)
        front = {one.source for one in into if one.target in front} - seen
        seen |= front
    return min(front & entries or entries)


def unit_of(
    graph: TrendGraph, queries: Sequence[TrendQuery], parts: Sequence[SharedPart], entries: Sequence[Nodes]
) -> TrendUnit:
    """The unit that computes some parts with their MatPoints, and beside them what their queries have of their own."""
    members = sorted(frozenset[int]().union(*(part.queries for part in parts)))
    place = {query: number for number, query in enumerate(members)}
    homes = {
        (query, node): n for n, part in enumerate(parts) for query in part.queries for node in part.nodes
    }
    seats = {(node, homes.get((query, node), -1)) for query in members for node in graph.places[query]}
    local = {seat: number for number, seat in enumerate(sorted(seats))}
    of = {
        query: {node: local[node, homes.get((query, node), -1)] for node in graph.places[query]}
        for query in members
    }
    shared = {
        query: frozenset[int]().union(*(p.edges for p in parts if query in p.queries)) for query in members
    }
    first = queries[members[0]]
    return TrendUnit(
        tuple(sorted({*first.groups, *first.same})),
        tuple(node for node, _ in sorted(seats)),
        tuple(
            UnitPart(
                tuple(sorted(local[node, n] for node in part.nodes)),
                tuple(sorted(local[node, n] for node in entered)),
                _local_edges(graph, part.edges, of[min(part.queries)]),
                tuple(place[query] for query in sorted(part.queries)),
            )
            for n, (part, entered) in enumerate(zip(parts, entries, strict=True))
            if part.nodes
        ),
        tuple(_member(graph, queries[query], query, shared[query], of[query]) for query in members),
    )


def _member(
    graph: TrendGraph, query: TrendQuery, number: int, shared: Edges, local: dict[int, int]
) -> Member:
    return Member(
        number,
        tuple(Entry(local[entry.node], entry.condition) for entry in graph.starts(number)),
        tuple(Entry(local[entry.node], entry.condition) for entry in graph.ends(number)),
        _local_edges(graph, graph.of_query[number] - shared, local),
        tuple(
            Measure(local[one.node], one.attribute, one.what)
            for one in measures_of(query, graph.places[number])
        ),
    )


def _local_edges(graph: TrendGraph, numbers: Edges, local: dict[int, int]) -> tuple[Edge, ...]:
    edges = [graph.edges[number].edge for number in sorted(numbers)]
    return tuple(Edge(local[edge.source], local[edge.target], edge.condition) for edge in edges)
