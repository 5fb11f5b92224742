"""The plans that the papers compare themselves with."""

from collections.abc import Callable

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Kind, Way
from stretto.solve.budget import Budget
from stretto.solve.local import OrderPlans, TimeIsUpError
from stretto.solve.search import Patterns
from stretto.solve.shapes import Parts, Shapes
from stretto.solve.solution import Solution, each_alone
from stretto.solve.trees import Trees


def none(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:  # noqa: ARG001 - nothing is weighed
    """Every query alone, its slots joined in the order of the text."""
    return _each_alone(memo, lambda core: next(join_left_to_right(core, memo)))


def reorder(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """Every query alone; always the slot next that makes the cheapest step, beginning with the rarest.

    Source: MCEP, sec. 6.2.2 (RE). When the budget is over, the other queries keep the order of the text.
    """
    trees = Trees(Shapes(memo), pricing)

    def way(core: int) -> Way:
        if budget.denies(0):
            return next(join_left_to_right(core, memo))
        order = greedy_order(OrderPlans(trees, Parts(trees.shapes, core), budget), memo, pricing)
        return Way(Kind.JOIN, tuple(memo.part(core, (slot,)) for slot in order), "reorder_by_cost")

    return _each_alone(memo, way)


def greedy_order(plans: OrderPlans, memo: Memo, pricing: Pricing) -> list[int]:
    """The rarest slot first, then always the one that is the cheapest to join; without time the rest as written."""
    core, left = plans.parts.number, list(plans.parts.own_order)
    first = min(left, key=lambda slot: (pricing.rows(memo, memo.part(core, (slot,)).piece), slot))
    order, done = [first], 1 << first
    left.remove(first)
    while left:
        try:
            chosen = min(left, key=lambda slot: (plans.price(done, 1 << slot), slot))
        except TimeIsUpError:
            return [*order, *left]
        order.append(chosen)
        done |= 1 << chosen
        left.remove(chosen)
    return order


def share(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """Every query in the order of its text, all equal prefixes computed once; those that the budget lets take apart.

    Source: MCEP, sec. 6.2.2 (SH: the maximal sharing of sec. 3.2, without reordering).
    """
    return Patterns(memo, pricing, budget, OrderPlans, searched=False).solution()


def _each_alone(memo: Memo, way_of: Callable[[int], Way]) -> Solution:
    chosen = {core: number_of(memo, core, way_of(core)) for core in memo.cores()}
    return Solution(each_alone(memo, chosen))


def number_of(memo: Memo, piece: int, way: Way) -> int:
    """The number of a way among those of its piece, to which it is added if it is new."""
    memo.add(piece, way)
    ways = memo.ways[piece]
    return next(i for i, known in enumerate(ways) if known.kind is way.kind and known.inputs == way.inputs)
