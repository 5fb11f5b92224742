"""What trend queries found, as rows: one per query, window, group and aggregate."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.engine.results.returned_values import json_values
from stretto.engine.trends.executor import Results
from stretto.engine.trends.numbers import LEAST, extreme_doubles, extreme_integers
from stretto.engine.trends.partition import Partitions
from stretto.pattern.nodes import Aggregate, TrendQuery
from stretto.schema import Kind
from stretto.trends.plan import Measure, TrendPlan, TrendUnit, What
from stretto.values.rows import F64, I64, Bool
from stretto.values.strings import Strings, stretches

TOTALS: Final = pa.schema(
    [
        ("query", pa.string()),
        ("window_start", pa.timestamp("us")),
        ("window_end", pa.timestamp("us")),
        ("group", pa.string()),
        ("name", pa.string()),
        ("value", pa.float64()),
        ("exact", pa.string()),
        ("log2_count", pa.float64()),
    ]
)
LIMB: Final = 512
"""Bits of one step of a scaled double's exponent."""
EXACT: Final = 2.0**63
NEAR: Final = 1e-6
"""So near to the limit a double does not tell on which side of it a number is; its lowest 64 bits do."""


@dataclass(frozen=True, slots=True)
class MemberTotals:
    """Results of one member: a row per window and label."""

    start: I64
    key: I64
    u: np.ndarray
    f: F64
    e: np.ndarray
    x: I64


def total_rows(
    plan: TrendPlan, unit: TrendUnit, results: Results, partitions: Partitions, strings: Strings
) -> Iterator[pa.RecordBatch]:
    """The rows of closed windows, in batches that each are of one query and one aggregate."""
    for number, member in enumerate(unit.members):
        mine = np.flatnonzero(results.member == number)
        if not len(mine):
            continue
        query, places = plan.queries[member.query], plan.places[member.query]
        own = results.take(mine)
        found = MemberTotals(own.window_start, own.key, *own.values)
        if set(query.groups) != set(unit.partition):
            found = _merged(found, _labels(query, found.key, partitions))
        nodes = [unit.nodes.index(node) for node in places]
        labels = {name: partitions.values(name, found.key) for name in query.groups}
        texts = [values for name, values in labels.items() if partitions.kind(name) is Kind.STRING]
        for at in stretches(texts, strings, len(found.start), len(found.start)):
            part = MemberTotals(*(getattr(found, field.name)[at] for field in fields(found)))
            yield from _rows(query, part, _Lanes(part, member.measures, nodes), partitions, strings)


def _rows(
    query: TrendQuery, found: MemberTotals, lanes: "_Lanes", partitions: Partitions, strings: Strings
) -> Iterator[pa.RecordBatch]:
    times = [pa.array(found.start).view(pa.timestamp("us"))]
    times.append(pa.array(found.start + query.window_us).view(pa.timestamp("us")))
    label = _objects(query, found.key, partitions, strings)
    for aggregate in query.aggregates:
        yield pa.RecordBatch.from_arrays(
            [
                _repeated(query.name, len(found.start)),
                *times,
                label,
                _repeated(aggregate.name, len(found.start)),
                *lanes.columns(aggregate),
            ],
            schema=TOTALS,
        )


def totals_beginning(
    batches: Iterable[pa.RecordBatch], kept: Callable[[I64], Bool]
) -> Iterator[pa.RecordBatch]:
    """The totals of windows that begin at a time, in microseconds, that is `kept`."""
    for batch in batches:
        begins = kept(batch.column("window_start").cast(pa.int64()).to_numpy())
        if begins.any():
            yield batch if begins.all() else batch.filter(pa.array(begins))


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


def _merged(found: MemberTotals, labels: I64) -> MemberTotals:
    """Partitions of one label and window added up."""
    order = np.lexsort((labels, found.start))
    start, label = found.start[order], labels[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (start[1:] != start[:-1]) | (label[1:] != label[:-1])
    first = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    e = np.maximum.reduceat(found.e[order], first, axis=0)
    scaled = np.ldexp(found.f[order], LIMB * np.maximum(found.e[order] - e[group], -4))
    x = np.minimum.reduceat(found.x[order], first, axis=0)
    return MemberTotals(
        start[first],
        found.key[order][first],
        np.add.reduceat(found.u[order], first, axis=0),
        np.add.reduceat(scaled, first, axis=0),
        e,
        x,
    )


def _objects(query: TrendQuery, keys: I64, partitions: Partitions, strings: Strings) -> pa.Array:
    """The GROUP BY values as JSON objects."""
    if not query.groups:
        return _repeated("{}", len(keys))
    pieces: list[pa.Array | pa.Scalar] = []
    for name in query.groups:
        opening = ", " if pieces else "{"
        pieces.append(pa.scalar(f"{opening}{json.dumps(name, ensure_ascii=False)}: "))
        pieces.append(json_values(partitions.values(name, keys), partitions.kind(name), strings))
    return pc.binary_join_element_wise(*pieces, pa.scalar("}"), pa.scalar(""))


# ---- values ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The lanes of a member's results; `nodes` are those of its variables."""

    found: MemberTotals
    measures: Sequence[Measure]
    nodes: Sequence[int]

    def columns(self, aggregate: Aggregate) -> tuple[pa.Array, pa.Array, pa.Array]:
        """The columns `value`, `exact` and `log2_count` of an aggregate."""
        nothing = pa.nulls(len(self.found.start), pa.string())
        unknown = pa.nulls(len(self.found.start), pa.float64())
        if aggregate.function == "COUNT":
            lane = 0 if aggregate.variable is None else self._linear(aggregate, "occurrences")
            return *self._number(lane, None), self._log2(lane)
        known = self.found.f[:, self._linear(aggregate, "known")] != 0
        if aggregate.function in ("MIN", "MAX"):
            return *self._extreme(aggregate, known), unknown
        if aggregate.function == "SUM" and aggregate.kind is not Kind.FLOAT:
            return *self._number(self._linear(aggregate, "sum"), known), unknown
        f, e = self._scaled(self._linear(aggregate, "sum"))
        if aggregate.function == "AVG":
            count_f, count_e = self._scaled(self._linear(aggregate, "occurrences"))
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                f, e = f / count_f, e - count_e
        return _doubles(f, e, known), nothing, unknown

    def _linear(self, aggregate: Aggregate, what: What) -> int:
        return 1 + self._lane([one for one in self.measures if one.is_linear], aggregate, what)

    def _lane(self, lanes: Sequence[Measure], aggregate: Aggregate, what: What) -> int:
        assert aggregate.variable is not None
        attribute = "" if what == "occurrences" else aggregate.attribute
        return lanes.index(Measure(self.nodes[aggregate.variable], attribute, what))

    def _scaled(self, lane: int) -> tuple[F64, I64]:
        return self.found.f[:, lane], self.found.e[:, lane].astype(np.int64)

    def _number(self, lane: int, known: Bool | None) -> tuple[pa.Array, pa.Array]:
        """An integer: its digits while they are exact, and the nearest double."""
        f, e = self._scaled(lane)
        near, own = _ldexp(f, e), self.found.u[:, lane].view(np.int64)
        exact = np.abs(near) < EXACT * (1 - NEAR)
        edge = ~exact & (np.abs(near) < EXACT * (1 + NEAR))
        exact |= edge & ((own >= 0) == (near >= 0)) & (own != LEAST)
        valid = exact if known is None else exact & known
        digits = pa.array(own, mask=~valid).cast(pa.string())
        return _doubles(np.where(exact, own.astype(np.float64), f), np.where(exact, 0, e), known), digits

    def _log2(self, lane: int) -> pa.Array:
        f, e = self._scaled(lane)
        with np.errstate(divide="ignore"):
            return pa.array(np.log2(f) + LIMB * e, mask=f == 0)

    def _extreme(self, aggregate: Aggregate, known: Bool) -> tuple[pa.Array, pa.Array]:
        lanes = [one for one in self.measures if not one.is_linear]
        what: What = "min" if aggregate.function == "MIN" else "max"
        keys = self.found.x[:, self._lane(lanes, aggregate, what)]
        largest = aggregate.function == "MAX"
        if aggregate.kind is Kind.FLOAT:
            values = extreme_doubles(keys, largest=largest)
            return pa.array(values, mask=~known), pa.nulls(len(keys), pa.string())
        numbers = extreme_integers(keys, largest=largest)
        digits = pa.array(numbers, mask=~known).cast(pa.string())
        return pa.array(numbers.astype(np.float64), mask=~known), digits


def _ldexp(f: F64, e: I64) -> F64:
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(f, np.clip(LIMB * e, -(1 << 20), 1 << 20).astype(np.int32))


def _doubles(f: F64, e: I64, known: Bool | None) -> pa.Array:
    """Scaled doubles as plain ones; null where none is large enough, or where nothing is known."""
    values = _ldexp(f, e)
    beyond = np.isinf(values) & np.isfinite(f)
    return pa.array(values, mask=beyond if known is None else beyond | ~known)
