"""What the names after FROM, EACH and in patterns stand for: types, named selections, derived streams, tables."""

import re
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from typing import Final

from stretto.errors import LONGEST, Mistake, Span, near
from stretto.pattern.binding.never_holds import never_holding
from stretto.pattern.binding.scope import Known, Origin, Report, Scope, listing
from stretto.pattern.binding.streams import StreamBinder
from stretto.pattern.binding.terms import ExpressionBinder
from stretto.pattern.binding.written import conjuncts
from stretto.pattern.derived.streams import DerivedStream, PatternStream, attributes_of
from stretto.pattern.derived.tables import LookupTable, TableError
from stretto.pattern.nodes import Stream
from stretto.pattern.split_conjunctions import separated
from stretto.records import dataclass
from stretto.schema import Schema
from stretto.text import syntax

_UNKNOWN: Final = Origin(None)

Definition = syntax.CreateEvent | syntax.CreateStream | syntax.CreatePatternStream
PatternStreamBinder = Callable[["Catalog", syntax.CreatePatternStream, Report], PatternStream | None]
TableReader = Callable[[syntax.CreateTable], LookupTable]
"""Gives the table of a statement, or raises TableError."""


@dataclass(frozen=True, slots=True)
class _Opening:
    """A definition that is being bound: whoever needs it now is part of a cycle."""


class Catalog:
    """Types, selections, derived streams and tables by name; definitions are bound once, when first needed.

    `derived` has the streams that could be bound, each behind those that it reads.
    """

    def __init__(
        self,
        statements: Iterable[syntax.Statement],
        schema: Schema | None,
        report: Report,
        bind_pattern: PatternStreamBinder,
        read_table: TableReader,
        unread: Collection[str] = (),
    ) -> None:
        self._unread = frozenset(unread)
        self.schema = schema
        self.report = report
        self.derived: list[DerivedStream] = []
        self._bind_pattern = bind_pattern
        self._definitions: dict[str, Definition] = {}
        self._origins: dict[str, Origin | _Opening] = {}
        self._types: dict[str, Origin] = {}
        self._tables: dict[str, LookupTable | None] = {}
        for statement in statements:
            if isinstance(statement, Definition | syntax.CreateTable):
                self._define(statement, read_table)

    @property
    def types(self) -> frozenset[str]:
        """The event types that were named so far."""
        return frozenset(self._types)

    @property
    def definitions(self) -> frozenset[str]:
        return frozenset(self._definitions)

    def bind_all(self) -> None:
        """Check every definition, used or not."""
        for name in self._definitions:
            self._definition(name)

    def resolve(self, name: str, span: Span | None, report: Report) -> Origin:
        """What `name` stands for; one that is neither defined nor seen is remarked on: its events may still come."""
        known = self._types.get(name)
        if known is not None:
            return known
        if name in self._definitions:
            return self._definition(name)
        if name in self._unread:
            return _UNKNOWN
        attributes = self.schema.attributes if self.schema is not None else None
        types = self.schema.types if self.schema is not None else None
        if types is not None and name not in types:
            names = {*types, *self._definitions}
            note = near(name, sorted(names)) or f"known: {listing(names)}"
            report.remarks.append(Mistake(f"unknown type `{name}`", span, note, "types that no event has"))
        elif types is None and (meant := self._nearly(name)):
            note = f"did you mean `{meant}`, which is defined here?"
            report.remarks.append(
                Mistake(f"type `{name}` is not defined here", span, note, "misspelled types")
            )
        return self._types.setdefault(name, Origin(attributes, Stream(name)))

    def _nearly(self, name: str) -> str:
        """The defined name that a type is spelled like; empty if there is none, or only a number differs."""
        folded = {other.casefold(): other for other in self._definitions}
        if name.casefold() in folded:
            return folded[name.casefold()]
        if len(name) > LONGEST:
            return ""
        close = get_close_matches(name, self._definitions, n=1, cutoff=0.8)
        return next((other for other in close if re.sub(r"\d", "", other) != re.sub(r"\d", "", name)), "")

    def table(self, name: str, span: Span | None, report: Report) -> LookupTable | None:
        """The table of a name; None if there is none, which is reported, or if it could not be read."""
        if name not in self._tables and name not in self._unread:
            message = f"`{name}` is no table" if name in self._definitions else f"unknown table `{name}`"
            note = near(name, self._tables) or "make one with `CREATE TABLE name FROM 'file.csv'`"
            report.add(message, span, note)
        return self._tables.get(name)

    def _define(self, statement: Definition | syntax.CreateTable, read_table: TableReader) -> None:
        types = self.schema.types if self.schema is not None else None
        at = statement.name_span or statement.span
        if statement.name in self._definitions or statement.name in self._tables:
            self.report.add(f"duplicate name `{statement.name}`", at, "another CREATE has it already")
            return
        if isinstance(statement, syntax.CreateTable):
            self._tables[statement.name] = None
            try:
                self._tables[statement.name] = read_table(statement)
            except TableError as error:
                self.report.add(str(error), statement.path_span or at)
            return
        if types is not None and statement.name in types:
            note = "the events have a type of that name; choose another"
            self.report.add(f"`{statement.name}` is an event type", at, note)
        self._definitions[statement.name] = statement

    def _definition(self, name: str) -> Origin:
        origin = self._origins.get(name)
        statement = self._definitions[name]
        if isinstance(origin, _Opening):
            at = statement.name_span or statement.span
            self.report.add(f"`{name}` is defined by itself", at, "its sources lead back to it")
            origin = _UNKNOWN
        elif origin is None:
            self._origins[name] = _Opening()
            report = Report()
            if isinstance(statement, syntax.CreateEvent):
                origin = self._selection(statement, report)
                self.report.take(report, f"selection `{name}`")
            else:
                if isinstance(statement, syntax.CreateStream):
                    origin = self._stream(statement, report)
                else:
                    origin = self._pattern(statement, report)
                self.report.take(report, f"stream `{name}`")
        self._origins[name] = origin
        return origin

    def _selection(self, statement: syntax.CreateEvent, report: Report) -> Origin:
        """A named selection reads its source through more terms."""
        source = self.resolve(statement.source, statement.source_span or statement.span, report)
        it = Known(0, statement.source, source.attributes)
        scope = Scope({statement.source: it, statement.source.lower(): it}, self.schema, bare=it)
        binder = ExpressionBinder(scope, report, "a selection", sets=False)
        terms = [binder.condition(node) for node in conjuncts(statement.where)]
        report.remarks += never_holding(conjuncts(statement.where), {})
        if source.stream is None or any(term is None for term in terms):
            return Origin(source.attributes, None, source.derived)
        parts = [part for term in terms if term is not None for part in separated(term, {0})]
        where = dict.fromkeys((*source.stream.where, *parts))
        return Origin(source.attributes, Stream(source.stream.type, tuple(where)), source.derived)

    def _stream(self, statement: syntax.CreateStream, report: Report) -> Origin:
        sources = [
            self.resolve(source.stream, source.span or statement.span, report) for source in statement.sources
        ]
        attributes, stream = StreamBinder(statement, sources, self.schema, report).bind()
        if stream is None or self.schema is None:
            return Origin(attributes, None, derived=True)
        self.derived.append(stream)
        return Origin(attributes, Stream(statement.name), derived=True)

    def _pattern(self, statement: syntax.CreatePatternStream, report: Report) -> Origin:
        stream = self._bind_pattern(self, statement, report)
        if stream is None:
            return Origin(None, None, derived=True)
        self.derived.append(stream)
        return Origin(attributes_of(stream), Stream(statement.name), derived=True)
