"""A plan as a Mermaid flowchart."""

from typing import Final

from stretto.explain.model import EVENTS, UNIT, Explanation, Row, TrendEdge
from stretto.explain.numbers import cut, rows_text
from stretto.explain.text import figures_text, label
from stretto.screen import counted, visible

FRAMES: Final = {"scan": ("([", "])"), EVENTS: ("([", "])"), "emit": ("[[", "]]"), UNIT: ("[[", "]]")}
STYLE: Final = "fill:#fff3c4,stroke:#b7791f,stroke-width:2px,color:#1a202c"
MOST_EDGES: Final = 500
MOST_TEXT: Final = 50_000
"""What Mermaid draws unless the page around it is set up for more; a chart cannot raise it itself."""
LONGEST: Final = 160
"""Characters of a node's piece; EXPLAIN has the whole."""


def to_mermaid(found: Explanation) -> str:
    """A node per row with what it computes, an edge per input; data flows downwards.

    What is shared is highlighted. With an estimate, nodes show rows and cost, edges rows. Of a plan that is too large
    for Mermaid, the first queries are drawn whole, and a note says how many are left out. Edges between the
    events of trends say which may follow which, and which queries share that.
    """
    blocks = [_lines(found, row) for row in found.rows]
    for edge in found.edges:
        blocks[edge.target].append(_edge(found, edge))
    drawn, queries = _within(found, blocks, MOST_EDGES, MOST_TEXT - 400)
    lines = ["flowchart TD", f"    classDef shared {STYLE}"]
    for number in drawn:
        lines.extend(blocks[number])
    if queries < len(found.queries):
        missing = counted(len(found.queries) - queries, "more query")
        lines.append(f'    more["{missing}: too large to draw, see EXPLAIN as text or JSON"]')
    return "\n".join(lines) + "\n"


def _within(found: Explanation, blocks: list[list[str]], edges: int, text: int) -> tuple[list[int], int]:
    """The rows of as many queries as fit, in order, and the number of these queries."""
    drawn: set[int] = set()
    for count, needed in enumerate(found.needs.values()):
        new = [row.id for row in needed if row.id not in drawn]
        edges -= sum(len(blocks[number]) - 1 for number in new)
        text -= sum(len(line) + 1 for number in new for line in blocks[number])
        if edges < 0 or text < 0:
            return sorted(drawn), count
        drawn.update(new)
    return sorted(drawn), len(found.queries)


def _lines(found: Explanation, row: Row) -> list[str]:
    """The node of a row, and the edges from its inputs."""
    served = len(row.serves)
    left, right = FRAMES.get(row.kind, ("[", "]"))
    parts = [f"{row.title} for {served:,} queries" if served > 1 else row.title, cut(row.piece, LONGEST)]
    if figures := figures_text(found, row):
        parts.append(figures)
    shown = "<br/>".join(map(_escaped, parts))
    lines = [f'    {row.name}{left}"{shown}"{right}{":::shared" if row.is_shared else ""}']
    for source in row.inputs:
        rows = found.rows[source].rows
        arrow = "-->" if rows is None else f'-->|"{_escaped(rows_text(rows * found.period))}"|'
        lines.append(f"    n{source} {arrow} {row.name}")
    return lines


def _edge(found: Explanation, edge: TrendEdge) -> str:
    points = (f"MP:{found.rows[point].piece}" for point in edge.matpoints)
    parts = [label(edge), *points, f"where {edge.condition}" if edge.condition else ""]
    text = " ".join([part for part in parts if part] + ["+"] * edge.loop)
    return f'    n{edge.source} -.->|"{_escaped(cut(text, LONGEST))}"| n{edge.target}'


def _escaped(text: str) -> str:
    """Text that Mermaid shows as it is: its entities begin with # and end with a semicolon."""
    named = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
    return "".join(named.get(char, char) for char in visible(text.replace("\n", " ")))
