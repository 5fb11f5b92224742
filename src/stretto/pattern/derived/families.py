"""Families: queries that differ only in the constants of a table's rows."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from stretto.errors import Span
from stretto.pattern.derived.tables import LookupTable
from stretto.pattern.nodes import Query, Window
from stretto.pattern.predicates import Apply, Const, Expr, Param, Value, rewrite, walk
from stretto.records import dataclass
from stretto.schema import Kind


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """`QUERY q FOR EACH table r KEY r.id`: one query per row of the table.

    `template` is the query with a Param where a column of the row stands, in terms, HAVING and RETURN. `members` has
    the key of each row as text, or its number from 1 on where there is no key. `windows` has the window of each row
    in microseconds, where it is a column; the template's window means nothing then.
    Queries of a text that are alike are a family too: `names` are their own, and their constants are the table.
    """

    template: Query
    table: LookupTable
    key: str | None
    members: tuple[str, ...]
    windows: tuple[int, ...] | None = None
    names: tuple[str, ...] | None = None
    spans: Callable[[], Sequence[Span | None]] | None = None
    """Where the names of such queries stand, for those who have to say so."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The columns that the template reads, each once."""
        query = self.template
        exprs = (*query.terms, *query.having, *(item.value for item in query.returns))
        found = [node.attribute for expr in exprs for node in walk(expr) if isinstance(node, Param)]
        return tuple(dict.fromkeys(found))

    def queries(self, numbers: Iterable[int] | None = None) -> Iterator[Query]:
        """The queries of all rows that the family stands for, or of some, with the row's constants written in."""
        columns = {name: self.table.values(name) for name in self.parameters}
        spans = None if self.spans is None else self.spans()
        for number in range(len(self.members)) if numbers is None else numbers:
            row = {name: values[number] for name, values in columns.items()}
            window = self.template.window if self.windows is None else Window(self.windows[number])
            query = self._member(self.members[number], row, window)
            if self.names is not None:
                span = query.span if spans is None else spans[number]
                query = replace(query, name=self.names[number], family=None, member=None, span=span)
            yield query

    def _member(self, member: str, row: Mapping[str, Value], window: Window) -> Query:
        query = self.template
        return replace(
            query,
            name=member_name(query.name, member),
            terms=tuple(dict.fromkeys(written(term, row) for term in query.terms)),
            having=tuple(dict.fromkeys(written(term, row) for term in query.having)),
            returns=tuple(replace(item, value=written(item.value, row)) for item in query.returns),
            window=window,
            family=query.name,
            member=member,
        )


def member_name(family: str, member: str) -> str:
    """The name of a member's query among all queries."""
    return f"{family}[{member}]"


def written(expr: Expr, row: Mapping[str, Value]) -> Expr:
    """The expression with the row's constants, as the binder would have made it of constants in the text."""

    def rule(node: Expr) -> Expr | None:
        match node:
            case Param(attribute, kind):
                value = row[attribute]
                # One NaN for all, so that equal terms stay equal.
                return Const(math.nan if value != value else value, kind)  # noqa: PLR0124 - only NaN differs from itself
            case Apply("to_float", (Const(value, _),), _):
                assert value is None or isinstance(value, int)
                return Const(None if value is None else float(value), Kind.FLOAT)
        return None

    return rewrite(expr, rule)
