"""A workload: the statements of a text or a program, and what becomes of them against a schema."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import pyarrow as pa

from stretto.errors import Mistake, QueryError, Remark, near
from stretto.pattern.binding.statements import BoundStatements, bind
from stretto.pattern.derived.families import Family
from stretto.pattern.derived.streams import DerivedStream
from stretto.pattern.derived.tables import LookupTable, TableError, make_table, read_table
from stretto.pattern.nodes import Query, TrendQuery
from stretto.pattern.normal import normalize
from stretto.pattern.piece import Detection
from stretto.records import dataclass
from stretto.schema import Schema
from stretto.screen import counted, html_table
from stretto.text import syntax
from stretto.text.alike.printer import workload_text
from stretto.text.alike.statements import Statements, joined, query_names, samples, without
from stretto.text.build import QueryBuilder
from stretto.text.build_streams import StreamBuilder
from stretto.text.files import read_text
from stretto.text.json import from_json, to_json
from stretto.text.parser import parse_partial
from stretto.text.printer import to_text

W = TypeVar("W", bound="Workload")

SHOWN = 100
"""Statements that a notebook shows."""


@dataclass(frozen=True, slots=True)
class BoundWorkload:
    """The detection and trend queries of a workload, and what it defines beside them.

    `streams` are the derived streams, each behind those it reads. `templates` are the queries FOR EACH row of a table,
    and those that are alike up to constants. `families` and `queries` are the same and all others as they are written,
    over derived streams where they name them: for the oracle. `remarks` are no mistakes: types that are neither defined
    nor seen.
    """

    detections: tuple[Query, ...]
    trends: tuple[TrendQuery, ...] = ()
    streams: tuple[DerivedStream, ...] = ()
    families: tuple[Family, ...] = ()
    queries: tuple[Query | TrendQuery, ...] = ()
    templates: tuple[Family, ...] = ()
    remarks: tuple[Mistake, ...] = ()
    text: str = field(default="", compare=False, repr=False)
    file: str = field(default="", compare=False, repr=False)

    def normal_forms(self) -> tuple[Detection, ...]:
        """The normal form of every detection query; QueryError with all for which there is none."""
        found: list[Detection] = []
        mistakes: list[Mistake] = []
        for query in self.detections:
            try:
                found.append(normalize(query))
            except QueryError as error:
                mistakes.extend(error.mistakes)
        if mistakes:
            raise QueryError(mistakes, self.text, self.file)
        return tuple(found)


@dataclass(frozen=True, slots=True, repr=False)
class Workload:
    """Statements in order; equal when the statements are. `text` and `file` show where mistakes stand."""

    statements: Sequence[syntax.Statement] = ()
    """A tuple, or `Statements` where many queries of a text are alike: to ask for all of those parses them."""
    text: str = field(default="", compare=False, repr=False)
    file: str = field(default="", compare=False, repr=False)
    tables: Mapping[str, pa.Table] = field(default_factory=dict, hash=False, repr=False)
    """Tables that a program gave, or that were read before: no file is read for them."""
    _read: dict[str, LookupTable] = field(default_factory=dict, init=False, compare=False, repr=False)
    _known: list[tuple[Schema, BoundStatements]] = field(
        default_factory=list, init=False, compare=False, repr=False
    )
    """What it was bound to last, so that all who ask for the same share it."""

    @classmethod
    def parse(cls, text: str, file: str = "", schema: Schema | None = None) -> Self:
        """The workload of a text. If it cannot be read, the QueryError also lists what else is surely wrong."""
        if not isinstance(text, str):
            raise TypeError(
                f"a workload is parsed from text, not {type(text).__name__}; Workload.read(path) reads a file"
            )
        statements, mistakes, unread = parse_partial(text)
        workload = cls(statements, text, file)
        if mistakes:
            found = bind(statements, schema, workload.read_table, unread).mistakes
            raise QueryError((*mistakes, *found), text, file)
        return workload

    @classmethod
    def read(cls, path: str | Path, schema: Schema | None = None) -> Self:
        """The workload of a file, checked; QueryError with every mistake that can be known."""
        workload = cls.parse(read_text(path, "workload"), str(path), schema)
        workload.bind(schema)
        return workload

    def __repr__(self) -> str:
        others = len(self.statements) - len(self)
        more = f", {counted(others, 'definition')}" if others else ""
        return f"<Workload: {counted(len(self), 'query')}{more}{f' of {self.file}' if self.file else ''}>"

    def _repr_html_(self) -> str:
        """Each statement with its text, for a notebook."""
        rows = [(one.name, to_text((one,)).strip()) for one in self.statements[:SHOWN]]
        more = [("..", f"and {len(self.statements) - SHOWN:,} more")] if len(self.statements) > SHOWN else []
        shown = html_table(("name", "text"), [*rows, *more], most=4_000)
        return shown.replace("<td>", '<td style="white-space: pre; text-align: left">')

    def __reduce__(self) -> tuple[type["Workload"], tuple[Any, ...]]:
        tables = dict(self.tables) | {name: table.rows for name, table in self._read.items()}
        return type(self), (self.statements, self.text, self.file, tables)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The workload that `to_json` wrote."""
        return cls(tuple(from_json(value)))

    def to_json(self) -> Any:
        return to_json(self.statements)

    def to_text(self) -> str:
        """The statements as text. A comment tells the rows of each table, so other rows are another text."""
        return "".join(self._rows_told()) + workload_text(self.statements)

    def _rows_told(self) -> Iterator[str]:
        for statement in samples(self.statements):
            if isinstance(statement, syntax.CreateTable):
                try:
                    yield f"-- {self.read_table(statement).told()}\n"
                except TableError:
                    continue  # what is wrong with it is said where the workload is bound

    @property
    def queries(self) -> tuple[syntax.Query, ...]:
        return tuple(statement for statement in self.statements if isinstance(statement, syntax.Query))

    def __len__(self) -> int:
        """The number of queries."""
        others = sum(not isinstance(one, syntax.Query) for one in samples(self.statements))
        return len(self.statements) - others

    @property
    def windows(self) -> list[syntax.Within]:
        """The windows of the queries that are not those of rows; of alike queries the longest."""
        found = [one.within for one in samples(self.statements) if isinstance(one, syntax.Query)]
        alike = self.statements.alike if isinstance(self.statements, Statements) else ()
        found += [run.longest_window() for run in alike]
        return [within for within in found if within.row is None]

    def located(self) -> tuple[syntax.Statement, ...]:
        """The statements with paths of tables that hold in any other workload."""
        folder = Path(self.file).parent.absolute()
        return tuple(
            replace(one, path=str(folder / one.path))
            if isinstance(one, syntax.CreateTable) and one.path is not None
            else one
            for one in self.statements
        )

    def add(self, *added: "syntax.Statement | QueryBuilder | StreamBuilder | Workload | str") -> Self:
        """With more statements: text in the language, what was built in Python, or those of another workload."""
        workload = self
        for one in added:
            if isinstance(one, str):
                workload = _with_text(workload, one)
            else:
                new = one.located() if isinstance(one, Workload) else (_statement(one),)
                more = tuple(_without_spans(statement) for statement in new)
                statements = joined(workload.statements, more)
                tables = {**workload.tables, **(one.tables if isinstance(one, Workload) else {})}
                workload = replace(workload, statements=statements, tables=tables)
        return workload

    def table(self, name: str, rows: Any) -> Self:
        """With a table that a program has: Arrow, a DataFrame or a mapping of columns; it replaces one of its name."""
        if not name:
            raise QueryError([Mistake("a name cannot be empty")])
        try:
            known = make_table(name, rows)
        except TableError as error:
            raise QueryError([Mistake(str(error))], self.text, self.file) from None
        others = without(self.statements, {name}, syntax.CreateTable)
        statements = joined((syntax.CreateTable(name, None),), others)
        return replace(self, statements=statements, tables={**self.tables, name: known.rows})

    def read_table(self, statement: syntax.CreateTable) -> LookupTable:
        """The table of a statement, read once; TableError if there is none."""
        name = statement.name
        if name not in self._read:
            if name in self.tables:
                origin = "" if statement.path is None else f"`{statement.path}`"
                self._read[name] = make_table(name, self.tables[name], origin)
            elif statement.path is None:
                raise TableError(f"the rows of table `{name}` are not here: give them with .table(..)")
            else:
                self._read[name] = read_table(name, statement.path, Path(self.file).parent)
        return self._read[name]

    def remove(self, *names: str) -> Self:
        """Without the queries of these names; a name that no query has may be a selection's or a stream's."""
        queries = set(query_names(self.statements))
        others = {one.name for one in samples(self.statements) if not isinstance(one, syntax.Query)}
        gone: dict[type[syntax.Statement], set[str]] = {syntax.Query: set(), syntax.Statement: set()}
        for name in names:
            known = queries if name in queries else others
            if name not in known:
                note = near(name, sorted(queries | others))
                raise QueryError([Mistake(f"no query `{name}` to remove", None, note)], self.text, self.file)
            known.remove(name)
            gone[syntax.Query if known is queries else syntax.Statement].add(name)
        kept = self.statements
        for kind, some in gone.items():
            kept = without(kept, some, kind)
        return replace(self, statements=kept)

    def verify(self) -> None:
        """Check what can be known without a schema; QueryError with every mistake."""
        self.bind(None)

    def bind(self, schema: Schema | None) -> BoundWorkload:
        """The bound workload; QueryError with every mistake. Without a schema nothing is bound, only checked."""
        bound = next((found for before, found in self._known if _same(found, before, schema)), None)
        if bound is None:
            bound = bind(self.statements, schema, self.read_table)
            if bound.mistakes:
                raise QueryError(bound.mistakes, self.text, self.file)
        if schema is not None:
            self._known[:] = [(schema, bound)]
        return BoundWorkload(
            bound.detections,
            bound.trends,
            bound.streams,
            bound.families,
            bound.queries,
            bound.templates,
            bound.remarks,
            self.text,
            self.file,
        )


def _same(bound: BoundStatements, before: Schema, now: Schema | None) -> bool:
    """Whether a workload that was bound without a mistake is bound to another schema in the same way.

    It is where the attributes are the same and all types that it names exist. Those are known later than the columns.
    """
    if now is None or replace(before, types=None) != replace(now, types=None):
        return False
    return now.types is None or (bound.types <= now.types and bound.definitions.isdisjoint(now.types))


def _statement(added: syntax.Statement | QueryBuilder | StreamBuilder) -> syntax.Statement:
    if isinstance(added, QueryBuilder | StreamBuilder):
        return added.build()
    if not isinstance(added, syntax.Statement):
        raise TypeError(
            "what is added to a workload is text, stretto.query(..), stretto.stream(..) or another workload,"
            f" not {type(added).__name__}"
        )
    return added


def _with_text(workload: W, text: str) -> W:
    """The new text is read below the old one, so that its spans point into both as one."""
    above = workload.text if not workload.text or workload.text.endswith("\n") else workload.text + "\n"
    whole = above + text
    statements, mistakes, unread = parse_partial("\n" * above.count("\n") + text)
    if mistakes:
        meant = bind(statements, None, workload.read_table, unread).mistakes
        raise QueryError((*mistakes, *meant), whole, workload.file)
    return replace(workload, statements=joined(workload.statements, statements), text=whole)


def _without_spans(node: Any) -> Any:
    """The same node with no place in a text: its own text is not this workload's."""
    if isinstance(node, tuple):
        return tuple(_without_spans(one) for one in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    spans = {"span", "name_span", "source_span", "path_span"}
    values = {
        one.name: None if one.name in spans else _without_spans(getattr(node, one.name))
        for one in fields(node)
        if one.init
    }
    return type(node)(**values)


def check(text: str, file: str = "", schema: Schema | None = None) -> tuple[Mistake, ...]:
    """Every mistake of a workload, of syntax and of meaning, in the order of the text."""
    statements, mistakes, unread = parse_partial(text)
    read_table = Workload(statements, text, file).read_table
    found = (*mistakes, *bind(statements, schema, read_table, unread).mistakes)
    return QueryError(found, text, file).mistakes


def shown_remarks(bound: BoundWorkload) -> list[Remark]:
    """The warnings of a bound workload, each with its line."""
    return [Remark(remark.kind, remark.show(bound.text, bound.file)) for remark in bound.remarks]
