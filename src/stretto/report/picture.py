"""The operators behind some queries as a picture: from scans on the left to queries on the right."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape
from typing import Final

from stretto.memo.figures import rate_text
from stretto.plan.dag import Plan
from stretto.plan.explain import counted, kind_of
from stretto.plan.ops import Emit, Scan

BOX_WIDTH: Final = 168
BOX_HEIGHT: Final = 26
COLUMN: Final = 226
ROW: Final = 33
MARGIN: Final = 6
LONGEST: Final = 24
"""Characters that fit a box."""


@dataclass(frozen=True, slots=True)
class _Box:
    """Where an operator stands: its left edge and the middle of its height."""

    x: float
    y: float


def picture(plan: Plan, queries: Collection[str]) -> str:
    """An SVG of the operators that these queries need; those that serve several of a plan's queries stand out."""
    wanted = [number for number in range(len(plan.ops)) if not set(queries).isdisjoint(plan.serves(number))]
    boxes = _places(plan, wanted)
    width = max((box.x for box in boxes.values()), default=0.0) + BOX_WIDTH + MARGIN
    height = max((box.y for box in boxes.values()), default=0.0) + ROW / 2 + MARGIN
    lines = [f'<svg class="plan" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img">']
    for number in wanted:
        lines += (_edge(boxes[source], boxes[number]) for source in plan.ops[number].inputs)
    lines += (_node(plan, number, boxes[number]) for number in wanted)
    return "\n".join([*lines, "</svg>"])


def _places(plan: Plan, wanted: list[int]) -> dict[int, _Box]:
    """Columns by the longest way from a scan, queries all in the last; rows near those of the inputs."""
    depth: dict[int, int] = {}
    for number in wanted:
        depth[number] = max((depth[source] + 1 for source in plan.ops[number].inputs), default=0)
    last = max(depth.values(), default=0)
    columns: dict[int, list[int]] = {}
    for number in wanted:
        columns.setdefault(last if isinstance(plan.ops[number], Emit) else depth[number], []).append(number)
    tallest = max(map(len, columns.values()), default=0)
    boxes: dict[int, _Box] = {}
    for column in sorted(columns):
        members = sorted(columns[column], key=lambda number: (_height(plan, number, boxes), number))
        step = ROW * tallest / len(members)
        for row, number in enumerate(members):
            boxes[number] = _Box(MARGIN + COLUMN * column, MARGIN + step * (row + 0.5))
    return boxes


def _height(plan: Plan, number: int, boxes: Mapping[int, _Box]) -> float:
    """The mean height of an operator's inputs."""
    heights = [boxes[source].y for source in plan.ops[number].inputs]
    return sum(heights) / len(heights) if heights else 0.0


def _edge(source: _Box, target: _Box) -> str:
    start, end = source.x + BOX_WIDTH, target.x
    middle = (start + end) / 2
    return (
        f'<path d="M{start:.0f} {source.y:.0f}C{middle:.0f} {source.y:.0f} {middle:.0f} {target.y:.0f}'
        f' {end:.0f} {target.y:.0f}"/>'
    )


def _node(plan: Plan, number: int, box: _Box) -> str:
    op, served = plan.ops[number], len(plan.serves(number))
    kind = "query" if isinstance(op, Emit) else "shared" if served > 1 else "own"
    label = op.query if isinstance(op, Emit) else f"{_name(plan, number)}, {counted(served, 'query')}"
    rows = None if plan.estimate is None else plan.estimate.rows[number]
    about = plan.pieces[number] + ("" if rows is None else f"  ({rate_text(rows)} expected)")
    return (
        f'<g class="{kind}"><title>{escape(about)}</title>'
        f'<rect x="{box.x:.0f}" y="{box.y - BOX_HEIGHT / 2:.0f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="5"/>'
        f'<text x="{box.x + BOX_WIDTH / 2:.0f}" y="{box.y + 4:.0f}">{escape(_short(label))}</text></g>'
    )


def _name(plan: Plan, number: int) -> str:
    """What an operator does; of a scan the type of its events."""
    op = plan.ops[number]
    return plan.pieces[number].partition("[")[0].split()[0] if isinstance(op, Scan) else kind_of(op)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]}.."
