"""Derived streams: what CREATE STREAM selects, checked, and the attributes its events have."""

from collections.abc import Sequence
from typing import Final

from stretto.errors import Span
from stretto.pattern.binding.kinds import kind_of
from stretto.pattern.binding.scope import Attributes, Known, Origin, Report, Scope, check_size
from stretto.pattern.binding.terms import ExpressionBinder, conjuncts
from stretto.pattern.functions import AGGREGATES, NUMBERS
from stretto.schema import Kind, Schema
from stretto.text import syntax

_OVER: Final = {**AGGREGATES, "STDDEV": NUMBERS}
_TAKEN: Final = frozenset({"ts", "type"})


def bind_stream(
    statement: syntax.CreateStream, sources: Sequence[Origin], schema: Schema | None, report: Report
) -> Attributes | None:
    """The attributes of a derived stream's events with their kinds, or None where they cannot be known."""
    scope = _scope(statement, sources, schema, report)
    terms = ExpressionBinder(scope, report, "a derived stream", sets=False)
    for node in (*conjuncts(statement.on), *conjuncts(statement.where)):
        terms.condition(node)
    for group in statement.group_by:
        terms.expression(group)
    if statement.within is not None:
        check_size(statement.within.size, statement.within.span, "window", report)
        if statement.within.unit == "events":
            report.add(
                "a derived stream has a window in time", statement.within.span, "as in `WITHIN 60 SECONDS`"
            )
    aggregates = [item for item in statement.items if _is_aggregate(item.value)]
    _check_shape(statement, aggregates, report)
    return _attributes(statement, sources, terms)


def _check_shape(statement: syntax.CreateStream, aggregates: Sequence[syntax.Item], report: Report) -> None:
    """A join or an aggregate needs a window; only aggregates have groups; a join has no aggregates."""
    at = statement.name_span or statement.span
    join = len(statement.sources) > 1
    if statement.within is None and (join or aggregates):
        what = "a join" if join else "an aggregate"
        report.add(f"{what} needs a window", at, "as in `WITHIN 60 SECONDS`")
    if join and aggregates:
        note = "aggregate in a second stream that reads this one"
        report.add("an aggregate over a join", aggregates[0].span or at, note)
    if statement.group_by and not aggregates:
        report.add("GROUP BY without an aggregate", statement.group_by[0].span or at)


def _scope(
    statement: syntax.CreateStream, sources: Sequence[Origin], schema: Schema | None, report: Report
) -> Scope:
    variables: dict[str, Known] = {}
    known: list[Known] = []
    for number, (source, origin) in enumerate(zip(statement.sources, sources, strict=True)):
        name = source.alias or source.stream
        if name in variables:
            report.add(f"duplicate source `{name}`", source.span, "give the two sources different aliases")
        it = Known(number, name, origin.attributes)
        known.append(it)
        variables[name] = it
    return Scope(variables, schema, bare=known[0] if len(known) == 1 else None)


def _is_aggregate(node: syntax.Expression) -> bool:
    return isinstance(node, syntax.Call) and node.function in _OVER and len(node.arguments) == 1


def _attributes(
    statement: syntax.CreateStream, sources: Sequence[Origin], binder: ExpressionBinder
) -> Attributes | None:
    found: dict[str, Kind] = {}
    complete = True
    for item in statement.items:
        if isinstance(item.value, syntax.Star):
            if len(sources) > 1:
                binder.report.add("`*` of a join", item.value.span, "list the attributes of both sources")
            for origin in sources:
                complete = complete and origin.attributes is not None
                found.update(origin.attributes or {})
            continue
        kind = _item_kind(item.value, binder)
        name = item.name or (item.value.name if isinstance(item.value, syntax.Name) else None)
        at = item.span or item.value.span or statement.name_span
        if name is None:
            binder.report.add("an output that is no attribute needs a name", at, "as in `AVG(load) AS load`")
        else:
            _check_output(name, found, at, binder.report)
            complete = complete and kind is not None
            found[name] = kind or Kind.INT
    return found if complete else None


def _check_output(name: str, found: Attributes, at: Span | None, report: Report) -> None:
    if name in found:
        report.add(f"duplicate output `{name}`", at, "name it otherwise with AS")
    elif name in _TAKEN:
        report.add(f"output `{name}` has the name of a special column", at, "name it otherwise with AS")


def _item_kind(node: syntax.Expression, binder: ExpressionBinder) -> Kind | None:
    if not (isinstance(node, syntax.Call) and _is_aggregate(node)):
        bound = binder.expression(node)
        return None if bound is None else kind_of(bound)
    (argument,) = node.arguments
    if node.function == "COUNT":
        if not isinstance(argument, syntax.Star):
            binder.expression(argument)
        return Kind.INT
    value = binder.expression(argument)
    if value is None or binder.argument(node, 0, value, _OVER[node.function]) is None:
        return None
    return Kind.FLOAT if node.function in ("AVG", "STDDEV") else kind_of(value)
