"""`optimize`, `run` and `explain` as programs call them."""

from typing import Any

from stretto.engine import planning, whole_table
from stretto.engine.expected_matches import too_many
from stretto.engine.memory.available import default_memory_bytes
from stretto.engine.results.matches import Matches
from stretto.errors import StrettoError, summarized, warn
from stretto.explain.html.page import explain_page
from stretto.explain.mermaid import to_mermaid
from stretto.face.given import Given, need_kinds, table_of, warn_of, workload_of
from stretto.pattern.guessed_schema import guess_schema
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.explanation import explanation
from stretto.schema import Schema, Special
from stretto.stats.profile import Stats

FORMATS = ("text", "json", "mermaid", "html")


def optimize(
    workload: Given,
    known: Any,
    optimizer: str = "auto",
    budget: float | None = None,
    *,
    ts_unit: str | None = None,
) -> Plan:
    """The plan for a workload over events with these statistics, this schema, or over these events.

    `workload`: a Workload, its text, or the Path of its file. `known`: Stats, a Schema, or a table of events (Arrow,
    pandas, Polars, a Path), which is measured first. `budget`: seconds that an optimizer which searches may take.
    A type that is neither defined nor seen, and a selection that nothing passes, are warned of (StrettoWarning).
    """
    need_kinds(optimizer, budget)
    read = workload_of(workload)
    if isinstance(read, Plan):
        return read
    is_table = not isinstance(known, Stats | Schema)
    found = _measured(read, known, Special(), ts_unit) if is_table else known
    warn_of(read, found)
    plan = planning.optimize(read, found, optimizer, budget, once=is_table)
    if isinstance(found, Stats):
        for text in summarized(too_many(plan, found.events, found.seconds, default_memory_bytes())):
            warn(text)
    return plan


def _measured(workload: Workload, events: Any, special: Special, ts_unit: str | None) -> Stats:
    return Stats.of(table_of(events, special, ts_unit), special, workload=workload, at_once=False)


def run(
    workload: Given,
    events: Any,
    *,
    optimizer: str = "auto",
    budget: float | None = None,
    special: Special | None = None,
    ts_unit: str | None = None,
    **options: Any,
) -> Matches:
    """All matches, and totals of trends, in a whole table of events, in any order of rows.

    `workload`: a Plan, a Workload, its text, or the Path of its file; what is no plan is planned for these events.
    `events`: an Arrow table, record batches, a pandas or Polars DataFrame, a mapping of columns, or a Path. `ts_unit`:
    that of times which are integers (s, ms, us, ns); without it their size tells. `options`: as for `Engine`.
    """
    need_kinds(optimizer, budget, special)
    read = workload_of(workload)
    chosen = special or (read.schema.special if isinstance(read, Plan) else Special())
    table = table_of(events, chosen, ts_unit)
    if not isinstance(read, Plan):
        stats = Stats.of(table, chosen, workload=read, at_once=False)
        warn_of(read, stats)
        read = planning.optimize(read, stats, optimizer, budget, once=True)
        allowed = options.get("memory_bytes") or default_memory_bytes()
        for text in summarized(too_many(read, stats.events, stats.seconds, allowed)):
            warn(text)
    return whole_table.run(read, table, special=chosen, **options)


def explain(
    workload: Given,
    known: Any = None,
    optimizer: str = "auto",
    *,
    format: str = "text",  # noqa: A002 - as Plan.explain has it
    ts_unit: str | None = None,
) -> str:
    """How a workload is planned, as text, json, mermaid or html; for events, statistics, or what its terms suggest."""
    if format not in FORMATS:
        raise StrettoError(f"unknown format `{format}` of EXPLAIN; there are: {', '.join(FORMATS)}")
    read = workload_of(workload)
    if not isinstance(read, Plan):
        read = optimize(read, guess_schema(read) if known is None else known, optimizer, ts_unit=ts_unit)
    if format == "mermaid":
        return to_mermaid(explanation(read))
    return explain_page(explanation(read)) if format == "html" else read.explain(format)
