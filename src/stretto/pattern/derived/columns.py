"""Columns for attributes that belong to streams.

Plans read events column by column, and a column has one kind. An attribute of a derived stream lies in the column of
its name, beside those of other streams, unless raw events or one of these have another kind of it: then there is a
column for each kind, since a variable may stand for events of several streams that have the same one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from stretto.errors import Mistake
from stretto.pattern.derived.streams import (
    DerivedStream,
    JoinStream,
    PairedSelection,
    PatternStream,
    Selection,
    WindowAggregate,
    WindowedValue,
    attributes_of,
)
from stretto.pattern.nodes import (
    Atom,
    Combine,
    Not,
    Pattern,
    Query,
    Repeat,
    Return,
    Stream,
    TrendQuery,
    atoms_of,
)
from stretto.pattern.predicates import Expr, Reduce, Ref, rewrite
from stretto.records import dataclass
from stretto.schema import Kind

Types = Mapping[int, Sequence[str]]
"""The types of events that a column of an expression may stand for."""
E = TypeVar("E", bound=Expr)


@dataclass(frozen=True, slots=True)
class StreamColumns:
    """`kinds` of all columns, and `of`: the column of each attribute of a derived stream that is not called so."""

    kinds: Mapping[str, Kind]
    of: Mapping[tuple[str, str], str]

    @classmethod
    def over(cls, attributes: Mapping[str, Kind], streams: Iterable[DerivedStream]) -> "StreamColumns":
        """The columns of raw events with these attributes, and of derived streams over them."""
        streams = tuple(streams)
        said: dict[str, set[Kind]] = {name: {kind} for name, kind in attributes.items()}
        for stream in streams:
            for name, kind in attributes_of(stream).items():
                said.setdefault(name, set()).add(kind)
        kinds, of = dict(attributes), dict[tuple[str, str], str]()
        first: dict[
            tuple[str, Kind], str
        ] = {}  # the column of a kind has the name of the first stream with it
        for stream in streams:
            for name, kind in attributes_of(stream).items():
                plain = len(said[name]) == 1 or attributes.get(name) is kind
                column = name if plain else first.setdefault((name, kind), f"{stream.name}.{name}")
                kinds[column] = kind
                of[stream.name, name] = column
        return cls(kinds, of)

    def column(self, stream: str, attribute: str) -> str:
        return self.of.get((stream, attribute), attribute)

    # ---- the same with columns in place of attributes ------------------------------------------------------------

    def query(self, query: Query) -> Query:
        """A query that reads columns."""
        types = _types(query.pattern)
        return replace(
            query,
            pattern=self._pattern(query.pattern),
            terms=tuple(self._expr(term, types) for term in query.terms),
            having=tuple(self._expr(term, types) for term in query.having),
            returns=tuple(self._returned(item, types) for item in query.returns),
            same=tuple(self._common(name, chain(*types.values())) for name in query.same),
        )

    def trend(self, query: TrendQuery) -> TrendQuery:
        """A trend query that reads columns."""
        types = _types(query.pattern)
        return replace(
            query,
            pattern=self._pattern(query.pattern),
            terms=tuple(self._expr(term, types) for term in query.terms),
            same=tuple(self._common(name, chain(*types.values())) for name in query.same),
            groups=tuple(self._common(name, chain(*types.values())) for name in query.groups),
            aggregates=tuple(
                replace(one, attribute=self._common(one.attribute, types[one.variable]))
                if one.attribute and one.variable is not None
                else one
                for one in query.aggregates
            ),
        )

    def stream(self, stream: DerivedStream) -> DerivedStream:
        """A derived stream that reads columns, and whose own columns have their names."""
        match stream:
            case PatternStream():
                query = self.query(stream.query)
                returns = tuple(
                    replace(item, name=self.column(stream.name, item.name)) for item in query.returns
                )
                return replace(stream, query=replace(query, returns=returns))
            case JoinStream():
                types = {number: (source.type,) for number, source in enumerate(stream.sources)}
                first, second = stream.sources
                return replace(
                    stream,
                    sources=(self.source(first), self.source(second)),
                    on=tuple(self._expr(term, types) for term in stream.on),
                    columns=tuple(self._named(stream.name, item, types) for item in stream.columns),
                )
            case Selection():
                types = {0: (stream.source.type,)}
                columns = tuple(self._named(stream.name, item, types) for item in stream.columns)
                found = replace(stream, source=self.source(stream.source), columns=columns)
                if isinstance(found, PairedSelection):
                    return replace(found, terms=tuple(self._expr(term, types) for term in found.terms))
                return found
            case WindowAggregate():
                types = {0: (stream.source.type,)}
                return replace(
                    stream,
                    source=self.source(stream.source),
                    columns=tuple(self._aggregated(stream.name, one, types) for one in stream.columns),
                    groups=tuple(self._expr(group, types) for group in stream.groups),
                )

    def _aggregated(self, stream: str, item: Return | WindowedValue, types: Types) -> Return | WindowedValue:
        if isinstance(item, Return):
            return self._named(stream, item, types)
        value = None if item.value is None else self._expr(item.value, types)
        return replace(item, name=self.column(stream, item.name), value=value)

    def _named(self, stream: str, item: Return, types: Types) -> Return:
        return replace(self._returned(item, types), name=self.column(stream, item.name))

    def _returned(self, item: Return, types: Types) -> Return:
        return replace(item, value=self._expr(item.value, types))

    def source(self, stream: Stream) -> Stream:
        """A source whose terms read columns."""
        return Stream(stream.type, tuple(self._expr(term, {0: (stream.type,)}) for term in stream.where))

    def _pattern(self, node: Pattern) -> Pattern:
        match node:
            case Atom():
                return replace(node, stream=self.source(node.stream))
            case Combine():
                return replace(node, parts=tuple(self._pattern(part) for part in node.parts))
            case Not(part):
                found = self._pattern(part)
                assert isinstance(found, Atom)
                return Not(found)
            case Repeat():
                return replace(node, part=self._pattern(node.part))
        return node

    def _expr(self, expr: E, types: Types) -> E:
        def rule(node: Expr) -> Expr | None:
            if not isinstance(node, Ref | Reduce) or not node.attribute:
                return None
            column = self._common(node.attribute, types[node.column])
            return node if column == node.attribute else replace(node, attribute=column)

        found = rewrite(expr, rule)
        assert isinstance(found, type(expr))
        return found

    def _common(self, attribute: str, streams: Iterable[str]) -> str:
        """The one column that an attribute of several streams lies in; NoCommonColumn where kinds differ."""
        columns = {self.column(stream, attribute) for stream in streams}
        if len(columns) > 1:
            raise NoCommonColumn(Mistake(f"`{attribute}` has several kinds in the streams of one query"))
        return columns.pop()


def _types(pattern: Pattern) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for atom in atoms_of(pattern):
        found.setdefault(atom.variable, []).append(atom.stream.type)
    return found


class NoCommonColumn(Exception):  # noqa: N818 - caught where the query's name is known
    """An attribute on which events of streams with other kinds of it are to agree."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.message)
        self.mistake = mistake
