"""The plan of trend queries, for the page of EXPLAIN: the graph with its labels, units, and what a run measured."""

from collections.abc import Iterator
from typing import Final

from stretto.explain.numbers import number_text, share_text, time_text
from stretto.plan.analyze_trends import TrendAnalysis
from stretto.plan.explain import some
from stretto.plan.q_error import q_error_text
from stretto.report.tables import Figure, Part, Row, Table
from stretto.report.trend_picture import trend_picture
from stretto.trends.estimate import TrendEstimate
from stretto.trends.explain import condition_text, label, node_name
from stretto.trends.plan import TrendPlan

FIGURE: Final = "trends"


def trend_parts(
    plan: TrendPlan, estimate: TrendEstimate | None, analysis: TrendAnalysis | None
) -> Iterator[Part]:
    """The drawing, and tables of nodes, of edges with their labels, of units, and of queries."""
    about = (
        "Each type of events with its filter stands once, for all trend queries. Marked is what is computed once for "
        "several queries, or for the overlapping windows of one; that begins at a MatPoint, with the thickest frame."
    )
    names = [query.name for query in plan.queries]
    hint = "Choose a query, or point at a node; a click leads to its line below."
    yield Part("Trends", [about], Figure(FIGURE, trend_picture(plan), names, hint, cyclic=True))
    yield Part("Nodes", table=_nodes(plan, estimate, analysis))
    about = "(q1, q2)(q3): q1 and q2 share the edge, q3 computes it alone; + closes a Kleene."
    yield Part("Edges", [about], table=_edges(plan))
    about = (
        "Queries that are computed together. Costs are updates of one value by one event, per second of stream; "
        "benefits are those by which the optimizer decided, in a window."
    )
    yield Part("Units", [about], table=_units(plan, estimate, analysis))
    yield Part("Trend queries", table=_queries(plan, analysis))


def _nodes(plan: TrendPlan, estimate: TrendEstimate | None, analysis: TrendAnalysis | None) -> Table:
    heads = ["", "events of", "queries", "per second est."]
    heads += [] if analysis is None else ["events est.", "events", "q-error"]
    rows = []
    for number in range(len(plan.nodes)):
        queries = [query for query, places in enumerate(plan.places) if number in places]
        names = [plan.queries[query].name for query in queries]
        cells = [f"t{number}", node_name(plan, number), f"{len(queries):,}: {some(names)}"]
        cells.append("" if estimate is None else number_text(estimate.nodes[number]))
        if analysis is not None:
            expected, error = analysis.expected_events(number), analysis.q_error(number)
            cells.append("" if expected is None else number_text(expected))
            cells.append(f"{analysis.measured.work.nodes[number]:,}")
            cells.append("" if error is None else q_error_text(error))
        rows.append(Row(cells, f"t{number}", queries, about=", ".join(names), about_at=2))
    return Table(heads, rows, words=3, code=1, figure=FIGURE)


def _edges(plan: TrendPlan) -> Table:
    heads = ["", "from", "to", "where", "queries", "MatPoint", "MatStates in a window", "benefit"]
    rows = []
    for number, labelled in enumerate(plan.edges):
        decided = [decision for decision in plan.decisions if decision.edge == number]
        cells = [
            "+" if labelled.is_loop else "",
            node_name(plan, labelled.edge.source),
            node_name(plan, labelled.edge.target),
            condition_text(labelled.edge.condition).removeprefix("where "),
            label(plan, number),
            ", ".join(node_name(plan, decision.matpoint) for decision in decided),
            ", ".join(number_text(decision.matstates) for decision in decided),
            ", ".join(number_text(decision.benefit) for decision in decided),
        ]
        names = ", ".join(plan.queries[query].name for query in labelled.queries)
        rows.append(Row(cells, about=names, about_at=4))
    return Table(heads, rows, words=6, code=3)


def _units(plan: TrendPlan, estimate: TrendEstimate | None, analysis: TrendAnalysis | None) -> Table:
    heads = ["", "queries", "by", "shares", "from", "benefit", "cost est.", "alone"]
    if analysis is not None:
        heads += ["events", "MatStates est.", "MatStates", "shared", "time", "share"]
    rows = []
    for number, unit in enumerate(plan.units):
        names = [plan.queries[member.query].name for member in unit.members]
        known = None if estimate is None else estimate.units[number]
        cells = [
            f"u{number}",
            f"{len(names):,}: {some(names)}" if len(names) > 1 else some(names),
            ", ".join(unit.partition),
            ", ".join(node_name(plan, unit.nodes[node]) for node in unit.shared) or "nothing",
            ", ".join(node_name(plan, unit.nodes[node]) for node in unit.entries),
            number_text(plan.benefits[number]) if unit.shared else "",
            "" if known is None else number_text(known.cost),
            "" if known is None else number_text(known.alone),
            *([] if analysis is None else _measured(analysis, number)),
        ]
        rows.append(Row(cells, about=", ".join(names), about_at=1))
    return Table(heads, rows, words=5)


def _measured(analysis: TrendAnalysis, unit: int) -> list[str]:
    done, expected = analysis.measured.work.units[unit], analysis.expected_matstates(unit)
    return [
        f"{done.events:,}",
        "" if expected is None else number_text(expected),
        f"{done.matstates:,}",
        share_text(done.shared, done.turns) if done.turns else "",
        time_text(done.seconds * 1e9),
        share_text(done.seconds, analysis.at_work),
    ]


def _queries(plan: TrendPlan, analysis: TrendAnalysis | None) -> Table:
    units = {member.query: number for number, unit in enumerate(plan.units) for member in unit.members}
    rows = []
    for number, query in enumerate(plan.queries):
        unit = plan.units[units[number]]
        others = [plan.queries[member.query].name for member in unit.members if member.query != number]
        cells = [query.name, f"u{units[number]}", f"{len(others):,}: {some(others)}" if others else "none"]
        if analysis is not None:
            cells.append(f"{analysis.measured.totals.get(query.name, 0):,}")
        rows.append(Row(cells, chooses=number, about=", ".join(others), about_at=2))
    heads = ["query", "unit", "computed with", *([] if analysis is None else ["totals"])]
    return Table(heads, rows, words=3, figure=FIGURE)
