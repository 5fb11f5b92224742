"""FOR EACH: the table of a family, its keys and windows, row by row; every wrong row has its number."""

from typing import Any

import pyarrow as pa

from stretto.errors import QueryError, Span
from stretto.pattern.binding.catalog import Catalog
from stretto.pattern.binding.kinds import a
from stretto.pattern.binding.scope import FamilyRow, Report
from stretto.pattern.derived.families import Family
from stretto.pattern.derived.tables import LookupTable
from stretto.pattern.nodes import Query
from stretto.schema import LISTS, Kind
from stretto.text import syntax
from stretto.text.parser import parse_duration
from stretto.text.values import size_problem


class FamilyBinder:
    """Binds `FOR EACH table r KEY r.id` of one query; `row` is what its terms may read."""

    def __init__(
        self, statement: syntax.Query, each: syntax.ForEach, catalog: Catalog, report: Report
    ) -> None:
        self.statement = statement
        self.each = each
        self.report = report
        self.table = catalog.table(each.table, each.span, report)
        self.row = FamilyRow(each.variable or each.table, self.table)
        self.members = self._members()
        self.windows = self._windows()

    def bind(self, template: Query) -> Family | None:
        """The family of a bound template; None where its table, key or windows are wrong."""
        if self.table is None or self.members is None:
            return None
        key = None if self.each.key is None else self.each.key.name
        windows = None if self.windows is None else tuple(self.windows)
        return Family(template, self.table, key, tuple(self.members), windows)

    def _column(self, name: syntax.Name, what: str) -> tuple[LookupTable, Kind, Any] | None:
        """A column that a clause names, with its table and kind; a wrong one is reported."""
        if self.table is None:
            return None
        kind = self.row.kind(name.name)
        if name.variable != self.row.name:
            note = f"the row is `{self.row.name}`: write `{self.row.name}.{name.name}`"
            self.report.add(f"the {what} is a column of the row", name.span, note)
        elif kind is None:
            message = f"table `{self.table.name}` has no column `{name.name}`"
            self.report.add(message, name.span, self.row.why_unknown(name.name))
        else:
            return self.table, kind, self.table.rows.column(name.name)
        return None

    # ---- keys --------------------------------------------------------------------------------------------

    def _members(self) -> list[str] | None:
        """The key of every row as text; its number where there is no key."""
        key = self.each.key
        if key is None:
            return None if self.table is None else [str(number + 1) for number in range(len(self.table))]
        found = self._column(key, "key")
        if found is None:
            return None
        table, kind, column = found
        if kind in LISTS:
            self.report.add(
                f"`{key.name}` is a list", key.span, "a key is a text, a number, a time or a truth value"
            )
            return None
        texts = key_texts(column, kind)
        if texts.null_count:
            missing = texts.to_pylist().index(None)
            self.report.add(f"{table.row(missing)}: the key `{key.name}` is null", key.span)
            return None
        encoded = texts.combine_chunks().dictionary_encode()
        if len(encoded.dictionary) < len(encoded):
            self.report.add(*_repeated(table, key.name, texts.to_pylist(), key.span))
            return None
        members: list[str] = texts.to_pylist()
        return members

    # ---- windows -----------------------------------------------------------------------------------------

    def _windows(self) -> list[int] | None:
        """The window of every row in microseconds; None where it is not a column, or one is wrong."""
        name = self.statement.within.row
        found = None if name is None else self._column(name, "window")
        if name is None or found is None:
            return None
        table, kind, column = found
        if kind not in (Kind.DURATION, Kind.STRING):
            note = "it is a column of durations, or of texts such as `10 minutes`"
            self.report.add(f"{a(kind)} is no window", name.span, note)
            return None
        known: dict[Any, int] = {}
        for value in (column.cast(pa.int64()) if kind is Kind.DURATION else column).unique().to_pylist():
            size, wrong = window_size(value)
            known[value] = size
            if wrong:
                rows = table.values(name.name)
                message = f"{table.row(rows.index(value))}: {wrong}"
                self.report.add(message, name.span)
                return None
        return [known[value] for value in table.values(name.name)]


def window_size(value: Any) -> tuple[int, str]:
    """The microseconds of a row's window, and what is wrong with it, if anything is."""
    if value is None:
        return 0, "the window is null"
    try:
        size = parse_duration(value) if isinstance(value, str) else int(value)
    except QueryError:
        return 0, f"the window `{value}` is no duration such as `10 minutes`"
    problem = size_problem(size, "window")
    return size, "" if problem is None else problem[0]


def key_texts(column: Any, kind: Kind) -> Any:
    """Values as text: numbers and texts as they are written, times in ISO 8601."""
    return column if kind is Kind.STRING else column.cast(pa.string())


def _repeated(
    table: LookupTable, key: str, texts: list[str], at: Span | None
) -> tuple[str, Span | None, str]:
    """The mistake of a key that comes twice."""
    seen: dict[str, int] = {}
    number = next(n for n, text in enumerate(texts) if seen.setdefault(text, n) != n)
    shown = f"{table.row(number)}: the key `{key}` repeats: `{texts[number]}`"
    return shown, at, f"it is that of row {seen[texts[number]] + 1}"
