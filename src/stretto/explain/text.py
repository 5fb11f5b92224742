"""An explanation as numbered lines, the same in every process."""

from collections.abc import Iterator
from typing import Final

from stretto.explain.model import NANOSECONDS, Estimate, Explanation, Row, SharedEdge, TrendEdge
from stretto.explain.numbers import factor_text, number_text, rows_text, share_text, some, time_text
from stretto.screen import as_lines, counted

SHOWN: Final = 4
"""Sets of queries of one edge that are named; the JSON has all."""


def explanation_text(found: Explanation, *, limit: int | None = None) -> str:
    """One numbered line per row: what it does, what it reads, which queries it serves, by which rule.

    With an estimate also its rows and cost, and above the lines what the whole costs and what sharing saves. Below
    them are the edges of trends. `limit` is the most rows that are written.
    """
    shown = found.rows if limit is None else found.rows[:limit]
    sizes = f"{counted(len(found.rows), 'operator')}, {counted(found.answered, 'query')}"
    lines = [f"plan by {found.optimizer}: {sizes}"]
    if found.estimate is not None:
        lines += [
            _cost_line(found, found.estimate),
            *tried_lines(found),
            _sharing_line(found, found.estimate),
            *template_lines(found.estimate),
        ]
    lines += (f"{row.name} = {'  '.join(_parts_of_line(found, row))}" for row in shown)
    if len(shown) < len(found.rows):
        lines.append(f".. and {counted(len(found.rows) - len(shown), 'more operator')}")
    else:
        lines += (_edge_line(found, edge) for edge in found.edges)
    return as_lines(lines) + "\n"


def _cost_line(found: Explanation, known: Estimate) -> str:
    """The processor time of a plan, that of the plan of `none`, and the time it took to plan."""
    parts = [f"estimated {found.shown_for}: {time_text(known.estimated * found.period)} of CPU time"]
    if not is_none(found):
        parts.append(f"{time_text(known.alone * found.period)} with --optimizer none")
    return f"{', '.join(parts)}; planned in {time_text(known.seconds * NANOSECONDS)}"


def is_none(found: Explanation) -> bool:
    """Return whether this is the plan that all others are compared with."""
    return found.optimizer.partition(" ")[0] == "none"


def tried_lines(found: Explanation) -> Iterator[str]:
    """On what plans were tried, if they were, and both figures of the one that was taken."""
    if found.estimate is not None and found.estimate.tried is not None:
        tried, period = found.estimate.tried, found.period
        yield (
            f"tried on {counted(tried.events, 'event')} of the sample, the best of {counted(tried.plans, 'plan')}:"
            f" estimated {time_text(tried.estimated * period)},"
            f" by the work counted there {time_text(tried.counted * period)};"
            " the rows and times below are as counted there"
        )


def _sharing_line(found: Explanation, known: Estimate) -> str:
    """How much of a plan is shared, what that saves, and how far from the best it may be."""
    parts = [
        f"{len(found.shared):,} of {counted(len(found.rows), 'operator')} serve more than one query",
        "" if is_none(found) else saving_text(known),
        bound_text(known),
    ]
    return "; ".join(part for part in parts if part)


def saving_text(known: Estimate) -> str:
    """What the plan saves against the plan of `none`; a plan that costs more says so."""
    cost = known.estimated
    if known.alone <= 0 or cost <= 0:
        return ""
    if cost > 1.0005 * known.alone:
        return f"it takes {factor_text(cost / known.alone)} the CPU time of --optimizer none"
    if cost > 0.9995 * known.alone:
        return "nothing is saved compared with --optimizer none"
    saved = share_text(known.alone - cost, known.alone)
    return f"this plan saves {saved} of the CPU time of --optimizer none ({factor_text(known.alone / cost)})"


def template_lines(known: Estimate) -> Iterator[str]:
    """What templates save by themselves, where queries that differ in constants alone are computed as one."""
    templates = known.templates
    if templates is not None and 0 < templates.together < 0.9995 * templates.apart:
        saved = share_text(templates.apart - templates.together, templates.apart)
        yield (
            f"templates alone save {saved} ({factor_text(templates.apart / templates.together)}):"
            f" {counted(templates.queries, 'query')} that differ only in constants are computed together"
        )


def bound_text(known: Estimate) -> str:
    """How far from the best of the plans considered it may be, as estimated; nothing where no bound is known."""
    if known.gap is None:
        return ""
    if known.gap == 0:
        return "no plan that was considered is better"
    return f"within {share_text(known.gap, 1.0)} of the best of the plans considered"


def _parts_of_line(found: Explanation, row: Row) -> Iterator[str]:
    yield row.does
    if figures := figures_text(found, row):
        yield figures
    if row.kind != "emit":
        marked = found.estimate is not None and len(row.serves) > 1
        whom = some([found.called(name) for name in row.serves])
        yield f"shared by {sum(map(found.behind, row.serves)):,}: {whom}" if marked else f"for {whom}"
    yield f"by {row.because}"


def figures_text(found: Explanation, row: Row) -> str:
    """The rows and the processor time of one row, and its share: `1,204 rows, 3 ms, 9%`."""
    parts = [] if row.rows is None else [rows_text(row.rows * found.period)]
    if row.cost is not None and found.estimate is not None:
        parts += [time_text(row.cost * found.period), share_text(row.cost, found.estimate.cost)]
    return ", ".join(parts)


# ---- trends ------------------------------------------------------------------------------------------------


def _edge_line(found: Explanation, edge: TrendEdge) -> str:
    parts = [
        f"n{edge.source} -> n{edge.target}{' +' if edge.loop else ''}",
        f"where {edge.condition}" if edge.condition else "",
        label(edge),
        *(_sharing_text(found, one) for one in edge.shared[:SHOWN]),
    ]
    return "  ".join(part for part in parts if part)


def _sharing_text(found: Explanation, one: SharedEdge) -> str:
    point = found.rows[one.matpoint].piece
    return f"MP:{point} m {number_text(one.matstates)} benefit {number_text(one.benefit)}"


def label(edge: TrendEdge) -> str:
    """The sets of queries that share an edge, as in the paper: `(q1, q2)(q3)`; of very many the largest first."""
    sets = list(edge.parted)
    if len(sets) > SHOWN:
        sets.sort(key=lambda queries: len(queries) == 1)
    texts = [f"({some(queries)})" for queries in sets[:SHOWN]]
    return "".join(texts) + (f" and {len(sets) - SHOWN:,} more" if len(sets) > SHOWN else "")
