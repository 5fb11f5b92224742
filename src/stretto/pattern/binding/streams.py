"""Derived streams over one stream or two: what CREATE STREAM .. SELECT selects, checked and bound."""

from collections.abc import Sequence
from typing import Final, cast

from stretto.errors import Span
from stretto.pattern.binding.kinds import kind_of
from stretto.pattern.binding.scope import Attributes, Known, Origin, Report, Scope, check_size
from stretto.pattern.binding.terms import ExpressionBinder
from stretto.pattern.binding.written import conjuncts
from stretto.pattern.derived.streams import (
    DerivedStream,
    Function,
    JoinStream,
    Selection,
    WindowAggregate,
    WindowedValue,
)
from stretto.pattern.functions import AGGREGATES, NUMBERS
from stretto.pattern.nodes import Return, Stream
from stretto.pattern.predicates import Expr, Ref
from stretto.pattern.split_conjunctions import separated
from stretto.schema import Kind, Schema
from stretto.text import syntax

_OVER: Final = {**AGGREGATES, "STDDEV": NUMBERS}
TAKEN: Final = frozenset({"ts", "type"})
"""Names that no attribute of a derived stream may have."""


class StreamBinder:
    """Binds one stream. Without a schema, or with a mistake, only its attributes come back, as far as known."""

    def __init__(
        self,
        statement: syntax.CreateStream,
        sources: Sequence[Origin],
        schema: Schema | None,
        report: Report,
    ) -> None:
        self.statement = statement
        self.sources = sources
        self.report = report
        self.binder = ExpressionBinder(self._scope(schema), report, "a derived stream", sets=False)
        self.columns: dict[str, Return | WindowedValue | None] = {}  # None where its kind is not known
        self.complete = True

    def bind(self) -> tuple[Attributes | None, DerivedStream | None]:
        """The attributes of the stream's events (None: not known), and the bound stream, if it could be bound."""
        statement = self.statement
        terms = [self.binder.condition(node) for node in conjuncts((*statement.on, *statement.where))]
        groups = [self.binder.expression(group) for group in statement.group_by]
        self._check_window()
        for item in statement.items:
            self._item(item)
        self._check_shape()
        known = [column for column in self.columns.values() if column is not None]
        self.complete = self.complete and len(known) == len(self.columns)
        attributes = {column.name: column.kind for column in known} if self.complete else None
        streams = [origin.stream for origin in self.sources if origin.stream is not None]
        unbound = None in terms or None in groups or len(streams) < len(self.sources)
        if self.report.mistakes or not self.complete or unbound:
            return attributes, None
        bound = [term for term in terms if term is not None]
        keys = tuple(group for group in groups if isinstance(group, Ref))
        return attributes, self._stream(streams, bound, keys, known)

    def _stream(
        self,
        streams: Sequence[Stream],
        terms: Sequence[Expr],
        groups: tuple[Ref, ...],
        columns: Sequence[Return | WindowedValue],
    ) -> DerivedStream:
        statement = self.statement
        plain = tuple(column for column in columns if isinstance(column, Return))
        window_us = 0 if statement.within is None else statement.within.size
        if len(streams) == 2:
            first, second = ((source.alias or source.stream) for source in statement.sources)
            left, right = streams
            return JoinStream(statement.name, (first, second), (left, right), tuple(terms), plain, window_us)
        parts = [part for term in terms for part in separated(term, {0})]
        source = Stream(streams[0].type, tuple(dict.fromkeys((*streams[0].where, *parts))))
        if len(plain) == len(columns):
            return Selection(statement.name, source, plain)
        return WindowAggregate(statement.name, source, tuple(columns), groups, window_us)

    # ---- the clauses -------------------------------------------------------------------------------------

    def _scope(self, schema: Schema | None) -> Scope:
        variables: dict[str, Known] = {}
        known: list[Known] = []
        for number, (source, origin) in enumerate(zip(self.statement.sources, self.sources, strict=True)):
            name = source.alias or source.stream
            if name in variables:
                note = "give the two sources different aliases"
                self.report.add(f"duplicate source `{name}`", source.span, note)
            it = Known(number, name, origin.attributes)
            known.append(it)
            variables[name] = it
        return Scope(variables, schema, bare=known[0] if len(known) == 1 else None)

    def _check_window(self) -> None:
        within = self.statement.within
        if within is None:
            return
        if within.unit == "events" or within.row is not None:
            self.report.add("a derived stream has a window in time", within.span, "as in `WITHIN 60 SECONDS`")
        else:
            check_size(within.size, within.span, "window", self.report)

    def _check_shape(self) -> None:
        """A join or an aggregate needs a window; only aggregates have groups; a join has no aggregates."""
        statement = self.statement
        at = statement.name_span or statement.span
        aggregates = [item for item in statement.items if _is_aggregate(item.value)]
        join = len(statement.sources) > 1
        if statement.within is None and (join or aggregates):
            what = "a join" if join else "an aggregate"
            self.report.add(f"{what} needs a window", at, "as in `WITHIN 60 SECONDS`")
        if statement.within is not None and not (join or aggregates):
            note = "only an aggregate or a join has a window"
            self.report.add("WITHIN without an aggregate", statement.within.span or at, note)
        if join and aggregates:
            note = "aggregate in a second stream that reads this one"
            self.report.add("an aggregate over a join", aggregates[0].span or at, note)
        if statement.group_by and not aggregates:
            self.report.add("GROUP BY without an aggregate", statement.group_by[0].span or at)

    # ---- the columns -------------------------------------------------------------------------------------

    def _item(self, item: syntax.Item) -> None:
        at = item.span or item.value.span or self.statement.name_span
        if isinstance(item.value, syntax.Star):
            self._star(at)
            return
        name = item.name or (item.value.name if isinstance(item.value, syntax.Name) else None)
        column = self._column(name or "", item.value)
        if name is None:
            self.report.add("an output that is no attribute needs a name", at, "as in `AVG(load) AS load`")
        else:
            self._add(name, column, at)

    def _star(self, at: Span | None) -> None:
        if len(self.sources) > 1:
            self.report.add("`*` of a join", at, "list the attributes of both sources")
            return
        (origin,) = self.sources
        self.complete = self.complete and origin.attributes is not None
        for name, kind in (origin.attributes or {}).items():
            self._add(name, Return(name, Ref(0, name, kind), kind), at)

    def _add(self, name: str, column: Return | WindowedValue | None, at: Span | None) -> None:
        if name in self.columns:
            self.report.add(f"duplicate output `{name}`", at, "name it otherwise with AS")
        elif name in TAKEN:
            note = "name it otherwise with AS"
            self.report.add(f"output `{name}` has the name of a special column", at, note)
        self.columns[name] = column

    def _column(self, name: str, node: syntax.Expression) -> Return | WindowedValue | None:
        """A column of the stream, or None where its kind cannot be known."""
        if not (isinstance(node, syntax.Call) and _is_aggregate(node)):
            bound = self.binder.expression(node)
            return None if bound is None else Return(name, bound, kind_of(bound))
        (argument,) = node.arguments
        function = cast(Function, node.function)
        if isinstance(argument, syntax.Star):
            if function == "COUNT":
                return WindowedValue(name, function, None, Kind.INT)
            self.report.add(f"`{function}(*)` has no meaning", node.span, "only COUNT counts events")
            return None
        value = self.binder.expression(argument)
        if value is None:
            return None
        if function == "COUNT":
            return WindowedValue(name, function, value, Kind.INT)
        if self.binder.argument(node, 0, value, _OVER[function]) is None:
            return None
        kind = Kind.FLOAT if function in ("AVG", "STDDEV") else kind_of(value)
        return WindowedValue(name, function, value, kind)


def _is_aggregate(node: syntax.Expression) -> bool:
    return isinstance(node, syntax.Call) and node.function in _OVER and len(node.arguments) == 1
