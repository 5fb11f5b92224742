"""What trend queries found, as rows: one per query, window, group and aggregate."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.engine.results.returned_values import json_objects
from stretto.engine.results.totals import TOTALS
from stretto.engine.rows.partitions import Partitions
from stretto.engine.trends.executor import Results
from stretto.engine.trends.numbers import Values, doubles, extreme_doubles, extreme_integers, integers, log2
from stretto.pattern.nodes import Aggregate, TrendQuery
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.trends.measures import places_in
from stretto.trends.plan import TrendPlan, TrendUnit, What
from stretto.values.rows import F64, I64, Bool
from stretto.values.strings import Strings, stretches

LIMB: Final = 512
"""Bits of one step of a scaled double's exponent."""


def total_rows(
    plan: TrendPlan, unit: TrendUnit, results: Results, partitions: Partitions, strings: Strings
) -> Iterator[pa.RecordBatch]:
    """The rows of closed windows, in batches that each are of one query and one aggregate."""
    for number, member in enumerate(unit.members):
        mine = np.flatnonzero(results.member == number)
        if not len(mine):
            continue
        query, found = plan.queries[member.query], results.take(mine)
        if set(query.groups) != set(unit.partition):
            found = _merged(found, _labels(query, found.key, partitions))
        places = places_in(plan, unit, number)
        linear = sum(measure.is_linear for measure in member.measures)
        labels = {name: partitions.values(name, found.key) for name in query.groups}
        texts = [values for name, values in labels.items() if partitions.kind(name) is Kind.STRING]
        for at in stretches(texts, strings, len(found), len(found)):
            part = found.take(at)
            starts = part.window_start
            times = [pa.array(us).view(pa.timestamp("us")) for us in (starts, starts + query.window_us)]
            label = _objects(query, part.key, partitions, strings)
            for aggregate, place in zip(query.aggregates, places, strict=True):
                names = [_repeated(name, len(part)) for name in (query.name, aggregate.name)]
                columns = _Lanes(part.values, place, linear).columns(aggregate)
                yield pa.RecordBatch.from_arrays([names[0], *times, label, names[1], *columns], schema=TOTALS)


def _repeated(text: str, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.string()), n)


# ---- groups ----------------------------------------------------------------------------------------------------


def _labels(query: TrendQuery, keys: I64, partitions: Partitions) -> I64:
    """A number for the values of the query's own groups: equal for partitions that differ in other attributes alone."""
    if not query.groups:
        return np.zeros(len(keys), np.int64)
    columns = [partitions.values(name, keys).data for name in query.groups]
    ranks = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in columns]
    _, labels = np.unique(np.stack(ranks, axis=1), axis=0, return_inverse=True)
    return np.asarray(labels, np.int64).reshape(-1)


def _merged(found: Results, labels: I64) -> Results:
    """Partitions of one label and window added up."""
    order = np.lexsort((labels, found.window_start))
    sorted_, label = found.take(order), labels[order]
    start, values = sorted_.window_start, sorted_.values
    new = np.ones(len(order), np.bool_)
    new[1:] = (start[1:] != start[:-1]) | (label[1:] != label[:-1])
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    # Doubles are added up with the greatest exponent of their group; four steps below it nothing is left of one.
    e = np.maximum.reduceat(values.e, first, axis=0)
    scaled = np.ldexp(values.f, LIMB * np.maximum(values.e - e[group], -4))
    u, f = (np.add.reduceat(numbers, first, axis=0) for numbers in (values.u, scaled))
    merged = Values(u, f, e, np.minimum.reduceat(values.x, first, axis=0))
    return Results(sorted_.member[first], start[first], sorted_.key[first], merged)


def _objects(query: TrendQuery, keys: I64, partitions: Partitions, strings: Strings) -> pa.Array:
    """The GROUP BY values as JSON objects."""
    if not query.groups:
        return _repeated("{}", len(keys))
    values = (partitions.values(name, keys) for name in query.groups)
    return json_objects(query.groups, map(partitions.kind, query.groups), values, strings)


# ---- values ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The values of a member's results, of whose measures the first `linear` are linear ones.

    `places`: where among the measures those of one aggregate are.
    """

    found: Values
    places: Mapping[What, int]
    linear: int

    def columns(self, aggregate: Aggregate) -> tuple[pa.Array, pa.Array, pa.Array]:
        """The columns `value`, `exact` and `log2_count` of an aggregate."""
        nothing, unknown = (pa.nulls(len(self.found.f), kind) for kind in (pa.string(), pa.float64()))
        if aggregate.function == "COUNT":
            lane = 0 if aggregate.variable is None else 1 + self.places["occurrences"]
            f, e = self.found.f[:, lane], self.found.e[:, lane]
            return *self._number(lane, None), pa.array(log2(f, e), mask=f == 0)
        known = self.found.f[:, 1 + self.places["known"]] != 0
        if aggregate.function in ("MIN", "MAX"):
            return *self._extreme(aggregate, known), unknown
        lane = 1 + self.places["sum"]
        if aggregate.function == "SUM" and aggregate.kind is not Kind.FLOAT:
            return *self._number(lane, known), unknown
        f, e = self.found.f[:, lane], self.found.e[:, lane]
        if aggregate.function == "AVG":
            count = 1 + self.places["occurrences"]
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                f, e = f / self.found.f[:, count], e - self.found.e[:, count]
        return _shown(doubles(f, e), f, known), nothing, unknown

    def _number(self, lane: int, known: Bool | None) -> tuple[pa.Array, pa.Array]:
        """An integer: its digits while they are exact, and the nearest double."""
        f = self.found.f[:, lane]
        found = integers(self.found.u[:, lane], f, self.found.e[:, lane])
        valid = found.is_exact if known is None else found.is_exact & known
        return _shown(found.value, f, known), pa.array(found.exact, mask=~valid).cast(pa.string())

    def _extreme(self, aggregate: Aggregate, known: Bool) -> tuple[pa.Array, pa.Array]:
        largest = aggregate.function == "MAX"
        keys = self.found.x[:, self.places["max" if largest else "min"] - self.linear]
        if aggregate.kind is Kind.FLOAT:
            values = extreme_doubles(keys, largest=largest)
            return pa.array(values, mask=~known), pa.nulls(len(keys), pa.string())
        numbers = extreme_integers(keys, largest=largest)
        digits = pa.array(numbers, mask=~known).cast(pa.string())
        return pa.array(numbers.astype(np.float64), mask=~known), digits


def _shown(values: F64, f: F64, known: Bool | None) -> pa.Array:
    """The doubles of scaled ones; null where no double is large enough, or where nothing is known."""
    beyond = np.isinf(values) & np.isfinite(f)
    return pa.array(values, mask=beyond if known is None else beyond | ~known)
