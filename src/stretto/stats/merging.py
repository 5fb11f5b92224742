"""Statistics of several parts of a stream as those of the whole: of days, files, or what was measured yesterday.

What was counted is summed up again, so that parts weigh by their seconds or by their events. What only some of them
have measured is what those say. There is no sample: where nothing was measured, nothing more can be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import hypot
from typing import TYPE_CHECKING, Final, TypeVar

from stretto.errors import StrettoError
from stretto.schema import Kind, Schema
from stretto.stats.counted_tuples import ROWS
from stretto.stats.meetings import BURST, MEETINGS
from stretto.stats.selectivity import Selectivities, Selectivity, Words
from stretto.stats.skew import HEAVY, Skew

if TYPE_CHECKING:
    from stretto.stats.profile import Stats

T = TypeVar("T")

EVEN: Final = 0.1
"""Parts that differ by no more than this in how crowded they are count as streams that come evenly."""


def merged(parts: Sequence["Stats"]) -> "Stats":
    """The statistics of several parts of one stream, each of them once; StrettoError where they do not fit together."""
    first, *others = parts
    if not others:
        return first
    seconds = [part.seconds or 1.0 for part in parts]
    total = sum(seconds)
    types = sorted({name for part in parts for name in part.rates})
    rates = {name: _mean(seconds, [part.rates.get(name, 0.0) for part in parts]) for name in types}
    return replace(
        first,
        schema=_schema([part.schema for part in parts]),
        seconds=total,
        rates=rates,
        events=sum(part.events for part in parts),
        otherwise=_mean(seconds, [part.otherwise for part in parts]),
        selectivities=_selectivities(parts, seconds, rates),
    )


def _schema(schemas: Sequence[Schema]) -> Schema:
    attributes: dict[str, Kind] = {}
    for schema in schemas:
        if schema.special != schemas[0].special:
            raise StrettoError(
                "statistics of events with other columns for time, type or id do not go together"
            )
        for name, kind in schema.attributes.items():
            if attributes.setdefault(name, kind) is not kind:
                raise StrettoError(
                    f"the attribute `{name}` is {attributes[name]} in some of the statistics and {kind} in others"
                )
    known = [schema.types for schema in schemas if schema.types is not None]
    types = frozenset[str]().union(*known) if len(known) == len(schemas) else None
    return Schema(attributes, types, schemas[0].special)


def _selectivities(
    parts: Sequence["Stats"], seconds: Sequence[float], rates: Mapping[str, float]
) -> Selectivities:
    found = [part.selectivities for part in parts]
    events = [float(max(part.events, 1)) for part in parts]
    counts: dict[Words, Selectivity] = {}
    for key, own in _by_key([one.counts for one in found]).items():
        if key[0] in (MEETINGS, BURST):
            counts[key] = _crowding({place: parts[place].total_rate for place in own}, seconds, own)
        else:
            counts[key] = _together(seconds if key[1].startswith(ROWS) else events, own)
    return Selectivities(
        known={key: _together(events, own) for key, own in _by_key([one.known for one in found]).items()},
        skews={key: _skew(events, own) for key, own in _by_key([one.skews for one in found]).items()},
        rates=rates,
        counts=counts,
    )


def _by_key(parts: Sequence[Mapping[Words, T]]) -> dict[Words, dict[int, T]]:
    """For everything that some part knows what each of them says, by the number of the part."""
    found: dict[Words, dict[int, T]] = {}
    for place, part in enumerate(parts):
        for key, value in part.items():
            found.setdefault(key, {})[place] = value
    return dict(sorted(found.items()))


def _crowding(
    rates: Mapping[int, float], seconds: Sequence[float], known: Mapping[int, Selectivity]
) -> Selectivity:
    """How many more pairs there are than of events that come evenly: those of all parts, by what the whole would have.

    So a busy part and a quiet one are a stream in bursts.
    """
    spans = [seconds[place] for place in known]
    mean = _mean(spans, [rates[place] for place in known])
    pairs = [seconds[place] * rates[place] ** 2 * one.value for place, one in known.items()]
    factor = sum(pairs) / (sum(spans) * mean**2) if mean else 1.0
    return Selectivity(1.0 if abs(factor - 1.0) <= EVEN else factor)


def _mean(weights: Sequence[float], values: Sequence[float]) -> float:
    total = sum(weights)
    return sum(weight * value for weight, value in zip(weights, values, strict=True)) / total


def _together(weights: Sequence[float], known: Mapping[int, Selectivity]) -> Selectivity:
    """The mean of what parts have measured, and its standard error."""
    own = [weights[place] for place in known]
    error = hypot(*(weight * one.error for weight, one in zip(own, known.values(), strict=True))) / sum(own)
    return Selectivity(_mean(own, [one.value for one in known.values()]), error)


def _skew(weights: Sequence[float], known: Mapping[int, Skew]) -> Skew:
    """The same values in all parts; one that is heavy in some of them is one of the rest in the others."""
    own, skews = [weights[place] for place in known], list(known.values())
    heavy = [dict(one.heavy) for one in skews]
    usual = [one.rest / max(one.effective, 1.0) for one in skews]
    shares = {
        value: _mean(own, [held.get(value, other) for held, other in zip(heavy, usual, strict=True)])
        for value in dict.fromkeys(value for held in heavy for value in held)
    }
    kept = sorted(shares.items(), key=lambda share: (-share[1], str(share[0])))[:HEAVY]
    rest = max(_mean(own, [one.present for one in skews]) - sum(share for _, share in kept), 0.0)
    effective = max(one.effective for one in skews)
    squares = sum(share * share for _, share in kept) + (rest * rest / effective if effective else 0.0)
    heaviest = kept[0][1] if kept else max(one.heaviest for one in skews)
    return Skew(max(one.distinct for one in skews), squares, heaviest, tuple(kept), rest, effective)
