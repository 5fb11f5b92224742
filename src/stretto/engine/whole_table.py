"""A whole table through an engine."""

from typing import Any

import numpy as np
import pyarrow as pa

from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine
from stretto.plan.dag import Plan
from stretto.schema import Kind, Special, kind_of, need_once
from stretto.values.convert import as_kind, plain
from stretto.values.rows import I64
from stretto.values.tables import as_table
from stretto.values.times import in_time


def run(plan: Plan, events: Any, **options: Any) -> Matches:
    """All matches of a whole table (Arrow, pandas, Polars, or an iterable of record batches), in any order of rows."""
    table = as_table(events)
    need_once(table.column_names)
    special = options.get("special") or plan.schema.special
    options.setdefault("lateness_us", _disorder(table, special))
    engine = Engine(plan, **options)
    matches = engine.nothing()
    start = 0
    while start < table.num_rows:
        piece = table.slice(start, engine.step_size)
        for batch in piece.to_batches():
            matches.extend(engine.push(batch))
            engine.kept_bytes = matches.held
        start += piece.num_rows
    matches.extend(engine.flush())
    matches.peak_bytes = engine.peak_bytes
    matches.counters = engine.counters
    matches.repeated_ids = engine.repeats.found
    return matches


def _disorder(table: pa.Table, special: Special) -> int:
    """How far behind the greatest time before it an event of the table comes: the lateness that loses nothing."""
    if special.ts not in table.column_names:
        return 0
    column = table.column(special.ts).drop_null()
    if kind_of(column.type) not in (Kind.TIME, Kind.INT):
        return 0  # the engine refuses it
    found = [plain(as_kind(chunk, Kind.TIME)).data for chunk in column.chunks]
    ts: I64 = np.concatenate(found) if found else np.zeros(0, np.int64)
    known = in_time(ts)
    ts = ts if known.all() else ts[known]
    if (ts[1:] >= ts[:-1]).all():  # most often, and sooner seen
        return 0
    return int((np.maximum.accumulate(ts) - ts).max())
