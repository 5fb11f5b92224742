"""Terms over renumbered columns, built directly: `move_columns` for where thousands of queries pass."""

from collections.abc import Mapping

from stretto.pattern.predicates import Apply, Expr, Reduce, Ref


def moved(expr: Expr, to: Mapping[int, int]) -> Expr:
    """The same expression with every column c read as to[c]."""
    kind = type(expr)
    if kind is Ref:
        assert isinstance(expr, Ref)
        return Ref(to[expr.column], expr.attribute, expr.kind, expr.which)
    if kind is Apply:
        assert isinstance(expr, Apply)
        return Apply(expr.op, tuple([moved(argument, to) for argument in expr.arguments]), expr.kind)
    if isinstance(expr, Reduce):
        return Reduce(expr.function, to[expr.column], expr.attribute, expr.kind)
    return expr
