"""MUSE's optimizer: for every edge of the graph, which queries share it and where their sharing begins (section 3).

Nodes are taken in the order of the SEQs. For each edge that leaves a node, the queries that have it are parted into
sets that share it, each with a MatPoint: the edge's own source, that of a set which already shares an edge into the
source, or, of a loop, where the repeated part begins. The search is pruned by the lemmas: of sets with as many
MatStates only the largest counts (Lemma 1), so that queries are added by how much they enter, those that bring no
MatState of their own at once; of MatPoints for one set the one with fewer MatStates wins (Lemma 2).

Loops are decided after the nodes inside them. Where queries come to share one, with all that it repeats, the decisions
inside are taken back and made anew, since what seemed to be entered by the loop now is not: once per loop, so that a
node in t cycles is analysed at most t + 1 times.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from stretto.trends.graph import cycles, processing_order
from stretto.trends.judge import Judge, Queries, SharedPart
from stretto.trends.plan import Decision
from stretto.trends.rates import Nodes
from stretto.trends.units import Sharing

MOST_SETS = 32
"""Sets of queries that are compared for one edge and MatPoint, or twice as many."""


def choose(judge: Judge) -> Sharing:
    """The most beneficial sharing found for every edge."""
    return _Choice(judge).run()


class _Choice:
    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.graph = judge.graph
        self.found = Sharing()
        self.inside = cycles(self.graph)
        self.best: dict[tuple[int, int, Nodes, Queries], Decision] = {}
        self.leaving: dict[int, list[int]] = defaultdict(list)
        self.entering: dict[int, list[int]] = defaultdict(list)
        for number, labelled in enumerate(self.graph.edges):
            if len(labelled.queries) > 1:
                self.leaving[labelled.edge.source].append(number)
                self.entering[labelled.edge.target].append(number)

    def run(self) -> Sharing:
        order = processing_order(self.graph)
        rank = {node: place for place, node in enumerate(order)}
        for node in order:
            self._analyse(node)
            for loop in self.leaving[node]:
                if len(self.inside.get(loop, ())) > 1 and self.found.decisions.get(loop):
                    for again in sorted(self.inside[loop], key=rank.__getitem__):
                        if rank[again] <= rank[node]:  # the others are still to come
                            self._analyse(again)
        return self.found

    def _analyse(self, node: int) -> None:
        """Decide every edge that leaves a node, whatever was decided of it before."""
        self.found.analyses[node] += 1
        for edge in self.leaving[node]:
            self.found.decisions.pop(edge, None)
        # A repetition of the node itself goes first: what shares it can go on along the other edges.
        for edge in sorted(self.leaving[node], key=lambda edge: self.graph.edges[edge].edge.target != node):
            decisions = self._decide(edge)
            if decisions:
                self.found.decisions[edge] = decisions

    def _decide(self, edge: int) -> list[Decision]:
        classes: dict[object, set[int]] = defaultdict(set)
        for query in self.graph.edges[edge].queries:
            classes[self.judge.classes[query]].add(query)
        found: list[Decision] = []
        # Greedily: the set with the greatest benefit is taken, and the others choose again among themselves. Queries of
        # different classes (`class_of`) can share nothing.
        for left in classes.values():
            while len(left) > 1:
                best = max(self._arrangements(edge, frozenset(left)), key=_rank)
                if best.benefit <= 0.0:
                    break
                found.append(best)
                left.difference_update(best.queries)
        return found

    def _arrangements(self, edge: int, queries: Queries) -> Iterator[Decision]:
        """For every MatPoint the best set of queries to share an edge."""
        ends = self.graph.edges[edge].edge
        # A MatPoint further back saves MatStates but binds the set to the queries that share the way from there (Lemma
        # 2); so all MatPoints are offered, and `_rank` prefers the fewer MatStates among equals.
        options = {(ends.source, frozenset({ends.source}), queries): None}
        for before in self.entering[ends.source]:
            for decision in self.found.decisions.get(before, ()):
                some = queries.intersection(decision.queries)
                options[decision.matpoint, self.found.spans[decision], some] = None
        repeated = self.inside.get(edge, frozenset())
        if len(repeated) > 1:
            some = frozenset(query for query in queries if repeated.issubset(self.graph.places[query]))
            options[ends.target, repeated, some] = None
        for matpoint, span, some in options:
            # A node is analysed again with the same options more often than not; what was best for them then still is.
            known = edge, matpoint, span, some
            if len(some) > 1 and known not in self.best:
                self.best[known] = self._best_set(*known)
            if len(some) > 1:
                yield self.best[known]

    def _best_set(self, edge: int, matpoint: int, span: Nodes, queries: Queries) -> Decision:
        """The queries that had best share an edge from a MatPoint on: those that enter least, as far as it pays."""
        ends = self.graph.edges[edge].edge
        nodes = span | {ends.source, ends.target}
        part = self._part(queries, nodes)
        groups: dict[Nodes, list[int]] = defaultdict(list)
        for query in sorted(queries):
            groups[self.judge.entering(query, part)].append(query)
        alone = self.judge.alternations(part, groups)
        # Lemma 1: of sets with equal MatStates the largest wins, so it is enough to look at the sets that grow by
        # whole groups, in the order of the MatStates that each group would bring alone.
        ordered = sorted(groups, key=lambda entering: (alone[entering], groups[entering]))
        best = max(
            (self._decision(edge, matpoint, self._part(some, nodes)) for some in _growing(groups, ordered)),
            key=_rank,
        )
        self.found.spans[best] = nodes
        return best

    def _part(self, queries: Queries, nodes: Nodes) -> SharedPart:
        return SharedPart(queries, nodes, self.graph.common_edges(queries, nodes))

    def _decision(self, edge: int, matpoint: int, part: SharedPart) -> Decision:
        matstates = self.judge.matstates(part)
        benefit = self.judge.edge_benefit(edge, part, matstates)
        return Decision(edge, tuple(sorted(part.queries)), matpoint, matstates, benefit)


def _growing(groups: Mapping[Nodes, Sequence[int]], ordered: Sequence[Nodes]) -> Iterator[Queries]:
    """Sets of at least two queries, each with more groups than the one before, taken in this order.

    Groups that enter from nowhere else than those taken come for nothing. Of very many sets some are left out.
    """
    taken: set[int] = set()
    union: Nodes = frozenset()
    step = max(1, len(ordered) // MOST_SETS)
    for number, entering in enumerate(ordered, 1):
        if groups[entering][0] not in taken:
            union |= entering
            taken.update(query for other, some in groups.items() if other <= union for query in some)
        if len(taken) > 1 and (number % step == 0 or number == len(ordered)):
            yield frozenset(taken)


def _rank(decision: Decision) -> tuple[float, float, int]:
    """By benefit; of equals the one with fewer MatStates, then with more queries."""
    return decision.benefit, -decision.matstates, len(decision.queries)
