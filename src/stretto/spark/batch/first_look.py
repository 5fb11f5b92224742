"""A look at the first events of a DataFrame, to plan for: one job that reads at most so many rows of a partition.

How many events there are in all, and until when, is not known then, so large ones are spread in ways that do not ask.
"""

from dataclasses import replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from stretto.pattern.workload import Workload
from stretto.plan.spread.event_load import EventLoad
from stretto.records import dataclass
from stretto.schema import Schema, Special, sources_of
from stretto.spark.batch.summary import Summary
from stretto.stats.profile import Stats
from stretto.stats.sampling import check_columns

LOOKED_AT = 50_000
"""Rows that are looked at."""


@dataclass(frozen=True)
class FirstLook:
    """The first events of a DataFrame; `whole`: there are no others."""

    events: pa.Table
    special: Special
    whole: bool

    @classmethod
    def at(cls, df: DataFrame, schema: Schema) -> "FirstLook":
        special = schema.special
        names = sources_of((special.ts, special.type, special.id, *schema.attributes), df.columns)
        chosen = df.select([F.col(f"`{name}`") for name in dict.fromkeys(names)])
        found = chosen.limit(LOOKED_AT + 1).toArrow()
        check_columns(found.schema, special)
        return cls(found.slice(0, LOOKED_AT), special, found.num_rows <= LOOKED_AT)

    def stats(self, workload: Workload) -> Stats:
        """What to plan for. Of types that were not seen among the first of many, each may come now and then."""
        stats = Stats.of(self.events, self.special, workload=workload)
        if self.whole:
            return stats
        now_and_then = 1.0 / (stats.seconds or 1.0)
        return replace(stats, schema=replace(stats.schema, types=None), otherwise=now_and_then)

    @cached_property
    def load(self) -> EventLoad:
        """What there is to spread, where it is all that was seen."""
        known = Summary.of(self.events.to_batches(), self.special)
        return EventLoad(known.times, shares=known.shares)
