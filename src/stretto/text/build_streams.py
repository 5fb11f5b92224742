"""Derived streams built in Python: `stream("smoothed", "cpu").select("pid", load="AVG(load)").within("60 s")`."""

from dataclasses import replace
from datetime import timedelta
from typing import Self, overload

from stretto.errors import Mistake, QueryError
from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.build import Event, QueryBuilder, conditions, positive_us
from stretto.text.parser import parse_expression
from stretto.text.terms import Term, as_expression


@dataclass(frozen=True, slots=True)
class StreamBuilder:
    """A derived stream in the making; every call gives a new one. Strings are read as text of the language."""

    name: str
    sources: tuple[syntax.Source, ...]
    items: tuple[syntax.Item, ...] = ()
    terms: tuple[syntax.Expression, ...] = ()
    tied: tuple[syntax.Expression, ...] = ()
    groups: tuple[syntax.Name, ...] = ()
    window: syntax.Within | None = None

    def select(self, *values: Term | str, **named: Term | str) -> Self:
        """Further attributes: a plain one by its name, others by `name=value`. Without any the source's all."""
        items = [syntax.Item(_value(value)) for value in values]
        items += [syntax.Item(_value(value), name) for name, value in named.items()]
        return replace(self, items=self.items + tuple(items))

    def where(self, *terms: Term | str) -> Self:
        """Terms that an event must pass to take part."""
        return replace(self, terms=self.terms + conditions(terms))

    def join(self, source: str | Event) -> Self:
        """With every event of another stream that the window and `on` allow."""
        if len(self.sources) > 1:
            raise QueryError(
                [Mistake("a join has two sources", note="join the third in a stream over this one")]
            )
        return replace(self, sources=(*self.sources, _source(source)))

    def on(self, *terms: Term | str) -> Self:
        """Terms that tie the two events of a join."""
        return replace(self, tied=self.tied + conditions(terms))

    def group_by(self, *attributes: str) -> Self:
        """The attributes whose equal values make a group of an aggregate."""
        return replace(self, groups=self.groups + tuple(syntax.Name(attribute) for attribute in attributes))

    def within(self, longest: str | timedelta) -> Self:
        """The window of an aggregate or a join."""
        return replace(self, window=syntax.Within(positive_us(longest, "window")))

    def build(self) -> syntax.CreateStream:
        """The stream as syntax."""
        items = self.items or (syntax.Item(syntax.Star()),)
        return syntax.CreateStream(
            self.name, items, self.sources, self.tied, self.terms, self.groups, self.window
        )


@overload
def stream(name: str, source: str | Event) -> StreamBuilder: ...
@overload
def stream(name: str, source: QueryBuilder) -> syntax.CreatePatternStream: ...
def stream(name: str, source: str | Event | QueryBuilder) -> StreamBuilder | syntax.CreatePatternStream:
    """A derived stream over a stream (`E("cpu", "c")` to name its events), or one event per match of a query."""
    if not name:
        raise QueryError([Mistake("a name cannot be empty")])
    if isinstance(source, QueryBuilder):
        return syntax.CreatePatternStream(name, replace(source, name=name).build())
    return StreamBuilder(name, (_source(source),))


def _source(source: str | Event) -> syntax.Source:
    if isinstance(source, str):
        return syntax.Source(source)
    if isinstance(source, Event) and isinstance(source.pattern, syntax.Atom):
        return syntax.Source(source.pattern.type, source.pattern.variable)
    raise TypeError(f"expected the name of a stream or E('cpu', 'c'), not {source!r}")


def _value(value: Term | str) -> syntax.Expression:
    if isinstance(value, str):
        return syntax.Star() if value == "*" else parse_expression(value)
    return as_expression(value)
