"""Trend aggregation queries: told apart from detection, bound, and held to terms that need no whole trends."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, cast
from typing import Literal as OneOf

from stretto.pattern import nodes
from stretto.pattern.binding.patterns import BoundPattern
from stretto.pattern.binding.scope import Known, Report, Scope, check_size
from stretto.pattern.binding.terms import ExpressionBinder
from stretto.pattern.binding.written import NamedVariable, bounds_of
from stretto.pattern.functions import AGGREGATES
from stretto.pattern.predicates import NEIGHBOURS, Const, Expr, Reduce, Ref, Which, rewrite
from stretto.schema import LISTS, Kind
from stretto.text import syntax
from stretto.text.printer import expression_text, name_text

Term = tuple[Expr | None, list[NamedVariable], syntax.Expression]


MOST_WINDOWS: Final = 10_000_000
"""The most windows of a query that are open at a time. Their totals take about 3 GB."""


def is_trend(query: syntax.Query, report: Report) -> bool:
    """Whether a query aggregates trends: by AGGREGATE, or by RETURN where nothing else can be meant.

    Aggregates alone behind RETURN may mean the set of a match or all trends: then both ways to say it are named.
    """
    wrong = next((item for item in query.returning if not _is_aggregate(item.value)), None)
    if query.aggregating:
        if wrong is not None:
            note = "as in `AGGREGATE COUNT(*), SUM(b.x)`; columns of a match stand behind RETURN"
            report.add(
                "AGGREGATE takes aggregates of the pattern alone", wrong.value.span or wrong.span, note
            )
        return True
    if wrong is not None or not query.returning:
        return False
    if query.group_by or query.slide is not None or any(_counts_all(item.value) for item in query.returning):
        return True
    items = ", ".join(expression_text(item.value) for item in query.returning)
    note = f"write `AGGREGATE {items}` for totals over all trends, "
    note += f"or a column of the match beside them, as in `RETURN {items}, FIRST({name_text(_variable(query))}).ts`"
    report.add("RETURN of nothing but aggregates", query.returning[0].span, note)
    return True


def _variable(query: syntax.Query) -> str:
    """A variable that the query's aggregates name."""
    names = (argument for item in query.returning for argument in getattr(item.value, "arguments", ()))
    return next((name.variable or name.name for name in names if isinstance(name, syntax.Name)), "a")


def _is_aggregate(value: syntax.Expression) -> bool:
    return (
        isinstance(value, syntax.Call)
        and value.function in AGGREGATES
        and len(value.arguments) == 1
        and value.attribute is None
    )


def _counts_all(value: syntax.Expression) -> bool:
    return isinstance(value, syntax.Call) and isinstance(value.arguments[0], syntax.Star)


def bind_trend(
    query: syntax.Query,
    pattern: BoundPattern,
    scope: Scope,
    terms: Sequence[Term],
    same: Sequence[str],
    report: Report,
) -> nodes.TrendQuery:
    """The bound query; with mistakes, or without a schema, it lacks what could not be bound."""
    check_trend(query, pattern, scope, terms, report)
    bound = (_on_one_event(term, pattern.variables) for term, _, _ in terms if term is not None)
    return nodes.TrendQuery(
        query.name,
        pattern.root,
        tuple(
            nodes.Variable(known.name, known.negated, known.kleene, known.groups)
            for known in pattern.variables
        ),
        tuple(dict.fromkeys(bound)),
        tuple(same),
        tuple(dict.fromkeys(name.name for name in query.group_by)),
        query.within.size,
        query.within.size if query.slide is None else query.slide.us,
        _aggregates(query, scope, report),
        query.name_span or query.span,
    )


def _check_open_windows(query: syntax.Query, slide: syntax.Duration, report: Report) -> None:
    """An event has a total in every window that it lies in: their number bounds memory, time and rows."""
    if query.within.unit != "us" or slide.us <= 0 or not isinstance(query.within.size, int):
        return
    windows = -(-query.within.size // slide.us)
    if windows > MOST_WINDOWS:
        least = expression_text(syntax.Duration(-(-query.within.size // MOST_WINDOWS)))
        note = f"at most {MOST_WINDOWS:,} can be open at a time: choose a SLIDE of at least {least}"
        report.add(f"every event lies in {windows:,} windows", slide.span, note)


def check_trend(
    query: syntax.Query, pattern: BoundPattern, scope: Scope, terms: Sequence[Term], report: Report
) -> None:
    """What a trend aggregation query asks of its clauses beyond what every query does."""
    _check_pattern(pattern.root, query.pattern, report)
    if query.select not in (None, "ANY"):
        report.add(
            f"trend aggregation with SELECT {query.select}", query.name_span, "it counts under SELECT ANY"
        )
    if query.within.unit == "events":
        note = "as in `WITHIN 30 MINUTES SLIDE 5 MINUTES`"
        report.add("trend aggregation has a window in time", query.within.span, note)
    if query.slide is not None:
        check_size(query.slide.us, query.slide.span, "SLIDE", report)
        _check_open_windows(query, query.slide, report)
    for name in query.group_by:
        _check_group(name, scope, report)
    neighbours = set(_neighbours(pattern.root))
    for _, uses, node in terms:
        for part in _parts(node, uses, scope):
            _check_term(part, node, neighbours, report)


def _check_group(name: syntax.Name, scope: Scope, report: Report) -> None:
    if name.variable is not None:
        report.add("GROUP BY takes attributes without a variable", name.span, f"write `{name.name}`")
        return
    for known in scope.variables.values():
        found = scope.kind(known, name.name)
        if found is not None and found[1] in LISTS:
            report.add(
                f"`{name.name}` is a list", name.span, "groups go by texts, numbers, times and truth values"
            )
            return
        if found is not None and found[0] == "ts":
            note = "the events of a trend have different times; windows are WITHIN and SLIDE"
            report.add(f"GROUP BY {name.name} leaves no trends", name.span, note)
            return
        if known.attributes is not None and found is None:
            report.add(f"unknown attribute `{name.name}`", name.span, scope.why_unknown(known, name.name))
            return


def _aggregates(query: syntax.Query, scope: Scope, report: Report) -> tuple[nodes.Aggregate, ...]:
    binder = ExpressionBinder(scope, report, "RETURN", sets=True)
    names: set[str] = set()
    found: list[nodes.Aggregate] = []
    for item in query.returning:
        if not isinstance(item.value, syntax.Call) or not _is_aggregate(item.value):
            continue  # is_trend has told
        name = item.name if item.name is not None else expression_text(item.value)
        aggregate = _aggregate(name, item.value, binder)
        if name in names:
            report.add(
                f"duplicate RETURN column `{name}`", item.span or item.value.span, "name it otherwise with AS"
            )
        names.add(name)
        if aggregate is not None:
            found.append(aggregate)
    return tuple(found)


def _aggregate(name: str, call: syntax.Call, binder: ExpressionBinder) -> nodes.Aggregate | None:
    """One aggregate, or None where it has a mistake or an attribute of no known kind."""
    (argument,) = call.arguments
    if call.function == "COUNT" and isinstance(argument, syntax.Star):
        return nodes.Aggregate(name, "COUNT", None, "", Kind.INT)
    if binder.expression(call) is None:
        return None
    assert isinstance(argument, syntax.Name)
    if call.function == "COUNT":
        return nodes.Aggregate(name, "COUNT", binder.scope.variables[argument.name].number, "", Kind.INT)
    assert argument.variable is not None
    known = binder.scope.variables[argument.variable]
    kind = binder.scope.kind(known, argument.name)
    assert kind is not None
    function = cast(OneOf["SUM", "MIN", "MAX", "AVG"], call.function)
    return nodes.Aggregate(name, function, known.number, *kind)


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


# ---- terms -----------------------------------------------------------------------------------------------


def _on_one_event(term: Expr, variables: Sequence[Known]) -> Expr:
    """The term with the set of a variable that is not repeated itself read as its one event.

    A repetition of the groups around such a variable binds one event to it, the first and last of its set.
    """

    def plain(node: Expr) -> Expr | None:
        if not isinstance(node, Ref | Reduce) or variables[node.column].kleene:
            return None
        if isinstance(node, Ref):
            return replace(node, which=Which.EACH)
        if node.function == "COUNT":
            return Const(1, Kind.INT)
        return Ref(node.column, node.attribute, node.kind)

    return rewrite(term, plain)


def _parts(
    node: syntax.Expression, uses: Sequence[NamedVariable], scope: Scope
) -> Sequence[Sequence[NamedVariable]]:
    """What each term names that a term is taken apart into: in a trend nothing is unbound or negated."""
    if not isinstance(node, syntax.Between) or node.negated:
        return [uses]
    parts = [_uses(bound, scope) for bound in bounds_of(node)]
    neighbours = [{(use.variable.name, use.how) for use in part if use.how in NEIGHBOURS} for part in parts]
    return parts if neighbours[0] == neighbours[1] else [uses]


def _uses(node: syntax.Expression, scope: Scope) -> list[NamedVariable]:
    binder = ExpressionBinder(scope, Report(), "WHERE", sets=True)  # mistakes were reported with the whole
    binder.expression(node)
    return binder.uses


def _check_term(
    uses: Sequence[NamedVariable], node: syntax.Expression, neighbours: set[tuple[int, int]], report: Report
) -> None:
    """A term relates one event with nothing, with its neighbour in a set, or across a border in the pattern."""
    known = list({use.variable.number: use.variable for use in uses}.values())
    if len(known) <= 1:
        if not known or _is_local(known[0], {use.how for use in uses}):
            return
        note = "relate neighbours with `v[i]` and `v[i-1]`"
    elif len(known) == 2:
        a, b = known if (known[0].number, known[1].number) in neighbours else known[::-1]
        if (a.number, b.number) not in neighbours:
            note = f"`{known[0].name}` and `{known[1].name}` are no neighbours in the pattern"
        elif a.groups != b.groups:
            note = f"`{a.name}` and `{b.name}` are not repeated together: it relates every repetition"
        else:
            border = {a.number: Which.LAST, b.number: Which.FIRST}
            if all(_is_border(use, border[use.variable.number]) for use in uses):
                return
            note = f"relate neighbours: `LAST({a.name})` with `FIRST({b.name})`"
    else:
        note = "a term may name two variables that are neighbours in the pattern"
    report.add("a term over whole trends", node.span, note)


def _is_local(variable: Known, how: set[Which | str]) -> bool:
    """Whether a term over one variable reads it in a single way: each event, one end, or two neighbours."""
    if not variable.kleene:
        return True
    return how == {Which.CURRENT, Which.PREVIOUS} or (len(how) == 1 and not how & AGGREGATES.keys())


def _is_border(use: NamedVariable, end: Which) -> bool:
    """Whether a use means the one event at the border: of a variable that is not repeated itself, all do."""
    return not use.variable.kleene or use.how is end
