"""Statistics of derived streams, counted on the events that they make of a sample of the raw ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.stats import safe_estimates
from stretto.stats.profile import Stats
from stretto.stats.sample import Sample
from stretto.stats.selectivity import Selectivities

Derive = Callable[[Plan, Sequence[pa.Table]], Sequence[pa.Table]]
"""Stretches of events with those that a plan's derived streams make of each."""
MOST: Final = 1 << 16
"""Raw events of which derived ones are made, in whole stretches: at least one."""


def with_derived(stats: Stats, plan: Plan, derive: Derive) -> Stats:
    """Return statistics that know the derived streams of a plan by their events over sampled raw ones."""
    sample, front = stats.sample, plan.front
    if sample is None or front is None or not sample.inside:
        return stats
    stretches = _some(sample.stretches)
    try:
        found = derive(plan, stretches)
    except StrettoError:  # they do not fit into memory, say: the run will tell
        return stats
    except Exception:
        if safe_estimates.strict:
            raise
        return stats
    kind = stats.schema.special.type
    counts = dict.fromkeys(front.names, 0)
    for table in found:
        for one in pc.value_counts(table[kind].combine_chunks().cast(pa.string())).to_pylist():
            if one["values"] in counts:
                counts[one["values"]] += one["counts"]
    raw = sum(table.num_rows for table in stretches)
    made = {name: stats.total_rate * count / raw for name, count in counts.items()}
    known = stats.selectivities
    attributes = {name: of for name, of in front.columns.items() if name in found[0].column_names}
    more = Selectivities(
        Sample(found, None, replace(stats.schema, attributes=attributes), whole=False),
        known.seed,
        dict(known.known),
        dict(known.skews),
        {**known.rates, **made},
        dict(known.counts),
    )
    return replace(stats.with_rates(made), selectivities=more)


def _some(stretches: Sequence[pa.Table]) -> list[pa.Table]:
    """Return stretches of about MOST events, from all over the sample."""
    total = sum(table.num_rows for table in stretches)
    every = max(1, round(total / MOST))
    return list(stretches[::every])
