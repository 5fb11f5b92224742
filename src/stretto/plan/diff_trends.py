"""Two plans of the same trend queries side by side: what is computed together, from where on, and at which cost.

Both are drawn on one graph, so that nodes, edges and units can be compared as they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stretto.explain.numbers import columns, factor_text, number_text
from stretto.plan.explain import counted, some
from stretto.stats.profile import Stats
from stretto.trends.estimate import TrendEstimate, estimated
from stretto.trends.explain import label, matpoints, node_name, parted, unit_text
from stretto.trends.plan import TrendPlan

SHOWN: Final = 20
"""Lines of one list; the JSON has all."""


@dataclass(frozen=True, slots=True)
class TrendSide:
    """One of the plans, and what it is expected to do, if that is known."""

    plan: TrendPlan
    estimate: TrendEstimate | None

    @property
    def sharing(self) -> set[int]:
        """The queries that share something with others."""
        together = (decision.queries for decision in self.plan.decisions if len(decision.queries) > 1)
        return {query for queries in together for query in queries}

    @property
    def shared_edges(self) -> set[int]:
        return {decision.edge for decision in self.plan.decisions}

    @property
    def matpoints(self) -> set[int]:
        return {decision.matpoint for decision in self.plan.decisions}

    @property
    def matstates(self) -> float | None:
        """Per second."""
        return None if self.estimate is None else sum(unit.matstates for unit in self.estimate.units)

    def cost(self, unit: int) -> float | None:
        """Per second, in updates of one value by one event."""
        return None if self.estimate is None else self.estimate.units[unit].cost

    def unit_of(self, query: int) -> int:
        return next(
            number
            for number, unit in enumerate(self.plan.units)
            if any(member.query == query for member in unit.members)
        )


@dataclass(frozen=True, slots=True)
class TrendDiff:
    """Two plans of the same trend queries."""

    left: TrendSide
    right: TrendSide

    def only_left(self) -> list[int]:
        """The units, by number, that the other plan has not."""
        others = set(self.right.plan.units)
        return [number for number, unit in enumerate(self.left.plan.units) if unit not in others]

    def only_right(self) -> list[int]:
        others = set(self.left.plan.units)
        return [number for number, unit in enumerate(self.right.plan.units) if unit not in others]

    def edges(self) -> list[int]:
        """The edges that the plans share among different queries, or from different MatPoints on."""
        left, right = self.left.plan, self.right.plan
        return [
            edge
            for edge in range(len(left.edges))
            if parted(left, edge) != parted(right, edge)
            or list(matpoints(left, edge)) != list(matpoints(right, edge))
        ]


def trend_diff(left: TrendPlan, right: TrendPlan, stats: Stats | None) -> TrendDiff:
    """Compare two plans; with statistics also what they cost, both by the costs of this engine."""
    left_known, right_known = (None if stats is None else estimated(plan, stats) for plan in (left, right))
    return TrendDiff(TrendSide(left, left_known), TrendSide(right, right_known))


# ---- JSON --------------------------------------------------------------------------------------------------


def trend_diff_json(found: TrendDiff) -> dict[str, Any]:
    """The comparison as an object. Costs are updates of one value per second of the stream."""
    left, right = found.left, found.right
    return {
        "left": _summary(left),
        "right": _summary(right),
        "edges": [
            {
                "source": node_name(left.plan, left.plan.edges[edge].edge.source),
                "target": node_name(left.plan, left.plan.edges[edge].edge.target),
                "left": _edge(left.plan, edge),
                "right": _edge(right.plan, edge),
            }
            for edge in found.edges()
        ],
        "only_left": [_unit(left, number) for number in found.only_left()],
        "only_right": [_unit(right, number) for number in found.only_right()],
        "queries": {
            query.name: {"left": left.unit_of(number), "right": right.unit_of(number)}
            for number, query in enumerate(left.plan.queries)
        },
    }


def _summary(side: TrendSide) -> dict[str, Any]:
    return {
        "optimizer": side.plan.optimizer,
        "cost": None if side.estimate is None else side.estimate.cost,
        "alone": None if side.estimate is None else side.estimate.alone,
        "matstates": side.matstates,
        "units": len(side.plan.units),
        "sharing": len(side.sharing),
        "shared_edges": len(side.shared_edges),
        "matpoints": [node_name(side.plan, node) for node in sorted(side.matpoints)],
    }


def _edge(plan: TrendPlan, edge: int) -> dict[str, Any]:
    return {
        "queries": [[plan.queries[query].name for query in queries] for queries in parted(plan, edge)],
        "matpoints": [node_name(plan, node) for node in matpoints(plan, edge)],
    }


def _unit(side: TrendSide, number: int) -> dict[str, Any]:
    plan, unit = side.plan, side.plan.units[number]
    return {
        "id": number,
        "queries": [plan.queries[member.query].name for member in unit.members],
        "partition": list(unit.partition),
        "shared": [node_name(plan, unit.nodes[node]) for node in unit.shared],
        "matpoints": [node_name(plan, unit.nodes[node]) for node in unit.entries],
        "benefit": plan.benefits[number],
        "cost": side.cost(number),
    }


# ---- text --------------------------------------------------------------------------------------------------


def trend_diff_text(found: TrendDiff, left: str, right: str) -> list[list[str]]:
    """Blocks of lines, with these names of the plans: a table of figures, units, and edges."""
    queries = counted(len(found.left.plan.queries), "trend query")
    both = len(found.left.plan.units) - len(found.only_left())
    return [
        [f"{left} and {right}: two plans for {queries}"],
        list(_figures(found, left, right)),
        list(_units(found.left, found.only_left(), left)),
        list(_units(found.right, found.only_right(), right)),
        [f"both compute {counted(both, 'unit')}"],
        list(_edges(found, left, right)),
    ]


def _figures(found: TrendDiff, left: str, right: str) -> Iterator[str]:
    sides, rows = (found.left, found.right), [["", left, right, ""]]
    here, there = found.left.estimate, found.right.estimate
    if here is not None and there is not None:
        ratio = factor_text(there.cost / here.cost) if here.cost > 0 else ""
        rows.append(["updates per second", number_text(here.cost), number_text(there.cost), ratio])
        rows.append(["  with nothing shared", number_text(here.alone), number_text(there.alone), ""])
        rows.append(["MatStates per second", *(number_text(side.matstates or 0.0) for side in sides), ""])
    rows.append(["units", *(f"{len(side.plan.units):,}" for side in sides), ""])
    rows.append(["queries that share", *(f"{len(side.sharing):,}" for side in sides), ""])
    rows.append(["edges shared", *(f"{len(side.shared_edges):,}" for side in sides), ""])
    points = (some([node_name(side.plan, node) for node in sorted(side.matpoints)]) for side in sides)
    rows.append(["MatPoints", *(text or "none" for text in points), ""])
    yield from columns(rows)


def _units(side: TrendSide, units: list[int], name: str) -> Iterator[str]:
    """Units of one plan alone, the dearest first."""
    if not units:
        return
    yield f"only {name} computes ({counted(len(units), 'unit')}):"
    for number in sorted(units, key=lambda number: -(side.cost(number) or 0.0))[:SHOWN]:
        cost = side.cost(number)
        figure = "" if cost is None else f"  {number_text(cost)} updates/s"
        yield f"  {unit_text(side.plan, number)}{figure}"
    yield from _rest(len(units))


def _edges(found: TrendDiff, left: str, right: str) -> Iterator[str]:
    edges, plans = found.edges(), ((left, found.left.plan), (right, found.right.plan))
    if not edges:
        return
    yield f"shared differently ({counted(len(edges), 'edge')}):"
    for edge in edges[:SHOWN]:
        ends = found.left.plan.edges[edge].edge
        yield f"  {node_name(found.left.plan, ends.source)} -> {node_name(found.left.plan, ends.target)}"
        for name, plan in plans:
            points = "".join(f"  MP:{node_name(plan, node)}" for node in matpoints(plan, edge))
            yield f"    {name}: {label(plan, edge)}{points}"
    yield from _rest(len(edges))


def _rest(number: int) -> list[str]:
    return [f"  .. and {number - SHOWN:,} more"] if number > SHOWN else []
