"""What MCEP's local searches have in common: the start, connected patterns apart, and the plan that comes out.

Source: MCEP, sec. 4 and 5. The search starts from the best local plan of every pattern.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.text_order import alone
from stretto.papers.mcep.core_nodes import NodeOf, wrapped
from stretto.papers.mcep.forest import Forest, MixedForest, forest
from stretto.papers.mcep.local_plans import LocalPlans, TreePlans
from stretto.papers.mcep.moves import EDGE, Moves
from stretto.papers.mcep.multi_pattern_graph import MultiPatternGraph
from stretto.papers.mcep.shapes import Parts, Shapes
from stretto.papers.mcep.trees import Trees
from stretto.papers.mcep.walk import Walk
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Node, Solution

FREE: Final = 20_000
"""Squares of slots of patterns that are taken apart in the order of their text, however short the time."""
Planner = Callable[[Trees, Parts, Budget], LocalPlans]
Improve = Callable[[Walk, Random, Budget], None]
"""Walks from a plan to better ones until the budget is over or nothing more is to be hoped for."""


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
        shapes = Shapes(memo)
        self.trees = Trees(shapes, pricing)
        self.plans: dict[int, LocalPlans] = {}
        self.chosen: dict[int, int] = {}
        self.graph = MultiPatternGraph()
        in_order = budget.at_least(0.0, FREE)
        for core in memo.cores():
            if memo.is_wide(core):
                continue
            plans = planner(self.trees, Parts(shapes, core), budget)
            if searched and not budget.over:
                self.chosen[core] = plans.best()
                self.graph.add(plans.parts)
            elif not in_order.denies(plans.parts.count**2):
                self.chosen[core] = plans.in_order(plans.parts.own_order)
            self.plans[core] = plans

    def forest(self, patterns: Mapping[int, int] | None = None) -> Forest:
        """The chosen trees (or these) together."""
        chosen = self.chosen if patterns is None else patterns
        found = forest(self.trees, {core: self.plans[core].parts.size for core in chosen})
        for core, tree in chosen.items():
            found.put(core, tree)
        return found

    def solution(self) -> Solution:
        """The chosen trees as nodes: a join of several patterns is one node."""
        return Solution(wrapped(self.memo, _Nodes(self.forest())))


class _Nodes:
    """Makes the nodes of a forest's joins."""

    def __init__(self, found: Forest) -> None:
        self._forest = found
        self._made: dict[int, Node] = {}

    def __call__(self, core: int, node_of: NodeOf) -> Node:
        trees, found = self._forest.trees, self._forest
        tree = found.chosen.get(core)
        if tree is None:
            way = alone(trees.shapes.memo, core)
            return Node(core, way, tuple(node_of(piece) for piece in way.pieces))
        for join in trees.inner[tree]:
            if join not in self._made:
                self._made[join] = self._joined(join, found.size(join), node_of)
        size = found.sizes[core]
        wider = found.size(tree)
        if size == wider:
            return self._made[tree]
        assert isinstance(found, MixedForest), "one window is not wider than itself"
        if found.narrow_by_filter(core):
            number, way = trees.narrow_way(trees.shape[tree], size, wider)
            return Node(number, way, (self._made[tree],))
        return self._joined(tree, size, node_of)

    def _joined(self, join: int, size: int, node_of: NodeOf) -> Node:
        trees, found = self._forest.trees, self._forest
        sides = trees.sides[join]
        assert sides is not None, "leaves are no joins"
        left, left_columns, right, right_columns = sides
        sizes = [max(size, found.size(side)) for side in (left, right)]
        number, way = trees.join_way(
            trees.shape[join],
            size,
            (trees.shape[left], sizes[0], left_columns),
            (trees.shape[right], sizes[1], right_columns),
        )
        inputs = (
            self._made.get(side) or node_of(part.piece)
            for side, part in zip((left, right), way.inputs, strict=True)
        )
        return Node(number, way, tuple(inputs))


def search(
    memo: Memo,
    pricing: Pricing,
    budget: Budget,
    improve: Improve,
    *,
    planner: Planner = TreePlans,
    most: int = EDGE,
    seed: int = 0,
) -> Solution:
    """The best plan that `improve` finds; each connected component gets a part of the budget by its size."""
    patterns = Patterns(memo, pricing, budget, planner)
    improve_all(patterns, budget, improve, most=most, seed=seed)
    return patterns.solution()


def improve_all(
    patterns: Patterns, budget: Budget, improve: Improve, *, most: int = EDGE, seed: int = 0
) -> list[Walk]:
    """Improve the chosen trees component by component, small ones first: what they leave goes to the others."""
    random = Random(seed)  # noqa: S311 - nothing secret
    graph = patterns.graph
    components = sorted((c for c in graph.components() if len(c) > 1), key=len)
    weights = [sum(len(graph.vicinity(core)) for core in component) for component in components]
    walks: list[Walk] = []
    for i, component in enumerate(components):
        if budget.over:
            break
        found = patterns.forest({core: patterns.chosen[core] for core in component})
        walk = Walk(found, Moves(graph, component, patterns.plans, found, random, most))
        improve(walk, random, budget.share(weights[i] / sum(weights[i:])))
        walk.to_best()
        patterns.chosen.update(found.chosen)
        walks.append(walk)
    return walks
