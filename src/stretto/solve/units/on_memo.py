"""Split and units together for all queries at once, over the ways of a memo: what queries share is counted once.

Loads follow from the same rates and costs that all other plans are chosen by. What a unit stores and probes counts as
rows taken in, and what is left of a way's cost as comparisons, which the units of a grid share.
"""

from collections.abc import Mapping
from typing import Final

from stretto.memo.cost import CostModel
from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind
from stretto.records import dataclass
from stretto.solve.common.budget import Budget
from stretto.solve.common.problem import post_order
from stretto.solve.common.solution import Replay, Solution, number_of, one_way_each
from stretto.solve.units.fewest import Ways
from stretto.solve.units.loads import Capacity, MakingStep, all_loads, capacity_of
from stretto.solve.units.splits import MadeBy
from stretto.solve.units.together import least_load
from stretto.values.rows import F64

MANY_WAYS: Final = 20_000
"""Of a memo with more ways the plan that is given stays."""
LOCAL: Final = (WayKind.FILTER, WayKind.UNITE)
"""What looks at rows one by one, where they are."""


@dataclass(frozen=True, slots=True)
class MemoWay(MadeBy[int]):
    """One of the ways of a piece, by its number."""

    number: int = 0


def on_units(
    memo: Memo,
    model: CostModel,
    start: Solution,
    units: int,
    budget: Budget,
    capacity: Capacity | None = None,
) -> Solution:
    """The solution with the greatest replay speed on so many units; one that is given is where it starts.

    `capacity`: what a unit can do; by default, what this machine's prices say.
    """
    priced = _Priced(memo, model, capacity or capacity_of(model.prices))
    known = {
        node.piece: priced.way(node.piece, number_of(memo, node.piece, node.way)) for node in start.nodes()
    }
    split = {piece: way for piece, way in known.items() if way is not None}
    load = greatest_load(split, units, priced)
    if not load:  # nothing brings rows together
        return start
    ways = priced.ways(units)
    if ways is None:
        return Solution(start.roots, replay=Replay(units, 1.0 / load, None))
    found = least_load(ways, units, budget, lambda one: greatest_load(one, units, priced), [split])
    if found is None:
        return start
    chosen, bound = found
    load = greatest_load(chosen, units, priced)
    assert load
    numbers = {piece: way.number for piece, way in chosen.items() if isinstance(way, MemoWay)}
    # A plan that packs light operators can be faster than any in which each has a unit of its own.
    replay = Replay(units, 1.0 / load, 1.0 / min(bound, load))
    return Solution(one_way_each(memo, numbers), replay=replay)


class _Priced:
    """The ways of a memo as steps."""

    def __init__(self, memo: Memo, model: CostModel, capacity: Capacity) -> None:
        self._memo, self._model, self.capacity = memo, model, capacity

    def ways(self, units: int) -> Ways[int] | None:
        """All ways of what the roots may need, inputs first; None: too many."""
        memo = self._memo
        roots = tuple(dict.fromkeys(root.piece for root in memo.roots))
        needed = list(
            post_order(roots, lambda number: [piece for way in memo.ways[number] for piece in way.pieces])
        )
        if sum(len(memo.ways[number]) for number in needed) > MANY_WAYS:
            return None
        of: dict[int, list[MadeBy[int]]] = {}
        for number in needed:
            found = [self.way(number, i) for i in range(len(memo.ways[number]))]
            own: list[MadeBy[int]] = [way for way in found if way is not None]
            if own:
                of[number] = own
        return Ways(roots, of, self.loads([way.step for own in of.values() for way in own], units))

    def loads(self, steps: list[MakingStep], units: int) -> F64:
        return all_loads(steps, units, self.capacity, beyond=True)

    def way(self, number: int, i: int) -> MemoWay | None:
        """A way as a step; None for scans, which are there anyway."""
        way = self._memo.ways[number][i]
        return None if way.kind is WayKind.SCAN else MemoWay(way.pieces, self._step(number, way), i)

    def _step(self, number: int, way: Way) -> MakingStep:
        if way.kind in LOCAL:
            return MakingStep("join", 0.0, work=0.0)
        memo, prices = self._memo, self._model.prices
        rates = sorted((self._model.rows(memo, piece) for piece in way.pieces), reverse=True)
        left, right = (rates[0], sum(rates[1:])) if rates else (0.0, 0.0)
        taken = (left + right) * (prices.store + prices.probe)
        cost = self._model.cost(memo, number, way)
        work = max(cost - taken, 0.0) / max(prices.candidate, 1e-3)
        if way.kind is not WayKind.JOIN or len(way.inputs) != 2:
            return MakingStep("unary", left, right, work=work)
        one, other = (frozenset(part.columns) for part in way.inputs)
        return MakingStep("join", left, right, shared=float(bool(one & other)), work=work)


def greatest_load(split: Mapping[int, MadeBy[int]], units: int, priced: _Priced) -> float | None:
    """The greatest load of a split's units by the best allocation, light parts on one unit together; None: too few."""
    loads = priced.loads([way.step for way in split.values()], units)
    rows = sorted((row for row in loads.tolist() if row[0]), key=lambda row: row[0])
    best: float | None = None
    for light in range(len(rows) + 1):
        heavy, together = rows[light:], sum(row[0] for row in rows[:light])
        left = units - bool(light) - len(heavy)
        if (light == 1 and len(rows) > 1) or left < 0:
            continue
        given = [0] * len(heavy)
        for _ in range(left if heavy else 0):
            most = max(range(len(heavy)), key=lambda i: heavy[i][given[i]])
            if heavy[most][given[most]] <= together:
                break
            given[most] += 1
        load = max([together, *(row[n] for row, n in zip(heavy, given, strict=True))])
        best = load if best is None else min(best, load)
    return best
