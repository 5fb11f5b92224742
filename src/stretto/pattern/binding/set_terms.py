"""Terms over the set that a repeated variable binds: its first and last event, and aggregates of it."""

from typing import TYPE_CHECKING

from stretto.pattern.binding.kinds import to_float
from stretto.pattern.binding.scope import Known
from stretto.pattern.binding.written import NamedVariable
from stretto.pattern.functions import AGGREGATES, BUILTINS
from stretto.pattern.predicates import Expr, Reduce, Ref, Which
from stretto.schema import Kind
from stretto.text import syntax

if TYPE_CHECKING:
    from stretto.pattern.binding.terms import ExpressionBinder


def _set_variable(binder: "ExpressionBinder", node: syntax.Call, example: str) -> Known | None:
    """The variable that is the only argument of FIRST, LAST or COUNT."""
    (argument,) = node.arguments
    if not isinstance(argument, syntax.Name) or argument.variable is not None:
        binder.report.add(f"`{node.function}` takes a variable", argument.span, f"as in `{example}`")
        return None
    return binder.find(argument.name, argument.span)


def bind_end(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    """FIRST(v).x or LAST(v).x."""
    if not binder.may_read_sets(node.function, node.span) or not binder.arity(node, 1, 1):
        return None
    variable = _set_variable(binder, node, f"{node.function}(v).{node.attribute or 'ts'}")
    if variable is None:
        return None
    which = Which.FIRST if node.function == "FIRST" else Which.LAST
    binder.uses.append(NamedVariable(variable, which, node.span))
    if node.attribute is None:
        example = f"{node.function}({variable.name}).ts"
        binder.report.add(f"`{node.function}` gives an event, not a value", node.span, f"as in `{example}`")
        return None
    return binder.attribute(variable, node.attribute, which, node.span)


def bind_aggregate(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    """COUNT(v), or SUM, AVG, MIN, MAX of an attribute of one variable, over the set it binds."""
    name = node.function
    if not binder.may_read_sets(name, node.span) or not binder.arity(node, 1, 1):
        return None
    (argument,) = node.arguments
    if name == "COUNT":
        if isinstance(argument, syntax.Star):
            note = "it belongs to AGGREGATE, and totals are filtered in the result; COUNT(v) counts the events of a"
            note += " repeated variable in one match"
            binder.report.add("`COUNT(*)` cannot stand here", node.span, note)
            return None
        variable = _set_variable(binder, node, "COUNT(v)")
        if variable is None:
            return None
        binder.uses.append(NamedVariable(variable, name, node.span))
        return Reduce(name, variable.number, "", Kind.INT)
    if not isinstance(argument, syntax.Name) or argument.variable is None or argument.index:
        note = f"as in `{name}(v.price)`"
        if name in BUILTINS:
            note += "; the smallest or greatest of several values is LEAST or GREATEST"
        binder.report.add(f"`{name}` takes an attribute of one variable", argument.span, note)
        return None
    variable = binder.find(argument.variable, argument.span)
    if variable is None:
        return None
    binder.uses.append(NamedVariable(variable, name, node.span))
    value = binder.attribute(variable, argument.name, Which.EACH, argument.span)
    if value is None or binder.argument(node, 0, value, AGGREGATES[name]) is None:
        return None
    assert isinstance(value, Ref)
    if name != "AVG":
        return Reduce(name, variable.number, value.attribute, value.kind)
    several = variable.listed if binder.place == "RETURN" else variable.kleene
    return Reduce(name, variable.number, value.attribute, Kind.FLOAT) if several else to_float(value)
