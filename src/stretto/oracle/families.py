"""What a family means, by brute force: for every row of its table, the query with that row's values in place."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stretto.oracle.detections import Match, matches
from stretto.oracle.values import Event
from stretto.pattern.derived.families import Family
from stretto.pattern.nodes import Window
from stretto.pattern.predicates import Const, Expr, Param, Value


def family_matches(
    family: Family, events: Sequence[Event], decided_by: int | None = None
) -> dict[str, list[Match]]:
    """The matches of every member; `events` are those that the template reads, `decided_by` is as for `matches`."""
    template = family.template
    found: dict[str, list[Match]] = {}
    for number, member in enumerate(family.members):
        row = {name: family.table.values(name)[number] for name in family.table.kinds}
        query = replace(
            template,
            terms=tuple(_with_row(term, row) for term in template.terms),
            having=tuple(_with_row(term, row) for term in template.having),
            returns=tuple(replace(item, value=_with_row(item.value, row)) for item in template.returns),
            window=template.window if family.windows is None else Window(family.windows[number]),
        )
        found[member] = matches(query, events, decided_by)
    return found


def _with_row(expr: Expr, row: Mapping[str, Value]) -> Expr:
    if isinstance(expr, Param):
        return Const(row[expr.attribute], expr.kind)
    return expr.with_children(tuple(_with_row(child, row) for child in expr.children))
