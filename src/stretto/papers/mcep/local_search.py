"""What MCEP's local searches have in common: the start, connected patterns apart, and the plan that comes out.

Source: MCEP, sec. 4 and 5. The search starts from the best local plan of every pattern.
"""

from collections.abc import Callable, Mapping
from math import inf
from random import Random
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.papers.mcep.local_plans import LocalPlans, TreePlans
from stretto.papers.mcep.multi_pattern_graph import MultiPatternGraph
from stretto.papers.mcep.multitree import MixedWindowMultitree, Multitree, multitree
from stretto.papers.mcep.neighbourhoods import EDGE, Neighbourhood
from stretto.papers.mcep.sub_patterns import CoreParts, SubPatterns
from stretto.papers.mcep.trees import Trees
from stretto.papers.mcep.walk import Walk
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Computation, NodeOf, Solution, around_cores

FREE: Final = 20_000
"""Squares of slots of patterns that are taken apart in the order of their text, however short the time."""
Planner = Callable[[Trees, CoreParts, Budget], LocalPlans]
Improve = Callable[[Walk, Budget, float], None]
"""Walks from a plan to better ones until the budget or the steps are over or nothing more is to be hoped for."""


class Patterns:
    """The cores of a memo with their local plans, and the graph of what they have in common.

    Without `searched`, and when the budget is over, the patterns keep the order of their text and are not in the graph.
    Wide ones, and those that there is no time left to take apart, are not even chosen: they are one join each.
    """

    def __init__(
        self,
        memo: Memo,
        pricing: Pricing,
        budget: Budget,
        planner: Planner = TreePlans,
        *,
        searched: bool = True,
    ) -> None:
        self.memo = memo
        shapes = SubPatterns(memo)
        self.trees = Trees(shapes, pricing)
        self.plans: dict[int, LocalPlans] = {}
        self.chosen: dict[int, int] = {}
        self.graph = MultiPatternGraph()
        in_order = budget.at_least(0.0, FREE)
        for core in memo.cores():
            if memo.is_wide(core):
                continue
            plans = planner(self.trees, CoreParts(shapes, core), budget)
            if searched and not budget.over:
                self.chosen[core] = plans.best()
                self.graph.add(plans.parts)
            elif not in_order.denies(plans.parts.count**2):
                self.chosen[core] = plans.in_order(plans.parts.own_order)
            self.plans[core] = plans

    def multitree(self, patterns: Mapping[int, int] | None = None) -> Multitree:
        """The chosen trees (or these) together."""
        chosen = self.chosen if patterns is None else patterns
        found = multitree(self.trees, {core: self.plans[core].parts.size for core in chosen})
        for core, tree in chosen.items():
            found.put(core, tree)
        return found

    def solution(self) -> Solution:
        """The chosen trees as nodes: a join of several patterns is one node."""
        return Solution(around_cores(self.memo, _Nodes(self.multitree())))


class _Nodes:
    """Makes the nodes of a multitree's joins."""

    def __init__(self, found: Multitree) -> None:
        self._multitree = found
        self._made: dict[int, Computation] = {}

    def __call__(self, core: int, node_of: NodeOf) -> Computation:
        trees, found = self._multitree.trees, self._multitree
        tree = found.chosen.get(core)
        if tree is None:
            way = trees.shapes.memo.alone(core)
            return Computation(core, way, tuple(node_of(piece) for piece in way.pieces))
        for join in trees.inner[tree]:
            if join not in self._made:
                self._made[join] = self._joined(join, found.size(join), node_of)
        size = found.sizes[core]
        wider = found.size(tree)
        if size == wider:
            return self._made[tree]
        assert isinstance(found, MixedWindowMultitree), "one window is not wider than itself"
        if found.narrow_by_filter(core):
            number, way = trees.narrow_way(trees.shape[tree], size, wider)
            return Computation(number, way, (self._made[tree],))
        return self._joined(tree, size, node_of)

    def _joined(self, join: int, size: int, node_of: NodeOf) -> Computation:
        trees = self._multitree.trees
        number, way = trees.join_way(*trees.last_join(join, size, self._multitree.size))
        sides = trees.sides[join]
        assert sides is not None, "leaves are no joins"
        inputs = (
            self._made.get(side) or node_of(part.piece)
            for side, part in zip(sides[::2], way.inputs, strict=True)
        )
        return Computation(number, way, tuple(inputs))


def search(
    improve: Improve,
    memo: Memo,
    pricing: Pricing,
    budget: Budget,
    *,
    planner: Planner = TreePlans,
    most: int = EDGE,
    seed: int = 0,
    steps: float = inf,
) -> Solution:
    """The best plan that `improve` finds in the budget, or in so many steps per component; no worse than the start.

    Each connected component gets a part of the budget by its size, small ones first: what they leave goes to others.
    """
    patterns = Patterns(memo, pricing, budget, planner)
    random = Random(seed)  # noqa: S311 - nothing secret
    graph = patterns.graph
    components = sorted((c for c in graph.components() if len(c) > 1), key=len)
    weights = [sum(len(graph.vicinity(core)) for core in component) for component in components]
    for i, component in enumerate(components):
        if budget.over:
            break
        found = patterns.multitree({core: patterns.chosen[core] for core in component})
        walk = Walk(found, Neighbourhood(graph, component, patterns.plans, found, random, most))
        improve(walk, budget.share(weights[i] / sum(weights[i:])), steps)
        walk.to_best()
        patterns.chosen.update(found.chosen)
    return patterns.solution()
