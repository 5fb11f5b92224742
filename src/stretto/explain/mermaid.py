"""A plan as a Mermaid flowchart."""

from typing import Final

from stretto.explain.numbers import rate_text
from stretto.plan.dag import Plan
from stretto.plan.explain import counted, figures_text, kind_of
from stretto.plan.ops import Emit, Scan
from stretto.screen import visible
from stretto.trends.explain import trends_mermaid

FRAMES: Final = {Scan: ("([", "])"), Emit: ("[[", "]]")}
STYLE: Final = "fill:#fff3c4,stroke:#b7791f,stroke-width:2px,color:#1a202c"
MOST_EDGES: Final = 500
MOST_TEXT: Final = 50_000
"""What Mermaid draws unless the page around it is set up for more; a chart cannot raise it itself."""
LONGEST: Final = 160
"""Characters of a node's piece; EXPLAIN has the whole."""


def to_mermaid(plan: Plan, *, edges: int = MOST_EDGES, text: int = MOST_TEXT) -> str:
    """A node per operator with what it computes, an edge per input; data flows downwards.

    Operators that serve several queries are highlighted. With an estimate, nodes show rows and cost, edges rows. Of a
    plan that Mermaid would refuse, the first queries are drawn whole and the number of the others is told. Trend
    queries have a graph of their own beside it.
    """
    trends = [] if plan.trends is None else trends_mermaid(plan.trends).splitlines()
    if trends and not plan.queries:
        return "\n".join(trends) + "\n"
    blocks = [_lines(plan, number) for number in range(len(plan.ops))]
    drawn, queries = _within(plan, blocks, edges, text - 400)
    lines = ["flowchart TD", f"    classDef shared {STYLE}"]
    for number in drawn:
        lines.extend(blocks[number])
    if queries < len(plan.queries):
        missing = counted(len(plan.queries) - queries, "more query")
        lines.append(f'    more["{missing}: too large to draw, see EXPLAIN as text or JSON"]')
    return "\n".join([*lines, *trends[2:]]) + "\n"


def _within(plan: Plan, blocks: list[list[str]], edges: int, text: int) -> tuple[list[int], int]:
    """The operators of as many queries as fit, in order, and the number of these queries."""
    needs: dict[str, list[int]] = {query: [] for query in plan.queries}
    for number in range(len(plan.ops)):
        for query in plan.serves(number):
            needs[query].append(number)
    drawn: set[int] = set()
    for count, query in enumerate(plan.queries):
        new = [number for number in needs[query] if number not in drawn]
        edges -= sum(len(plan.ops[number].inputs) for number in new)
        text -= sum(len(line) + 1 for number in new for line in blocks[number])
        if edges < 0 or text < 0:
            return sorted(drawn), count
        drawn.update(new)
    return sorted(drawn), len(plan.queries)


def _lines(plan: Plan, number: int) -> list[str]:
    """The node of an operator, and the edges from its inputs."""
    op, known, served = plan.ops[number], plan.estimate, len(plan.serves(number))
    left, right = FRAMES.get(type(op), ("[", "]"))
    title = f"emit {op.query}" if isinstance(op, Emit) else kind_of(op)
    parts = [f"{title} for {served:,} queries" if served > 1 else title, _short(plan.pieces[number])]
    if known is not None and (figures := figures_text(known, number)):
        parts.append(figures)
    label = "<br/>".join(map(_escaped, parts))
    mark = ":::shared" if served > 1 else ""
    lines = [f'    n{number}{left}"{label}"{right}{mark}']
    for source in op.inputs:
        rows = None if known is None else known.rows[source]
        arrow = "-->" if rows is None else f'-->|"{_escaped(rate_text(rows))}"|'
        lines.append(f"    n{source} {arrow} n{number}")
    return lines


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _escaped(text: str) -> str:
    """Text that Mermaid shows as it is: its entities begin with # and end with a semicolon."""
    named = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
    return "".join(named.get(char, char) for char in visible(text.replace("\n", " ")))
