"""Plans of one workload that join in different orders: by statistics, and by the alternatives of the memo."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random

from stretto.memo.explore import Rules, explore
from stretto.memo.memo import build_memo
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_in_two import split_in_two
from stretto.pattern.workload import Workload
from stretto.plan.assemble import assemble
from stretto.plan.build import Builder
from stretto.plan.check import check
from stretto.plan.dag import Plan
from stretto.plan.ops import Join, Scan
from stretto.plan.optimize import plannable
from stretto.schema import Schema
from stretto.solve.common.solution import Solution, each_alone, one_way_each

RATES = (1.0, 50.0, 2_500.0, 125_000.0)
"""Events per second: each of them rare beside the next, so that an optimizer joins the rarest types first."""


def rates_of_every_order(types: Sequence[str]) -> Iterator[dict[str, float]]:
    """Yield rates of the types, in every order of these."""
    for order in permutations(types):
        yield dict(zip(order, RATES, strict=False))


def plan_of_any_joins(workload: Workload, schema: Schema, rng: Random) -> Plan:
    """Plan with alternatives that are drawn from the memo: any tree of joins is possible."""
    detections = plannable(workload.bind(schema))
    memo = build_memo(detections)
    explore(memo, Rules((join_left_to_right, split_in_two)))
    chosen = {number: rng.randrange(len(ways)) for number, ways in enumerate(memo.ways) if ways}
    nodes = one_way_each(memo, chosen) if rng.random() < 0.7 else each_alone(memo, chosen)
    builder = Builder(schema.attributes)
    emits = assemble(detections, memo, Solution(nodes), builder)
    return check(Plan(tuple(builder.ops), emits, tuple(builder.records), schema, "some", workload=workload))


def join_trees(plan: Plan) -> list[str]:
    """Return the tree of joins of each query, by the types at its leaves: `((A D) B)`."""
    names: list[str] = []
    for op in plan.ops:
        below = [names[k] for k in op.inputs]
        if isinstance(op, Scan):
            names.append(op.stream.type)
        else:
            names.append(f"({' '.join(sorted(below))})" if isinstance(op, Join) else " ".join(below))
    return [names[number] for number in plan.queries.values()]
