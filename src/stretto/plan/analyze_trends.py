"""The estimates of a plan of trend queries beside what a run of it measured: events, MatStates, times, totals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stretto.explain.numbers import columns, number_text, share_text, time_text
from stretto.plan.explain import counted, some
from stretto.plan.q_error import errors_json, errors_text, q_error, q_error_text
from stretto.trends.estimate import TrendEstimate
from stretto.trends.explain import node_name
from stretto.trends.plan import TrendPlan
from stretto.trends.work import TrendWork

LONGEST: Final = 60
"""Characters of a stream in the text; the JSON has the whole."""


@dataclass(frozen=True, slots=True)
class MeasuredTrends:
    """What a run did for trend queries, and how many rows of totals each of them has."""

    work: TrendWork
    totals: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TrendAnalysis:
    """A plan, what its run of `span` seconds of the stream measured, and what was expected, if that is known."""

    plan: TrendPlan
    measured: MeasuredTrends
    estimate: TrendEstimate | None
    span: float

    def expected_events(self, node: int) -> float | None:
        return None if self.estimate is None else self.estimate.nodes[node] * self.span

    def expected_matstates(self, unit: int) -> float | None:
        return None if self.estimate is None else self.estimate.units[unit].matstates * self.span

    def expected_cost(self, unit: int) -> float | None:
        """In updates of one value by one event."""
        return None if self.estimate is None else self.estimate.units[unit].cost * self.span

    def q_error(self, node: int) -> float | None:
        expected = self.expected_events(node)
        return None if expected is None else q_error(expected, self.measured.work.nodes[node])

    def q_errors(self) -> list[tuple[float, int]]:
        """The q-errors of the nodes' events, the worst last."""
        found = [(self.q_error(node), node) for node in range(len(self.plan.nodes))]
        return sorted((error, node) for error, node in found if error is not None)

    @property
    def at_work(self) -> float:
        """The seconds of all units together."""
        return sum(unit.seconds for unit in self.measured.work.units)

    def members(self, unit: int) -> list[str]:
        """The queries of a unit."""
        return [self.plan.queries[member.query].name for member in self.plan.units[unit].members]


# ---- JSON --------------------------------------------------------------------------------------------------


def trend_analysis_json(found: TrendAnalysis) -> dict[str, Any]:
    """The analysis as an object; all numbers are those of the whole run. Costs are updates of one value."""
    plan, work = found.plan, found.measured.work
    return {
        "optimizer": plan.optimizer,
        "seconds": found.at_work,
        "q_error": errors_json(found.q_errors(), "node"),
        "nodes": [
            {
                "id": node,
                "stream": node_name(plan, node),
                "events": {"estimated": found.expected_events(node), "measured": work.nodes[node]},
                "q_error": found.q_error(node),
            }
            for node in range(len(plan.nodes))
        ],
        "units": [
            {
                "id": unit,
                "queries": found.members(unit),
                "events": done.events,
                "matstates": {"estimated": found.expected_matstates(unit), "measured": done.matstates},
                "shared": {"turns": done.shared, "of": done.turns},
                "cost": found.expected_cost(unit),
                "seconds": done.seconds,
            }
            for unit, done in enumerate(work.units)
        ],
        "queries": {query.name: found.measured.totals.get(query.name, 0) for query in plan.queries},
    }


# ---- text --------------------------------------------------------------------------------------------------


def trend_analysis_text(found: TrendAnalysis) -> list[list[str]]:
    """Blocks of lines: sums, and tables of nodes, of units, and of the queries' totals."""
    plan, totals = found.plan, found.measured.totals
    sizes = f"{counted(len(plan.queries), 'trend query')} in {counted(len(plan.units), 'unit')}"
    found_all = f"{counted(sum(totals.values()), 'total')} in {time_text(found.at_work * 1e9)}"
    head = [f"trends by {plan.optimizer}: {sizes}; {found_all}"]
    if errors := found.q_errors():
        head.append(f"q-error of the events of {counted(len(errors), 'node')}: {errors_text(errors, 't')}")
    rows = [["", "totals"], *([query.name, f"{totals.get(query.name, 0):,}"] for query in plan.queries)]
    return [head, list(_nodes(found)), list(_units(found)), list(columns(rows))]


def _nodes(found: TrendAnalysis) -> Iterator[str]:
    known = found.estimate is not None
    rows = [["", "", *(["events est."] if known else []), "events", *(["q-error"] if known else [])]]
    for node, events in enumerate(found.measured.work.nodes):
        expected, error = found.expected_events(node), found.q_error(node)
        name = node_name(found.plan, node)
        cells = [f"t{node}", name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."]
        cells += [] if expected is None else [number_text(expected)]
        rows.append([*cells, f"{events:,}", *([] if error is None else [q_error_text(error)])])
    yield from columns(rows, left=2)


def _units(found: TrendAnalysis) -> Iterator[str]:
    """Shares of the cost and of the time stand side by side: what costs are in time, nobody has measured."""
    known = found.estimate
    head = ["", "", "events", *(["MatStates est."] if known else []), "MatStates", "shared"]
    rows = [[*head, *(["cost est.", "share est."] if known else []), "time", "share"]]
    for unit, done in enumerate(found.measured.work.units):
        cells = [f"u{unit}", some(found.members(unit)), f"{done.events:,}"]
        cells += [] if known is None else [number_text(known.units[unit].matstates * found.span)]
        cells += [f"{done.matstates:,}", share_text(done.shared, done.turns) if done.turns else "-"]
        if known is not None:
            cost = known.units[unit].cost
            cells += [number_text(cost * found.span), share_text(cost, known.cost)]
        rows.append([*cells, time_text(done.seconds * 1e9), share_text(done.seconds, found.at_work)])
    yield from columns(rows, left=2)
