"""The flat baseline, Sharon's way: Kleene patterns as sequences of every length, each counted online on its own.

There are as many sequences as a window has events, for nested patterns many more: it is here to be compared with.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.baselines import adding
from benchmarks.baselines.adding import Grouping
from benchmarks.baselines.words import Word, flat_terms, paths_of, words

from stretto.engine.results.totals import TOTALS
from stretto.errors import StrettoError
from stretto.pattern.nodes import Aggregate, TrendQuery
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema
from stretto.text import syntax
from stretto.values.convert import as_kind, plain
from stretto.values.rows import I64, Bool

MOST: Final = 200_000
"""Places in all sequences of a workload; more cannot be planned in reasonable time."""
TRENDS: Final = "trends"
NEAR: Final = 1e-9
"""What doubles may be off when they are added up, of the sum of their magnitudes."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A workload without Kleene, and which query each of its sequences is of, with the copies of every variable."""

    workload: Workload
    trends: tuple[TrendQuery, ...]
    copies: Mapping[str, tuple[str, Mapping[str, int]]]

    def totals(self, found: pa.Table) -> pa.Table:
        """The totals of the queries, from those of their sequences."""
        numbers = {name: number for number, name in enumerate(self.copies)}
        queries = {query.name: number for number, query in enumerate(self.trends)}
        owners = np.array([queries[query] for query, _ in self.copies.values()], np.int64)
        named = _whole(found["query"]).dictionary_encode()
        codes = np.array([numbers[name] for name in named.dictionary.to_pylist()], np.int64)
        code = codes[named.indices.to_numpy()]
        order = np.argsort(owners[code], kind="stable")
        bounds = np.searchsorted(owners[code][order], np.arange(len(self.trends) + 1))
        batches: list[pa.RecordBatch] = []
        for query, low, high in zip(self.trends, bounds, bounds[1:], strict=False):
            if high > low:
                mine = order[low:high]
                batches += self._query_totals(query, found.take(pa.array(mine)), code[mine])
        return pa.Table.from_batches(batches, TOTALS)

    def _query_totals(self, query: TrendQuery, found: pa.Table, code: I64) -> Iterator[pa.RecordBatch]:
        groups = _whole(found["group"]).dictionary_encode()
        start = found["window_start"].cast(pa.int64()).to_numpy()
        rows = _Rows(found, start, groups.indices.to_numpy().astype(np.int64), code)
        copies = [held for _, held in self.copies.values()]
        for aggregate in query.aggregates:
            keys, answer = _answer(aggregate, query, rows, copies)
            text = groups.dictionary.take(pa.array(keys[1]))
            yield adding.rows(query.name, aggregate.name, keys[0], query.window_us, text, answer)


def flatten(workload: Workload, schema: Schema, events: pa.Table, most: int = MOST) -> Flat:
    """The sequences that a workload's trend queries need for these events.

    They are as long as the most events of the pattern's types in a window and group. StrettoError where they are too
    many, or where a term cannot be said of a sequence.
    """
    trends, most_of = workload.bind(schema).trends, _Limits(schema, events)
    sources = {one.name: one.source for one in workload.statements if isinstance(one, syntax.CreateEvent)}
    queries = {query.name: query for query in trends}
    kept = [one for one in workload.statements if not isinstance(one, syntax.Query)]
    made: list[syntax.Statement] = []
    copies: dict[str, tuple[str, Mapping[str, int]]] = {}
    places = 0

    def source(name: str) -> str:
        while name in sources:
            name = sources[name]
        return name

    for statement in workload.queries:
        query = queries[statement.name]
        paths = paths_of(statement)
        limits = most_of.of(query, {source(kind) for kind in paths.types.values()})
        for number, word in enumerate(words(paths, limits, source)):
            places += len(word)
            if places > most:
                raise StrettoError(f"more than {most:,} places in sequences, at query `{query.name}`")
            one, held = _sequence(statement, query, word, paths.types, f"{statement.name} {number}")
            made.append(one)
            copies[one.name] = statement.name, held
    return Flat(Workload((*kept, *made)), trends, copies)


class _Limits:
    """The most events of each type in any window and group, worked out once for all queries alike."""

    def __init__(self, schema: Schema, events: pa.Table) -> None:
        self._events = events
        self._ts = plain(as_kind(_whole(events[schema.special.ts]), Kind.TIME)).data
        self._types = _whole(events[schema.special.type].cast(pa.string()))
        self._known: dict[tuple[object, ...], int] = {}
        self._groups: dict[tuple[str, ...], I64] = {}

    def of(self, query: TrendQuery, types: Iterable[str]) -> dict[str, int]:
        return {kind: self._most(query, kind) for kind in types}

    def _most(self, query: TrendQuery, kind: str) -> int:
        key = (kind, query.groups, query.window_us, query.slide_us)
        if key not in self._known:
            mine = np.flatnonzero(
                pc.fill_null(pc.equal(self._types, kind), False).to_numpy(zero_copy_only=False)
            )
            group = self._group(query.groups)[mine]
            order = np.argsort(group, kind="stable")
            bounds = np.flatnonzero(np.diff(group[order])) + 1
            parts = np.split(self._ts[mine][order], bounds)
            self._known[key] = max(_fullest(part, query) for part in parts)
        return self._known[key]

    def _group(self, names: tuple[str, ...]) -> I64:
        """A number per event for its values; nulls are some value, which can only make a limit larger."""
        if names not in self._groups:
            group = np.zeros(len(self._ts), np.int64)
            for name in names:
                column = self._events[name]
                if pa.types.is_dictionary(column.type):
                    column = column.cast(column.type.value_type)
                codes = pc.fill_null(_whole(column).dictionary_encode().indices, 0).to_numpy()
                both = np.stack([group, codes], axis=1)
                group = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
            self._groups[names] = group
        return self._groups[names]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _fullest(ts: I64, query: TrendQuery) -> int:
    """The most events in one window."""
    ts = np.sort(ts)
    low = (ts - query.window_us) // query.slide_us + 1
    start = np.unique(np.concatenate([low, ts // query.slide_us])) * query.slide_us
    inside = np.searchsorted(ts, start + query.window_us) - np.searchsorted(ts, start)
    return int(inside.max(initial=0))


def _sequence(
    statement: syntax.Query, query: TrendQuery, word: Word, types: Mapping[str, str], name: str
) -> tuple[syntax.Query, Mapping[str, int]]:
    """One word as a query, and how often it has each variable."""
    held: dict[str, int] = {}
    copies: list[str] = []
    for variable, _ in word:
        held[variable] = held.get(variable, 0) + 1
        copies.append(f"{variable}__{held[variable]}")
    atoms = tuple(
        syntax.Atom(types[variable], copy) for (variable, _), copy in zip(word, copies, strict=True)
    )
    returning = [syntax.Item(syntax.Call("COUNT", (syntax.Star(),)), TRENDS)]
    for function, variable, attribute in _measures(query):
        for number in range(1, held[variable] + 1):
            measured = syntax.Name(attribute, f"{variable}__{number}")
            call = syntax.Call(function, (measured,))
            returning.append(syntax.Item(call, _measure_name(function, variable, attribute) + f" {number}"))
    flat = replace(
        statement,
        name=name,
        pattern=atoms[0] if len(atoms) == 1 else syntax.Combine("SEQ", atoms),
        where=tuple(flat_terms(statement.where, word, copies)),
        returning=tuple(returning),
    )
    return flat, held


def _measures(query: TrendQuery) -> Iterator[tuple[str, str, str]]:
    """Functions of a variable's attribute that sequences must return; counts follow from the number of trends."""
    seen: dict[tuple[str, str, str], None] = {}
    for one in query.aggregates:
        if one.variable is not None and one.function != "COUNT":
            function = "SUM" if one.function == "AVG" else one.function
            seen[function, query.variables[one.variable].name, one.attribute] = None
    yield from seen


def _measure_name(function: str, variable: str, attribute: str) -> str:
    return f"{function} {variable}.{attribute}"


@dataclass(frozen=True, slots=True)
class _Rows:
    """The totals of one query's sequences: window, group and sequence of every row."""

    found: pa.Table
    start: I64
    group: I64
    sequence: I64

    def named(self, name: str) -> "_Rows":
        """The rows of one measure, over all copies."""
        names = self.found["name"]
        same = names if name == TRENDS else pc.replace_substring_regex(names, r" \d+$", "")
        rows = np.flatnonzero(pc.equal(same, name).to_numpy())
        return _Rows(self.found.take(pa.array(rows)), self.start[rows], self.group[rows], self.sequence[rows])

    @property
    def value(self) -> tuple[np.ndarray, Bool]:
        """Doubles, and where there is one."""
        column = self.found["value"]
        return pc.fill_null(column, 0.0).to_numpy(), pc.is_valid(column).to_numpy()

    @property
    def digits(self) -> I64 | None:
        """Exact integers, if all are; 0 for nulls."""
        exact, value = self.found["exact"], self.found["value"]
        if pc.any(pc.and_(pc.is_null(exact), pc.is_valid(value))).as_py():
            return None
        digits: I64 = pc.fill_null(exact.cast(pa.int64()), 0).to_numpy()
        return digits


def _answer(
    aggregate: Aggregate, query: TrendQuery, rows: _Rows, copies: Sequence[Mapping[str, int]]
) -> tuple[tuple[I64, ...], adding.Answer]:
    """The keys, window and group, and an aggregate's value at each."""
    trends = rows.named(TRENDS)
    if aggregate.variable is None:
        weights = np.ones(len(trends.start), np.int64)
    else:
        variable = query.variables[aggregate.variable].name
        weights = np.array([held.get(variable, 0) for held in copies], np.int64)[trends.sequence]
    by = Grouping.by(trends.start, trends.group)
    if aggregate.function == "COUNT":
        return by.keys, _count(trends, weights, by)
    measure = "SUM" if aggregate.function == "AVG" else aggregate.function
    mine = rows.named(_measure_name(measure, variable, aggregate.attribute))
    keys = Grouping.by(mine.start, mine.group)
    if aggregate.function in ("MIN", "MAX"):
        return keys.keys, _extreme(aggregate, mine, keys)
    if aggregate.function == "SUM":
        return keys.keys, _sum(mine, keys, is_integer=aggregate.kind is not Kind.FLOAT)
    # Windows and groups are those of the trends for both, in one order.
    total, known = _sum(mine, keys, is_integer=False), keys.reduce(mine.value[1].astype(np.int64), np.add) > 0
    count = _count(trends, weights, by)
    with np.errstate(invalid="ignore"):
        means = pc.fill_null(total.value, 0.0).to_numpy() / count.value.to_numpy()
    return keys.keys, adding.doubles(means, known)


def _count(trends: _Rows, weights: I64, by: Grouping) -> adding.Answer:
    digits = trends.digits
    if digits is not None:
        high, low = adding.halves(digits)
        return adding.counts(
            adding.joined(by.reduce(high * weights, np.add), by.reduce(low * weights, np.add))
        )
    logs = trends.found["log2_count"].to_numpy() + np.log2(weights)
    total = by.reduce(logs, np.logaddexp2)
    with np.errstate(over="ignore"):
        value = np.exp2(total)
    exact = pa.nulls(len(total), pa.string())
    return adding.Answer(pa.array(value, mask=np.isinf(value)), exact, pa.array(total))


def _sum(rows: _Rows, by: Grouping, *, is_integer: bool) -> adding.Answer:
    """Sequences say the digits of their sums below 2^63 alone: StrettoError where the whole needs those of a larger."""
    value, valid = rows.value
    known = by.reduce(valid.astype(np.int64), np.add) > 0
    digits = rows.digits
    if digits is None:
        total, size = by.reduce(value, np.add), by.reduce(np.abs(value), np.add)
        if is_integer and (known & (np.abs(total) - NEAR * size < adding.EXACT_BELOW)).any():
            raise StrettoError(
                "a sequence sums up to 2^63 or more, so that its query cannot be flattened exactly"
            )
        return adding.doubles(total, known)
    high, low = adding.halves(digits)
    sums = adding.joined(by.reduce(high, np.add), by.reduce(low, np.add))
    return adding.integers([one if there else None for one, there in zip(sums, known.tolist(), strict=True)])


def _extreme(aggregate: Aggregate, rows: _Rows, by: Grouping) -> adding.Answer:
    value, valid = rows.value
    known = by.reduce(valid.astype(np.int64), np.add) > 0
    least = aggregate.function == "MIN"
    how = np.minimum if least else np.maximum
    digits = rows.digits
    if aggregate.kind is Kind.FLOAT or digits is None:
        return adding.doubles(by.reduce(np.where(valid, value, np.inf if least else -np.inf), how), known)
    limits = np.iinfo(np.int64)
    best = by.reduce(np.where(valid, digits, limits.max if least else limits.min), how)
    return adding.extremes(
        [one if there else None for one, there in zip(best.tolist(), known.tolist(), strict=True)]
    )
