"""A whole table through an engine."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from stretto.engine.matches import Matches
from stretto.engine.reorder import END_OF_TIME, START_OF_TIME
from stretto.engine.run import Engine
from stretto.plan.dag import Plan
from stretto.schema import Special
from stretto.values.rows import I64


def run(plan: Plan, events: Any, **options: Any) -> Matches:
    """All matches of a whole table (Arrow, pandas, Polars, or an iterable of record batches), in any order of rows."""
    if (
        isinstance(events, Iterable)
        and not hasattr(events, "__arrow_c_stream__")
        and not isinstance(events, Mapping)
    ):
        table = pa.Table.from_batches(list(events))
    else:
        table = events if isinstance(events, pa.Table) else pa.table(events)
    special = options.get("special") or plan.schema.special
    options.setdefault("lateness_us", _disorder(table, special))
    engine = Engine(plan, **options)
    matches = engine.nothing()
    start = 0
    while start < table.num_rows:
        piece = table.slice(start, engine.step_size)
        for batch in piece.to_batches():
            matches.extend(engine.push(batch))
        start += piece.num_rows
    matches.extend(engine.flush())
    matches.counters = engine.counters
    return matches


def _disorder(table: pa.Table, special: Special) -> int:
    """How far behind the greatest time before it an event of the table comes: the lateness that loses nothing."""
    if special.ts not in table.column_names:
        return 0
    column = table.column(special.ts).drop_null()
    if not pa.types.is_timestamp(column.type) and not pa.types.is_integer(column.type):
        return 0
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us"), safe=False)
    ts: I64 = column.cast(pa.int64()).to_numpy()
    ts = ts[(ts > START_OF_TIME) & (ts < END_OF_TIME)]
    return int((np.maximum.accumulate(ts) - ts).max()) if len(ts) else 0
