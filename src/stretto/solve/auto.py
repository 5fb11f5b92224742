"""All of it: the best that quick solvers find, then the exact one in the time that is left."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.split_in_two import split_in_two
from stretto.memo.rules.split_off_commonest import RULE as COMMONEST_LAST
from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import Problem
from stretto.solve.common.solution import Solution, as_choice, one_way_each
from stretto.solve.common.working_plan import solve_greedy
from stretto.solve.exact.solver import FREE, PRICING, for_choosing, solve_exact

Solver = Callable[[Memo, Pricing, Budget], Solution]

SPLITS: Final = split_in_two.__name__
QUICK_PART = 0.5
"""The part of the time that quick solvers may take, or more where it is left; small workloads have them in any case."""
ENDS = 2
"""Slots to be priced for each square of slots: by so many a quick solver that has begun without time may end."""
MOST_WORK = 100_000
"""Squares of slots beyond which they are not tried where slots by rate are known."""
A_PRICE: Final = 9e-5
"""Seconds that it takes to price a way, with the estimates that it needs, about."""
MORE = 1.25
"""By how much longer than there is time, or than expected, it may take to price all ways.

Other plans are left out for it: to find these takes no less time, and they are dearer.
"""
WORTH_A_SEARCH = 0.005
"""The part of a plan's cost for which a search goes on: less than this is lost in what estimates are off by."""
MANY = 5_000
"""Roots beyond which these would take longer than they are worth."""


def auto(
    memo: Memo,
    pricing: Pricing,
    budget: Budget,
    *,
    quick: Sequence[Solver] = (),
    of_orders: Sequence[Solver] = (),
) -> Solution:
    """The cheapest plan found, with its proven bound; it is never dearer than what the `quick` solvers find.

    Those `of_orders` come first, and are left out where they can have nothing to add. Where the memo lacks splits of
    long pieces, or of all pieces of a large workload, or the time was too short to price all ways, there is no bound:
    it would be one of a few plans.
    """
    solvers = worth_trying(memo, budget, quick, of_orders)
    # A plan over half of the prices can be dearer than any of the plans that are left out for the sake of all prices.
    needed = MORE * pricing_all(memo) if all_in_time(memo, budget) else 0.0
    seconds = max(QUICK_PART * budget.left, budget.left - pricing_all(memo))
    starts = quick_plans(memo, pricing, budget.of(seconds, FREE), solvers)
    # After these: they bring ways along.
    problem = Problem.of(
        memo, pricing, budget.of(max(budget.left, PRICING * budget.seconds, needed), FREE), starts
    )
    left = for_choosing(budget)
    if not left.denies(sum(map(len, problem.inputs))):
        starts.append(solve_greedy(problem, left))
    found, bound = solve_exact(problem, left, min(starts, key=problem.cost), gain=WORTH_A_SEARCH)
    return Solution(one_way_each(memo, found), bound if problem.priced and is_complete(memo) else None)


def quick_plans(
    memo: Memo, pricing: Pricing, budget: Budget, solvers: Sequence[Solver]
) -> list[dict[int, int]]:
    """Choices to begin with: slots by their rates, and what quick solvers find.

    Of a large workload a plan in which not every query had its turn is left aside, unless nothing is known by rate.
    """
    starts = [by_rate(memo)]
    work = sum(len(memo.pieces[core].slots) ** 2 for core in memo.cores())
    for solve in solvers:
        if not (starts[0] and work > MOST_WORK) and not budget.denies(work):
            mine = budget.of(budget.left, min(ENDS * work, FREE) if work <= FREE else 0)
            found = solve(memo, pricing, mine)
            if not (starts[0] and work > FREE and mine.denies()):
                starts.append(as_choice(memo, found))
    return starts


def worth_trying(
    memo: Memo, budget: Budget, quick: Sequence[Solver], of_orders: Sequence[Solver]
) -> tuple[Solver, ...]:
    """The quick solvers whose plans a greedy one need not match, the most needed first.

    Where all pieces have all of their splits, a root's cheapest tree is no dearer than its cheapest order, so that
    those `of_orders` have nothing to add. But that tree is found only if there is time to price all of them: of what
    has no price, a plan is what it was at the start.
    """
    if len(memo.roots) > MANY:
        return ()
    return tuple(quick) if all_in_time(memo, budget) else (*of_orders, *quick)


def all_in_time(memo: Memo, budget: Budget) -> bool:
    """Whether all pieces have all of their splits, and there is the time to price them, or nearly."""
    return pricing_all(memo) <= MORE * budget.left and is_complete(memo)


def pricing_all(memo: Memo) -> float:
    """The seconds that it may take to price all ways."""
    return sum(map(len, memo.ways)) * A_PRICE


def is_complete(memo: Memo) -> bool:
    """Whether all pieces have all of their splits."""
    return all(map(partial(_is_split, memo), range(len(memo))))


def by_rate(memo: Memo) -> dict[int, int]:
    """The commonest slot of each piece last, where that is one of its ways; else its first way."""
    found: dict[int, int] = {}
    for piece, ways in enumerate(memo.ways):
        last = [number for number, way in enumerate(ways) if way.rule == COMMONEST_LAST]
        if last:
            found[piece] = last[0]
    return found


def _is_split(memo: Memo, number: int) -> bool:
    """Whether a piece has a way for every split of its slots, or needs none."""
    slots = len(memo.pieces[number].slots)
    if slots <= 2 or not memo.is_core(number):
        return True
    found = sum(way.rule == SPLITS for way in memo.ways[number])
    return found == (1 << (slots - 1)) - 1
