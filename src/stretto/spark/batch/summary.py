"""What one pass over the times and types of events tells; parts of a pass are added up."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa

from stretto.plan.spread.spreads import times_of
from stretto.plan.spread.time_slices import Stretch, Times, stretches_of
from stretto.records import dataclass
from stretto.schema import Special
from stretto.stats.sample import names_of
from stretto.values.strings import decoded

STRETCH: Final = 1 << 13
"""Events of a stretch."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of events, all of them and by type, and when they come.

    `rows` counts bad ones too, which lack a time, a type or, where there is such a column, an id; stretches do not.
    """

    rows: int = 0
    types: dict[str, int] = field(default_factory=dict)
    stretches: tuple[Stretch, ...] = ()

    @classmethod
    def of(cls, batches: Iterable[pa.RecordBatch], special: Special) -> Self:
        """The summary of events, of which only the columns of times, types and ids are looked at."""
        rows, types, times = 0, Counter[str](), []
        for batch in batches:
            ts, bad = times_of(batch, special)
            for name in (special.type, special.id):
                if name in batch.schema.names and batch.column(name).null_count:
                    lacking = batch.column(name).is_null().to_numpy(zero_copy_only=False)
                    bad = lacking if bad is None else bad | lacking
            times.append(ts if bad is None else ts[~bad])
            rows += batch.num_rows
            types.update(_counts(batch.column(special.type)))
        known = np.concatenate(times) if times else np.zeros(0, np.int64)
        return cls(rows, dict(types), tuple(stretches_of(known, STRETCH)))

    @property
    def times(self) -> Times:
        return Times.of(self.stretches)

    @property
    def shares(self) -> dict[str, float]:
        """The share of each type among the events."""
        return {name: count / max(self.rows, 1) for name, count in self.types.items()}

    @property
    def first(self) -> int | None:
        """The earliest time."""
        return min((stretch[0] for stretch in self.stretches), default=None)

    @property
    def last(self) -> int | None:
        """The latest time."""
        return max((stretch[1] for stretch in self.stretches), default=None)

    @property
    def seconds(self) -> float:
        """The time from the first event to the last."""
        return ((self.last or 0) - (self.first or 0)) / 1e6

    def to_json(self) -> str:
        return json.dumps([self.rows, self.types, self.stretches])

    @classmethod
    def from_json(cls, text: str) -> Self:
        rows, types, stretches = json.loads(text)
        return cls(rows, types, tuple((first, last, n) for first, last, n in stretches))


def total(summaries: Iterable[Summary]) -> Summary:
    """All of them together."""
    rows, types, stretches = 0, Counter[str](), list[Stretch]()
    for one in summaries:
        rows += one.rows
        stretches += one.stretches
        types.update(one.types)
    return Summary(rows, dict(types), tuple(stretches))


def _counts(column: Any) -> dict[str, int]:
    found = names_of(pa.chunked_array([column])).value_counts()
    counts = zip(decoded(found.field("values")), found.field("counts").to_pylist(), strict=True)
    return {name: count for name, count in counts if name is not None}
