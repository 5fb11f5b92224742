"""What a plan is expected to cost, and what its queries would cost one by one."""

from collections.abc import Sequence

from stretto.memo.cost import CostModel
from stretto.memo.memo import Memo, Root
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Way
from stretto.pattern.piece import Detection
from stretto.plan.assemble import Assembler
from stretto.plan.dag import Estimate
from stretto.solve.common.solution import Solution


def estimated(
    detections: Sequence[Detection],
    memo: Memo,
    solution: Solution,
    assembler: Assembler,
    emits: dict[str, int],
    model: CostModel,
    seconds: float,
) -> Estimate:
    """The estimate of an assembled plan. The lower bound, where the solver gave one, is in the model's costs."""
    always = model.fixed_cost() + sum(model.emit_cost(memo, root) for root in memo.roots)
    count = len(assembler.builder.ops)
    rows: list[float | None] = [assembler.rows.get(op) for op in range(count)]
    costs: list[float | None] = [assembler.costs.get(op) for op in range(count)]
    branches: dict[str, list[Root]] = {}
    for root in memo.roots:
        branches.setdefault(root.query, []).append(root)
    for detection in detections:
        roots = branches[detection.name]
        rows[emits[detection.name]] = sum(model.rows(memo, root.piece) for root in roots)
        costs[emits[detection.name]] = sum(model.emit_cost(memo, root) for root in roots)
    return Estimate(
        rows=tuple(rows),
        costs=tuple(costs),
        cost=always + solution.cost(memo, model),
        alone=always + alone_cost(memo, model),
        lower_bound=None if solution.lower_bound is None else always + solution.lower_bound,
        seconds=seconds,
    )


def alone_cost(memo: Memo, model: CostModel) -> float:
    """The cost of every branch computed by itself, in the order of its text; scans are shared."""
    known: dict[int, float] = {}
    scans: dict[int, float] = {}

    def cost(number: int) -> float:
        if number not in known:
            way = _own_way(number, memo)
            total = model.cost(memo, number, way)
            if not way.inputs:
                scans[number] = total
                total = 0.0
            known[number] = total + sum(cost(part) for part in dict.fromkeys(way.pieces))
        return known[number]

    return sum(cost(root.piece) for root in memo.roots) + sum(scans.values())


def _own_way(number: int, memo: Memo) -> Way:
    if memo.is_core(number):
        return next(join_left_to_right(number, memo))
    return memo.ways[number][0]
