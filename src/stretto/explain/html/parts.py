"""The operators of a plan and its queries, for the page of EXPLAIN."""

from collections.abc import Iterator
from typing import Final

from stretto.explain.numbers import number_text, rate_text, share_text, time_text
from stretto.plan.analyze import NANOSECONDS, Analysis, Line
from stretto.plan.dag import Plan
from stretto.plan.explain import counted, kind_of, shared, some
from stretto.plan.ops import Emit, Scan
from stretto.plan.q_error import q_error_text
from stretto.report.picture import fitting, picture
from stretto.report.tables import Figure, Part, Row, Table

FIGURE: Final = "operators"
MOST_DRAWN: Final = 2000
"""Operators of one drawing: more are slow to draw, and nobody finds anything in them."""


def operator_parts(plan: Plan, analysis: Analysis | None) -> Iterator[Part]:
    """The drawing, the table of operators, measured too if there is an analysis, and the table of queries."""
    drawn = fitting(plan, MOST_DRAWN)
    left_out = len(plan.queries) - len(drawn)
    lines = [
        "From scans on the left to queries on the right; operators that serve several queries are marked."
    ]
    if left_out:
        lines.append(f"{counted(left_out, 'more query')}: too many to draw; the tables have all.")
    hint = "Choose a query, or point at an operator; a click leads to its line below."
    figure = Figure(FIGURE, picture(plan, drawn), drawn, hint)
    yield Part("The plan", lines, figure)
    yield Part("Operators", [_about_operators(analysis)], table=_operators(plan, analysis))
    yield Part("Queries, and what each shares", [_about_queries(plan)], table=_queries(plan, len(drawn)))


def _about_operators(analysis: Analysis | None) -> str:
    if analysis is None:
        return "What each computes, for whom; rows and cost per second of stream as estimated; the rule behind it."
    return (
        "What each computes, for whom, by which rule; rows and time of the whole run as estimated and as measured. "
        "The q-error is the factor by which an estimate of rows is off."
    )


def _operators(plan: Plan, analysis: Analysis | None) -> Table:
    heads = ["", "computes", "serves", "rule"]
    heads += (
        ["rows", "cost", "share"]
        if analysis is None
        else ["rows est.", "rows", "q-error", "time est.", "time", "share"]
    )
    numbers = {query: number for number, query in enumerate(plan.queries)}
    rows = []
    for number, op in enumerate(plan.ops):
        served = plan.serves(number)
        title = f"n{number} {f'emit {op.query}' if isinstance(op, Emit) else kind_of(op)}"
        whom = f"{len(served):,}: {some(served)}" if len(served) > 1 else some(served)
        figures = (
            _estimated(plan, number)
            if analysis is None
            else _measured(analysis.lines[number], analysis.at_work)
        )
        cells = [title, plan.pieces[number], whom, plan.because[number], *figures]
        queries = [numbers[query] for query in served]
        rows.append(Row(cells, f"n{number}", queries, about=", ".join(served), about_at=2))
    return Table(heads, rows, words=4, code=1, figure=FIGURE)


def _estimated(plan: Plan, number: int) -> list[str]:
    known = plan.estimate
    rows, cost = (None, None) if known is None else (known.rows[number], known.costs[number])
    return [
        "" if rows is None else rate_text(rows),
        "" if cost is None else time_text(cost),
        "" if cost is None or known is None else share_text(cost, known.cost),
    ]


def _measured(line: Line, at_work: float) -> list[str]:
    return [
        "" if line.estimated is None else number_text(line.estimated),
        f"{line.measured:,}",
        "" if line.q_error is None else q_error_text(line.q_error),
        "" if line.expected_seconds is None else time_text(line.expected_seconds * NANOSECONDS),
        time_text(line.seconds * NANOSECONDS),
        share_text(line.seconds, at_work),
    ]


def _about_queries(plan: Plan) -> str:
    costs = (
        "" if plan.estimate is None else " Its share of the cost divides each operator among those it serves."
    )
    return (
        f"{len(shared(plan)):,} of {counted(len(plan.ops), 'operator')} serve more than one query. "
        f"Companions are the queries it has operators above scans in common with.{costs}"
    )


def _queries(plan: Plan, drawn: int) -> Table:
    needs: dict[str, list[int]] = {query: [] for query in plan.queries}
    for number in range(len(plan.ops)):
        for query in plan.serves(number):
            needs[query].append(number)
    heads = ["query", "companions", "operators", "shared"]
    if plan.estimate is not None:
        heads += ["cost of all", "its share"]
    rows = [_query(plan, place, query, needed, drawn) for place, (query, needed) in enumerate(needs.items())]
    return Table(heads, rows, words=2, figure=FIGURE)


def _query(plan: Plan, place: int, query: str, needed: list[int], drawn: int) -> Row:
    common = [number for number in needed if len(plan.serves(number)) > 1]
    companions = dict.fromkeys(
        other
        for number in common
        if not isinstance(plan.ops[number], Scan)
        for other in plan.serves(number)
        if other != query
    )
    who = some(list(companions))
    cells = [
        query,
        f"{len(companions):,}: {who}" if companions else "none",
        f"{len(needed):,}",
        f"{len(common):,}",
    ]
    if plan.estimate is not None:
        costs = plan.estimate.costs
        cells.append(time_text(sum(costs[number] or 0.0 for number in needed)))
        cells.append(time_text(sum((costs[number] or 0.0) / len(plan.serves(number)) for number in needed)))
    chooses = place if place < drawn else None
    return Row(cells, chooses=chooses, about=", ".join(companions), about_at=1)
