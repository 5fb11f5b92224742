"""From decisions about edges to units: which queries are computed together, and what of it is shared.

A query is in one unit, while decisions may have it share different edges with different queries. So units are picked
greedily: of all sets of queries that share something, the one that saves most, with everything its members share.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from stretto.pattern.disjoint_sets import DisjointSets
from stretto.pattern.nodes import TrendQuery
from stretto.trends.graph import TrendGraph
from stretto.trends.judge import Edges, Judge, Queries, SharedPart
from stretto.trends.measures import measures_of
from stretto.trends.plan import Decision, Edge, Entry, Measure, Member, TrendUnit
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
    """Parts of disjoint sets of at least two queries, the most beneficial first."""
    # Each round takes the best part of those queries that are left, so that no query is in two; it ends, as every part
    # takes at least two of them.
    left = frozenset(range(len(judge.queries)))
    found: list[SharedPart] = []
    while True:
        best = _best(judge, _parts(judge, sharing, left))
        if best is None:
            return found
        found.append(best)
        left -= best.queries


def _best(judge: Judge, parts: Iterable[SharedPart]) -> SharedPart | None:
    """The first of the most beneficial parts; None where none saves anything."""
    worth = [(judge.benefit(part), -number, part) for number, part in enumerate(parts)]
    best = max(worth, default=None, key=lambda one: one[:2])
    return None if best is None or best[0] <= 0.0 else best[2]


def _parts(judge: Judge, sharing: Sharing, left: Queries) -> Iterator[SharedPart]:
    """Everything a set of sharing queries has in common, and the pieces of it that hang together."""
    for queries in _sets(sharing, left):
        ends = [judge.graph.edges[number].edge for number in sorted(sharing.shared_by(queries))]
        pieces = list(map(frozenset, DisjointSets((edge.source, edge.target) for edge in ends).sets()))
        whole = [frozenset().union(*pieces)] if len(pieces) > 1 else []
        for nodes in (*whole, *pieces):
            yield SharedPart(queries, nodes, judge.graph.common_edges(queries, nodes))


def _sets(sharing: Sharing, left: Queries) -> list[Queries]:
    decided = {
        left.intersection(decision.queries)
        for decisions in sharing.decisions.values()
        for decision in decisions
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


def unit_of(graph: TrendGraph, queries: Sequence[TrendQuery], part: SharedPart, entries: Nodes) -> TrendUnit:
    """The unit that computes a part, and beside it what its queries have of their own."""
    members = sorted(part.queries)
    nodes = sorted({place for query in members for place in graph.places[query]})
    local = {node: number for number, node in enumerate(nodes)}
    first = queries[members[0]]
    return TrendUnit(
        tuple(sorted({*first.groups, *first.same})),
        tuple(nodes),
        tuple(sorted(local[node] for node in part.nodes)),
        tuple(sorted(local[node] for node in entries)),
        _local_edges(graph, part.edges, local),
        tuple(_member(graph, queries[query], query, part.edges, local) for query in members),
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
