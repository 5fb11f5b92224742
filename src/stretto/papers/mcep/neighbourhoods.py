"""Neighbours of a plan for many patterns: some patterns get new trees that have a common part in common.

Source: MCEP, sec. 4.2 (N_edge, N_vertex^k) and 5 (trees: other shared sub-trees are kept or given up at random).
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random

from stretto.papers.mcep.local_plans import LocalPlans, Placed
from stretto.papers.mcep.multi_pattern_graph import MultiPatternGraph
from stretto.papers.mcep.multitree import Multitree

EDGE = 0
"""N_edge: an edge of the graph and a common sub-pattern of its two patterns, all alike likely."""
NOTHING = -1
"""The empty common sub-pattern: the patterns go back to what is best for each alone."""
TRIES = 8
"""How often another common part is drawn if the patterns share this one already."""

Move = list[tuple[int, int]]
"""Patterns and their new trees."""


class Neighbourhood:
    """Draws neighbours of a multitree. `most` is the k of N_vertex^k, or EDGE.

    N_vertex^k draws a pattern, then one of the parts it has in common with others, then up to k patterns with it.
    """

    def __init__(
        self,
        graph: MultiPatternGraph,
        patterns: Sequence[int],
        plans: Mapping[int, LocalPlans],
        multitree: Multitree,
        random: Random,
        most: int = EDGE,
    ) -> None:
        self._graph = graph
        self._plans = plans
        self._multitree = multitree
        self.random = random
        self._most = most
        self._vicinity = {pattern: graph.vicinity(pattern) for pattern in patterns}
        self._patterns = [pattern for pattern in patterns if self._vicinity[pattern]]
        self._having = {s: graph.patterns(s) for found in self._vicinity.values() for s in found}
        self._choices: list[tuple[int, int]] = []
        weights: list[int] = []
        for pattern in self._patterns if most == EDGE else ():
            others = [len(self._having[shape]) - 1 for shape in self._vicinity[pattern]]
            self._choices += [(pattern, shape) for shape in (*self._vicinity[pattern], NOTHING)]
            weights += [*others, max(others)]
        self._until = list(accumulate(weights))

    @property
    def extent(self) -> int:
        """How many pairs of a pattern and a part of it can be drawn."""
        return sum(len(found) + 1 for found in self._vicinity.values() if found)

    def draw(self) -> Move:
        """The new trees of some patterns. They may be the ones they have."""
        for _ in range(TRIES):
            pattern, shape = self._drawn()
            others = self._others(pattern, shape)
            if shape == NOTHING or not all(self._share(pattern, other, shape) for other in others):
                break
        if shape == NOTHING:
            return [(one, self._alone(one)) for one in (pattern, *others)]
        return self._sharing((pattern, *others), shape)

    def _drawn(self) -> tuple[int, int]:
        if self._most == EDGE:
            at = bisect(self._until, self.random.random() * self._until[-1])
            return self._choices[min(at, len(self._choices) - 1)]
        pattern = self.random.choice(self._patterns)
        found = self._vicinity[pattern]
        at = self.random.randrange(len(found) + 1)
        return pattern, found[at] if at < len(found) else NOTHING

    def _others(self, pattern: int, shape: int) -> list[int]:
        """The patterns that change with the first."""
        wanted = max(self._most, 2) - 1
        seen = self.random.choice(self._vicinity[pattern]) if shape == NOTHING else shape
        having = self._having[seen]
        if len(having) - 1 <= wanted:
            return [other for other in having if other != pattern]
        drawn = self.random.sample(having, wanted + 1)
        return [other for other in drawn if other != pattern][:wanted]

    def _share(self, one: int, other: int, shape: int) -> bool:
        """Whether this part is now a maximal one that two patterns compute together."""
        trees = self._multitree.trees
        mine, theirs = (trees.inner[self._multitree.chosen[pattern]] for pattern in (one, other))
        both = [join for join in mine if join in theirs]
        return any(
            trees.shape[join] == shape and not any(join in trees.inner[more] for more in both if more != join)
            for join in both
        )

    def _alone(self, pattern: int) -> int:
        plans = self._plans[pattern]
        return plans.best(plans.maximal(self._kept(pattern), plans.parts.full))

    def _sharing(self, patterns: Sequence[int], shape: int) -> Move:
        first = patterns[0]
        found: Move = []
        subtree: int | None = None
        for pattern in patterns:
            plans = self._plans[pattern]
            mask = self._where(pattern, shape)
            kept = self._kept(pattern)
            if pattern == first:
                inside = [item for item in kept if item[0] != mask]
                subtree = plans.best(plans.maximal(inside, mask), mask)
            assert subtree is not None
            given = ((mask, subtree), *plans.beside(kept, mask))
            found.append((pattern, plans.best(tuple(sorted(given)))))
        return found

    def _where(self, pattern: int, shape: int) -> int:
        masks = self._graph.masks(pattern, shape)
        return masks[0] if len(masks) == 1 else self.random.choice(masks)

    def _kept(self, pattern: int) -> list[Placed]:
        """The shared joins of a pattern's tree, or none of them, as chance has it."""
        if self.random.random() < 0.5:
            return []
        multitree = self._multitree
        joins = self._plans[pattern].joins(multitree.chosen[pattern])
        return [item for item in joins if multitree.shared(item[1])]
