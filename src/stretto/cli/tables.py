"""Tables on standard output: framed and coloured in a terminal, plain columns elsewhere."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table

WIDE = 10_000


def console() -> Console:
    """Standard output; where it is no terminal, lines are never broken."""
    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=WIDE)


def table_of(title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the flag of a column says that it holds numbers."""
    target = console()
    frame = box.SIMPLE_HEAD if target.is_terminal else None
    table = Table(title=title or None, box=frame, title_justify="left", header_style="bold", pad_edge=False)
    for name, is_number in columns:
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    target.print(table)


def show_matches(batches: Sequence[pa.RecordBatch], total: int) -> None:
    """The first matches; nothing if there are none."""
    rows = [_match_row(row) for batch in batches for row in batch.to_pylist()]
    if not rows:
        return
    title = f"first {len(rows)} of {total:,} matches" if total > len(rows) else ""
    columns = ("query", "start", "end", "detected", "events", "returned")
    table_of(title, [(name, False) for name in columns], rows)
    console().print()


def _match_row(row: Mapping[str, Any]) -> list[str]:
    bound = dict(row["events"])
    events = " ".join(f"{name}={','.join(map(str, ids))}" for name, ids in bound.items())
    returned = json.loads(row["returned"]) if row["returned"] is not None else {}
    values = " ".join(f"{name}={_value(value)}" for name, value in returned.items())
    return [row["query"], *(_time(row[name]) for name in ("start", "end", "detected")), events, values]


def _time(value: Any) -> str:
    return "" if value is None else value.isoformat(sep=" ")


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def show_counts(found: Mapping[str, int]) -> None:
    """Matches per query, in the order of the workload."""
    table_of("", [("query", False), ("matches", True)], [[name, f"{n:,}"] for name, n in found.items()])
    console().print()
