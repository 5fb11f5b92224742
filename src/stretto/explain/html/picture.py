"""The operators behind some queries as a drawing: from scans on the left to queries on the right."""

from collections.abc import Collection

from stretto.explain.numbers import rate_text
from stretto.plan.dag import Plan
from stretto.plan.explain import counted, kind_of
from stretto.plan.ops import Emit, Scan
from stretto.report.drawing import Box, Drawing, Line, curve, place, short
from stretto.report.layout import rows_of


def picture(plan: Plan, queries: Collection[str]) -> Drawing:
    """The operators that these queries need; those that serve several of a plan's queries stand out."""
    chosen = set(queries)
    wanted = [number for number in range(len(plan.ops)) if not chosen.isdisjoint(plan.serves(number))]
    places = _places(plan, wanted)
    numbers = {query: number for number, query in enumerate(plan.queries)}
    serves = {number: [numbers[query] for query in plan.serves(number)] for number in wanted}
    boxes = [_box(plan, number, places[number], serves[number]) for number in wanted]
    lines = [
        Line(f"n{source}", f"n{number}", curve(places[source], places[number]), queries=serves[number])
        for number in wanted
        for source in dict.fromkeys(plan.ops[number].inputs)
    ]
    return Drawing(boxes, lines)


def fitting(plan: Plan, most: int) -> list[str]:
    """As many of a plan's queries, in order, as need no more than so many operators together; the first at least."""
    needs: dict[str, list[int]] = {query: [] for query in plan.queries}
    for number in range(len(plan.ops)):
        for query in plan.serves(number):
            needs[query].append(number)
    drawn: set[int] = set()
    found: list[str] = []
    for query, needed in needs.items():
        drawn.update(needed)
        if found and len(drawn) > most:
            break
        found.append(query)
    return found


def _places(plan: Plan, wanted: list[int]) -> dict[int, tuple[float, float]]:
    """Columns by the longest way from a scan, queries all in the last."""
    depth: dict[int, int] = {}
    for number in wanted:
        depth[number] = max((depth[source] + 1 for source in plan.ops[number].inputs), default=0)
    last = max(depth.values(), default=0)
    columns = [last if isinstance(plan.ops[number], Emit) else depth[number] for number in wanted]
    at = {number: index for index, number in enumerate(wanted)}
    edges = [(at[source], at[number]) for number in wanted for source in plan.ops[number].inputs]
    rows = rows_of(columns, edges)
    return {number: place(columns[index], rows[index]) for number, index in at.items()}


def _box(plan: Plan, number: int, at: tuple[float, float], queries: list[int]) -> Box:
    op = plan.ops[number]
    kind = "query" if isinstance(op, Emit) else "shared" if len(queries) > 1 else "own"
    label = op.query if isinstance(op, Emit) else f"{_name(plan, number)}, {counted(len(queries), 'query')}"
    rows = None if plan.estimate is None else plan.estimate.rows[number]
    about = plan.pieces[number] + ("" if rows is None else f"  ({rate_text(rows)} expected)")
    return Box(f"n{number}", *at, short(label), about, kind, queries)


def _name(plan: Plan, number: int) -> str:
    """What an operator does; of a scan the type of its events."""
    op = plan.ops[number]
    return op.stream.type if isinstance(op, Scan) else kind_of(op)
