"""The comparison of two plans as text: a table of figures, and lists of pieces and queries, the dearest first."""

from collections.abc import Iterator, Sequence
from typing import Final

from stretto.explain.compare import (
    Compared,
    ComputedBy,
    PlanComparison,
    QueryShare,
    all_matpoints,
    kinds,
    matpoint_names,
)
from stretto.explain.numbers import columns, factor_text, rows_text, share_text, some, time_text
from stretto.explain.text import label
from stretto.screen import as_lines, counted

SHOWN: Final = 20
"""Lines of one list; the JSON has all."""


def comparison_text(found: PlanComparison) -> str:
    """The comparison as a table of figures and lists of pieces, queries and edges, the dearest first."""
    (left, right), period = titles(found), _period(found)
    blocks = [
        [f"{left} and {right}: two plans for {counted(len(found.queries), 'query')}"],
        list(_figures(found)),
        _listed(f"only {left} computes", [(one.text, one.left) for one in found.only_left()], period),
        _listed(f"only {right} computes", [(one.text, one.right) for one in found.only_right()], period),
        list(_in_both(found)),
        list(_edges(found)),
        list(_by_query(found)),
    ]
    return "\n\n".join(as_lines(block) for block in blocks if block) + "\n"


def _period(found: PlanComparison) -> float:
    """The seconds of stream that the figures are shown for."""
    return next((side.period for side in found.sides if side.estimate is not None), 1.0)


def titles(found: PlanComparison) -> tuple[str, str]:
    """The names of the two plans, which differ."""
    left, right = found.left.optimizer, found.right.optimizer
    return (f"{left} (1)", f"{right} (2)") if left == right else (left, right)


def _figures(found: PlanComparison) -> Iterator[str]:
    """Both plans' figures in columns."""
    rows = [["", *titles(found), ""]]
    here, there = found.left.estimate, found.right.estimate
    if here is not None and there is not None:
        # Estimates beside estimates: not every plan was tried.
        costs = here.estimated, there.estimated
        ratio = factor_text(costs[1] / costs[0]) if costs[0] > 0 else ""
        rows.append(
            [
                f"CPU time {found.left.shown_for}",
                *(time_text(cost * _period(found)) for cost in costs),
                ratio,
            ]
        )
        gaps = ["unknown" if gap is None else share_text(gap, 1.0) for gap in (here.gap, there.gap)]
        rows.append(["may still be saved", *gaps, ""])
        rows.append(["time to plan", time_text(here.seconds * 1e9), time_text(there.seconds * 1e9), ""])
    rows.append(["operators", *(f"{len(plan.rows):,}" for plan in found.sides), ""])
    by_kind = [kinds(plan) for plan in found.sides]
    rows += (
        [f"  {kind}", *(f"{own.get(kind, 0):,}" for own in by_kind), ""]
        for kind in sorted({*by_kind[0], *by_kind[1]})
    )
    rows.append(["  for several queries", *(f"{len(plan.shared):,}" for plan in found.sides), ""])
    if found.left.edges:
        shared = (sum(bool(edge.shared) for edge in plan.edges) for plan in found.sides)
        rows.append(["edges shared", *(f"{number:,}" for number in shared), ""])
        rows.append(["MatPoints", *(some(all_matpoints(plan)) or "none" for plan in found.sides), ""])
    yield from columns(rows)


def _listed(title: str, pieces: Sequence[tuple[str, ComputedBy | None]], period: float) -> list[str]:
    """Pieces of one plan alone, the dearest first."""
    found = [(text, one) for text, one in pieces if one is not None]
    if not found:
        return []
    found.sort(key=lambda pair: -(pair[1].cost or 0.0))
    lines = [f"{title} ({counted(len(found), 'piece')}):"]
    lines += (f"  {text}  {_computation_text(one, period)}" for text, one in found[:SHOWN])
    return [*lines, *_rest(len(found))]


def _computation_text(one: ComputedBy, period: float) -> str:
    parts = [] if one.rows is None else [rows_text(one.rows * period)]
    if one.cost is not None:
        parts.append(time_text(one.cost * period))
    if len(one.operators) > 1:
        parts.append(f"{len(one.operators):,} times")
    figures = f"{', '.join(parts)}  " if parts else ""
    return f"{figures}for {some(one.queries)}"


def _in_both(found: PlanComparison) -> Iterator[str]:
    """How many pieces both compute, and those that one of them shares among more queries."""
    both = found.both()
    yield f"both compute {counted(len(both), 'piece')}"
    for number, name in enumerate(titles(found)):
        further = [one for one in both if _further(one, number)]
        if further:
            yield f"  {len(further):,} of them {name} shares among more queries:"
            yield from (f"    {one.text}  {_sharing(one, number)}" for one in further[:SHOWN])
            yield from (f"  {line}" for line in _rest(len(further)))


def _further(one: Compared, number: int) -> bool:
    """Whether the plan with this number, 0 or 1, has an operator for it that serves more queries."""
    more, fewer = _more_and_fewer(one, number)
    return more.shared > fewer.shared


def _sharing(one: Compared, number: int) -> str:
    more, fewer = _more_and_fewer(one, number)
    times = f" by each of {len(fewer.operators):,} operators" if len(fewer.operators) > 1 else ""
    return f"{more.shared:,} instead of {fewer.shared:,}{times}"


def _more_and_fewer(one: Compared, number: int) -> tuple[ComputedBy, ComputedBy]:
    assert one.left is not None
    assert one.right is not None
    return (one.left, one.right) if number == 0 else (one.right, one.left)


def _edges(found: PlanComparison) -> Iterator[str]:
    if not found.edges:
        return
    left, right = titles(found)
    yield f"shared differently ({counted(len(found.edges), 'edge')}):"
    for one in found.edges[:SHOWN]:
        yield f"  {one.source} -> {one.target}"
        for name, plan, edge in ((left, found.left, one.left), (right, found.right, one.right)):
            points = "".join(f"  MP:{point}" for point in matpoint_names(plan, edge))
            yield f"    {name}: {label(edge)}{points}"
    yield from _rest(len(found.edges))


def _by_query(found: PlanComparison) -> Iterator[str]:
    """What the operators of each query cost; without estimates, how many there are."""
    left, right = titles(found)
    known = all(plan.estimate is not None for plan in found.sides)
    what = (
        "CPU time of all operators a query needs, and its share of them"
        if known
        else "operators a query needs, and those of them that serve no other"
    )
    yield f"{what}:"
    own = "its share" if known else "its own"
    rows = [["", left, own, right, own]]
    period = _period(found)
    ranked = sorted(found.queries.items(), key=lambda item: -_change(item[1]))
    for name, pair in ranked[:SHOWN]:
        rows.append(
            [
                name,
                *(cell for share in pair for cell in (_costs(share, period) if known else _numbers(share))),
            ]
        )
    yield from (f"  {line}" for line in columns(rows))
    yield from _rest(len(ranked))


def _change(pair: tuple[QueryShare, QueryShare]) -> float:
    """How much the share of a query differs between the plans."""
    left, right = pair
    if left.share is None or right.share is None:
        return float(abs(len(left.operators) - len(right.operators)))
    return abs(left.share - right.share)


def _costs(share: QueryShare, period: float) -> tuple[str, str]:
    return time_text((share.cost or 0.0) * period), time_text((share.share or 0.0) * period)


def _numbers(share: QueryShare) -> tuple[str, str]:
    return f"{len(share.operators):,}", f"{share.own:,}"


def _rest(number: int) -> list[str]:
    return [f"  .. and {number - SHOWN:,} more"] if number > SHOWN else []
