"""What a trend aggregation query means, by brute force: every trend is found, then counted window by window.

Written from docs/semantics.md, section 7, on the oracle of detection: a trend is a match, so trends are the matches
of the same pattern and terms in which the attributes of GROUP BY agree as those of `[attr]` do. Exponential in the
events, and sharing nothing with the automata, the plans or the engine. Sums are exact, whatever their size.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from stretto.oracle.detections import bound_matches
from stretto.oracle.values import Event
from stretto.pattern.nodes import Aggregate, Query, TrendQuery, Window
from stretto.pattern.predicates import Value
from stretto.records import dataclass
from stretto.schema import Kind

Number = int | float | Fraction
Trend = Mapping[int, Sequence[Event]]  # the events of each variable, in time order


@dataclass(frozen=True, slots=True)
class Total:
    """One aggregate of one group in one window [window_start, window_end).

    `group` are the values of GROUP BY, in its order. `value` is exact: an int for counts and for aggregates of
    integers, times and durations, a Fraction for finite sums of doubles and for averages; MIN and MAX of doubles, and
    what is infinite or NaN, are floats; None is null. `scale` is the sum of the absolute values behind a SUM or AVG
    (divided as AVG is), else that of the value itself: what rounding errors are measured by.
    """

    query: str
    window_start: int
    window_end: int
    group: tuple[Value, ...]
    name: str
    function: str
    value: Number | None
    scale: Fraction = Fraction(0)


def totals(query: TrendQuery, events: Sequence[Event]) -> list[Total]:
    """Every aggregate of every group and window that has a trend; `events` are in arrival order."""
    found: dict[tuple[int, tuple[Value, ...]], list[Trend]] = {}
    for match, trend in bound_matches(_detection(query), events):
        for window in _windows(query, match.start, match.end):
            found.setdefault((window, _group(query, trend)), []).append(trend)
    return [
        Total(
            query.name, start, start + query.window_us, group, item.name, item.function, *_value(item, trends)
        )
        for (start, group), trends in found.items()
        for item in query.aggregates
    ]


def _detection(query: TrendQuery) -> Query:
    """The query whose matches are the trends that some window could hold; windows exclude their end."""
    same = tuple(dict.fromkeys((*query.same, *query.groups)))
    window = Window(query.window_us - 1)
    return Query(query.name, query.pattern, query.variables, query.terms, same, window)


def _windows(query: TrendQuery, first: int, last: int) -> Iterator[int]:
    """The starts of the windows that hold both times."""
    slide = query.slide_us
    start = first // slide * slide
    while last < start + query.window_us:
        yield start
        start -= slide


def _group(query: TrendQuery, trend: Trend) -> tuple[Value, ...]:
    """The label of a trend; the two zeros are one group, 0.0."""
    values = [trend[0][0].value(name) for name in query.groups]
    return tuple(value + 0.0 if isinstance(value, float) else value for value in values)


def _value(item: Aggregate, trends: Sequence[Trend]) -> tuple[Number | None, Fraction]:
    """The aggregate over all trends, and its scale."""
    if item.variable is None:
        return len(trends), Fraction(len(trends))
    tally = Counter(event.value(item.attribute) for trend in trends for event in trend[item.variable])
    if item.function == "COUNT":
        return tally.total(), Fraction(tally.total())
    values = {value: n for value, n in tally.items() if isinstance(value, int | float)}
    if not values:
        return None, Fraction(0)
    if any(math.isnan(value) for value in values):
        return math.nan, Fraction(0)
    if item.function in ("MIN", "MAX"):
        best = min(values) if item.function == "MIN" else max(values)
        return best, _size({best: 1})
    over = tally.total() if item.function == "AVG" else 1
    total, scale = _sum(values), _size(values) / over
    if isinstance(total, float):
        return total, scale
    whole = item.function == "SUM" and item.kind is not Kind.FLOAT
    return int(total) if whole else total / over, scale


def _sum(values: Mapping[int | float, int]) -> Fraction | float:
    """Of values with how often they occur: exact where all are finite; infinities of both signs make NaN."""
    infinite = [value for value in values if math.isinf(value)]
    return (
        sum(infinite) if infinite else sum((Fraction(value) * n for value, n in values.items()), Fraction(0))
    )


def _size(values: Mapping[int | float, int]) -> Fraction:
    """The sum of the absolute values of those that are finite."""
    finite = (Fraction(abs(value)) * n for value, n in values.items() if math.isfinite(value))
    return sum(finite, Fraction(0))
