"""The plans that MCEP compares itself with (sec. 6.2.2)."""

from contextlib import suppress

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Way, WayKind
from stretto.papers.mcep.local_plans import OrderPlans, TimeIsUpError
from stretto.papers.mcep.local_search import Patterns
from stretto.papers.mcep.sub_patterns import CoreParts, SubPatterns
from stretto.papers.mcep.trees import Trees
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution
from stretto.solve.quick.as_written import one_by_one


def reorder(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """Every query alone; always the slot next that makes the cheapest step, beginning with the rarest.

    Source: MCEP, sec. 6.2.2 (RE). When the budget is over, the other queries keep the order of the text.
    """
    trees = Trees(SubPatterns(memo), pricing)

    def way(core: int) -> Way:
        if budget.denies(0):
            return next(join_left_to_right(core, memo))
        order = greedy_order(OrderPlans(trees, CoreParts(trees.shapes, core), budget), memo, pricing)
        return Way(WayKind.JOIN, tuple(memo.part(core, (slot,)) for slot in order), "reorder_by_cost")

    return one_by_one(memo, way)


def greedy_order(plans: OrderPlans, memo: Memo, pricing: Pricing) -> list[int]:
    """The rarest slot first, then always the one that is the cheapest to join; without time the rest as written."""
    core, slots = plans.parts.number, plans.parts.own_order
    first = min(slots, key=lambda slot: (pricing.rows(memo, memo.part(core, (slot,)).piece), slot))
    order = [first]
    left = [(1 << slot, slot) for slot in sorted(slots) if slot != first]
    with suppress(TimeIsUpError):  # what was chosen before stays
        order.extend(slot for _, slot in plans.cheapest_next(1 << first, left))
    return [*order, *(slot for slot in slots if slot not in order)]


def share(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """Every query in the order of its text, all equal prefixes computed once; those that the budget lets take apart.

    Source: MCEP, sec. 6.2.2 (SH: the maximal sharing of sec. 3.2, without reordering).
    """
    return Patterns(memo, pricing, budget, OrderPlans, searched=False).solution()
