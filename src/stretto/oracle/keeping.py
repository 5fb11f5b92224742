"""KEEP and LIMIT, from their definition: which of a query's matches are reported."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stretto.oracle.values import Sets
from stretto.pattern.nodes import Query
from stretto.pattern.predicates import Value

if TYPE_CHECKING:
    from stretto.oracle.detections import Match

Bound = tuple["Match", Sets]


def thinned(query: Query, found: Sequence[Bound]) -> list["Match"]:
    """The matches that are left, in the order in which they are looked at."""
    thinning = query.thinning
    assert thinning is not None
    hidden = [item.name for item in query.returns if item.hidden]
    if thinning.word == "LONGEST":
        window = query.window.size
        found = [(replace(one, detected=one.start + window), sets) for one, sets in _longest(found)]
    names = _listed(query, found)
    kept: list[Match] = []
    last: dict[Hashable, Match] = {}
    counts: dict[int, int] = {}
    for match, _ in sorted(found, key=lambda one: _order(one[0], names)):
        values = tuple(_alike(match.returned[name]) for name in hidden)
        before = last.get(values)
        if before is not None and thinning.word == "FIRST":
            if match.detected - before.detected < thinning.lasting_us:
                continue
        elif before is not None and thinning.word == "APART" and match.start <= before.end:
            continue
        last[values] = match
        if thinning.most:
            stretch = match.detected // thinning.stretch_us
            counts[stretch] = counts.get(stretch, 0) + 1
            if counts[stretch] > thinning.most:
                continue
        shown = {name: value for name, value in match.returned.items() if name not in hidden}
        kept.append(replace(match, returned=shown))
    return kept


def _listed(query: Query, found: Sequence[Bound]) -> list[str]:
    """Return the names under which matches list ids, variable by variable; those of leaves in order of their names."""
    names: list[str] = []
    for number, variable in enumerate(query.variables):
        events = [event for _, sets in found for event in sets.get(number, ())]
        names += sorted({name for event in events for name, _ in event.leaves_of(variable.name)})
    return names


def _order(match: "Match", names: Sequence[str]) -> tuple[bool, int, int, int, tuple[tuple[int, ...], ...]]:
    """What matches are looked at by: times, then the ids under each name, one that lists nothing first.

    Matches that lack a position of their window come after all others.
    """
    ids = tuple(match.events.get(name, ()) for name in names)
    return match.lacks_position, match.detected, match.end, match.start, ids


def _alike(value: Value) -> Hashable:
    """Two NaNs tell no matches apart, and neither do two nulls."""
    return "NaN of all" if isinstance(value, float) and math.isnan(value) else value


def _longest(found: Sequence[Bound]) -> list[Bound]:
    """Those that no other contains: in every variable at least their events, and somewhere more."""
    events = [  # each event is one object, and others may list the same ids
        frozenset((number, id(event)) for number, chosen in sets.items() for event in chosen)
        for _, sets in found
    ]
    return [one for one, mine in zip(found, events, strict=True) if not any(mine < other for other in events)]
