"""Cells: every unit runs the whole plan, on all events but for those of some types, which are divided by their ids.

A match that holds exactly one event of a divided type is found in the cells that this event went to and nowhere else.
With several divided types the cells are a grid, one direction for each. A query whose matches hold none of a type
would be found in all cells of that direction: the first of them reports it. Every event has a home, by its id alone,
among the cells that it goes to: there it is counted, and reported if it is late or bad.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
import pyarrow as pa

from stretto.plan.dag import Plan
from stretto.plan.placement.holdings import Holdings, read_types
from stretto.plan.placement.refusals import why_no_units
from stretto.plan.spread.event_load import EventLoad
from stretto.plan.spread.key_buckets import buckets_of
from stretto.plan.spread.partition_keys import why_thinned
from stretto.records import dataclass
from stretto.schema import Special
from stretto.values.rows import F64, I64, Bool
from stretto.values.times import END_OF_TIME, START_OF_TIME


@dataclass(frozen=True, slots=True)
class ByCell:
    """`anchors`: the divided types with the number of parts of each, in the order of the grid's directions.

    `types`: events of others go to their home alone, as no query reads them; None: queries may read any.
    """

    anchors: tuple[tuple[str, int], ...]
    types: tuple[str, ...] | None = None

    @classmethod
    def of(cls, plan: Plan, anchors: Sequence[tuple[str, int]]) -> "ByCell":
        """The same for the types that a plan reads."""
        return cls(tuple(anchors), tuple(sorted(read_types(plan))))

    @property
    def targets(self) -> int:
        return prod(parts for _, parts in self.anchors)

    @property
    def grid(self) -> list[int]:
        return [parts for _, parts in self.anchors] or [1]

    def place(self, cell: int) -> tuple[int, ...]:
        """The part of each divided type that a cell has."""
        return tuple(int(i) for i in np.unravel_index(cell, self.grid))

    def _homes(self, batch: pa.RecordBatch, name: str) -> I64:
        """The home of each event: the cell that has, in every direction, the part that its id falls into."""
        found: I64 = np.ravel_multi_index(
            tuple(buckets_of(batch, (name,), parts) for parts in self.grid), self.grid
        )
        return found

    def owned(self, target: int) -> tuple[int, int]:  # noqa: ARG002 - as the others
        """The microseconds [low, high): a target reports the matches that begin there."""
        return START_OF_TIME, END_OF_TIME

    def counted(self, cell: int, batch: pa.RecordBatch, special: Special) -> Bool:
        """Which events are counted, and reported if they are late or bad, by a cell, of all that it sees."""
        mine: Bool = self._homes(batch, special.id) == cell
        return mine

    def repeats(self, cell: int, ids: I64, ts: I64) -> Bool:  # noqa: ARG002 - as slices
        """Which of the events with an id that came before are counted by a cell.

        The ids of texts are their hashes in an engine: of events with such ids and a divided type some count nowhere.
        """
        mine: Bool = self._homes(pa.record_batch({"id": pa.array(ids)}), "id") == cell
        return mine

    def parts(self, batch: pa.RecordBatch, special: Special) -> list[tuple[int, pa.RecordBatch]]:
        """The cells that need events of the batch, each with those events in their order; events need an id."""
        return [(cell, part) for cell, part in self._parts(batch, special) if part.num_rows]

    def _parts(self, batch: pa.RecordBatch, special: Special) -> Iterator[tuple[int, pa.RecordBatch]]:
        kinds = batch.column(special.type)
        if not pa.types.is_dictionary(kinds.type):
            kinds = kinds.dictionary_encode()
        names, codes = (
            kinds.dictionary.to_pylist(),
            kinds.indices.fill_null(-1).to_numpy(zero_copy_only=False),
        )
        known = np.array([self.types is None or name in self.types for name in names] + [True])
        read = known[codes]
        homes = None if read.all() else self._homes(batch, special.id)
        masks: list[list[Bool]] = []
        for name, parts in self.anchors:
            mine = codes == names.index(name) if name in names else np.zeros(batch.num_rows, np.bool_)
            part = buckets_of(batch, (special.id,), parts)
            masks.append([~mine | (part == number) for number in range(parts)])
        for cell, chosen in enumerate(product(*masks)):
            seen = np.logical_and.reduce(chosen) if chosen else np.ones(batch.num_rows, np.bool_)
            if homes is not None:
                seen = np.where(read, seen, homes == cell)
            yield cell, batch if seen.all() else batch.filter(pa.array(seen))

    def reports(self, plan: Plan, cell: int) -> frozenset[str]:
        """The queries that a cell reports matches of."""
        held = Holdings(plan)
        beyond = [name for (name, _), part in zip(self.anchors, self.place(cell), strict=True) if part]
        return frozenset(query for query in plan.queries if held.once(query).issuperset(beyond))

    def check(self, plan: Plan) -> str | None:
        """Why a plan's results would be wrong; None if they are right."""
        reason = why_no_units(plan) or why_thinned(plan)
        if reason is not None:
            return reason
        unseen = () if self.types is None else sorted(read_types(plan).difference(self.types))
        if unseen:
            return f"events of `{unseen[0]}` are not sent to the cells"
        held = Holdings(plan)
        for name, _ in self.anchors:
            for query in plan.queries:
                reason = held.why_not_divided(query, name)
                if reason is not None:
                    return f"`{name}` cannot be divided among cells: in query `{query}` {reason}"
        return None

    def loads(self, load: EventLoad) -> F64:
        """About how many events each cell gets: all, but for the parts of divided types that others have."""
        elsewhere = sum(load.shares.get(name, 0.0) * (1.0 - 1.0 / parts) for name, parts in self.anchors)
        return np.full(self.targets, load.times.total * (1.0 - elsewhere))
