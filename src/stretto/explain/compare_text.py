"""The comparison of two plans as text: a table of figures, and lists of pieces and queries, the dearest first."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from stretto.errors import StrettoError
from stretto.explain.numbers import columns, factor_text, rate_text, share_text, time_text
from stretto.plan.dag import Plan
from stretto.plan.diff import Compared, Diff, Share, Use, diff_json, kinds
from stretto.plan.diff_trends import trend_diff_text
from stretto.plan.explain import FORMATS, counted, shared, some
from stretto.screen import as_lines

SHOWN: Final = 20
"""Lines of one list; the JSON has all."""


def diff_as(found: Diff, format: str) -> str:  # noqa: A002 - as in `explain`
    """A comparison in one of the FORMATS of EXPLAIN."""
    if format == "text":
        return diff_text(found)
    if format == "json":
        return json.dumps(diff_json(found), indent=2)
    raise StrettoError(f"unknown format `{format}` of EXPLAIN; there are: {', '.join(FORMATS)}")


def diff_text(found: Diff) -> str:
    """The comparison as a table of figures and lists of pieces and queries, the dearest first."""
    left, right = titles(found)
    trends = [] if found.trends is None else trend_diff_text(found.trends, left, right)
    if trends and not found.queries:
        return _joined(trends)
    blocks = [
        [f"{left} and {right}: two plans for {counted(len(found.queries), 'query')}"],
        list(_figures(found)),
        _listed(f"only {left} computes", found.only_left(), lambda one: one.left),
        _listed(f"only {right} computes", found.only_right(), lambda one: one.right),
        list(_in_both(found)),
        list(_by_query(found)),
    ]
    return _joined([*blocks, *trends])


def _joined(blocks: Sequence[Sequence[str]]) -> str:
    return "\n\n".join(as_lines(block) for block in blocks if block) + "\n"


def titles(found: Diff) -> tuple[str, str]:
    """The names of the two plans, which differ."""
    left, right = found.left.optimizer, found.right.optimizer
    return (f"{left} (1)", f"{right} (2)") if left == right else (left, right)


def _figures(found: Diff) -> Iterator[str]:
    """Both plans' figures in columns."""
    rows = [["", *titles(found), ""]]
    here, there = found.left.estimate, found.right.estimate
    if here is not None and there is not None:
        ratio = factor_text(there.cost / here.cost) if here.cost > 0 else ""
        rows.append(["cost per second", time_text(here.cost), time_text(there.cost), ratio])
        gaps = ["unknown" if gap is None else share_text(gap, 1.0) for gap in (here.gap, there.gap)]
        rows.append(["may still be saved", *gaps, ""])
        rows.append(["time to plan", time_text(here.seconds * 1e9), time_text(there.seconds * 1e9), ""])
    rows.append(["operators", *(f"{len(plan.ops):,}" for plan in (found.left, found.right)), ""])
    by_kind = [kinds(found.left), kinds(found.right)]
    rows += (
        [f"  {kind}", *(f"{own.get(kind, 0):,}" for own in by_kind), ""]
        for kind in sorted({*by_kind[0], *by_kind[1]})
    )
    rows.append(
        ["  for several queries", *(f"{len(shared(plan)):,}" for plan in (found.left, found.right)), ""]
    )
    yield from columns(rows)


def _listed(title: str, pieces: Sequence[Compared], side: Callable[[Compared], Use | None]) -> list[str]:
    """Pieces of one plan alone, the dearest first."""
    if not pieces:
        return []
    uses = [(one.text, use) for one in pieces if (use := side(one)) is not None]
    uses.sort(key=lambda pair: -(pair[1].cost or 0.0))
    lines = [f"{title} ({counted(len(pieces), 'piece')}):"]
    lines += (f"  {text}  {_use_text(use)}" for text, use in uses[:SHOWN])
    return [*lines, *_rest(len(pieces))]


def _use_text(use: Use) -> str:
    parts = [] if use.rows is None else [rate_text(use.rows)]
    if use.cost is not None:
        parts.append(time_text(use.cost))
    if len(use.operators) > 1:
        parts.append(f"{len(use.operators):,} times")
    figures = f"{', '.join(parts)}  " if parts else ""
    return f"{figures}for {some(use.queries)}"


def _in_both(found: Diff) -> Iterator[str]:
    """How many pieces both compute, and those that one of them shares further."""
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
    assert one.left is not None
    assert one.right is not None
    more, fewer = (one.left, one.right) if number == 0 else (one.right, one.left)
    return more.shared > fewer.shared


def _sharing(one: Compared, number: int) -> str:
    assert one.left is not None
    assert one.right is not None
    more, fewer = (one.left, one.right) if number == 0 else (one.right, one.left)
    times = f" by each of {len(fewer.operators):,} operators" if len(fewer.operators) > 1 else ""
    return f"{more.shared:,} instead of {fewer.shared:,}{times}"


def _by_query(found: Diff) -> Iterator[str]:
    """Per query what its operators cost; without estimates how many they are."""
    left, right = titles(found)
    known = found.left.estimate is not None and found.right.estimate is not None
    what = (
        "cost of all operators a query needs, and its share of them"
        if known
        else "operators a query needs, and those of them that serve no other"
    )
    yield f"{what}:"
    rows = [["", left, "its share", right, "its share"]]
    if not known:
        rows = [["", left, "its own", right, "its own"]]
    ranked = sorted(found.queries.items(), key=lambda item: -_change(item[1]))
    for name, pair in ranked[:SHOWN]:
        cells = (
            cell
            for share, plan in zip(pair, (found.left, found.right), strict=True)
            for cell in (_costs(share) if known else _numbers(share, plan))
        )
        rows.append([name, *cells])
    yield from (f"  {line}" for line in columns(rows))
    yield from _rest(len(ranked))


def _change(pair: tuple[Share, Share]) -> float:
    """How much the share of a query differs between the plans."""
    left, right = pair
    if left.share is None or right.share is None:
        return float(abs(len(left.operators) - len(right.operators)))
    return abs(left.share - right.share)


def _costs(share: Share) -> tuple[str, str]:
    return time_text(share.cost or 0.0), time_text(share.share or 0.0)


def _numbers(share: Share, plan: Plan) -> tuple[str, str]:
    own = sum(len(plan.serves(number)) == 1 for number in share.operators)
    return f"{len(share.operators):,}", f"{own:,}"


def _rest(number: int) -> list[str]:
    return [f"  .. and {number - SHOWN:,} more"] if number > SHOWN else []
