"""The graph of trend queries as a drawing: along their SEQs from left to right, Kleenes lead back below."""

from typing import Final

from stretto.plan.explain import counted
from stretto.report.drawing import BOX_HEIGHT, BOX_WIDTH, Box, Drawing, Line, curve, place, short
from stretto.report.layout import rows_of
from stretto.trends.explain import condition_text, label, matpoints, node_name
from stretto.trends.graph import merged, processing_order
from stretto.trends.plan import TrendPlan

LOOP: Final = 22
"""How far a loop stands out above its node."""
APART: Final = 1.7
"""Rows from one node to the next, with room for loops and their labels."""

Point = tuple[float, float]


def trend_picture(plan: TrendPlan) -> Drawing:
    """A box per node and a line per edge; what is computed once for several queries, or windows, stands out."""
    order = {node: turn for turn, node in enumerate(processing_order(merged(plan.automata)))}
    ends = [(one.edge.source, one.edge.target) for one in plan.edges]
    forward = [(source, target) for source, target in ends if order[source] < order[target]]
    columns = _columns(order, forward)
    rows = rows_of(columns, [pair for pair in forward if columns[pair[0]] != columns[pair[1]]])
    places = [place(column, APART * row, LOOP) for column, row in zip(columns, rows, strict=True)]
    lowest = max((y for _, y in places), default=0.0) + BOX_HEIGHT / 2
    lines = [_line(plan, number, places, lowest) for number in range(len(plan.edges))]
    has_way_back = any(places[target][0] < places[source][0] for source, target in ends)
    return Drawing(
        [_box(plan, number, at) for number, at in enumerate(places)],
        lines,
        lowest + LOOP * 2 if has_way_back else lowest,
    )


def _columns(order: dict[int, int], forward: list[tuple[int, int]]) -> list[int]:
    """The longest way to each node along edges that lead forward."""
    columns = [0] * len(order)
    for node in order:
        for source, target in forward:
            if target == node:
                columns[node] = max(columns[node], columns[source] + 1)
    return columns


def _box(plan: TrendPlan, number: int, at: Point) -> Box:
    queries = [query for query, places in enumerate(plan.places) if number in places]
    shared = [unit for unit in plan.units if number in {unit.nodes[node] for node in unit.shared}]
    entered = any(number in {unit.nodes[node] for node in unit.entries} for unit in shared)
    kind = "shared matpoint" if entered else "shared" if shared else "own"
    name = node_name(plan, number)
    return Box(f"t{number}", *at, short(name), f"{name}: in {counted(len(queries), 'query')}", kind, queries)


def _line(plan: TrendPlan, number: int, places: list[Point], lowest: float) -> Line:
    labelled = plan.edges[number]
    source, target = places[labelled.edge.source], places[labelled.edge.target]
    decided = [decision for decision in plan.decisions if decision.edge == number]
    points = "".join(f" MP:{node_name(plan, node)}" for node in matpoints(plan, number))
    about = f"{label(plan, number)}{points} {condition_text(labelled.edge.condition)}".strip()
    path, x, y = _path(source, target, lowest)
    shown = ""
    if decided:
        most = max(len(decision.queries) for decision in decided)
        shown = counted(most, "query") if most > 1 else "its windows"
        shown += f" from {', '.join(node_name(plan, node) for node in matpoints(plan, number))}"
    return Line(
        f"t{labelled.edge.source}",
        f"t{labelled.edge.target}",
        path,
        "shared" if decided else "",
        about,
        short(shown),
        x,
        y,
        labelled.queries,
    )


def _path(source: Point, target: Point, lowest: float) -> tuple[str, float, float]:
    """The line, and where its label stands: over a node to itself, to the right, or back below all boxes."""
    (x, y), (to, then) = source, target
    half, width = BOX_HEIGHT / 2, BOX_WIDTH
    if source == target:
        top = y - half
        return _bow(x + 0.7 * width, x + 0.3 * width, top, top - LOOP, top), x + width / 2, top - LOOP + 2
    if x < to:
        return curve(source, target), (x + width + to) / 2, (y + then) / 2
    down = lowest + 2 * LOOP
    path = _bow(x + width / 2, to + width / 2, y + half, down, then + half)
    return path, (x + to + width) / 2, down - LOOP / 2


def _bow(start: float, end: float, y: float, over: float, then: float) -> str:
    """A line that leaves and comes back upright, bent towards the height `over`."""
    return f"M{start:.0f} {y:.0f}C{start:.0f} {over:.0f} {end:.0f} {over:.0f} {end:.0f} {then:.0f}"
