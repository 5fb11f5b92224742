"""Tables on standard output: framed and coloured in a terminal, plain columns elsewhere."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table

from stretto.screen import shortened, visible
from stretto.values.texts import time_texts

LONGEST = 300
"""So much is shown of a value; files have all of it."""

Columns = Sequence[tuple[str, bool]]
TableRows = Sequence[Sequence[str]]


def show_table(title: str, columns: Columns, rows: TableRows) -> None:
    """Print a table; the flag of a column says that it holds numbers."""
    columns = [(_cell(name), is_number) for name, is_number in columns]
    rows = [list(map(_cell, row)) for row in rows]
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(_framed(title, columns, rows))
    else:
        print("\n".join([*([title] if title else []), *_plain(columns, rows)]), end="\n\n")


def _cell(text: str) -> str:
    """A value of data in one line, or its beginning and end."""
    return shortened(visible(text), LONGEST)


def _framed(title: str, columns: Columns, rows: TableRows) -> Table:
    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name, is_number in columns:
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _plain(columns: Columns, rows: TableRows) -> Iterator[str]:
    lines = [[name for name, _ in columns], *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        cells = (
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, (_, is_number) in zip(line, widths, columns, strict=True)
        )
        yield "  ".join(cells).rstrip()


def show_matches(batches: Sequence[pa.RecordBatch], total: int) -> None:
    """The first matches; nothing if there are none."""
    rows = [_match_row(row) for batch in batches for row in _rows(batch)]
    if not rows:
        return
    title = f"first {len(rows)} of {total:,} matches" if total > len(rows) else ""
    columns = ("query", "start", "end", "detected", "events", "returned")
    show_table(title, [(name, False) for name in columns], rows)


def _match_row(row: Mapping[str, Any]) -> list[str]:
    bound = dict(row["events"])
    events = " ".join(f"{name}={','.join(map(str, ids))}" for name, ids in bound.items())
    returned = json.loads(row["returned"]) if row["returned"] is not None else {}
    values = " ".join(f"{name}={_value(value)}" for name, value in returned.items())
    return [row["query"], row["start"], row["end"], row["detected"], events, values]


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows with their times as texts, which Python has no times for beyond the years 1 to 9999."""
    columns = [_times(c) if pa.types.is_timestamp(c.type) else c.to_pylist() for c in batch.columns]
    return [dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _times(column: Any) -> list[str]:
    return [(text or "").removesuffix(".000000") for text in time_texts(column).to_pylist()]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def show_counts(found: Mapping[str, int]) -> None:
    """Matches per query, in the order of the workload."""
    show_table("", [("query", False), ("matches", True)], [[name, f"{n:,}"] for name, n in found.items()])


def show_totals(batches: Sequence[pa.RecordBatch], total: int) -> None:
    """The first totals of trends; nothing if there are none."""
    rows = [_total_row(row) for batch in batches for row in _rows(batch)]
    if not rows:
        return
    title = f"first {len(rows)} of {total:,} totals" if total > len(rows) else ""
    columns = [("query", False), ("window", False), ("group", False), ("total", False), ("value", True)]
    show_table(title, columns, rows)


def _total_row(row: Mapping[str, Any]) -> list[str]:
    group = " ".join(f"{name}={_value(value)}" for name, value in json.loads(row["group"]).items())
    window = f"{row['window_start']} .. {row['window_end']}"
    return [row["query"], window, group, row["name"], _total(row)]


def _total(row: Mapping[str, Any]) -> str:
    """The digits where they are exact, else the double, else the power of two of a count that no double holds."""
    if row["exact"] is not None:
        return f"{int(row['exact']):,}"
    if row["value"] is not None:
        return f"{row['value']:.12g}"
    return "" if row["log2_count"] is None else f"2^{row['log2_count']:.6f}"
