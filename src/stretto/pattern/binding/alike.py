"""Queries of a text that are alike, bound once: a template over the table of their constants."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from stretto.errors import Span
from stretto.pattern.binding.catalog import Catalog
from stretto.pattern.binding.queries import QueryBinder
from stretto.pattern.binding.scope import FamilyRow, Report
from stretto.pattern.derived.families import Family
from stretto.pattern.derived.tables import LookupTable
from stretto.pattern.nodes import Query
from stretto.pattern.predicates import Apply, Expr, Param, walk
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.text import syntax
from stretto.text.alike.expressions import placed
from stretto.text.alike.statements import AlikeQueries
from stretto.text.tokens import line_starts

# No text can name it: the row whose columns take the place of the constants.
_ROW: Final = "\0constants"
_LOOKED_FOR: Final = frozenset(("starts_with", "ends_with", "contains"))
_KINDS: Final = {"int": Kind.INT, "float": Kind.FLOAT, "str": Kind.STRING, "duration": Kind.DURATION}


@dataclass(frozen=True, slots=True)
class BoundAlike:
    """Alike queries without a mistake; there is no family where there is no schema."""

    family: Family | None


def bind_alike(run: AlikeQueries, catalog: Catalog) -> BoundAlike | None:
    """The family of alike queries; None where one of them has a mistake, they are about trends, or an event would have
    to be held against the constants of each.
    """
    columns, windows, nodes = _constants(run)
    query = placed(run.template.first, nodes)
    if windows is not None:
        query = replace(query, within=syntax.Within(0, row=syntax.Name("window", _ROW)))
    names = run.names
    columns["name"] = Kind.STRING, list(names)
    kinds = {name: kind for name, (kind, _) in columns.items()}
    rows = pa.table({name: pa.array(values, kind.arrow) for name, (kind, values) in columns.items()})
    table = LookupTable("constants", "the constants", rows, kinds)
    report = Report()
    bound = QueryBinder(query, catalog, report, FamilyRow(_ROW, table)).bind()
    if report.mistakes or (bound is not None and not isinstance(bound, Query)):
        return None
    if bound is None:
        return BoundAlike(None)
    if _only_in_texts((*bound.terms, *bound.having)):
        return None
    return BoundAlike(Family(bound, table, None, names, windows, names, _Spans(run)))


def _only_in_texts(terms: Iterable[Expr]) -> bool:
    """Whether constants are nothing but texts that are looked for in others, as in `STARTS_WITH(a.name, 'x')`.

    No index finds the queries of an event then; with the constant known, each distinct text is judged once.
    """
    read = [term for term in terms if any(isinstance(node, Param) for node in walk(term))]
    return bool(read) and all(isinstance(term, Apply) and term.op in _LOOKED_FOR for term in read)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Where the names of the queries stand."""

    run: AlikeQueries

    def __call__(self) -> list[Span]:
        text, lines = self.run.text, line_starts(self.run.text)
        found = []
        for start in self.run.starts:
            match = self.run.template.matching.match(text, start)
            assert match is not None
            at = match.start(1)
            line = bisect_right(lines, at)
            column = at - lines[line - 1] + 1
            found.append(Span(line, column, line, column + len(match[1])))
        return found


Columns = dict[str, tuple[Kind, list[Any]]]


def _constants(run: AlikeQueries) -> tuple[Columns, tuple[int, ...] | None, dict[int, syntax.Name]]:
    """The constants that are not the same in all queries, as columns; the windows; the columns by the constants'
    nodes.
    """
    columns: Columns = {}
    windows: tuple[int, ...] | None = None
    nodes: dict[int, syntax.Name] = {}
    for constant, values in zip(run.template.constants, run.columns(), strict=True):
        if constant.node is None:
            windows = tuple(values)
            continue
        if constant.kind != "float" and len(set(values)) == 1:
            continue
        name = f"c{len(columns)}"
        columns[name] = _KINDS[constant.kind], values
        nodes[id(constant.node)] = syntax.Name(name, _ROW, span=constant.node.span)
    return columns, windows, nodes
