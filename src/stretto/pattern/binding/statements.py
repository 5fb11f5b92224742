"""Statements as written to a bound workload, with every mistake listed."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from stretto.errors import Mistake
from stretto.pattern.binding.alike import bind_alike
from stretto.pattern.binding.catalog import Catalog, TableReader
from stretto.pattern.binding.families import FamilyBinder
from stretto.pattern.binding.queries import QueryBinder, bind_pattern_stream
from stretto.pattern.binding.scope import Report
from stretto.pattern.derived.families import Family
from stretto.pattern.derived.streams import DerivedStream
from stretto.pattern.derived.substitution import plain_selections, substituted
from stretto.pattern.derived.tables import LookupTable, TableError
from stretto.pattern.nodes import Query, TrendQuery, streams_of
from stretto.records import dataclass
from stretto.schema import Schema
from stretto.text import syntax
from stretto.text.alike.statements import AlikeQueries, Statements, with_names_once


@dataclass(frozen=True, slots=True)
class BoundStatements:
    """What came of a workload: its queries, and every mistake.

    `detections`, `templates` and `trends` are what plans run, selections put in their place: single queries, families,
    trend queries. `queries` and `families` are the same as they are written, over derived streams where they name them:
    what the oracle reads. `streams` are the derived streams, each behind those it reads.
    `types`: the event types that it names; `definitions`: the names that it gives to selections and streams.
    `remarks`: types that are neither defined nor among those of the schema; beside mistakes they stand there.
    """

    detections: tuple[Query, ...]
    trends: tuple[TrendQuery, ...]
    mistakes: tuple[Mistake, ...]
    types: frozenset[str]
    definitions: frozenset[str]
    streams: tuple[DerivedStream, ...] = ()
    families: tuple[Family, ...] = ()
    queries: tuple[Query | TrendQuery, ...] = ()
    templates: tuple[Family, ...] = ()
    remarks: tuple[Mistake, ...] = ()


def no_tables(statement: syntax.CreateTable) -> LookupTable:
    """For workloads that have no place in a file system."""
    raise TableError(f"the rows of table `{statement.name}` are not here")


def bind(
    statements: Sequence[syntax.Statement],
    schema: Schema | None,
    read_table: TableReader = no_tables,
    unread: Collection[str] = (),
) -> BoundStatements:
    """Bind a workload. Without a schema only what does not need one is checked, and no query comes back.

    `unread`: names of statements that could not be parsed. They may mean anything, so no message is about them.
    """
    runs: tuple[AlikeQueries, ...] = ()
    plain: Sequence[syntax.Statement] = with_names_once(statements)
    if isinstance(plain, Statements):
        runs, plain = plain.alike, tuple(one for _, one in plain.plain)
    binder = _WorkloadBinder(plain, schema, read_table, unread)
    for statement in plain:
        if isinstance(statement, syntax.Query):
            binder.query(statement)
    for run in runs:
        binder.alike(run)
    return binder.bound()


class _WorkloadBinder:
    """Binds the queries of a workload one by one and sorts them by what can be done with them."""

    def __init__(
        self,
        statements: Sequence[syntax.Statement],
        schema: Schema | None,
        read_table: TableReader,
        unread: Collection[str],
    ) -> None:
        self.report = Report()
        self.catalog = Catalog(statements, schema, self.report, bind_pattern_stream, read_table, unread)
        self.catalog.bind_all()
        self.selections = plain_selections(self.catalog.derived)
        self.derived = frozenset(stream.name for stream in self.catalog.derived)
        self.detections: list[Query] = []
        self.trends: list[TrendQuery] = []
        self.families: list[Family] = []
        self.templates: list[Family] = []
        self.queries: list[Query | TrendQuery] = []
        self.names: set[str] = set()

    def bound(self) -> BoundStatements:
        """All of it."""
        mistakes, remarks = self.report.mistakes, tuple(dict.fromkeys(self.report.remarks))
        return BoundStatements(
            tuple(self.detections),
            tuple(self.trends),
            tuple(dict.fromkeys([*mistakes, *remarks])) if mistakes else (),
            self.catalog.types,
            self.catalog.definitions,
            tuple(self.catalog.derived),
            tuple(self.families),
            tuple(self.queries),
            tuple(self.templates),
            remarks,
        )

    def query(self, statement: syntax.Query) -> None:
        """Bind one query, with its family if it has one."""
        own = Report()
        at = statement.name_span or statement.span
        if statement.name in self.names:
            own.add(f"duplicate query `{statement.name}`", at, "another query has that name already")
        self.names.add(statement.name)
        family = None
        if statement.for_each is not None:
            family = FamilyBinder(statement, statement.for_each, self.catalog, own)
        binder = QueryBinder(statement, self.catalog, own, None if family is None else family.row)
        query = binder.bind()
        bound = family.bind(query) if family is not None and isinstance(query, Query) else None
        self.report.take(own, f"query `{statement.name}`")
        if query is None or own.mistakes:
            return
        if bound is None:
            self.queries.append(query)
        else:
            self.families.append(bound)
        self._sort(query, bound)

    def alike(self, run: AlikeQueries) -> None:
        """Bind queries that are alike, as one family; one by one where that cannot be done, so that each mistake has
        its place.
        """
        bound = bind_alike(run, self.catalog)
        if bound is None:
            for statement in run.queries():
                self.query(statement)
            return
        if bound.family is not None:
            self.families.append(bound.family)
            self._sort(bound.family.template, bound.family)

    def _sort(self, query: Query | TrendQuery, family: Family | None) -> None:
        plain = query
        if isinstance(query, Query) and set(streams_of(query)) & self.selections.keys():
            plain = substituted(query, self.selections, self.derived) or query
        if isinstance(plain, TrendQuery):
            self.trends.append(plain)
        elif family is None:
            self.detections.append(plain)
        else:
            self.templates.append(replace(family, template=plain))
