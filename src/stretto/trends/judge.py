"""What sharing some nodes is worth to some queries: the loads of the benefit model, drawn from the graph."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from stretto.pattern.nodes import TrendQuery
from stretto.records import dataclass
from stretto.trends.benefit import EdgeLoad, Model, engine_costs
from stretto.trends.graph import TrendGraph
from stretto.trends.measures import measures_of
from stretto.trends.plan import Automaton, Entry
from stretto.trends.rates import Nodes, Partition, Rates

Queries = frozenset[int]
Edges = frozenset[int]
Class = tuple[Partition, tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class SharedPart:
    """Queries that share nodes: all have these nodes and the edges, each between two of the nodes."""

    queries: Queries
    nodes: Nodes
    edges: Edges


def class_of(query: TrendQuery, automaton: Automaton) -> Class:
    """Queries of one class may share: their trends agree on the same attributes, and where more than the order of
    events decides, which is worked out window by window, they have the same windows.
    """
    partition = tuple(sorted({*query.groups, *query.same}))
    return partition, (query.window_us, query.slide_us) if automaton.is_conditioned else None


class Judge:
    """Answers, for parts of a graph, how they are entered, how many MatStates they need and what they save.

    With `panes` the windows of a query that are open together count as users of what is shared, as queries do.
    """

    def __init__(
        self,
        graph: TrendGraph,
        queries: Sequence[TrendQuery],
        rates: Rates,
        model: Model = engine_costs,
        *,
        panes: bool = True,
    ) -> None:
        self.graph = graph
        self.queries = queries
        self.rates = rates
        self.model = model
        self.panes = panes
        self.classes: tuple[Class, ...] = tuple(map(class_of, queries, graph.automata))
        self._starts = [graph.starts(query) for query in range(len(queries))]
        kinds: dict[object, int] = {}
        self._kinds = [
            kinds.setdefault((numbers, self._starts[query]), query)
            for query, numbers in enumerate(graph.of_query)
        ]
        self._loads: dict[SharedPart, EdgeLoad] = {}
        self._windows: dict[Queries, int] = {}
        self.into: list[dict[int, list[int]]] = [{} for _ in queries]
        for query, numbers in enumerate(graph.of_query):
            for number in sorted(numbers):
                self.into[query].setdefault(graph.edges[number].edge.target, []).append(number)
        self._measures = [
            measures_of(query, places) for query, places in zip(queries, graph.places, strict=True)
        ]

    # ---- how a part is entered -----------------------------------------------------------------------------------

    def alike(self, queries: Queries) -> list[int]:
        """One query of each automaton among these: what they enter and how, the others do alike."""
        return list({self._kinds[query]: query for query in sorted(queries, reverse=True)}.values())

    def own_edges(self, query: int, part: SharedPart) -> list[int]:
        """A query's edges into the part that are not shared: what they bring changes with every event they leave."""
        into = self.into[query]
        return [edge for node in part.nodes for edge in into.get(node, ()) if edge not in part.edges]

    def entering(self, query: int, part: SharedPart) -> Nodes:
        """The nodes whose events change what a query brings into the part."""
        return frozenset(self.graph.edges[number].edge.source for number in self.own_edges(query, part))

    def entries(self, part: SharedPart) -> Nodes:
        """The MatPoints: shared nodes where some query starts, or which it enters by an edge of its own."""
        return frozenset(entry.node for entry in self._ways_in(part))

    def _ways_in(self, part: SharedPart) -> set[Entry]:
        """How the queries enter the part, with the conditions."""
        found: set[Entry] = set()
        for query in self.alike(part.queries):
            found.update([entry for entry in self._starts[query] if entry.node in part.nodes])
            edges = [self.graph.edges[number].edge for number in self.own_edges(query, part)]
            found.update([Entry(edge.target, edge.condition) for edge in edges])
        return found

    # ---- what it is worth ----------------------------------------------------------------------------------------

    def window(self, queries: Queries) -> int:
        """The longest window of some queries."""
        if queries not in self._windows:
            self._windows[queries] = max([self.queries[query].window_us for query in queries])
        return self._windows[queries]

    def matstates(self, part: SharedPart) -> float:
        """MatStates of a window: one where it opens, and one at an entry's event after one that changed what enters."""
        entering = frozenset[int]().union(*(self.entering(query, part) for query in self.alike(part.queries)))
        window, partition = self.window(part.queries), self._partition(part)
        ways = self._ways_in(part)
        # Where a query enters under a condition of its own, every event differs from the next.
        chosen = frozenset(way.node for way in ways if way.condition is not None)
        entries = frozenset(way.node for way in ways) - chosen
        found = self._openings(part.queries) + self.rates.alternations(entering, entries, window, partition)
        return found + sum(self.rates.events(node, window, partition) for node in chosen)

    def alternations(self, part: SharedPart, entering: Iterable[Nodes]) -> dict[Nodes, float]:
        """How many MatStates each of some sets of nodes would bring by itself if it entered the part."""
        window, partition, entries = self.window(part.queries), self._partition(part), self.entries(part)
        return {nodes: self.rates.alternations(nodes, entries, window, partition) for nodes in entering}

    def benefit(self, part: SharedPart) -> float:
        """What sharing all edges of the part saves in a window."""
        matstates = self.matstates(part)
        return sum(self.edge_benefit(number, part, matstates) for number in sorted(part.edges))

    def edge_benefit(self, number: int, part: SharedPart, matstates: float) -> float:
        return self.model(self.load(number, part, matstates)).benefit

    def load(self, number: int, part: SharedPart, matstates: float) -> EdgeLoad:
        """The load of one edge of a part."""
        if part not in self._loads:
            self._loads[part] = self._load(part)
        edge, window = self.graph.edges[number].edge, self.window(part.queries)
        partition = self._partition(part)
        return replace(
            self._loads[part],
            before=self.rates.events(edge.source, window, partition),
            events=self.rates.events(edge.target, window, partition),
            matstates=matstates,
        )

    def _load(self, part: SharedPart) -> EdgeLoad:
        """What the loads of all edges of a part have in common."""
        values = sum(self._lanes((query,), part.nodes) * self.overlap(query) for query in part.queries)
        return EdgeLoad(
            before=0.0,
            events=0.0,
            queries=len(part.queries),
            values=values,
            lanes=self._lanes(part.queries, part.nodes),
            width=len(part.nodes) + max(len(self.entries(part)), 1),
            conditioned=self.classes[min(part.queries)][1] is not None,
        )

    def overlap(self, query: int) -> float:
        """How many windows of a query are open at a time; those with conditions are computed one by one."""
        known = self.queries[query]
        if self.classes[query][1] is not None or not self.panes:
            return 1.0
        return max(1.0, known.window_us / known.slide_us)

    def _openings(self, queries: Queries) -> float:
        """How often windows open in the time of the longest one."""
        if self.classes[min(queries)][1] is not None or not self.panes:
            return 1.0
        slides = {self.queries[query].slide_us for query in queries}
        return max(1.0, sum(self.window(queries) / slide for slide in slides))

    def _lanes(self, queries: Iterable[int], nodes: Nodes) -> int:
        """Numbers of a value with the measures of these queries on these nodes: the count, and one of each."""
        found = {measure for query in queries for measure in self._measures[query] if measure.node in nodes}
        return 1 + len(found)

    def _partition(self, part: SharedPart) -> Partition:
        return self.classes[min(part.queries)][0]
