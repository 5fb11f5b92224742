"""Two plans of one workload side by side: what each computes, for whom, and at which cost.

Rows are compared by what they compute, not by how they are numbered or joined.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from stretto.errors import StrettoError
from stretto.explain.json import figures_json
from stretto.explain.model import Explanation, Row, TrendEdge
from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.describe import piece_text
from stretto.pattern.piece import Piece
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class ComputedBy:
    """How one plan computes a piece: by these rows, which serve these queries.

    `shared` is the greatest number of queries that one of the rows serves. `rows` are those of one of them, `cost` is
    that of all of them; None where nothing is known.
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
    left: ComputedBy | None
    right: ComputedBy | None


@dataclass(frozen=True, slots=True)
class QueryShare:
    """What one plan does for a query: the rows it depends on, in order, what they compute, and `own` for it alone.

    `cost` is that of all of these rows, `share` divides the cost of each among the queries it serves.
    """

    operators: tuple[int, ...]
    pieces: tuple[str, ...]
    own: int
    cost: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class ComparedEdge:
    """An edge of trends that two plans share among different queries, or from different MatPoints on."""

    source: str
    target: str
    left: TrendEdge
    right: TrendEdge


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """Two plans of the same queries, with their pieces, queries and edges of trends compared."""

    left: Explanation
    right: Explanation
    pieces: tuple[Compared, ...]
    queries: Mapping[str, tuple[QueryShare, QueryShare]]
    edges: tuple[ComparedEdge, ...] = ()

    @property
    def sides(self) -> tuple[Explanation, Explanation]:
        return self.left, self.right

    def only_left(self) -> list[Compared]:
        return [piece for piece in self.pieces if piece.right is None]

    def only_right(self) -> list[Compared]:
        return [piece for piece in self.pieces if piece.left is None]

    def both(self) -> list[Compared]:
        return [piece for piece in self.pieces if piece.left is not None and piece.right is not None]


def compare(left: Explanation, right: Explanation) -> PlanComparison:
    """Compare two plans of one workload."""
    if left.queries.keys() != right.queries.keys():
        raise StrettoError("plans of different workloads cannot be compared: their queries differ")
    here, there = _Side(left), _Side(right)
    pieces = []
    for key in dict.fromkeys((*here.rows, *there.rows)):
        side = here if key in here.rows else there
        first = side.rows[key][0]
        pieces.append(
            Compared(side.texts[first.id], first.kind, here.computation(key), there.computation(key))
        )
    queries = {name: (here.share(name), there.share(name)) for name in left.queries}
    return PlanComparison(left, right, tuple(pieces), queries, tuple(_edges(left, right)))


class _Side:
    """One plan with its rows by what they compute."""

    def __init__(self, plan: Explanation) -> None:
        self.plan = plan
        self.texts = [_text(row) for row in plan.rows]
        self.rows: dict[Hashable, list[Row]] = {}
        for row in plan.rows:
            if row.meaning.form is not None:
                self.rows.setdefault(_key(row), []).append(row)

    def computation(self, key: Hashable) -> ComputedBy | None:
        found = self.rows.get(key)
        if found is None:
            return None
        served = {query for row in found for query in row.serves}
        return ComputedBy(
            tuple(row.id for row in found),
            tuple(query for query in self.plan.queries if query in served),
            max(len(row.serves) for row in found),
            found[0].rows,
            _cost(found),
        )

    def share(self, query: str) -> QueryShare:
        needed = self.plan.needs[query]
        share = None if self.plan.estimate is None else self.plan.needed_cost(query)[1]
        return QueryShare(
            tuple(row.id for row in needed),
            tuple(self.texts[row.id] for row in needed if row.meaning.form is not None),
            sum(len(row.serves) == 1 for row in needed),
            _cost(needed),
            share,
        )


def _key(row: Row) -> Hashable:
    form = row.meaning.form
    return canonical(form)[0] if isinstance(form, Piece) else form


def _text(row: Row) -> str:
    """What a row computes with every condition its rows meet, and its window."""
    form = row.meaning.form
    if isinstance(form, Piece):
        return piece_text(form, [f"c{column}" for column in range(form.width)])
    return row.piece


def _cost(rows: Sequence[Row]) -> float | None:
    found = [row.cost for row in rows if row.cost is not None]
    return sum(found) if found else None


def _edges(left: Explanation, right: Explanation) -> list[ComparedEdge]:
    """Both plans of trends are drawn on one graph, so that its edges can be compared one by one."""
    found = []
    for one, other in zip(left.edges, right.edges, strict=True):
        points = [matpoint_names(side, edge) for side, edge in ((left, one), (right, other))]
        if one.parted != other.parted or points[0] != points[1]:
            source, target = left.rows[one.source].piece, left.rows[one.target].piece
            found.append(ComparedEdge(source, target, one, other))
    return found


def matpoint_names(plan: Explanation, edge: TrendEdge) -> list[str]:
    """Where the sharing of an edge begins."""
    return [plan.rows[point].piece for point in edge.matpoints]


def all_matpoints(plan: Explanation) -> list[str]:
    """Where some sharing of trends begins, each once."""
    points = sorted({point for edge in plan.edges for point in edge.matpoints})
    return [plan.rows[point].piece for point in points]


def kinds(plan: Explanation) -> dict[str, int]:
    """How many rows of each kind there are."""
    return dict(sorted(Counter(row.kind for row in plan.rows).items()))


# ---- JSON --------------------------------------------------------------------------------------------------


def comparison_json(found: PlanComparison) -> dict[str, Any]:
    """The comparison as an object: both plans' figures, every piece, every query."""
    return {
        "left": _summary(found.left),
        "right": _summary(found.right),
        "pieces": [
            {
                "piece": one.text,
                "op": one.kind,
                "left": _computation(one.left),
                "right": _computation(one.right),
            }
            for one in found.pieces
        ],
        "queries": {
            name: {"left": _share(left), "right": _share(right)}
            for name, (left, right) in found.queries.items()
        },
        **({"edges": [_edge(found, one) for one in found.edges]} if found.left.edges else {}),
    }


def _summary(plan: Explanation) -> dict[str, Any]:
    return {
        **figures_json(plan),
        "operators": len(plan.rows),
        "kinds": kinds(plan),
        "shared": len(plan.shared),
        **({"matpoints": all_matpoints(plan)} if plan.edges else {}),
    }


def _computation(one: ComputedBy | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"operators": list(one.operators), "serves": list(one.queries), "rows": one.rows, "cost": one.cost}


def _share(share: QueryShare) -> dict[str, Any]:
    return {
        "operators": list(share.operators),
        "pieces": list(share.pieces),
        "cost": share.cost,
        "share": share.share,
    }


def _edge(found: PlanComparison, one: ComparedEdge) -> dict[str, Any]:
    sides = {
        name: {
            "queries": [list(queries) for queries in edge.parted],
            "matpoints": matpoint_names(plan, edge),
        }
        for name, plan, edge in (("left", found.left, one.left), ("right", found.right, one.right))
    }
    return {"source": one.source, "target": one.target, **sides}
