"""Trend aggregation queries: told apart from detection, and checked for the forms that need no whole trends."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from stretto.pattern import nodes
from stretto.pattern.bind_pattern import BoundPattern
from stretto.pattern.bind_terms import ExpressionBinder, Use
from stretto.pattern.functions import AGGREGATES
from stretto.pattern.predicates import Expr, Which
from stretto.pattern.scope import Report, Scope
from stretto.text import syntax
from stretto.text.printer import expression_text

Term = tuple[Expr | None, list[Use], syntax.Expression]


def is_trend(query: syntax.Query) -> bool:
    """Whether RETURN has pattern aggregates and nothing else."""
    return bool(query.returning) and all(
        isinstance(item.value, syntax.Call)
        and item.value.function in AGGREGATES
        and len(item.value.arguments) == 1
        and item.value.attribute is None
        for item in query.returning
    )


def check_trend(
    query: syntax.Query, pattern: BoundPattern, scope: Scope, terms: Sequence[Term], report: Report
) -> None:
    """Everything a trend aggregation query asks for beyond what every query does."""
    _check_pattern(pattern.root, query.pattern, report)
    if query.select not in (None, "ANY"):
        report.add(
            f"trend aggregation with SELECT {query.select}", query.name_span, "it counts under SELECT ANY"
        )
    if query.within.unit == "events":
        note = "as in `WITHIN 30 MINUTES SLIDE 5 MINUTES`"
        report.add("trend aggregation has a window in time", query.within.span, note)
    if query.slide is not None and query.slide.us <= 0:
        report.add("SLIDE must be positive", query.slide.span)
    for name in query.group_by:
        _check_group(name, scope, report)
    _check_returning(query, scope, report)
    neighbours = set(_neighbours(pattern.root))
    for _, uses, node in terms:
        _check_term(uses, node, neighbours, report)


def _check_group(name: syntax.Name, scope: Scope, report: Report) -> None:
    if name.variable is not None:
        report.add("GROUP BY takes attributes without a variable", name.span, f"write `{name.name}`")
        return
    for known in scope.variables.values():
        if known.attributes is not None and scope.kind(known, name.name) is None:
            report.add(f"unknown attribute `{name.name}`", name.span, scope.why_unknown(known, name.name))
            return


def _check_returning(query: syntax.Query, scope: Scope, report: Report) -> None:
    binder = ExpressionBinder(scope, report, "RETURN", sets=True)
    names: set[str] = set()
    for item in query.returning:
        assert isinstance(item.value, syntax.Call)
        if not (item.value.function == "COUNT" and isinstance(item.value.arguments[0], syntax.Star)):
            binder.expression(item.value)
        name = item.name if item.name is not None else expression_text(item.value)
        if name in names:
            report.add(
                f"duplicate RETURN column `{name}`", item.span or item.value.span, "name it otherwise with AS"
            )
        names.add(name)


def _check_pattern(node: nodes.Pattern, written: syntax.Pattern, report: Report) -> None:
    """Types, SEQ and `+`, nested; the first other part is reported at the pattern."""
    wrong = next(_other_parts(node), None)
    if wrong is not None:
        report.add(f"trend aggregation over {wrong}", written.span, "it takes types, SEQ and `+`, nested")


def _other_parts(node: nodes.Pattern) -> Iterator[str]:
    match node:
        case nodes.Combine(word, parts):
            if word != "SEQ":
                yield word
            for part in parts:
                yield from _other_parts(part)
        case nodes.Repeat(part, low, high):
            if (low, high) != (1, None):
                yield f"a repetition {{{low},{'' if high is None else high}}}"
            yield from _other_parts(part)
        case nodes.Not():
            yield "NOT"


def _neighbours(node: nodes.Pattern) -> Iterator[tuple[int, int]]:
    """Pairs of variables that follow each other directly inside a SEQ."""
    match node:
        case nodes.Combine(_, parts):
            for part in parts:
                yield from _neighbours(part)
            for left, right in pairwise(parts):
                yield from ((a, b) for a in _ends(left, last=True) for b in _ends(right, last=False))
        case nodes.Repeat(part, _, _):
            yield from _neighbours(part)


def _ends(node: nodes.Pattern, *, last: bool) -> Iterator[int]:
    """The variables a part can begin (or end) with."""
    match node:
        case nodes.Atom(variable, _):
            yield variable
        case nodes.Repeat(part, _, _):
            yield from _ends(part, last=last)
        case nodes.Combine(_, parts):
            yield from _ends(parts[-1 if last else 0], last=last)


def _check_term(
    uses: Sequence[Use], node: syntax.Expression, neighbours: set[tuple[int, int]], report: Report
) -> None:
    """A term relates one event with nothing, with its neighbour in a set, or across a border in the pattern."""
    known = list({use.variable.number: use.variable for use in uses}.values())
    how = {use.how for use in uses}
    if len(known) <= 1:
        if len(how) <= 1 and not how & AGGREGATES.keys():
            return
        if how == {Which.CURRENT, Which.PREVIOUS}:
            return
        note = "relate neighbours with `v[i]` and `v[i-1]`"
    elif len(known) == 2:
        a, b = known if (known[0].number, known[1].number) in neighbours else known[::-1]
        if (a.number, b.number) in neighbours and a.groups == b.groups:
            border = {a.number: Which.LAST, b.number: Which.FIRST}
            if all(_is_border(use, border[use.variable.number]) for use in uses):
                return
            note = f"relate neighbours: `LAST({a.name})` with `FIRST({b.name})`"
        else:
            note = f"`{known[0].name}` and `{known[1].name}` are no neighbours in the pattern"
    else:
        note = "a term may name two variables that are neighbours in the pattern"
    report.add("a term over whole trends", node.span, note)


def _is_border(use: Use, end: Which) -> bool:
    """Whether a use means the one event at the border: of a single variable every use but [i] does."""
    if use.variable.kleene:
        return use.how is end
    return use.how in (Which.EACH, Which.FIRST, Which.LAST)
