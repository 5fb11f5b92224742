"""The automata of all queries merged into one graph: each stream once, each edge with the queries that have it."""

from collections.abc import Iterable, Sequence

from stretto.pattern.nodes import Stream
from stretto.records import dataclass
from stretto.trends.plan import Automaton, Edge, Entry, GraphNode, LabelledEdge


@dataclass(frozen=True, slots=True)
class TrendGraph:
    """MUSE's global plan. `places[q][v]`: the node of state v of query q; `of_query[q]`: the numbers of its edges."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[LabelledEdge, ...]
    places: tuple[tuple[int, ...], ...]
    of_query: tuple[frozenset[int], ...]
    automata: tuple[Automaton, ...]

    @property
    def repeated(self) -> frozenset[int]:
        """The nodes that may follow themselves."""
        return frozenset(one.edge.source for one in self.edges if one.edge.source == one.edge.target)

    def starts(self, query: int) -> tuple[Entry, ...]:
        """A query's starts, by nodes of the graph."""
        return self._placed(query, self.automata[query].starts)

    def ends(self, query: int) -> tuple[Entry, ...]:
        return self._placed(query, self.automata[query].ends)

    def common_edges(self, queries: Iterable[int], nodes: frozenset[int]) -> frozenset[int]:
        """The edges between these nodes that every one of the queries has, under the same condition."""
        common = frozenset.intersection(*{self.of_query[query] for query in queries})
        ends = {number: self.edges[number].edge for number in common}
        return frozenset(
            number for number, edge in ends.items() if edge.source in nodes and edge.target in nodes
        )

    def _placed(self, query: int, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        return tuple(Entry(self.places[query][entry.node], entry.condition) for entry in entries)


def merged(automata: Sequence[Automaton]) -> TrendGraph:
    """The graph of some automata, nodes and edges in the order of their first use.

    A stream that a pattern uses several times has as many nodes. Repeated states take the first of them, so that they
    meet the repeated states of other queries, in which there is most to share.
    """
    nodes: dict[GraphNode, int] = {}
    places = tuple(_places(one, nodes) for one in automata)
    labels: dict[Edge, dict[int, bool]] = {}
    for query, one in enumerate(automata):
        for number, edge in enumerate(one.edges):
            placed = Edge(places[query][edge.source], places[query][edge.target], edge.condition)
            labels.setdefault(placed, {})[query] = number in one.loops
    edges = tuple(
        LabelledEdge(edge, tuple(found), any(found.values()), not all(found.values()))
        for edge, found in labels.items()
    )
    having: list[set[int]] = [set() for _ in automata]
    for number, labelled in enumerate(edges):
        for query in labelled.queries:
            having[query].add(number)
    return TrendGraph(tuple(nodes), edges, places, tuple(map(frozenset, having)), tuple(automata))


def _places(one: Automaton, nodes: dict[GraphNode, int]) -> tuple[int, ...]:
    """The node of every state; new ones are added to `nodes`."""
    repeated = {edge.source for edge in one.edges if edge.source == edge.target}
    copies: dict[Stream, int] = {}
    copy_of: dict[int, int] = {}
    for state in sorted(range(len(one.streams)), key=lambda state: (state not in repeated, state)):
        stream = one.streams[state]
        copy_of[state] = copies.get(stream, 0)
        copies[stream] = copy_of[state] + 1
    return tuple(
        nodes.setdefault(GraphNode(stream, copy_of[state]), len(nodes))
        for state, stream in enumerate(one.streams)
    )


def processing_order(graph: TrendGraph) -> tuple[int, ...]:
    """The nodes so that each comes after those before it in a SEQ: the edges of Kleenes do not count.

    Where queries disagree about the order and a cycle of steps remains, the node with the fewest unprocessed
    predecessors goes first; the lowest number among equals.
    """
    before: list[set[int]] = [set() for _ in graph.nodes]
    after: list[set[int]] = [set() for _ in graph.nodes]
    for labelled in graph.edges:
        source, target = labelled.edge.source, labelled.edge.target
        if labelled.is_step and source != target:
            before[target].add(source)
            after[source].add(target)
    left, order = set(range(len(graph.nodes))), []
    while left:
        chosen = min(left, key=lambda node: (len(before[node]), node))
        left.discard(chosen)
        order.append(chosen)
        for node in after[chosen]:
            before[node].discard(chosen)
    return tuple(order)


def cycles(graph: TrendGraph) -> dict[int, frozenset[int]]:
    """The nodes inside the cycle that each loop edge closes, by the number of the edge.

    Those between its target and its source, both included, along the steps of the queries that have it as a loop.
    """
    return {
        number: frozenset().union(*(_inside(graph, labelled.edge, query) for query in labelled.queries))
        for number, labelled in enumerate(graph.edges)
        if labelled.is_loop
    }


def _inside(graph: TrendGraph, loop: Edge, query: int) -> frozenset[int]:
    """The states of a pattern are numbered in its order, so that a loop encloses a run of them."""
    places = graph.places[query]
    first, last = places.index(loop.target), places.index(loop.source)
    return frozenset(places[first : last + 1])
