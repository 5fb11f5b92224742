"""Directed Steiner trees against brute force over all trees."""

from itertools import chain, combinations, product
from math import inf, isclose
from random import Random

import pytest

from stretto.papers.motto.arborescence import ROOT, Arborescence, components, restricted
from stretto.papers.motto.dual_ascent import dual_ascent, hopeless
from stretto.papers.motto.steiner_search import SteinerTree, anneal_tree, branch_and_bound, descended
from stretto.solve.common.budget import Budget

LONG, NONE = 60.0, 0.0


def random_problem(seed: int, most: int = 7) -> Arborescence:
    """Arcs lead from lower to higher vertices; sharing pays about as often as it does not."""
    random = Random(seed)
    count = random.randint(2, most)
    into = {
        v: {
            ROOT: float(random.randint(3, 20)),
            **{u: float(random.randint(1, 12)) for u in range(v) if random.random() < 0.5},
        }
        for v in range(count)
    }
    return Arborescence(frozenset(random.sample(range(count), random.randint(1, count))), into)


def all_trees(problem: Arborescence) -> dict[frozenset[int], float]:
    """The cheapest tree over each set of vertices, of all ways to give each one source."""
    found = {}
    optional = sorted(problem.optional)
    for taken in chain.from_iterable(combinations(optional, k) for k in range(len(optional) + 1)):
        chosen = sorted(problem.wanted | set(taken))
        choices = [[(u, c) for u, c in problem.into[v].items() if u == ROOT or u in chosen] for v in chosen]
        found[frozenset(taken)] = min(sum(c for _, c in tree) for tree in product(*choices))
    return found


@pytest.mark.parametrize("seed", range(150))
def test_branch_and_bound_is_brute_force(seed: int) -> None:
    problem = random_problem(seed)
    trees = all_trees(problem)
    best = descended(problem, Budget(LONG))
    branch_and_bound(problem, best, Budget(LONG))
    assert best.cost == min(trees.values()) == trees[best.taken] == problem.cost(best.taken)
    assert best.proven
    sources = problem.sources(best.taken)
    assert sum(problem.into[v][u] for v, u in sources.items()) == best.cost
    assert problem.wanted <= sources.keys()
    assert all(u == ROOT or u in sources for u in sources.values())


@pytest.mark.parametrize("seed", range(150))
def test_bounds_and_reductions_keep_the_best_tree(seed: int) -> None:
    problem = random_problem(seed)
    least = min(all_trees(problem).values())
    bound = dual_ascent(problem, Budget(LONG))
    assert bound.value <= least
    assert all(cost >= 0 for left in bound.left.values() for cost in left.values())
    smaller = restricted(problem)
    assert min(all_trees(smaller).values()) == least
    parts = components(smaller)
    assert isclose(sum(min(all_trees(part).values()) for part in parts), least)
    gone = hopeless(problem, bound, least + 0.5)
    for taken, cost in all_trees(problem).items():
        if cost == least:
            used = problem.sources(taken).keys()
            assert not gone & used, "a vertex of a best tree was given up"


@pytest.mark.parametrize("seed", range(40))
def test_cost_is_kept_up(seed: int) -> None:
    problem = random_problem(seed, 9)
    random = Random(seed)
    tree = SteinerTree(problem)
    for _ in range(60 * bool(tree.optional)):
        v = random.choice(tree.optional)
        expected = tree.cost + tree.change(v)
        tree.flip(v)
        assert isclose(tree.cost, expected, abs_tol=1e-9)
        assert isclose(tree.cost, problem.cost(tree.taken), abs_tol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_annealing_never_loses(seed: int) -> None:
    problem = random_problem(seed, 8)
    best = descended(problem, Budget(NONE))
    start = best.cost
    anneal_tree(problem, best, Budget(LONG), seed)
    assert best.cost == problem.cost(best.taken) <= start
    assert best.cost >= min(all_trees(problem).values())


def test_no_time_at_all() -> None:
    problem = random_problem(3)
    best = descended(problem, Budget(NONE))
    branch_and_bound(problem, best, Budget(NONE))
    anneal_tree(problem, best, Budget(NONE))
    assert best.cost == problem.cost(best.taken) < inf
    assert best.bound <= best.cost


def test_bound_is_below_when_time_ends_early() -> None:
    class Ticks(Budget):
        """A budget of so many questions."""

        def __init__(self, asked: int) -> None:
            super().__init__(0)
            self.asked = asked

        @property
        def over(self) -> bool:
            self.asked -= 1
            return self.asked < 0

    for seed in range(30):
        problem = random_problem(seed, 8)
        least = min(all_trees(problem).values())
        for asked in (1, 3, 10, 30):
            best = descended(problem, Ticks(asked))
            branch_and_bound(problem, best, Ticks(asked))
            assert best.bound <= least <= best.cost
