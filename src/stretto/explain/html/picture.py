"""The rows behind some queries as a drawing: from events on the left to queries on the right, Kleenes lead back."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from stretto.explain.html.barycenter import rows_of
from stretto.explain.html.drawing import BOX_HEIGHT, LOOP, Box, Connection, Drawing, bow, curve, place, short
from stretto.explain.model import EVENTS, UNIT, Explanation, Row, TrendEdge
from stretto.explain.numbers import rows_text
from stretto.explain.text import label
from stretto.screen import counted

APART: Final = 1.7
"""Rows from one box to the next where loops and their labels need room."""

Point = tuple[float, float]


def picture(found: Explanation, queries: Collection[str]) -> Drawing:
    """The rows that these queries need, and what leads from one to another; what is shared stands out."""
    chosen = set(queries)
    wanted = [row for row in found.rows if not chosen.isdisjoint(row.serves)]
    ids = {row.id for row in wanted}
    edges = [edge for edge in found.edges if edge.source in ids and edge.target in ids]
    numbers = {query: number for number, query in enumerate(queries)}
    serves = {row.id: [numbers[query] for query in row.serves if query in numbers] for row in wanted}
    places = _places(wanted, edges)
    lowest = max((y for _, y in places.values()), default=0.0) + BOX_HEIGHT / 2
    lines = [
        Connection(f"n{source}", row.name, curve(places[source], places[row.id]), queries=serves[row.id])
        for row in wanted
        for source in dict.fromkeys(row.inputs)
    ]
    lines += (_edge(found, edge, places, lowest, numbers) for edge in edges)
    has_way_back = any(places[edge.target][0] < places[edge.source][0] for edge in edges)
    boxes = [_box(row, places[row.id], serves[row.id], found.period) for row in wanted]
    return Drawing(boxes, lines, lowest + LOOP * 2 if has_way_back else lowest)


def fitting(found: Explanation, queries: Iterable[str], most: int) -> list[str]:
    """As many queries, in order, as need at most `most` rows together; at least the first."""
    drawn: set[int] = set()
    fit: list[str] = []
    for query in queries:
        drawn.update(row.id for row in found.needs[query])
        if fit and len(drawn) > most:
            break
        fit.append(query)
    return fit


def _places(wanted: Sequence[Row], edges: Sequence[TrendEdge]) -> dict[int, Point]:
    """Columns by the longest way from the left along what leads forward, queries all in the last."""
    before: dict[int, list[int]] = {row.id: list(row.inputs) for row in wanted}
    for edge in edges:
        if edge.source < edge.target:
            before[edge.target].append(edge.source)
    depth: dict[int, int] = {}
    for row in wanted:
        depth[row.id] = max((depth[source] + 1 for source in before[row.id]), default=0)
    last = max(depth.values(), default=0)
    columns = [last if row.kind == "emit" else depth[row.id] for row in wanted]
    at = {row.id: index for index, row in enumerate(wanted)}
    forward = [(at[source], at[row.id]) for row in wanted for source in before[row.id]]
    rows = rows_of(columns, forward)
    apart, down = (APART, float(LOOP)) if edges else (1.0, 0.0)
    return {number: place(columns[index], apart * rows[index], down) for number, index in at.items()}


def _box(row: Row, at: Point, queries: list[int], period: float) -> Box:
    count = counted(len(row.serves), "query")
    label = row.piece.split()[0] if row.kind == "scan" else row.piece if row.kind == EVENTS else row.kind
    shown = row.serves[0] if row.kind == "emit" else f"{label}, {count}"
    kinds = ["query"] if row.kind in ("emit", UNIT) else ["shared"] if row.is_shared else ["own"]
    kinds += ["matpoint"] if row.is_matpoint else []
    about = row.piece + ("" if row.rows is None else f"  ({rows_text(row.rows * period)} expected)")
    return Box(row.name, *at, short(shown), about, " ".join(kinds), queries)


def _edge(
    found: Explanation,
    edge: TrendEdge,
    places: Mapping[int, Point],
    lowest: float,
    numbers: Mapping[str, int],
) -> Connection:
    source, target = places[edge.source], places[edge.target]
    points = [found.rows[point].piece for point in edge.matpoints]
    about = [label(edge), *(f"MP:{point}" for point in points), edge.condition]
    if source[0] < target[0]:
        path, x, y = curve(source, target), (source[0] + target[0]) / 2, (source[1] + target[1]) / 2
    else:
        path, x, y = bow(source, target, lowest)
    shown = ""
    if edge.shared:
        most = max(len(one.queries) for one in edge.shared)
        shown = f"{counted(most, 'query') if most > 1 else 'its windows'} from {', '.join(points)}"
    return Connection(
        f"n{edge.source}",
        f"n{edge.target}",
        path,
        "shared" if edge.shared else "",
        " ".join(part for part in about if part),
        short(shown),
        x,
        y,
        [numbers[query] for queries in edge.parted for query in queries if query in numbers],
    )
