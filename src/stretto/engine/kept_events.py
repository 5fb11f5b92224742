"""Checks that the events an engine keeps are enough for another plan."""

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.derived.read_streams import kept_streams, source_types
from stretto.engine.live_plan import streams_of
from stretto.errors import EngineError
from stretto.plan.dag import Plan, attributes_of, read_columns
from stretto.schema import Kind


def derived_names(plan: Plan) -> frozenset[str]:
    """Return the derived streams whose events stand among the raw events of a plan."""
    return frozenset() if plan.front is None else plan.front.names


def has_same_derived_events(before: Plan, plan: Plan, kinds: Mapping[str, Kind]) -> bool:
    """Return whether the derived events made for the plan before are those of a plan, with all columns that it reads.

    `kinds`: the columns of the events that are kept.
    """
    if plan.derived != before.derived:
        return False
    # A stream that one plan reads may be another stream's in the other plan, or a selection of it.
    kept = kept_streams(before)
    for name, selected in kept_streams(plan).items():
        if name not in kept or kept[name] not in (None, selected):
            return False
    read = read_columns(plan) - attributes_of(plan)
    return all(kinds.get(name) is plan.columns[name] for name in read)


def require_kept(
    plan: Plan, kinds: Mapping[str, Kind], types: Collection[str] | None, made: Collection[str] | None
) -> None:
    """Raise EngineError unless the events that are kept have all that a plan reads.

    `kinds` and `types`: the columns and the types of the events that are kept; None: all types. `made`: the derived
    streams that are made again from raw events; None: derived events are kept, too.
    """
    read = read_columns(plan) if made is None else attributes_of(plan)
    needed = {name: plan.columns[name] for name in sorted(read)}
    missing = [f"attribute `{name}`" for name, kind in needed.items() if kinds.get(name) is not kind]
    if types is not None:
        needed_types = {stream.type for stream in streams_of(plan).values()}
        if plan.front is not None:
            needed_types = needed_types.union(source_types(plan.front)) - set(made or ())
        missing += [f"type `{name}`" for name in sorted(needed_types - set(types))]
    if missing:
        raise EngineError(
            f"the engine kept no {', no '.join(missing)} of the events in its window: "
            "build it with updatable=True to add queries that read more than those it began with"
        )


def without_types(events: pa.RecordBatch, column: str, names: Collection[str]) -> pa.RecordBatch:
    """Return the events that are of none of these types."""
    if not names:
        return events
    types = events.column(column).cast(pa.string())
    return events.filter(pc.invert(pc.is_in(types, pa.array(sorted(names), pa.string()))))
