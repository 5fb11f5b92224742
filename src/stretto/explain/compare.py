"""Two plans of one workload side by side: what each computes, for whom, and at which cost.

Pieces are compared by what they compute (`plan/meaning.py`), not by how they are numbered or joined.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stretto.errors import StrettoError
from stretto.pattern.piece import Piece
from stretto.plan.dag import Plan
from stretto.plan.diff_trends import TrendDiff, trend_diff, trend_diff_json
from stretto.plan.explain import kind_of, shared
from stretto.plan.labels import labels
from stretto.plan.meaning import computed
from stretto.plan.ops import Emit
from stretto.stats.profile import Stats


@dataclass(frozen=True, slots=True)
class Use:
    """How one plan computes a piece: by these operators, which serve these queries.

    `shared` is the greatest number of queries that one of the operators serves. `rows` are those of one operator,
    `cost` is that of all of them; None where nothing is known.
    """

    operators: tuple[int, ...]
    queries: tuple[str, ...]
    shared: int
    rows: float | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Compared:
    """A piece that at least one of two plans computes."""

    text: str
    kind: str
    left: Use | None
    right: Use | None


@dataclass(frozen=True, slots=True)
class Share:
    """What one plan does for a query: the operators it depends on, in order, and what they compute.

    `cost` is that of all of these operators, `share` divides the cost of each among the queries it serves.
    """

    operators: tuple[int, ...]
    pieces: tuple[str, ...]
    cost: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Diff:
    """Two plans of the same queries, their pieces and queries compared, and their plans of trend queries."""

    left: Plan
    right: Plan
    pieces: tuple[Compared, ...]
    queries: Mapping[str, tuple[Share, Share]]
    trends: TrendDiff | None = None

    def only_left(self) -> list[Compared]:
        return [piece for piece in self.pieces if piece.right is None]

    def only_right(self) -> list[Compared]:
        return [piece for piece in self.pieces if piece.left is None]

    def both(self) -> list[Compared]:
        return [piece for piece in self.pieces if piece.left is not None and piece.right is not None]


def diff(left: Plan, right: Plan, stats: Stats | None = None) -> Diff:
    """Compare two plans of one workload; what its trend queries cost is known with statistics."""
    if left.queries.keys() != right.queries.keys() or _trend_names(left) != _trend_names(right):
        raise StrettoError("plans of different workloads cannot be compared: their queries differ")
    here, there = _Side(left), _Side(right)
    pieces = []
    for key in dict.fromkeys((*here.operators, *there.operators)):
        side = here if key in here.operators else there
        first = side.operators[key][0]
        pieces.append(
            Compared(side.texts[first], kind_of(side.plan.ops[first]), here.use(key), there.use(key))
        )
    queries = {name: (here.share(name), there.share(name)) for name in left.queries}
    trends = None
    if left.trends is not None and right.trends is not None:
        trends = trend_diff(left.trends, right.trends, stats)
    return Diff(left, right, tuple(pieces), queries, trends)


def _trend_names(plan: Plan) -> list[str]:
    return [] if plan.trends is None else [query.name for query in plan.trends.queries]


class _Side:
    """One plan with its operators by what they compute."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.texts = labels(plan)
        self.operators: dict[Piece, list[int]] = {}
        for number, key in enumerate(computed(plan.ops)):
            if key is not None:
                self.operators.setdefault(key, []).append(number)
        self._needs: dict[str, list[int]] = {name: [] for name in plan.queries}
        for number in range(len(plan.ops)):
            for query in plan.serves(number):
                self._needs[query].append(number)

    def use(self, key: Piece) -> Use | None:
        found = self.operators.get(key)
        if found is None:
            return None
        served = {query: None for number in found for query in self.plan.serves(number)}
        known = self.plan.estimate
        return Use(
            tuple(found),
            tuple(query for query in self.plan.queries if query in served),
            max(len(self.plan.serves(number)) for number in found),
            None if known is None else known.rows[found[0]],
            self._cost(found),
        )

    def share(self, query: str) -> Share:
        needed, plan = self._needs[query], self.plan
        pieces = (self.texts[number] for number in needed if not isinstance(plan.ops[number], Emit))
        share = None
        if plan.estimate is not None:
            costs = plan.estimate.costs
            share = sum((costs[number] or 0.0) / len(plan.serves(number)) for number in needed)
        return Share(tuple(needed), tuple(pieces), self._cost(needed), share)

    def _cost(self, operators: Iterable[int]) -> float | None:
        if self.plan.estimate is None:
            return None
        known = [self.plan.estimate.costs[number] for number in operators]
        found = [cost for cost in known if cost is not None]
        return sum(found) if found else None


# ---- JSON --------------------------------------------------------------------------------------------------


def diff_json(found: Diff) -> dict[str, Any]:
    """The comparison as an object: both plans' figures, every piece, every query."""
    return {
        "left": _summary(found.left),
        "right": _summary(found.right),
        "pieces": [
            {"piece": one.text, "op": one.kind, "left": _use_json(one.left), "right": _use_json(one.right)}
            for one in found.pieces
        ],
        "queries": {
            name: {"left": _share_json(left), "right": _share_json(right)}
            for name, (left, right) in found.queries.items()
        },
        **({} if found.trends is None else {"trends": trend_diff_json(found.trends)}),
    }


def _summary(plan: Plan) -> dict[str, Any]:
    known = plan.estimate
    return {
        "optimizer": plan.optimizer,
        "cost": None if known is None else known.cost,
        "lower_bound": None if known is None else known.lower_bound,
        "gap": None if known is None else known.gap,
        "seconds": None if known is None else known.seconds,
        "operators": len(plan.ops),
        "kinds": kinds(plan),
        "shared": len(shared(plan)),
    }


def _use_json(use: Use | None) -> dict[str, Any] | None:
    if use is None:
        return None
    serves = list(use.queries)
    return {"operators": list(use.operators), "serves": serves, "rows": use.rows, "cost": use.cost}


def _share_json(share: Share) -> dict[str, Any]:
    return {
        "operators": list(share.operators),
        "pieces": list(share.pieces),
        "cost": share.cost,
        "share": share.share,
    }


def kinds(plan: Plan) -> dict[str, int]:
    """How many operators of each kind there are."""
    return dict(sorted(Counter(map(kind_of, plan.ops)).items()))
