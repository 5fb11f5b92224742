"""The cells of a plan one after another in one process, each an engine of its own."""

import numpy as np
import pyarrow as pa

from stretto.engine.counters import Counters
from stretto.engine.results.matches import Matches
from stretto.engine.whole_table import run
from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.placement.cells import ByCell
from stretto.records import dataclass
from stretto.schema import Special


@dataclass(frozen=True, slots=True)
class CellRun:
    """What one cell had and found: its events, the queries that it reports, all that it found, what operators did."""

    events: int
    reported: frozenset[str]
    matches: Matches
    counters: Counters


def run_cells(plan: Plan, events: pa.Table, cells: ByCell) -> list[CellRun]:
    """Every cell alone, on the events that the router gives it; StrettoError if a match would be lost or doubled."""
    reason = cells.check(plan)
    if reason is not None:
        raise StrettoError(f"cannot run in cells: {reason}")
    special = plan.schema.special
    table = with_ids(events, special)
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(cells.targets)]
    for batch in table.to_batches():
        for cell, part in cells.parts(batch, special):
            parts[cell].append(part)
    found = []
    for cell, own in enumerate(parts):
        seen = pa.Table.from_batches(own, table.schema)
        matches = run(plan, seen)
        assert matches.counters is not None
        found.append(CellRun(seen.num_rows, cells.reports(plan, cell), matches, matches.counters))
    return found


def with_ids(events: pa.Table, special: Special) -> pa.Table:
    """The events with ids: where there is no such column, the numbers of the rows."""
    if special.id in events.column_names:
        return events
    return events.append_column(special.id, pa.array(np.arange(events.num_rows)))
