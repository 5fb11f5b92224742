"""An explanation as an object for other programs. Figures are null where no statistics gave them."""

from dataclasses import asdict
from typing import Any

from stretto.explain.model import NANOSECONDS, Explanation, Row, TrendEdge


def explanation_json(found: Explanation) -> dict[str, Any]:
    """The plan: figures, operators, the row that answers each query, and the edges of trends where there are any."""
    return {
        **figures_json(found),
        "operators": [
            {
                **row_json(row),
                "rows": row.rows,
                "cost": row.cost,
                "because": row.because,
                **_shown(found, row),
                **_matstates(row),
            }
            for row in found.rows
        ],
        "queries": dict(found.queries),
        **({"edges": [_edge(edge) for edge in found.edges]} if found.edges else {}),
    }


def figures_json(found: Explanation) -> dict[str, Any]:
    """What is known of the whole plan."""
    figures = ("cost", "lower_bound", "gap", "seconds")
    tried = None if found.estimate is None else found.estimate.tried
    return {
        "optimizer": found.optimizer,
        **{name: getattr(found.estimate, name, None) for name in figures},
        **({} if tried is None else {"tried": asdict(tried)}),
        **_compared(found),
    }


def _compared(found: Explanation) -> dict[str, Any]:
    """What the text says of the whole plan: for how many events, the cost of `none`, and what templates save."""
    known = found.estimate
    if known is None:
        return {}
    templates = {} if known.templates is None else {"templates": asdict(known.templates)}
    return {"events": known.events or None, "shown": found.shown_for, "alone": known.alone, **templates}


def _shown(found: Explanation, row: Row) -> dict[str, Any]:
    """The figures of the text: rows and seconds of processor time for the events that it speaks of."""
    if found.estimate is None:
        return {}
    rows = None if row.rows is None else row.rows * found.period
    seconds = None if row.cost is None else row.cost * found.period / NANOSECONDS
    return {"shown_rows": rows, "shown_cpu_seconds": seconds}


def row_json(row: Row) -> dict[str, Any]:
    """What a row is, and for whom."""
    return {
        "id": row.id,
        "op": row.kind,
        "inputs": list(row.inputs),
        "piece": row.piece,
        "serves": list(row.serves),
        **({} if row.members is None else {"members": list(row.members())}),
    }


def _matstates(row: Row) -> dict[str, Any]:
    return {} if row.matstates is None else {"matstates": row.matstates.rate}


def _edge(edge: TrendEdge) -> dict[str, Any]:
    return {
        "source": edge.source,
        "target": edge.target,
        "condition": edge.condition or None,
        "loop": edge.loop,
        "queries": [list(queries) for queries in edge.parted],
        "shared": [asdict(one) for one in edge.shared],
    }
