"""Directed Steiner trees without cycles: which optional vertices to take, so that every wanted one is reached cheaply.

As the graph has no cycles, the vertices that are taken decide everything: each of them is computed from the cheapest
source among the taken ones and the root, and that is a tree. So a solution is a set of optional vertices.
"""

from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import Final

from stretto.pattern.disjoint_sets import DisjointSets
from stretto.records import dataclass

ROOT: Final = -1


@dataclass(frozen=True, slots=True)
class Arborescence:
    """Vertex v costs `into[v][u]` from vertex u, and `into[v][ROOT]` from scratch; all `wanted` must be reached."""

    wanted: frozenset[int]
    into: Mapping[int, Mapping[int, float]]

    @property
    def optional(self) -> frozenset[int]:
        return frozenset(self.into.keys() - self.wanted)

    def out_of(self) -> dict[int, dict[int, float]]:
        """For each vertex whom it serves, and at which cost."""
        found: dict[int, dict[int, float]] = {v: {} for v in self.into}
        for v, sources in self.into.items():
            for u, cost in sources.items():
                if u != ROOT:
                    found[u][v] = cost
        return found

    def order(self) -> list[int]:
        """The vertices, sources before those they serve."""
        left = {v: sum(u != ROOT for u in sources) for v, sources in self.into.items()}
        ready = [v for v, count in left.items() if count == 0]
        found: list[int] = []
        serves = self.out_of()
        while ready:
            v = ready.pop()
            found.append(v)
            for w in serves[v]:
                left[w] -= 1
                if left[w] == 0:
                    ready.append(w)
        assert len(found) == len(self.into), "the graph has a cycle"
        return found

    def cost(self, taken: Collection[int]) -> float:
        """The cost with these optional vertices: each of the wanted and taken from its cheapest source."""
        chosen = {*self.wanted, *taken}
        open_ = {ROOT, *chosen}
        return sum(min((c for u, c in self.into[v].items() if u in open_), default=inf) for v in chosen)

    def sources(self, taken: Collection[int]) -> dict[int, int]:
        """For every vertex of the tree its source; taken vertices that serve nobody are left out."""
        chosen = {*self.wanted, *taken}
        found = {
            v: min((u for u in self.into[v] if u == ROOT or u in chosen), key=lambda u: (self.into[v][u], u))
            for v in chosen
        }
        needed: set[int] = set()
        pending = list(self.wanted)
        while pending:
            v = pending.pop()
            if v != ROOT and v not in needed:
                needed.add(v)
                pending.append(found[v])
        return {v: found[v] for v in needed}


def restricted(
    problem: Arborescence, taken: Iterable[int] = (), dropped: Collection[int] = ()
) -> Arborescence:
    """The problem with some optional vertices wanted and others gone, and without what cannot be part of a best tree.

    Gone are arcs no cheaper than one that is always open (from scratch or from a wanted vertex), and optional vertices
    that cannot save their own cost. Vertices that surely save more than they cost become wanted.
    """
    wanted = {*problem.wanted, *taken}
    into = {
        v: {u: cost for u, cost in sources.items() if u not in dropped}
        for v, sources in problem.into.items()
        if v not in dropped
    }
    # A vertex that becomes wanted opens arcs, which makes others useless, whose going may make others pay: so again,
    # until neither happens. Each round takes away or decides a vertex, so it ends.
    while True:
        always = _drop_dear_arcs(into, wanted)
        useless = {v for v in into if v not in wanted} - _that_can_pay(into, wanted, always)
        if useless:
            for v in useless:
                del into[v]
            for sources in into.values():
                for u in sources.keys() & useless:
                    del sources[u]
            continue
        paying = _that_surely_pay(into, wanted, always)
        if not paying:
            return Arborescence(frozenset(wanted), into)
        wanted |= paying


def _drop_dear_arcs(into: dict[int, dict[int, float]], wanted: Collection[int]) -> dict[int, float]:
    """Keep of the arcs that are always open the cheapest, and of the others those that are cheaper.

    What each vertex costs by the arc that is always open comes back.
    """
    always: dict[int, float] = {}
    for v, sources in into.items():
        open_ = [u for u in sources if u == ROOT or u in wanted]
        if open_:
            best = min(open_, key=lambda u: (sources[u], u))
            limit = always[v] = sources[best]
            into[v] = {u: cost for u, cost in sources.items() if cost < limit or u == best}
        else:
            always[v] = inf
    return always


def _that_can_pay(into: dict[int, dict[int, float]], wanted: set[int], always: dict[int, float]) -> set[int]:
    """Optional vertices that at their cheapest could save more than they cost, against arcs that are always open.

    Any other one can be left out of any tree: those it serves take the arcs that are always open.
    """
    saved = dict.fromkeys(into, 0.0)
    for v, sources in into.items():
        for u, cost in sources.items():
            if u != ROOT and cost < always[v]:
                saved[u] += always[v] - cost
    return {v for v in into if v not in wanted and saved[v] > min(into[v].values(), default=inf)}


def _that_surely_pay(
    into: dict[int, dict[int, float]], wanted: set[int], always: dict[int, float]
) -> set[int]:
    """Optional vertices that at their dearest save as much as they cost, against any other source.

    They can be added to any tree, one after another.
    """
    saved = dict.fromkeys(into, 0.0)
    for v in wanted:
        least, second = (*sorted(into[v].values())[:2], inf)[:2]
        for u, cost in into[v].items():
            if u != ROOT and cost == least and second > least:
                saved[u] += second - least
    return {v for v in into if v not in wanted and always[v] < inf and saved[v] >= always[v]}


def components(problem: Arborescence) -> list[Arborescence]:
    """The parts that have nothing but the root in common."""
    together = DisjointSets([v] for v in problem.into)
    for v, sources in problem.into.items():
        together.join(v, *(u for u in sources if u != ROOT))
    return [
        Arborescence(problem.wanted.intersection(members), {v: problem.into[v] for v in members})
        for members in together.sets()
        if not problem.wanted.isdisjoint(members)
    ]
