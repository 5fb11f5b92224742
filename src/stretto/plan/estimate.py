"""What a plan is expected to cost, and what its queries would cost one by one."""

from collections.abc import Mapping
from dataclasses import replace

from stretto.explain.model import Estimate
from stretto.memo.cost import CostModel
from stretto.memo.memo import WIDE, Memo
from stretto.memo.ways import Way, WayKind
from stretto.plan.build import Builder
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution
from stretto.trends.plan import TrendPlan


def estimated(
    memo: Memo,
    solution: Solution,
    builder: Builder,
    emits: Mapping[str, int],
    model: CostModel,
    trends: TrendPlan | None,
    time: Budget,
) -> Estimate:
    """The estimate of an assembled plan, whose records become complete with it.

    The lower bound, where the solver gave one, is in the model's costs; of trend queries there is none.
    """
    _complete(builder, model)
    for root in memo.roots:
        builder.expect(emits[root.query], model.rows(memo, root.piece), model.emit_cost(memo, root))
    always = model.fixed_cost() + sum(model.emit_cost(memo, root) for root in memo.roots)
    bound = None if solution.lower_bound is None or trends is not None else always + solution.lower_bound
    known = None if trends is None else trends.estimate
    shared, apart = (0.0, 0.0) if known is None else (known.cost, known.alone)
    return Estimate(
        cost=always + _cost(memo, solution, model) + shared,
        alone=always + alone_cost(memo, model) + apart,
        lower_bound=bound,
        seconds=time.spent,
    )


def _cost(memo: Memo, solution: Solution, model: CostModel) -> float:
    """The cost of a solution's operators: equal selections are one scan, also where nothing else is shared."""
    scans: set[int] = set()
    total = 0.0
    for node in solution.nodes():
        if node.way.kind is not WayKind.SCAN or node.piece not in scans:
            total += model.cost(memo, node.piece, node.way)
            scans.update([node.piece] if node.way.kind is WayKind.SCAN else [])
    return total


def _complete(builder: Builder, model: CostModel) -> None:
    """Rows of the steps inside a computation, which the model did not price one by one, if they are not too wide."""
    for op, record in enumerate(builder.records):
        computed = record.computed
        if record.rows is None and computed is not None and len(computed.slots) <= WIDE:
            builder.records[op] = replace(record, rows=model.estimator.rows(computed.form()))


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
        return memo.alone(number)
    return memo.ways[number][0]
