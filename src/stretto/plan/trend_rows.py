"""The plan of trend queries as text, as JSON and as a Mermaid flowchart, the same in every process.

The graph of all queries is drawn with its labels: `(q1, q2)(q3)` on an edge says that q1 and q2 share it while q3
computes it alone; `MP:B` where the sharing begins, `m` how many MatStates a window is expected to need; `+` an edge
that closes a Kleene.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from stretto.pattern.describe import stream_text, term_text
from stretto.screen import as_lines, visible
from stretto.trends.plan import Condition, Decision, TrendPlan, Unit

SHOWN: Final = 4
"""Queries of one set, or sets of one label, that are named in text and pictures; JSON has all."""
LONGEST: Final = 160
STYLE: Final = "fill:#fff3c4,stroke:#b7791f,stroke-width:2px,color:#1a202c"


def trends_text(plan: TrendPlan) -> str:
    """The nodes with what starts and ends there, the edges with their labels, then the units."""
    counts = (
        (len(plan.queries), "trend query", "trend queries"),
        (len(plan.nodes), "node", "nodes"),
        (len(plan.edges), "edge", "edges"),
        (len(plan.units), "unit", "units"),
    )
    lines = [f"trends by {plan.optimizer}: {', '.join(_counted(*one) for one in counts)}"]
    lines += (_node_line(plan, number) for number in range(len(plan.nodes)))
    lines += (_edge_line(plan, number) for number in range(len(plan.edges)))
    lines += (f"u{number}: {unit_text(plan, number)}" for number in range(len(plan.units)))
    return as_lines(lines) + "\n"


def trends_json(plan: TrendPlan) -> dict[str, Any]:
    """The plan as an object; nodes and units by number, queries by name."""
    starts, ends = _at(plan, last=False), _at(plan, last=True)
    return {
        "optimizer": plan.optimizer,
        "nodes": [
            {
                "id": number,
                "stream": stream_text(node.stream),
                "copy": node.copy,
                "starts": [plan.queries[query].name for query in starts[number]],
                "ends": [plan.queries[query].name for query in ends[number]],
            }
            for number, node in enumerate(plan.nodes)
        ],
        "edges": [_edge_json(plan, number) for number in range(len(plan.edges))],
        "units": [_unit_json(plan, number) for number in range(len(plan.units))],
    }


def trends_mermaid(plan: TrendPlan) -> str:
    """A node per stream, framed twice where queries end, highlighted where its computation is shared."""
    ends = _at(plan, last=True)
    shared = {unit.nodes[local] for unit in plan.units for local in unit.shared}
    lines = ["flowchart LR", f"    classDef shared {STYLE}"]
    for number in range(len(plan.nodes)):
        left, right = ("[[", "]]") if ends[number] else ("[", "]")
        mark = ":::shared" if number in shared else ""
        lines.append(f'    t{number}{left}"{_escaped(node_name(plan, number))}"{right}{mark}')
    for number, labelled in enumerate(plan.edges):
        parts = [
            label(plan, number),
            *(f"MP:{node_name(plan, point)}" for point in matpoints(plan, number)),
            condition_text(labelled.edge.condition),
        ]
        text = " ".join([part for part in parts if part] + ["+"] * labelled.is_loop)
        lines.append(f'    t{labelled.edge.source} -->|"{_escaped(text)}"| t{labelled.edge.target}')
    return "\n".join(lines) + "\n"


# ---- parts -------------------------------------------------------------------------------------------------------


def node_name(plan: TrendPlan, number: int) -> str:
    """The stream of a node; a further copy of it is numbered: `B`, `B#2`."""
    node = plan.nodes[number]
    return stream_text(node.stream) + (f"#{node.copy + 1}" if node.copy else "")


def parted(plan: TrendPlan, edge: int) -> list[tuple[int, ...]]:
    """The queries that have an edge, in the sets that share it; a set of one computes it alone."""
    sets = [decision.queries for decision in _of_edge(plan, edge)]
    shared = {query for queries in sets for query in queries}
    alone = [(query,) for query in plan.edges[edge].queries if query not in shared]
    return sorted([*sets, *alone])


def label(plan: TrendPlan, edge: int) -> str:
    """The sets as in the paper: `(q1, q2)(q3)`."""
    sets = parted(plan, edge)
    sets.sort(key=lambda queries: (len(queries) == 1, queries) if len(sets) > SHOWN else (False, queries))
    texts = [f"({_names(plan, queries)})" for queries in sets[:SHOWN]]
    return "".join(texts) + (f" and {len(sets) - SHOWN:,} more" if len(sets) > SHOWN else "")


def condition_text(condition: Condition | None) -> str:
    """`where 0.x < 1.x`: of neighbours, 0 is the earlier and 1 the later one."""
    if condition is None:
        return ""
    alternatives = [" AND ".join(term_text(term) for term in terms) for terms in condition]
    if len(alternatives) > 1:
        alternatives = [f"({one})" if " AND " in one else one for one in alternatives]
    return "where " + " OR ".join(alternatives)


def _node_line(plan: TrendPlan, number: int) -> str:
    parts = [f"t{number} = {node_name(plan, number)}"]
    for word, found in (("starts", _at(plan, last=False)), ("ends", _at(plan, last=True))):
        if found[number]:
            parts.append(f"{word} {_names(plan, found[number])}")
    return "  ".join(parts)


def _edge_line(plan: TrendPlan, number: int) -> str:
    labelled = plan.edges[number]
    parts = [
        f"t{labelled.edge.source} -> t{labelled.edge.target}{' +' if labelled.is_loop else ''}",
        condition_text(labelled.edge.condition),
        label(plan, number),
        *(_decision_text(plan, decision) for decision in _of_edge(plan, number)[:SHOWN]),
    ]
    return "  ".join(part for part in parts if part)


def _decision_text(plan: TrendPlan, decision: Decision) -> str:
    point = node_name(plan, decision.matpoint)
    return f"MP:{point} m {_figure(decision.matstates)} benefit {_figure(decision.benefit)}"


def unit_text(plan: TrendPlan, number: int) -> str:
    """A unit's queries, its partition, and what it shares from which MatPoints: `q1, q2  by k  share B from B  ..`."""
    unit = plan.units[number]
    parts = [_names(plan, [member.query for member in unit.members])]
    if unit.partition:
        parts.append(f"by {', '.join(unit.partition)}")
    if unit.shared:
        whose = "" if len(unit.members) > 1 else " over overlapping windows"
        parts.append(
            f"share {_nodes(plan, unit, unit.shared)} from {_nodes(plan, unit, unit.entries)}{whose}"
        )
        parts.append(f"benefit {_figure(plan.benefits[number])}")
    else:
        parts.append("alone")
    return "  ".join(parts)


def _nodes(plan: TrendPlan, unit: Unit, local: Iterable[int]) -> str:
    return ", ".join(node_name(plan, unit.nodes[node]) for node in local)


def _edge_json(plan: TrendPlan, number: int) -> dict[str, Any]:
    labelled = plan.edges[number]
    return {
        "source": labelled.edge.source,
        "target": labelled.edge.target,
        "condition": condition_text(labelled.edge.condition).removeprefix("where ") or None,
        "loop": labelled.is_loop,
        "queries": [[plan.queries[query].name for query in queries] for queries in parted(plan, number)],
        "decisions": [
            {
                "queries": [plan.queries[query].name for query in decision.queries],
                "matpoint": decision.matpoint,
                "matstates": decision.matstates,
                "benefit": decision.benefit,
            }
            for decision in _of_edge(plan, number)
        ],
    }


def _unit_json(plan: TrendPlan, number: int) -> dict[str, Any]:
    unit = plan.units[number]
    return {
        "queries": [plan.queries[member.query].name for member in unit.members],
        "partition": list(unit.partition),
        "shared": [unit.nodes[node] for node in unit.shared],
        "matpoints": [unit.nodes[node] for node in unit.entries],
        "benefit": plan.benefits[number],
    }


def _of_edge(plan: TrendPlan, edge: int) -> list[Decision]:
    return [decision for decision in plan.decisions if decision.edge == edge]


def matpoints(plan: TrendPlan, edge: int) -> Iterator[int]:
    """The nodes where the sharing of an edge begins, each once."""
    yield from dict.fromkeys(decision.matpoint for decision in _of_edge(plan, edge))


def _at(plan: TrendPlan, *, last: bool) -> list[list[int]]:
    """The queries that start, or end, at each node."""
    found: list[list[int]] = [[] for _ in plan.nodes]
    for query, automaton in enumerate(plan.automata):
        for entry in automaton.ends if last else automaton.starts:
            found[plan.places[query][entry.node]].append(query)
    return found


def _names(plan: TrendPlan, queries: Sequence[int]) -> str:
    names = [plan.queries[query].name for query in queries]
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: SHOWN - 1])} and {len(names) - SHOWN + 1:,} more"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _figure(number: float) -> str:
    """A few digits: `1`, `12.5`, `340`, `1.2e+06`."""
    if abs(number) < 100:
        return f"{number:.3g}"
    return f"{number:.0f}" if abs(number) < 10_000 else f"{number:.1e}"


def _escaped(text: str) -> str:
    """Text that Mermaid shows as it is: its entities begin with # and end with a semicolon."""
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    named = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
    return "".join(named.get(char, char) for char in visible(short.replace("\n", " ")))
