"""Searches for directed Steiner trees: descent, branch and bound, simulated annealing."""

from collections.abc import Iterable
from heapq import heappop, heappush
from math import exp, inf
from random import Random
from typing import Final

from stretto.papers.motto.arborescence import ROOT, Arborescence, restricted
from stretto.papers.motto.dual_ascent import dual_ascent, hopeless
from stretto.records import dataclass
from stretto.solve.common.budget import Budget

EQUAL: Final = 1e-9  # relative difference of costs that counts as none
COOLING: Final = 0.99
FROZEN: Final = 1e-4  # of the start temperature
A_CHANGE: Final = 1.5e-6
"""Seconds that it takes to tell what a vertex, or an arc into it, changes."""
RUNS_IN_VAIN: Final = 3  # annealing runs without a better tree, after which it ends


@dataclass(slots=True)
class Incumbent:
    """The best tree known: its optional vertices, its cost, and a bound below which there is none."""

    taken: frozenset[int]
    cost: float
    bound: float = 0.0

    @property
    def proven(self) -> bool:
        return self.bound >= self.cost - EQUAL * abs(self.cost)

    def offer(self, taken: Iterable[int], cost: float) -> bool:
        """Keep a tree if it is better."""
        if cost >= self.cost - EQUAL * abs(self.cost):
            return False
        self.taken, self.cost = frozenset(taken), cost
        return True


class SteinerTree:
    """A set of optional vertices that changes by one at a time, with its cost kept up."""

    def __init__(self, problem: Arborescence, taken: Iterable[int] = ()) -> None:
        self.problem = problem
        self.serves = problem.out_of()
        self.chosen = {*problem.wanted, *taken}
        self.optional = sorted(problem.optional)
        self.source: dict[int, int] = {}
        self.cost = 0.0
        for v in self.chosen:
            self._settle(v)

    @property
    def taken(self) -> frozenset[int]:
        return frozenset(self.chosen - self.problem.wanted)

    def _settle(self, v: int) -> None:
        """Give a chosen vertex its cheapest source."""
        sources = self.problem.into[v]
        self.cost -= self._paid(v)
        self.source[v] = min(
            (u for u in sources if u == ROOT or u in self.chosen), key=lambda u: (sources[u], u)
        )
        self.cost += self._paid(v)

    def _paid(self, v: int) -> float:
        return self.problem.into[v][self.source[v]] if v in self.source else 0.0

    def change(self, v: int) -> float:
        """By how much the cost would change if an optional vertex was taken, or dropped."""
        sources = self.problem.into[v]
        if v not in self.chosen:
            own = min((cost for u, cost in sources.items() if u == ROOT or u in self.chosen), default=inf)
            return own - sum(
                max(0.0, self._paid(w) - cost) for w, cost in self.serves[v].items() if w in self.chosen
            )
        more = 0.0
        for w in self.serves[v]:
            if w in self.chosen and self.source[w] == v:
                others = self.problem.into[w].items()
                next_best = min(
                    (cost for u, cost in others if u != v and (u == ROOT or u in self.chosen)), default=inf
                )
                more += next_best - self._paid(w)
        return more - self._paid(v)

    def flip(self, v: int) -> None:
        """Take or drop an optional vertex."""
        if v in self.chosen:
            self.chosen.discard(v)
            self.cost -= self._paid(v)
            del self.source[v]
            affected = [w for w in self.serves[v] if w in self.chosen and self.source[w] == v]
        else:
            self.chosen.add(v)
            self._settle(v)
            paid = self._paid
            affected = [w for w, cost in self.serves[v].items() if w in self.chosen and cost < paid(w)]
        for w in affected:
            self._settle(w)

    def descend(self, budget: Budget) -> None:
        """Take and drop whatever saves something, the most first, until nothing does."""
        while not budget.over:
            budget.work(A_CHANGE * len(self.optional))
            changes = sorted((self.change(v), v) for v in self.optional)
            improved = False
            for change, v in changes:
                if change >= -EQUAL * abs(self.cost):
                    break
                if self.change(v) < -EQUAL * abs(self.cost):
                    self.flip(v)
                    improved = True
            if not improved:
                return


def descended(problem: Arborescence, budget: Budget, starts: Iterable[Iterable[int]] = ((),)) -> Incumbent:
    """The best tree that descents from some sets of vertices reach."""
    best = Incumbent(frozenset(), problem.cost(()))
    for start in starts:
        tree = SteinerTree(problem, start)
        tree.descend(budget)
        best.offer(tree.taken, problem.cost(tree.taken))
    return best


def branch_and_bound(problem: Arborescence, best: Incumbent, budget: Budget) -> None:
    """Improve a tree until it is proven best or the time is over; the bound is kept up.

    Branches take or drop one optional vertex. The branch with the least bound comes next.
    """
    # Best first: the least bound among the open branches is a bound of the whole problem, so that it can be told at any
    # time. `made` breaks ties, as sets have no order.
    made = 0
    open_: list[tuple[float, int, frozenset[int], frozenset[int]]] = [(0.0, made, frozenset(), frozenset())]
    while open_:
        best.bound = max(best.bound, min(open_[0][0], best.cost))
        if best.proven or budget.over:
            return
        bound, _, taken, dropped = heappop(open_)
        part = restricted(problem, taken, dropped)
        budget.work(A_CHANGE * sum(map(len, part.into.values())))
        found = dual_ascent(part, budget)
        bound = max(bound, found.value)
        if bound >= best.cost - EQUAL * abs(best.cost):
            continue
        _improve(problem, part, best, found.left, budget)
        gone = hopeless(part, found, best.cost - EQUAL * abs(best.cost))
        undecided = part.optional - gone
        if not undecided:
            rest = part.wanted - problem.wanted
            best.offer(rest, problem.cost(rest))
            continue
        v = _most_contested(part, undecided)
        # What restriction and reduced costs have decided here holds in all of this branch: its children start from it.
        gone_for_good = dropped | gone | (problem.optional - part.into.keys())
        fixed = frozenset(part.wanted - problem.wanted)
        for more, less in (({v}, frozenset[int]()), (frozenset[int](), {v})):
            made += 1
            heappush(open_, (bound, made, fixed | more, gone_for_good | less))
    best.bound = best.cost


def _improve(
    problem: Arborescence,
    part: Arborescence,
    best: Incumbent,
    left: dict[int, dict[int, float]],
    budget: Budget,
) -> None:
    """Try the vertices that the bound has paid for entirely, and the best tree as far as this branch allows it."""
    paid = [v for v in part.optional if any(cost <= 0 for cost in left[v].values())]
    for start in (paid, best.taken & part.optional):
        tree = SteinerTree(part, start)
        tree.descend(budget)
        taken = (part.wanted | tree.taken) - problem.wanted
        best.offer(taken, problem.cost(taken))


def _most_contested(part: Arborescence, undecided: Iterable[int]) -> int:
    """The vertex that could save the most."""
    serves = part.out_of()

    def saving(v: int) -> float:
        dearest = ((max(part.into[w].values()), cost) for w, cost in serves[v].items())
        return sum(most - cost for most, cost in dearest)

    return max(sorted(undecided), key=saving)


def anneal_tree(problem: Arborescence, best: Incumbent, budget: Budget, seed: int = 0) -> None:
    """Simulated annealing from the best tree, run after run, until the time is over or runs are in vain.

    A move takes or drops one optional vertex. The temperature starts at the mean change of cost and falls by one
    percent each time all vertices had a turn.
    """
    tree = SteinerTree(problem, best.taken & problem.optional)
    if not tree.optional:
        return
    random = Random(seed)  # noqa: S311 - a search, not a secret
    vain = 0
    while vain < RUNS_IN_VAIN and not budget.over:
        vain = 0 if _anneal_once(tree, best, budget, random) else vain + 1
        for v in tree.taken ^ (best.taken & problem.optional):
            tree.flip(v)


def _anneal_once(tree: SteinerTree, best: Incumbent, budget: Budget, random: Random) -> bool:
    changes = [abs(tree.change(v)) for v in tree.optional]
    finite = [change for change in changes if change < inf]
    start = temperature = sum(finite) / max(1, len(finite))
    better = False
    while temperature > FROZEN * start and not budget.over:
        budget.work(A_CHANGE * len(tree.optional))
        for v in random.choices(tree.optional, k=len(tree.optional)):
            change = tree.change(v)
            if change <= 0 or random.random() < exp(-change / temperature):
                tree.flip(v)
                if tree.cost < best.cost:
                    better |= best.offer(tree.taken, tree.problem.cost(tree.taken))
        temperature *= COOLING
    tree.descend(budget)
    return best.offer(tree.taken, tree.problem.cost(tree.taken)) or better
