"""Tables on standard output: framed and coloured in a terminal, plain columns elsewhere."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from stretto.cli.console import is_terminal
from stretto.engine.results.python_values import reader_of
from stretto.explain.numbers import columns
from stretto.pattern.derived.families import member_name
from stretto.screen import shortened, visible
from stretto.values.texts import time_texts

LONGEST = 300
"""The most characters of a value that are shown; files have all of it."""


def show_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> None:
    """Print a table; the first `words` columns hold texts, the others numbers."""
    heads, *cells = [[shortened(visible(text), LONGEST) for text in row] for row in (heads, *rows)]
    if not is_terminal(sys.stdout):
        print("\n".join([*([title] if title else []), *columns([heads, *cells], words)]), end="\n\n")
        return
    from stretto.cli.results.terminal import show_framed

    show_framed(title, heads, cells, words)


Readers = Mapping[str, Callable[[str | None], dict[str, Any]]]
"""What reads the JSON of what a query returned, by query."""


def show_matches(batches: Iterable[pa.RecordBatch], total: int, readers: Readers) -> None:
    """The first matches; nothing if there are none."""
    heads = ["query", "start", "end", "detected", "events", "returned"]
    rows = [_match_row(row, readers) for row in _rows(batches)]
    _show_first("matches", heads, rows, total, words=len(heads))


def show_totals(batches: Iterable[pa.RecordBatch], total: int) -> None:
    """The first totals of trends; nothing if there are none."""
    heads = ["query", "window", "group", "total", "value"]
    _show_first("totals", heads, list(map(_total_row, _rows(batches))), total, words=4)


def _show_first(what: str, heads: list[str], rows: list[list[str]], total: int, words: int) -> None:
    if rows:
        title = f"first {len(rows)} of {total:,} {what}" if total > len(rows) else ""
        show_table(title, heads, rows, words)


def _match_row(row: Mapping[str, Any], readers: Readers) -> list[str]:
    bound = dict(row["events"])
    events = " ".join(f"{name}={','.join(map(str, ids))}" for name, ids in bound.items())
    returned = readers.get(row["query"], reader_of(()))(row["returned"])
    values = " ".join(f"{name}={_value(value)}" for name, value in returned.items())
    query = row["query"] if row["member"] is None else member_name(row["query"], row["member"])
    return [query, row["start"], row["end"], row["detected"], events, values]


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The rows with their times as texts: Python has no times outside the years 1 to 9999."""
    for batch in batches:
        columns = [_times(c) if pa.types.is_timestamp(c.type) else c.to_pylist() for c in batch.columns]
        yield from (dict(zip(batch.schema.names, row, strict=True)) for row in zip(*columns, strict=True))


def _times(column: Any) -> list[str]:
    return [(text or "").removesuffix(".000000") for text in time_texts(column).to_pylist()]


def _value(value: Any) -> str:
    return str(value) if isinstance(value, str | datetime | timedelta) else json.dumps(value, default=str)


def show_counts(found: Mapping[str, int], undecided: Mapping[str, int]) -> None:
    """Matches per query, in the order of the workload, and undecided ones where there are any."""
    if not undecided:
        show_table("", ["query", "matches"], [[name, f"{n:,}"] for name, n in found.items()])
        return
    rows = [[name, f"{n:,}", f"{undecided.get(name, 0):,}"] for name, n in found.items()]
    show_table("", ["query", "matches", "undecided"], rows)


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
