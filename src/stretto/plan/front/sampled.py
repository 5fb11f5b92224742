"""Statistics of derived streams, counted on the events that they make of a sample of the raw ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.errors import StrettoError
from stretto.pattern.predicates import Param
from stretto.plan.dag import Plan
from stretto.plan.families.members import ENTRY, Constants
from stretto.plan.families.pair_cost import entries_for
from stretto.plan.front.stages import Projection
from stretto.records import dataclass
from stretto.stats import safe_estimates
from stretto.stats.profile import Stats
from stretto.stats.sample import Sample
from stretto.stats.selectivity import Selectivities
from stretto.values.rows import I64

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
    plan, picked = _with_some_entries(plan, stats, sum(table.num_rows for table in stretches))
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
    for one in picked:
        # Where no event was paired, half of one pair may have been.
        made[one.stream] = (
            max(made[one.stream], 0.5 * stats.total_rate / raw) * one.entries / len(one.numbers)
        )
        found = [_numbered(table, one) for table in found]
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


@dataclass(frozen=True, slots=True)
class _PickedEntries:
    """The entries of a family that events of `stream` are paired with, of so many; `column` has their numbers."""

    stream: str
    column: str
    entries: int
    numbers: I64


def _with_some_entries(plan: Plan, stats: Stats, raw: int) -> tuple[Plan, list[_PickedEntries]]:
    """Return the plan with as many entries of each family, picked by chance, as can be paired with the raw events."""
    assert plan.front is not None
    stages, picked = list(plan.front.stages), []
    for place, stage in enumerate(stages):
        if not isinstance(stage, Projection) or stage.pairing is None or not len(stage.pairing.entries):
            continue
        entries = stage.pairing.entries
        events = raw * stats.rate(stage.source.type) / stats.total_rate if stats.total_rate else raw
        number = min(entries_for(stats, stage.source, entries, stage.pairing.terms, events), len(entries))
        chosen = np.sort(np.random.default_rng(number).permutation(len(entries))[:number])
        columns = {name: column.take(pa.array(chosen)) for name, column in entries.columns.items()}
        pairing = replace(stage.pairing, entries=Constants(columns, entries.kinds, number))
        stages[place] = replace(stage, pairing=pairing)
        for item in stage.columns:
            if isinstance(item.value, Param) and item.value.attribute == ENTRY:
                picked.append(_PickedEntries(stage.name, item.name, len(entries), chosen))
    return replace(plan, front=replace(plan.front, stages=tuple(stages))), picked


def _numbered(table: pa.Table, picked: _PickedEntries) -> pa.Table:
    """Return the events with the numbers that their entries have among all of the family."""
    if picked.column not in table.column_names:
        return table
    numbers = pa.array(picked.numbers).take(table[picked.column].combine_chunks())
    return table.set_column(table.column_names.index(picked.column), picked.column, numbers)


def _some(stretches: Sequence[pa.Table]) -> list[pa.Table]:
    """Return stretches of about MOST events, from all over the sample."""
    total = sum(table.num_rows for table in stretches)
    every = max(1, round(total / MOST))
    return list(stretches[::every])
