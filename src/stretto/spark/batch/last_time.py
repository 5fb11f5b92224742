"""The time of the last event of the whole input: a target that has a part of the events cannot know it by itself.

Matches that wait for a later time are undecided. Bad events do not count, so the latest events of each batch are
checked as the engine will check them, from the last one back to the first that is good.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.stream.intake import Intake
from stretto.plan.dag import Plan, attributes_of
from stretto.plan.ops import Emit, Forbid
from stretto.plan.spread.spreads import times_of
from stretto.plan.spread.unseen import BatchSpread
from stretto.schema import Special
from stretto.spark.packed import END, Packed, packed_rows
from stretto.values.strings import Strings
from stretto.values.times import START_OF_TIME

GROWTH: Final = 16
"""After a bad event so many times as many events are checked at once."""


def needs_last_time(plan: Plan, spread: BatchSpread) -> bool:
    """Return whether matches may be undecided at a target that has only a part of the events."""
    if spread.targets == 1:
        return False
    longest = (
        op.thinning is not None and op.thinning.word == "LONGEST" for op in plan.ops if isinstance(op, Emit)
    )
    return plan.front is not None or any(isinstance(op, Forbid) for op in plan.ops) or any(longest)


class LastTime:
    """The time of the last good event among those that were seen so far, `us`."""

    def __init__(self, plan: Plan, special: Special) -> None:
        kinds = {name: plan.columns[name] for name in sorted(attributes_of(plan))}
        text_ids = plan.text_ids if plan.front is None else None
        self._special, self._intake = special, Intake(kinds, {}, special, Strings(), text_ids=text_ids)
        self.us = START_OF_TIME

    def see(self, batch: pa.RecordBatch) -> None:
        """Take account of more events."""
        ts, timeless = times_of(batch, self._special)
        rows = np.flatnonzero(ts > self.us if timeless is None else (ts > self.us) & ~timeless)
        size = 1
        while len(rows):
            first = max(len(rows) - size, 0)
            order = np.argpartition(ts[rows], first)
            latest, rows = rows[order[first:]], rows[order[:first]]
            good = self._intake.convert(batch.take(pa.array(latest)), 0)[0].ts
            if len(good):
                self.us = int(good.max())
                return
            size *= GROWTH

    def seeing(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches, and take account of them on the way."""
        for batch in batches:
            self.see(batch)
            yield batch

    def rows(self, targets: int) -> Iterator[pa.RecordBatch]:
        """Yield a packed row for each target that says when the last event was."""
        if self.us > START_OF_TIME:
            yield packed_rows(Packed(target, END, b"", last_us=self.us) for target in range(targets))


def greatest_end(batch: pa.RecordBatch, last_us: int) -> int:
    """Return the greatest time of packed rows that say when the last event was, or `last_us` if that is greater."""
    times: list[int] = batch.filter(pc.equal(batch.column("kind"), END)).column("last_us").to_pylist()
    return max([last_us, *times])
