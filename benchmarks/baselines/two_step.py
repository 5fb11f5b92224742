"""The two-step baseline: all trends are built as matches of detection queries, then aggregated.

What it takes grows with the number of trends, exponentially in the events of a window: it is here to be compared with.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.baselines import adding
from benchmarks.baselines.adding import Grouping, Numbers

from stretto.engine.results.matches import Matches
from stretto.engine.results.returned_values import json_values
from stretto.engine.results.totals import TOTALS
from stretto.engine.run import Engine
from stretto.errors import EngineError
from stretto.pattern.nodes import Aggregate, TrendQuery, column_of
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.schema import Kind, Schema
from stretto.text import syntax
from stretto.values.convert import as_kind, plain
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings
from stretto.values.vector import Vector

MEMORY_BYTES: Final = 8 << 30
STEP: Final = 1 << 10
"""Events per step of the engine: one step holds all trends that end in it."""
TIMES: Final = 3  # columns of a table of matches after those of the variables


def detections(workload: Workload) -> Workload:
    """The workload with detection queries in place of its trend queries: one match is one trend."""
    return replace(workload, statements=tuple(map(_detection, workload.statements)), text="", file="")


def _detection(statement: syntax.Statement) -> syntax.Statement:
    if not isinstance(statement, syntax.Query):
        return statement
    groups = tuple(syntax.Same(name.name) for name in statement.group_by)
    # Windows exclude their end, so that no trend is as long as one; which windows a match is in is settled later.
    within = syntax.Within(max(statement.within.size - 1, 1))
    where = (*statement.where, *groups)
    bare = replace(statement, returning=(), group_by=(), slide=None, aggregating=False)
    return replace(bare, within=within, where=where)


def aggregate_matches(
    workload: Workload,
    plan: Plan,
    events: pa.Table,
    *,
    step: int = STEP,
    memory_bytes: int = MEMORY_BYTES,
    stop: Callable[[], bool] = lambda: False,
) -> pa.Table:
    """The totals of a workload's trend queries by a plan for `detections(workload)`.

    Matches are aggregated as they come and forgotten. EngineError if those of one step are too many for the memory, or
    if `stop` says so between two steps.
    """
    trends = {query.name: query for query in workload.bind(plan.schema).trends}
    known = _Events(_in_order(events, plan.schema), plan.schema)
    sums = {name: _Sums(query, known) for name, query in trends.items()}
    engine = Engine(plan, step=step, memory_bytes=memory_bytes)
    for start in range(0, known.table.num_rows, step):
        if stop():
            raise EngineError(f"stopped after {start:,} of {known.table.num_rows:,} events")
        _add(engine.push(known.table.slice(start, step)), sums)
    _add(engine.flush(), sums)
    return pa.Table.from_batches((batch for one in sums.values() for batch in one.rows()), TOTALS)


def _in_order(events: pa.Table, schema: Schema) -> pa.Table:
    """The events in order of time and without ids, so that an id is a place in the table."""
    special = schema.special
    if special.id in events.column_names:
        events = events.drop_columns([special.id])
    events = events.filter(pc.is_valid(events[special.ts]))
    ts = _column(events, special.ts, Kind.TIME).data
    if (np.diff(ts) < 0).any():
        events = events.take(pa.array(np.argsort(ts, kind="stable")))
    return events.combine_chunks()


def _add(matches: Matches, sums: "Mapping[str, _Sums]") -> None:
    for name, count in matches.counts().items():
        if count:
            sums[name].add(matches[name])


def _column(table: pa.Table, name: str, kind: Kind) -> Vector:
    return plain(as_kind(_whole(table[name]), kind))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


@dataclass(frozen=True)
class _Events:
    """All events, by place in order of time."""

    table: pa.Table
    schema: Schema

    @cached_property
    def _vectors(self) -> dict[str, Vector]:
        return {}

    def vector(self, name: str) -> Vector:
        """An attribute of numbers, or the time."""
        if name not in self._vectors:
            is_time = name == "ts"
            column = self.schema.special.ts if is_time else name
            kind = Kind.TIME if is_time else self.schema.attributes[name]
            self._vectors[name] = _column(self.table, column, kind)
        return self._vectors[name]

    @cached_property
    def _known_groups(self) -> dict[tuple[str, ...], tuple[I64, pa.Array]]:
        return {}

    def groups(self, names: tuple[str, ...]) -> tuple[I64, pa.Array]:
        """A number per event for its values of these attributes, and the JSON text per number."""
        if names not in self._known_groups:
            self._known_groups[names] = self._grouped(names)
        return self._known_groups[names]

    def _grouped(self, names: tuple[str, ...]) -> tuple[I64, pa.Array]:
        n = self.table.num_rows
        if not names or not n:
            return np.zeros(n, np.int64), pa.array(["{}"])
        columns = [self._coded(name) for name in names]
        found, codes = np.unique(np.stack([c for c, _ in columns], axis=1), axis=0, return_inverse=True)
        pieces: list[pa.Array | pa.Scalar] = []
        for place, (name, (_, texts)) in enumerate(zip(names, columns, strict=True)):
            opening = ", " if place else "{"
            pieces.append(pa.scalar(f"{opening}{json.dumps(name, ensure_ascii=False)}: "))
            pieces.append(texts.take(pa.array(found[:, place])))
        return codes.reshape(-1), pc.binary_join_element_wise(*pieces, pa.scalar("}"), pa.scalar(""))

    def _coded(self, name: str) -> tuple[I64, pa.Array]:
        """A number per event for its value, and the JSON text per number; a null has the text of some value."""
        kind = self.schema.attributes[name]
        column = as_kind(_whole(self.table[name]), kind)
        if kind is Kind.STRING:
            encoded = column.fill_null("").dictionary_encode()
            texts = [json.dumps(text, ensure_ascii=False) for text in encoded.dictionary.to_pylist()]
            return encoded.indices.to_numpy().astype(np.int64), pa.array(texts, pa.string())
        values, codes = np.unique(plain(column).data, return_inverse=True)
        return codes.reshape(-1), json_values(Vector(values, None), kind, Strings())


@dataclass(frozen=True, slots=True)
class _Need:
    """Something that is added up over trends; `what` is of the events of one variable, but for the trends' number."""

    what: str
    variable: int = 0
    attribute: str = ""

    @property
    def how(self) -> np.ufunc:
        return {"min": np.minimum, "max": np.maximum}.get(self.what, np.add)


COUNT: Final = _Need("trends")


def _needs(aggregate: Aggregate) -> tuple[_Need, ...]:
    """What an aggregate is made of."""
    if aggregate.variable is None:
        return (COUNT,)
    variable, attribute = aggregate.variable, aggregate.attribute
    occurrences = _Need("occurrences", variable)
    known = _Need("known", variable, attribute)
    parts = ("sum",) if aggregate.kind is Kind.FLOAT else ("high", "low")
    match aggregate.function:
        case "COUNT":
            return (occurrences,)
        case "MIN" | "MAX":
            return known, _Need(aggregate.function.lower(), variable, attribute)
    sums = tuple(_Need(part, variable, attribute) for part in parts)
    return (known, *sums, occurrences) if aggregate.function == "AVG" else (known, *sums)


@dataclass(frozen=True, slots=True)
class _Bound:
    """The events of one variable, match after match; `first` is where each match's events begin."""

    places: I64
    first: I64 | None

    @classmethod
    def of(cls, column: pa.Array) -> "_Bound":
        if pa.types.is_integer(column.type):
            return cls(column.to_numpy(), None)
        offsets = column.offsets.to_numpy().astype(np.int64)
        return cls(column.flatten().to_numpy(), offsets[:-1] - offsets[0])

    def sizes(self, matches: int) -> I64:
        if self.first is None:
            return np.ones(matches, np.int64)
        return np.diff(np.append(self.first, len(self.places)))

    def reduce(self, values: Numbers, how: np.ufunc) -> Numbers:
        reduced: Numbers = values if self.first is None else how.reduceat(values, self.first)
        return reduced


class _Sums:
    """What one query's trends add up to, by window and group."""

    def __init__(self, query: TrendQuery, events: _Events) -> None:
        self._query, self._events = query, events
        self._groups, self._texts = events.groups(query.groups)
        self._needs = tuple(dict.fromkeys([COUNT, *(n for one in query.aggregates for n in _needs(one))]))
        self._parts: list[tuple[Numbers, ...]] = []

    def add(self, matches: pa.Table) -> None:
        """Add some matches."""
        for batch in matches.combine_chunks().to_batches():
            self._parts.append(self._reduced(*self._measured(batch)))
        if len(self._parts) > 64:
            self._parts = [self._all()]

    def _measured(self, batch: pa.RecordBatch) -> tuple[Numbers, ...]:
        """Per match and window: the window's number, the group, and what is needed."""
        n, variables = batch.num_rows, batch.num_columns - TIMES
        names = [column_of(variable.name) for variable in self._query.variables]
        columns = {names.index(batch.schema.names[i]): _Bound.of(batch.column(i)) for i in range(variables)}
        start, end = (batch.column(variables + i).view(pa.int64()).to_numpy() for i in range(2))
        low = (end - self._query.window_us) // self._query.slide_us + 1
        windows = np.maximum(start // self._query.slide_us - low + 1, 0)
        rows = np.repeat(np.arange(n), windows)
        before = np.cumsum(windows) - windows
        number = low[rows] + np.arange(len(rows)) - before[rows]
        one = columns[0]
        group = self._groups[one.places if one.first is None else one.places[one.first]]
        return number, group[rows], *(self._value(need, columns, n)[rows] for need in self._needs)

    def _value(self, need: _Need, columns: Mapping[int, _Bound], n: int) -> Numbers:
        """One number per match."""
        if need is COUNT:
            return np.ones(n, np.int64)
        bound = columns[need.variable]
        if need.what == "occurrences":
            return bound.sizes(n)
        vector = self._events.vector(need.attribute)
        data = vector.data[bound.places]
        valid: Bool = np.ones(len(data), np.bool_) if vector.valid is None else vector.valid[bound.places]
        return bound.reduce(_prepared(need.what, data, valid), need.how)

    def _reduced(self, number: I64, group: I64, *values: Numbers) -> tuple[Numbers, ...]:
        grouping = Grouping.by(number, group)
        found = (grouping.reduce(one, need.how) for one, need in zip(values, self._needs, strict=True))
        return *grouping.keys, *found

    def _all(self) -> tuple[Numbers, ...]:
        return self._reduced(*(np.concatenate(parts) for parts in zip(*self._parts, strict=True)))

    def rows(self) -> Iterator[pa.RecordBatch]:
        """The result, aggregate by aggregate."""
        if not self._parts:
            return
        number, group, *values = self._all()
        found = dict(zip(self._needs, values, strict=True))
        texts = self._texts.take(pa.array(group))
        query = self._query
        for aggregate in query.aggregates:
            answer = _answer(aggregate, [found[need] for need in _needs(aggregate)])
            start = number * query.slide_us
            yield adding.rows(query.name, aggregate.name, start, query.window_us, texts, answer)


def _prepared(what: str, data: Numbers, valid: Bool) -> Numbers:
    """Values of events as they are added up; nulls add nothing."""
    if what == "known":
        return valid.astype(np.int64)
    if what in ("high", "low"):
        return np.where(valid, adding.halves(data)[what == "low"], 0)
    if what == "sum":
        return np.where(valid, data, 0.0)
    if data.dtype == np.float64:
        return np.where(valid, data, np.inf if what == "min" else -np.inf)
    limits = np.iinfo(np.int64)
    return np.where(valid, data, limits.max if what == "min" else limits.min)


def _answer(aggregate: Aggregate, parts: Sequence[Numbers]) -> adding.Answer:
    """An aggregate from what it is made of, in the order of `_needs`."""
    if aggregate.function == "COUNT":
        return adding.counts(parts[0].tolist())
    known = parts[0] > 0
    is_float, is_mean = aggregate.kind is Kind.FLOAT, aggregate.function == "AVG"
    if aggregate.function in ("MIN", "MAX"):
        if is_float:
            return adding.doubles(parts[1], known)
        return adding.extremes(_where(known, parts[1].tolist()))
    if is_float:
        with np.errstate(invalid="ignore"):
            return adding.doubles(parts[1] / parts[2] if is_mean else parts[1], known)
    sums = adding.joined(parts[1], parts[2])
    if is_mean:
        means = np.array([total / n for total, n in zip(sums, parts[3].tolist(), strict=True)])
        return adding.doubles(means, known)
    return adding.integers(_where(known, sums))


def _where(known: Bool, values: Sequence[int]) -> list[int | None]:
    return [one if there else None for one, there in zip(values, known.tolist(), strict=True)]
