"""Expressions as written to typed terms: names resolved, kinds checked, `to_float` inserted."""

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

from stretto.errors import Span, near
from stretto.pattern.binding.kinds import (
    a,
    arithmetic_kind,
    arithmetic_note,
    comparison_note,
    kind_of,
    to_float,
)
from stretto.pattern.binding.scope import MAX_INT, MIN_INT, FamilyRow, Known, Report, Scope, listing
from stretto.pattern.binding.set_terms import bind_aggregate, bind_end
from stretto.pattern.binding.text_terms import (
    Quantified,
    bind_case,
    bind_function,
    bind_text_test,
    is_condition,
    quantify,
)
from stretto.pattern.binding.written import NamedVariable, bounds_of, is_quoted
from stretto.pattern.comparisons import COMPARISONS
from stretto.pattern.functions import (
    AGGREGATES,
    BUILTINS,
    NUMBERS,
    OTHERS,
    SIGNATURES,
    Builtin,
    function_names,
    user_function,
)
from stretto.pattern.predicates import Apply, Const, Expr, Param, Ref, Which
from stretto.schema import LISTS, Kind
from stretto.text import syntax
from stretto.text.printer import expression_text

MAX_DEPTH: Final = 200
"""Levels of an expression; a function counts as two of them."""
_INDEX: Final = {"": Which.EACH, "i": Which.CURRENT, "i-1": Which.PREVIOUS}


class ExpressionBinder:
    """Binds the expressions of one clause; `uses` gathers the variables named since it was last cleared.

    `expression` gives None where the kind cannot be known: a mistake was reported, or there is no schema.
    `place` names the clause in messages; with `sets` false aggregates, FIRST, LAST and `d[i]` are refused.
    """

    def __init__(self, scope: Scope, report: Report, place: str, *, sets: bool) -> None:
        self.scope = scope
        self.report = report
        self.place = place
        self.sets = sets
        self.uses: list[NamedVariable] = []
        self.quantified: Quantified | None = None
        self._depth = 0

    def expression(self, node: syntax.Expression) -> Expr | None:
        if self._depth >= MAX_DEPTH:
            self.report.add(
                f"expression nested more than {MAX_DEPTH} deep", node.span, "split it into several terms"
            )
            return None
        levels = 2 if isinstance(node, syntax.Call) else 1
        self._depth += levels
        around = self.quantified
        if isinstance(node, _TESTS) and is_condition(node):
            self.quantified = Quantified()
        try:
            bound = _BINDERS[type(node)](self, node)
            if self.quantified is not around:
                bound = quantify(bound, self.quantified)
            return bound
        finally:
            self._depth -= levels
            self.quantified = around

    def condition(self, node: syntax.Expression) -> Expr | None:
        """An expression that must be true or false."""
        bound = self.expression(node)
        if bound is not None and kind_of(bound) is not Kind.BOOL:
            self.report.add(
                f"expected a condition, found {a(kind_of(bound))}",
                node.span,
                "write a comparison, as in `x > 0`",
            )
            return None
        return bound

    # ---- leaves ------------------------------------------------------------------------------------------

    def literal(self, node: syntax.Literal) -> Expr | None:
        value = node.value
        if value is None:
            self.report.add(
                "NULL is no value to compute with", node.span, "only `x IS NULL` and `x IS NOT NULL`"
            )
            return None
        if isinstance(value, bool):
            return Const(value, Kind.BOOL)
        if isinstance(value, str):
            return Const(value, Kind.STRING)
        if isinstance(value, int):
            return self.integer(value, Kind.INT, node.span)
        if not math.isfinite(value):
            self.report.add("number out of the range of doubles", node.span)
            return None
        return Const(value, Kind.FLOAT)

    def integer(self, value: int, kind: Kind, span: Span | None) -> Expr | None:
        if MIN_INT <= value <= MAX_INT:
            return Const(value, kind)
        self.report.add(f"{kind} out of the range of 64 bits", span)
        return None

    def duration(self, node: syntax.Duration) -> Expr | None:
        return self.integer(node.us, Kind.DURATION, node.span)

    def timestamp(self, node: syntax.Timestamp) -> Expr | None:
        return self.integer(node.us, Kind.TIME, node.span)

    def name(self, node: syntax.Name) -> Expr | None:
        if self.scope.row is not None and node.variable == self.scope.row.name and not node.index:
            return self.parameter(node, self.scope.row)
        node = self.field_of_bare(node)
        variable = self.variable(node)
        if variable is None:
            return None
        which = _INDEX[node.index]
        if which is not Which.EACH and not self.may_read_sets(f"{node.variable}[{node.index}]", node.span):
            return None
        self.uses.append(NamedVariable(variable, which, node.span))
        return self.attribute(variable, node.name, which, node.span)

    def parameter(self, node: syntax.Name, row: FamilyRow) -> Expr | None:
        """A column of the row that the query is for."""
        kind = row.kind(node.name)
        if kind is not None:
            return Param(node.name, kind)
        if row.table is not None:
            message = f"table `{row.table.name}` has no column `{node.name}`"
            self.report.add(message, node.span, row.why_unknown(node.name))
        return None

    def field_of_bare(self, node: syntax.Name) -> syntax.Name:
        """`process.name` where attributes stand alone: a field, and no attribute of a variable `process`."""
        if (
            self.scope.bare is None
            or node.variable is None
            or node.index
            or node.variable in self.scope.variables
        ):
            return node
        path = f"{node.variable}.{node.name}"
        return syntax.Name(path, span=node.span) if self.knows(self.scope.bare, path) else node

    def knows(self, variable: Known, attribute: str) -> bool:
        return variable.attributes is None or self.scope.kind(variable, attribute) is not None

    def variable(self, node: syntax.Name) -> Known | None:
        """The variable whose attribute a name is."""
        known = self.scope.variables
        if node.variable is not None:
            return self.find(node.variable, node.span)
        bare = self.scope.bare
        if is_quoted(node) and (bare is None or not self.knows(bare, node.name)):
            note = f"strings stand in single quotes: '{node.name}'; double quotes are for names"
            self.report.add(f"`{node.name}` is no attribute", node.span, note)
            return None
        if bare is not None:
            return bare
        if node.name in known:
            note = f"name one of its attributes, as in `{node.name}.ts`"
            self.report.add(f"variable `{node.name}` is not a value", node.span, note)
        elif node.name in self.scope.returned:
            meant = expression_text(self.scope.returned[node.name])
            note = f"`{node.name}` is a column of RETURN: write what it stands for, `{meant}`"
            self.report.add(f"attribute `{node.name}` of which variable?", node.span, note)
        else:
            note = f"write `v.{node.name}` with one of the variables {listing(known)}"
            self.report.add(f"attribute `{node.name}` of which variable?", node.span, note)
        return None

    def find(self, name: str, span: Span | None) -> Known | None:
        known = self.scope.variables.get(name)
        if known is None and self.scope.row is not None and name == self.scope.row.name:
            note = f"name one of its columns, as in `{name}.id`"
            self.report.add(f"`{name}` is a row of a table, and no set of events", span, note)
        elif known is None:
            bound = listing(self.scope.variables)
            hint = near(name, self.scope.variables)
            note = f"not bound by the pattern; bound here: {bound}" + (f"; {hint}" if hint else "")
            if self.place not in ("WHERE", "HAVING", "RETURN"):
                note = f"known here: {bound}"
            self.report.add(f"unknown variable `{name}`", span, note)
        return known

    def attribute(self, variable: Known, name: str, which: Which, span: Span | None) -> Expr | None:
        found = self.scope.kind(variable, name)
        if name in variable.clashes:
            message = f"`{name}` of `{variable.name}` has different kinds in different alternatives"
            self.report.add(message, span, "give the alternatives different variables")
            return None
        if found is not None:
            return Ref(variable.number, *found, which)
        if variable.attributes is not None:
            self.report.add(f"unknown attribute `{name}`", span, self.scope.why_unknown(variable, name))
        return None

    def star(self, node: syntax.Star) -> Expr | None:
        self.report.add("`*` stands only in `COUNT(*)`", node.span)
        return None

    def same(self, node: syntax.Same) -> Expr | None:
        note = "it cannot be part of an OR, a NOT or a comparison"
        if self.place == "HAVING":
            note = "move it to WHERE: it says which events a match may hold at all"
        elif self.place != "WHERE":
            note = "it is for the WHERE of queries"
        self.report.add(f"`[{node.attribute}]` must be a term of its own", node.span, note)
        return None

    # ---- operators ---------------------------------------------------------------------------------------

    def unary(self, node: syntax.Unary) -> Expr | None:
        if node.op == "NOT":
            value = self.condition(node.value)
            return None if value is None else Apply("not", (value,), Kind.BOOL)
        if isinstance(node.value, syntax.Literal) and type(node.value.value) in (int, float):
            return self.literal(syntax.Literal(-node.value.value, span=node.span))  # type: ignore[operator] # a number
        value = self.expression(node.value)
        if value is None:
            return None
        kind = kind_of(value)
        if kind not in (Kind.INT, Kind.FLOAT, Kind.DURATION):
            self.report.add(f"`-` of {a(kind)}", node.span, "expected a number or a duration")
            return None
        if isinstance(value, Const) and isinstance(value.value, int | float) and value.value != MIN_INT:
            return Const(-value.value, kind)
        return Apply("neg", (value,), kind)

    def binary(self, node: syntax.Binary) -> Expr | None:
        if node.op in COMPARISONS:
            return self.comparison(node)
        left, right = self.expression(node.left), self.expression(node.right)
        if left is None or right is None:
            return None
        kind = arithmetic_kind(node.op, kind_of(left), kind_of(right))
        if kind is None:
            self.report.add(
                f"type clash: {kind_of(left)} {node.op} {kind_of(right)}",
                node.span,
                arithmetic_note(left, right),
            )
            return None
        if kind is Kind.FLOAT:
            left, right = to_float(left), to_float(right)
        return Apply(node.op, (left, right), kind)

    def comparison(self, node: syntax.Binary) -> Expr | None:
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(side, syntax.Literal) and side.value is None:
                self.report.add(
                    "comparison with NULL is never true", node.span, "write `IS NULL` or `IS NOT NULL`"
                )
                self.expression(other)
                return None
        left, right = self.expression(node.left), self.expression(node.right)
        if left is None or right is None:
            return None
        return self.compare(node.op, left, right, node.span)

    def compare(self, op: str, left: Expr, right: Expr, span: Span | None) -> Expr | None:
        kinds = {kind_of(left), kind_of(right)}
        if len(kinds) > 1:
            if not kinds <= NUMBERS:
                message = f"type clash: {kind_of(left)} {op} {kind_of(right)}"
                self.report.add(message, span, comparison_note(kinds))
                return None
            left, right = to_float(left), to_float(right)
        elif kinds & LISTS:
            note = "write `ANY(x) = ..`, `ALL(x) = ..` or `x CONTAINS ..`"
            self.report.add(f"lists do not compare: `{op}`", span, note)
            return None
        elif kinds == {Kind.BOOL} and op not in ("=", "!="):
            self.report.add(f"booleans have no order: `{op}`", span, "compare them by `=` or `!=`")
            return None
        return Apply(op, (left, right), Kind.BOOL)

    def logic(self, node: syntax.Logic) -> Expr | None:
        parts = [self.condition(part) for part in node.parts]
        bound = tuple(part for part in parts if part is not None)
        return Apply(node.word.lower(), bound, Kind.BOOL) if len(bound) == len(parts) else None

    def between(self, node: syntax.Between) -> Expr | None:
        inside = self.logic(syntax.Logic("AND", bounds_of(node), span=node.span))
        return Apply("not", (inside,), Kind.BOOL) if inside is not None and node.negated else inside

    def is_null(self, node: syntax.IsNull) -> Expr | None:
        value = self.expression(node.value)
        if value is None:
            return None
        found = Apply("is_null", (value,), Kind.BOOL)
        return Apply("not", (found,), Kind.BOOL) if node.negated else found

    def is_in(self, node: syntax.In) -> Expr | None:
        value = self.expression(node.value)
        options = [self.option(option) for option in node.options]
        known = [option for option in options if option is not None]
        if value is None or len(known) < len(options):
            return None
        kinds = {kind_of(value), *(kind_of(option) for option in known)}
        if kind_of(value) in LISTS:
            self.report.add(
                "a list is not IN a list", node.span, "write `ANY(x) IN (..)` or `ALL(x) IN (..)`"
            )
            return None
        if len(kinds) > 1 and not kinds <= NUMBERS:
            for option, written in zip(known, node.options, strict=True):
                if not (clash := {kind_of(value), kind_of(option)}) <= NUMBERS and len(clash) > 1:
                    message = f"type clash: {kind_of(value)} IN a list with {a(kind_of(option))}"
                    self.report.add(message, written.span, comparison_note(clash))
            return None
        parts = [value, *known] if len(kinds) == 1 else [to_float(part) for part in (value, *known)]
        found = Apply("in", tuple(parts), Kind.BOOL)
        return Apply("not", (found,), Kind.BOOL) if node.negated else found

    def option(self, node: syntax.Expression) -> Const | Param | None:
        """An entry of an IN list: a constant, or a column of the row."""
        if isinstance(node, syntax.Literal) and node.value is None:
            self.report.add(
                "NULL in an IN list is never equal to anything", node.span, "write `OR x IS NULL`"
            )
            return None
        before = len(self.report.mistakes)
        bound = self.expression(node)
        if isinstance(bound, Const | Param):
            return bound
        row = self.scope.row
        of_row = row is not None and isinstance(node, syntax.Name) and node.variable == row.name
        if not of_row and len(self.report.mistakes) == before:
            self.report.add(
                "IN takes constants", node.span, "write `x = a OR x = b` to compare with other values"
            )
        return None

    def may_read_sets(self, what: str, span: Span | None) -> bool:
        if not self.sets:
            note = "it needs the events of a whole match"
            if self.place == "a derived stream" and what in AGGREGATES:
                note = "an aggregate is a column by itself: compute with it in a stream that reads this one"
            self.report.add(f"`{what}` cannot stand in {self.place}", span, note)
        return self.sets

    # ---- calls -------------------------------------------------------------------------------------------

    def call(self, node: syntax.Call) -> Expr | None:
        name, count = node.function, len(node.arguments)
        if name in ("FIRST", "LAST"):
            return bind_end(self, node)
        if node.attribute is not None:
            note = "only FIRST(v) and LAST(v) give an event"
            self.report.add(f"`{name}(...)` has no attributes", node.span, note)
        if name in AGGREGATES and (name not in BUILTINS or count == 1):
            return bind_aggregate(self, node)
        if name in SIGNATURES or name in OTHERS:
            return bind_function(self, node)
        arguments = [self.expression(argument) for argument in node.arguments]
        if (builtin := BUILTINS.get(name)) is not None:
            return self.builtin(node, builtin, arguments)
        if (user := user_function(name)) is not None:
            return self.user(node, user.arguments, user.result, arguments)
        if name == "STDDEV":
            self.report.add("STDDEV is an aggregate of derived streams", node.span, "use it in CREATE STREAM")
        else:
            known = function_names()
            note = near(name, known) or f"known: {listing(known, 30)}"
            if name in ("PREV", "PREVIOUS", "LAG"):
                note = "neighbours of a repeated variable are `a[i].x` and `a[i-1].x`"
            self.report.add(f"unknown function `{name}`", node.span, note)
        return None

    def arity(self, node: syntax.Call, low: int, high: int | None) -> bool:
        count = len(node.arguments)
        if low <= count and (high is None or count <= high):
            return True
        wanted = f"{low}" if low == high else f"{low} or more" if high is None else f"{low} to {high}"
        plural = "" if wanted == "1" else "s"
        self.report.add(f"`{node.function}` takes {wanted} argument{plural}, not {count}", node.span)
        return False

    def builtin(self, node: syntax.Call, builtin: Builtin, arguments: list[Expr | None]) -> Expr | None:
        if not self.arity(node, builtin.low, builtin.high):
            return None
        bound = [self.argument(node, i, bound, builtin.takes) for i, bound in enumerate(arguments)]
        known = [argument for argument in bound if argument is not None]
        if len(known) < len(bound):
            return None
        kinds = {kind_of(argument) for argument in known}
        if builtin.result is Kind.FLOAT or kinds == NUMBERS:
            known, kinds = [to_float(argument) for argument in known], {Kind.FLOAT}
        if len(kinds) > 1:
            self.report.add(f"type clash: `{node.function}` of {listing(kinds)}", node.span, "use one kind")
            return None
        (kind,) = kinds
        if builtin.op in ("floor", "ceil", "round") and kind is Kind.INT:
            return known[0]
        return Apply(builtin.op, tuple(known), kind)

    def argument(self, node: syntax.Call, i: int, bound: Expr | None, takes: Iterable[Kind]) -> Expr | None:
        if bound is None or kind_of(bound) in takes:
            return bound
        message = f"`{node.function}` cannot take {a(kind_of(bound))}"
        self.report.add(message, node.arguments[i].span, f"it takes: {listing(takes)}")
        return None

    def user(
        self, node: syntax.Call, takes: tuple[Kind, ...], result: Kind, arguments: list[Expr | None]
    ) -> Expr | None:
        if not self.arity(node, len(takes), len(takes)):
            return None
        bound = []
        for i, (argument, kind) in enumerate(zip(arguments, takes, strict=True)):
            if argument is not None and kind is Kind.FLOAT and kind_of(argument) is Kind.INT:
                argument = to_float(argument)  # noqa: PLW2901 - the same argument, converted
            bound.append(self.argument(node, i, argument, (kind,)))
        known = tuple(argument for argument in bound if argument is not None)
        return Apply(f"user:{node.function}", known, result) if len(known) == len(bound) else None


_BINDERS: Final[dict[type[syntax.Expression], Callable[[ExpressionBinder, Any], Expr | None]]] = {
    syntax.Literal: ExpressionBinder.literal,
    syntax.Duration: ExpressionBinder.duration,
    syntax.Timestamp: ExpressionBinder.timestamp,
    syntax.Name: ExpressionBinder.name,
    syntax.Star: ExpressionBinder.star,
    syntax.Same: ExpressionBinder.same,
    syntax.Unary: ExpressionBinder.unary,
    syntax.Binary: ExpressionBinder.binary,
    syntax.Logic: ExpressionBinder.logic,
    syntax.Between: ExpressionBinder.between,
    syntax.IsNull: ExpressionBinder.is_null,
    syntax.In: ExpressionBinder.is_in,
    syntax.Call: ExpressionBinder.call,
    syntax.TextTest: bind_text_test,
    syntax.Case: bind_case,
}
_TESTS: Final = (syntax.Binary, syntax.In, syntax.Between, syntax.IsNull, syntax.TextTest, syntax.Call)
"""Nodes that may be conditions, which ANY and ALL inside of them go through the elements of a list for."""
