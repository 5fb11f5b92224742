"""Tables without the rows that cannot be: while a stream runs, one bad row does not cost the others."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from stretto.pattern.binding.families import key_texts, window_size
from stretto.pattern.derived.tables import LookupTable, TableError
from stretto.pattern.workload import Workload
from stretto.schema import LISTS, Kind
from stretto.text import syntax
from stretto.text.alike.statements import samples


def with_good_rows(workload: Workload) -> tuple[Workload, list[str]]:
    """The workload without bad rows of its tables, and what is wrong with each, by file and row.

    A key that is null or was there before is bad, and so is a window that is none. What is wrong with a whole table is
    left for binding to tell.
    """
    statements = samples(workload.statements)
    tables = {one.name: one for one in statements if isinstance(one, syntax.CreateTable)}
    wrong: dict[str, dict[int, str]] = {}
    for query in statements:
        if isinstance(query, syntax.Query) and query.for_each is not None and query.for_each.table in tables:
            statement = tables[query.for_each.table]
            try:
                table = workload.read_table(statement)
            except TableError:
                continue
            found = wrong.setdefault(statement.name, {})
            for row, reason in _bad_rows(query, query.for_each, table):
                found.setdefault(row, f"{table.row(row)}: {reason}")
    kept = {name: workload.read_table(tables[name]).rows for name, bad in wrong.items() if bad}
    for name, rows in kept.items():
        good = np.ones(rows.num_rows, np.bool_)
        good[list(wrong[name])] = False
        kept[name] = rows.filter(pa.array(good))
    told = [reason for bad in wrong.values() for _, reason in sorted(bad.items())]
    return (replace(workload, tables={**workload.tables, **kept}) if kept else workload), told


def _bad_rows(query: syntax.Query, each: syntax.ForEach, table: LookupTable) -> Iterator[tuple[int, str]]:
    key, window = each.key, query.within.row
    kind = None if key is None else table.kinds.get(key.name)
    if key is not None and kind is not None and kind not in LISTS:
        seen: dict[str, int] = {}
        for row, text in enumerate(key_texts(table.rows.column(key.name), kind).to_pylist()):
            if text is None:
                yield row, f"the key `{key.name}` is null"
            elif seen.setdefault(text, row) != row:
                yield row, f"the key `{key.name}` repeats: `{text}`"
    if window is not None and table.kinds.get(window.name) in (Kind.DURATION, Kind.STRING):
        for row, value in enumerate(table.values(window.name)):
            _, reason = window_size(value)
            if reason:
                yield row, reason
