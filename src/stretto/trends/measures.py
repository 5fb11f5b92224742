"""What a query's aggregates need to have gathered, as measures of nodes."""

from collections.abc import Mapping, Sequence
from typing import Final

from stretto.pattern.nodes import Aggregate, TrendQuery
from stretto.trends.plan import Measure, TrendPlan, TrendUnit, What

# A sum, a minimum or a maximum over nothing but nulls is null, which only the number of known values tells.
NEEDS: Final[Mapping[str, tuple[What, ...]]] = {
    "COUNT": ("occurrences",),
    "SUM": ("sum", "known"),
    "AVG": ("occurrences", "sum", "known"),
    "MIN": ("known", "min"),
    "MAX": ("known", "max"),
}


def measures_of(query: TrendQuery, places: Sequence[int]) -> tuple[Measure, ...]:
    """The measures that the aggregates of a query need, each once, linear ones first; its variables are at `places`."""
    found = dict.fromkeys(measure for aggregate in query.aggregates for measure in needed(aggregate, places))
    return tuple(sorted(found, key=lambda measure: not measure.is_linear))


def needed(aggregate: Aggregate, places: Sequence[int]) -> tuple[Measure, ...]:
    """The measures of one aggregate: none of COUNT(*), which is the number of trends itself."""
    if aggregate.variable is None:
        return ()
    node = places[aggregate.variable]
    return tuple(
        Measure(node, "" if what == "occurrences" else aggregate.attribute, what)
        for what in NEEDS[aggregate.function]
    )


def places_in(plan: TrendPlan, unit: TrendUnit, place: int) -> tuple[dict[What, int], ...]:
    """For every aggregate of the query of a member, where among the member's measures what it needs stands."""
    member, local = unit.members[place], unit.local_nodes(place)
    places = [local[node] for node in plan.places[member.query]]
    number = {measure: place for place, measure in enumerate(member.measures)}
    return tuple(
        {measure.what: number[measure] for measure in needed(aggregate, places)}
        for aggregate in plan.queries[member.query].aggregates
    )
