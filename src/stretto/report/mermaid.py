"""A plan as a Mermaid flowchart."""

from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Scan

FRAMES = {Scan: ("([", "])"), Emit: ("[[", "]]")}


def to_mermaid(plan: Plan) -> str:
    """A node per operator with what it computes, an edge per input; data flows downwards."""
    lines = ["flowchart TD"]
    for number, op in enumerate(plan.ops):
        left, right = FRAMES.get(type(op), ("[", "]"))
        title = f"emit {op.query}" if isinstance(op, Emit) else type(op).__name__.lower()
        lines.append(f'    n{number}{left}"{_escaped(title)}<br/>{_escaped(plan.pieces[number])}"{right}')
        lines.extend(f"    n{source} --> n{number}" for source in op.inputs)
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Text that Mermaid shows as it is: its entities begin with # and end with a semicolon."""
    named = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;"}
    return "".join(named.get(char, char) for char in text)
