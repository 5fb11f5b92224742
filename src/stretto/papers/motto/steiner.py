"""MOTTO's planner: the cheapest plan in which every query has one source is a directed Steiner minimum tree.

Source: MOTTO, sec. V. The root is the virtual ground, queries are wanted vertices, sub-queries optional ones; an arc
from a source costs what it costs to compute a query from it, an arc from the root what it costs from scratch.
"""

from dataclasses import replace
from math import inf
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.unite_disjunction import RULE as UNITED
from stretto.memo.ways import Way, WayKind
from stretto.papers.motto.arborescence import ROOT, Arborescence, components, restricted
from stretto.papers.motto.steiner_search import EQUAL, anneal_tree, branch_and_bound, descended
from stretto.records import dataclass
from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import A_WAY
from stretto.solve.common.solution import Solution, by_ways

FREE: Final = 10_000  # slots of ways that are looked at however short the time
HALF: Final = 0.5
EXACT_SHARE: Final = 0.7  # of the time, before annealing goes on with what is not proven


def steiner(memo: Memo, pricing: Pricing, budget: Budget, *, exact_share: float = EXACT_SHARE) -> Solution:
    """The best tree found, and a bound below which there is no tree.

    Exact by branch and bound for a share of the time, then by simulated annealing from the best tree so far; with a
    share of 0 by annealing alone, which proves nothing. Ways that read several pieces of more than one slot are no arcs
    of a tree and are left out.
    """
    graph = _graph(memo, pricing, budget.at_least(0.0, FREE))
    whole = restricted(graph.problem)
    sources: dict[int, int] = {}
    fixed = sum(pricing.cost(memo, n, memo.ways[n][0]) for n in memo.needed() if not memo.is_core(n))
    parts = [(part, descended(part, budget)) for part in components(whole)]
    parts.sort(key=lambda found: len(found[0].into))
    exact = budget.share(exact_share)
    for part, best in parts if exact_share else ():
        branch_and_bound(part, best, exact)
    unsure = [(part, best) for part, best in parts if not best.proven]
    for i, (part, best) in enumerate(unsure):
        anneal_tree(part, best, budget.share(1 / (len(unsure) - i)))
    for part, best in parts:
        sources.update(part.sources(best.taken))
    bound = fixed + sum(min(best.bound, best.cost) for _, best in parts)

    def way_of(number: int) -> Way:
        """Cores by the tree's ways, everything else by its one way."""
        return graph.ways[sources[number], number] if number in sources else memo.ways[number][0]

    return Solution(by_ways(memo, way_of), bound)


def unbounded_steiner(
    memo: Memo, pricing: Pricing, budget: Budget, *, exact_share: float = EXACT_SHARE
) -> Solution:
    """The same without the bound, which holds for trees by some rules: other plans may cost less.

    A DISJ is several vertices: its alternatives, or the joins of a chain. So there are two problems, and the cheaper
    tree is taken.
    """
    chains = [n for n in memo.needed() if any(way.rule == UNITED for way in memo.ways[n])]
    if not chains:
        return replace(steiner(memo, pricing, budget, exact_share=exact_share), lower_bound=None)
    apart = steiner(memo, pricing, budget.share(HALF), exact_share=exact_share)
    given = {number: memo.ways[number][0] for number in _reached(memo, chains)}
    for number in given:
        memo.give(number, next(way for way in memo.ways[number] if way.rule == UNITED))
    united = steiner(memo, pricing, budget, exact_share=exact_share)
    for number, way in given.items():
        memo.give(number, way)
    cheaper = apart.cost(memo, pricing) < (1.0 - EQUAL) * united.cost(memo, pricing)
    return replace(apart if cheaper else united, lower_bound=None)


def _reached(memo: Memo, chains: list[int]) -> list[int]:
    """Disjunctions, and those that they can be made from by one more stream."""
    found = dict.fromkeys(chains)
    pending = list(found)
    while pending:
        for way in memo.ways[pending.pop()]:
            smaller = way.pieces[0]
            if way.rule == UNITED and smaller not in found and len(memo.ways[smaller]) > 1:
                found[smaller] = None
                pending.append(smaller)
    return list(found)


@dataclass(frozen=True, slots=True)
class _Graph:
    """The problem over the numbers of cores, and the way behind each arc (source, piece)."""

    problem: Arborescence
    ways: dict[tuple[int, int], Way]


def _graph(memo: Memo, pricing: Pricing, budget: Budget) -> _Graph:
    """The arcs; when the budget is over, those from scratch alone."""
    into: dict[int, dict[int, float]] = {}
    ways: dict[tuple[int, int], Way] = {}
    wanted = frozenset(memo.cores())
    pending = list(wanted)
    while pending:
        number = pending.pop()
        if number in into:
            continue
        arcs = into[number] = {}
        for way in _tree_ways(memo, number):
            source = _source(memo, way)
            if way.kind is WayKind.COMPLETE and source not in wanted:
                continue  # what its rows are joined from is no vertex, and would seem to cost nothing
            optional = source != ROOT or source in arcs
            if optional and budget.denies(len(memo.pieces[number].slots)):
                continue
            budget.work(A_WAY)
            cost = pricing.cost(memo, number, way)
            if cost < arcs.get(source, inf) or source not in arcs:
                arcs[source] = cost
                ways[source, number] = way
        pending.extend(source for source in arcs if source != ROOT)
    return _Graph(Arborescence(wanted, into), ways)


def _tree_ways(memo: Memo, number: int) -> list[Way]:
    """The ways with at most one source; from scratch is always possible."""
    found = [way for way in memo.ways[number] if len(_shared(memo, way)) < 2]
    if any(not _shared(memo, way) for way in found):
        return found
    return [*found, memo.alone(number)]


def _shared(memo: Memo, way: Way) -> set[int]:
    """The pieces of several slots that a way reads."""
    return {piece for piece in way.pieces if len(memo.pieces[piece].slots) > 1}


def _source(memo: Memo, way: Way) -> int:
    return next(iter(_shared(memo, way)), ROOT)
