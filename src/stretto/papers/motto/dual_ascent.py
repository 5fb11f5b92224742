"""Lower bounds of directed Steiner trees by dual ascent (R. T. Wong, Mathematical Programming 28, 1984).

Every set of vertices that holds a wanted one and not the root is entered by a tree. Such cuts are paid for one after
another, as much as the cheapest arc into them still has left; what is paid is a bound, and what arcs have left tells
how much a tree through them costs at least beyond it.
"""

from heapq import heapify, heappop, heappush
from math import inf

from stretto.papers.motto.arborescence import ROOT, Arborescence
from stretto.records import dataclass
from stretto.solve.common.budget import Budget

AN_ARC = 3e-7
"""Seconds that it takes to look at an arc of a cut."""


@dataclass(frozen=True, slots=True)
class DualBound:
    """No tree costs less than `value`; one through arc u -> v costs at least `left[v][u]` more."""

    value: float
    left: dict[int, dict[int, float]]


class _Cut:
    """A set of vertices that reach a wanted one by arcs without anything left."""

    def __init__(self, wanted: int) -> None:
        self.inside = {wanted}
        self.fresh = [wanted]
        self.arcs: list[tuple[int, int]] = []  # (v, u): from u outside of the set to v

    def grow(self, left: dict[int, dict[int, float]]) -> bool:
        """Take in all that reaches the set for nothing; whether the root does not."""
        while True:
            self.arcs.extend((v, u) for v in self.fresh for u in left[v])
            self.fresh = []
            self.arcs = [(v, u) for v, u in self.arcs if u not in self.inside]
            reached = {u for v, u in self.arcs if left[v][u] <= 0}
            if ROOT in reached or not reached:
                return not reached
            self.inside |= reached
            self.fresh = list(reached)


def dual_ascent(problem: Arborescence, budget: Budget) -> DualBound:
    """A bound and what arcs have left; the bound holds wherever the time ends."""
    left = {v: dict(sources) for v, sources in problem.into.items()}
    cuts = {t: _Cut(t) for t in problem.wanted}
    queue = [(len(left[t]), t) for t in sorted(problem.wanted)]
    heapify(queue)
    value = 0.0
    while queue and not budget.over:
        _, t = heappop(queue)
        cut = cuts[t]
        if not cut.grow(left):
            continue
        size = len(cut.arcs)
        budget.work(AN_ARC * size)
        if size == 0:
            return DualBound(inf, left)  # nothing leads there
        if queue and size > queue[0][0]:
            heappush(queue, (size, t))  # smaller cuts first: they leave more for the others
            continue
        paid = min(left[v][u] for v, u in cut.arcs)
        value += paid
        for v, u in cut.arcs:
            left[v][u] -= paid
        heappush(queue, (size, t))
    return DualBound(value, left)


def hopeless(problem: Arborescence, bound: DualBound, most: float) -> set[int]:
    """Optional vertices through which no tree costs less than `most`."""
    order = problem.order()
    down: dict[int, float] = {ROOT: 0.0}
    for v in order:
        down[v] = min((down[u] + left for u, left in bound.left[v].items()), default=inf)
    up = {v: 0.0 if v in problem.wanted else inf for v in order}
    for v in reversed(order):
        for u, left in bound.left[v].items():
            if u != ROOT:
                up[u] = min(up[u], left + up[v])
    return {v for v in order if v not in problem.wanted and bound.value + down[v] + up[v] >= most}
