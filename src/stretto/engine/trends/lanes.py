"""Which lane of a value stands for which measure, and what an event weighs in it.

The lanes of a member are its measures in order: linear lane 0 counts, lane 1 + n is the n-th linear measure, extreme
lane n the n-th MIN or MAX. Events are weighed once per column, an attribute and what is asked of it, for all members:
a row of weights is a value with lane 0 one, lane 1 + n the n-th linear column, extreme lane n the n-th extreme one.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from stretto.engine.trends.numbers import I32, Values, extreme_keys, scaled
from stretto.records import dataclass
from stretto.trends.plan import Measure, TrendUnit, UnitPart
from stretto.values.evaluate import Events
from stretto.values.rows import I64
from stretto.values.vector import Vector

Column = tuple[str, str]
"""An attribute and what is asked of it, as in Measure."""


def split(measures: Sequence[Measure]) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """The linear measures and the extreme ones, each in order."""
    linear = tuple(measure for measure in measures if measure.is_linear)
    return linear, tuple(measure for measure in measures if not measure.is_linear)


@dataclass(frozen=True, slots=True)
class Columns:
    """What events are weighed by."""

    linear: tuple[Column, ...]
    extreme: tuple[Column, ...]

    @property
    def any(self) -> bool:
        return bool(self.linear or self.extreme)

    def weights(self, positions: I64, events: Events) -> Values:
        """One row per event: what it weighs in each column (nulls nothing). Without columns one row serves all."""
        n = len(positions) if self.any else 1
        weights = Values(
            np.ones((n, 1 + len(self.linear)), np.uint64),
            np.ones((n, 1 + len(self.linear)), np.float64),
            np.zeros((n, 1 + len(self.linear)), np.int32),
            np.empty((n, len(self.extreme)), np.int64),
        )
        read = {attribute for attribute, _ in self.linear + self.extreme if attribute}
        vectors = {attribute: events.values(attribute, positions).over(n) for attribute in read}
        for lane, (attribute, what) in enumerate(self.linear, 1):
            if what != "occurrences":
                _weigh(weights, lane, vectors[attribute], known=what == "known")
        for lane, (attribute, what) in enumerate(self.extreme):
            weights.x[:, lane] = extreme_keys(vectors[attribute], largest=what == "max")
        return weights


def _weigh(weights: Values, lane: int, vector: Vector, *, known: bool) -> None:
    valid = np.ones(len(vector.data), np.bool_) if vector.valid is None else vector.valid
    if known:
        weights.u[:, lane] = weights.f[:, lane] = valid
        return
    numbers = np.where(valid, vector.data, 0)
    if numbers.dtype != np.float64:
        weights.u[:, lane] = numbers.astype(np.int64).view(np.uint64)
    else:
        weights.u[:, lane] = 0  # no sum of doubles is exact
    weights.f[:, lane], weights.e[:, lane] = scaled(numbers.astype(np.float64))


def columns_of(measures: Iterable[Measure]) -> Columns:
    """The columns that these measures need, each once."""
    linear, extreme = split(tuple(measures))
    return Columns(
        tuple(sorted({(measure.attribute, measure.what) for measure in linear})),
        tuple(sorted({(measure.attribute, measure.what) for measure in extreme})),
    )


@dataclass(frozen=True, slots=True)
class LaneMap:
    """Rows of lanes: per row and lane the lane of another kind of value that it takes from, -1 for none.

    Lane 0 of `linear` always takes from lane 0.
    """

    linear: I32
    extreme: I32


def lane_map(rows: Sequence[Sequence[Measure]], other: Callable[[int, Measure], int | None]) -> LaneMap:
    """For every row of measures, in lanes as many as the longest row needs: `other(row, measure)`.

    That is the place of the measure among the other kind's linear (or extreme) ones, None if it has none there.
    """
    parts = [split(row) for row in rows]
    linear = np.full((len(rows), 1 + max((len(p[0]) for p in parts), default=0)), -1, np.int32)
    extreme = np.full((len(rows), max((len(p[1]) for p in parts), default=0)), -1, np.int32)
    linear[:, 0] = 0
    for row, (sums, extremes) in enumerate(parts):
        for lane, measure in enumerate(sums):
            place = other(row, measure)
            linear[row, 1 + lane] = -1 if place is None else 1 + place
        for lane, measure in enumerate(extremes):
            place = other(row, measure)
            extreme[row, lane] = -1 if place is None else place
    return LaneMap(linear, extreme)


def shared_measures(unit: TrendUnit, part: UnitPart) -> tuple[Measure, ...]:
    """All that members measure at the nodes of a part, linear measures first."""
    members = (unit.members[place] for place in part.members)
    found = {measure for member in members for measure in member.measures if measure.node in part.nodes}
    linear, extreme = split(sorted(found, key=lambda m: (m.node, m.attribute, m.what)))
    return linear + extreme


def shared_lanes(rows: Sequence[tuple[Sequence[Measure], Sequence[Measure]]]) -> LaneMap:
    """For every row (the measures of a member, and those of a part): the lanes of the part's values."""

    def place(row: int, measure: Measure) -> int | None:
        kind = split(rows[row][1])[0 if measure.is_linear else 1]
        return kind.index(measure) if measure in kind else None

    return lane_map([measures for measures, _ in rows], place)


def weight_lanes(rows: Sequence[tuple[int, Sequence[Measure]]], columns: Columns) -> LaneMap:
    """For every row (a node, and the measures of a kind of value): the weights of an event of that node."""

    def place(row: int, measure: Measure) -> int | None:
        if measure.node != rows[row][0]:
            return None
        column = (measure.attribute, measure.what)
        return (columns.linear if measure.is_linear else columns.extreme).index(column)

    return lane_map([measures for _, measures in rows], place)
