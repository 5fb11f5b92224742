"""KEEP and LIMIT behind the matches of each query: what is reported of those that were found.

All matches of a step are certain in it and in no other, and later steps have later times. So within a step they are
put in order, and what lasts from step to step is one mark per combination of values, one count, and the matches that
LONGEST holds until their windows have passed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stretto.engine.kernels.keep_apart import (
    NEVER,
    begun,
    earliest,
    earliest_reference,
    first_ones,
    first_ones_reference,
    keep_apart,
    keep_apart_reference,
)
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.results.held_matches import HeldMatches
from stretto.engine.results.match_chunks import MatchChunk, joined_chunks
from stretto.engine.results.match_order import first_of_each, in_order
from stretto.engine.results.routed import Routed
from stretto.engine.results.walked import in_turn, picked
from stretto.engine.rows.row_blocks import rises
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit
from stretto.schema import LISTS, Kind
from stretto.values.rows import I64, Bool, spread
from stretto.values.strings import Strings
from stretto.values.vector import Vector, concat_vectors

MANY: Final = 1 << 12
"""Neighbouring numbers among which values are found by their place, whether there is such a value or not."""
KEY_BYTES: Final = 160
"""About what the mark of one combination of values takes."""


class Thinner:
    """What one query reports; `dropped` counts the rest."""

    def __init__(self, op: Emit, *, text_ids: bool) -> None:
        assert op.thinning is not None
        self.op = op
        self.text_ids = text_ids
        self.rule = op.thinning
        self.dropped = 0
        self._shown = [i for i, item in enumerate(op.returns) if not item.hidden]
        self._hidden = [i for i, item in enumerate(op.returns) if item.hidden]
        self._marks: dict[tuple[Any, ...], int] = {}
        self._stretch: tuple[int, int] = (0, 0)  # the last stretch of LIMIT, and how many of it were kept
        self._longest = HeldMatches(op, text_ids=text_ids)

    @property
    def meaning(self) -> str:
        """What must be the same for its state to go on."""
        return f"{self.rule!r} {self.op.returns!r} {self.op.listed!r}"

    @property
    def held(self) -> int:
        """Bytes."""
        return self._longest.nbytes + KEY_BYTES * len(self._marks)

    @property
    def due_us(self) -> int | None:
        """The earliest time that a match of LONGEST waits for."""
        return self._longest.due_us

    def take(self, chunks: Sequence[MatchChunk], until: int, reach: int) -> list[MatchChunk]:
        """What is reported of the matches of a step that ends before `until`.

        `reach`: no match that comes later has an event before it.
        """
        # A query that is thinned out is for one member of its family at most: whose its matches are is known.
        chunks = [replace(chunk, routed=None) for chunk in chunks if len(chunk)]
        count = sum(map(len, chunks))
        if self.rule.word == "LONGEST":
            count += self._longest.undecided
            found = self._longest.take(chunks, until)
            count -= self._longest.undecided
        else:
            # Marks that nothing which comes later is close to are forgotten.
            oldest = reach if self.rule.word == "APART" else until - self.rule.lasting_us + 1
            kept = self._kept(chunks, count, oldest) if chunks else None
            found = [] if kept is None else [kept]
        found = self._limited(found) if self.rule.most else found
        self.dropped += count - sum(map(len, found))
        return [
            replace(
                chunk,
                returned=tuple(chunk.returned[i] for i in self._shown),
                routed=self._routed(len(chunk)),
            )
            for chunk in found
            if len(chunk)
        ]

    def _routed(self, count: int) -> Routed | None:
        if self.op.route is None:
            return None
        first = np.zeros(count, np.int64)
        members = self.op.route.members
        return Routed(members, first, first + 1, members.order)

    def _kept(self, chunks: list[MatchChunk], count: int, oldest: int) -> MatchChunk | None:
        """What FIRST and APART keep of so many matches, and what LIMIT alone may keep."""
        if self.rule.word == "ALL":
            return self._early(chunks, count)
        if self.rule.word == "APART" and any(self.op.waits):
            return self._apart(chunks, oldest)
        return self._first_ones(chunks, count, oldest)

    def _first_ones(self, chunks: list[MatchChunk], count: int, oldest: int) -> MatchChunk | None:
        """What FIRST or APART keep where the mark of a match is when it was detected."""
        # Those of one time are looked at by `end`, which is that time where nothing waits, and then by `start`.
        waits, apart = any(self.op.waits), self.rule.word == "APART"
        parts, order = in_turn([(c.detected, c.end if waits else c.start, c.since) for c in chunks])
        vectors = {i: concat_vectors([chunk.returned[i] for chunk in chunks]) for i in self._hidden}
        keys, numbers = self._keys(vectors, chunks[0].strings, count)
        numbers = numbers if order is None or not len(numbers) else numbers[order]
        state, gap = begun(self._marked(keys)), 1 if apart else self.rule.lasting_us
        walk = first_ones if is_due(first_ones, count) else first_ones_reference
        found, counts, at = np.empty((2, count), np.int64), np.zeros(2, np.int64), 0
        for detected, rank, since in parts:
            own = numbers[at : at + len(detected)]
            walk(detected, rank, since, own, state, gap, apart, at, found, counts)
            at += len(detected)
        self._mark(keys, state[:, 0], oldest)
        rows, shared = found[:, : counts[0]]
        if order is not None:
            place = np.argsort(order[rows])
            rows, shared = order[rows][place], shared[place]
        kept = picked(chunks, rows)
        if kept is None or counts[0] == counts[1]:
            return kept
        return kept.take(first_of_each(kept, shared, text_ids=self.text_ids))

    def _early(self, chunks: list[MatchChunk], count: int) -> MatchChunk | None:
        """Those not after the last that LIMIT leaves of their stretch."""
        parts, order = in_turn([(chunk.detected, chunk.start, chunk.since) for chunk in chunks])
        walk = earliest if is_due(earliest, count) else earliest_reference
        state, found = np.array([*self._stretch, NEVER], np.int64), np.empty(count, np.int64)
        few = at = 0
        for detected, _, since in parts:
            few += walk(detected, since, self.rule.stretch_us, self.rule.most, state, at, found[few:])
            at += len(detected)
        rows = found[:few]
        return picked(chunks, rows if order is None else np.sort(order[rows]))

    def _apart(self, chunks: list[MatchChunk], oldest: int) -> MatchChunk | None:
        """What APART keeps where a match ends before it is detected."""
        found = joined_chunks([chunk.wide() for chunk in chunks])
        assert found is not None
        found = found.take(in_order(found, text_ids=self.text_ids))
        vectors = {i: found.returned[i] for i in self._hidden}
        keys, numbers = self._keys(vectors, found.strings, len(found))
        last = self._marked(keys)
        walk = keep_apart if is_due(keep_apart, len(found)) else keep_apart_reference
        kept: Bool = walk(found.start, found.end, numbers, last, 1)
        self._mark(keys, last, oldest)
        return found.take(np.flatnonzero(kept))

    def _marked(self, keys: list[tuple[Any, ...]]) -> I64:
        marks = self._marks
        return np.array([marks.get(key, NEVER) for key in keys] if marks else [NEVER] * len(keys), np.int64)

    def _mark(self, keys: list[tuple[Any, ...]], marks: I64, oldest: int) -> None:
        """Keep the marks that something which comes later may be close to."""
        some = np.flatnonzero((marks >= oldest) & (marks != NEVER))
        # The first is that of nulls: it comes last, as what lies under a null may be no value either.
        new = {keys[i]: int(marks[i]) for i in some[::-1].tolist()}
        self._marks = {key: mark for key, mark in self._marks.items() if mark >= oldest} | new

    def _keys(
        self, vectors: Mapping[int, Vector], strings: Strings, count: int
    ) -> tuple[list[tuple[Any, ...]], I64]:
        """The different combinations of values that tell matches apart, and which of them each match has.

        `vectors`: the values of so many matches by the number of what is returned. No numbers where all are alike.
        """
        if not self._hidden:
            return [()], np.zeros(0, np.int64)
        columns = [_numbers(vectors[i], self.op.returns[i].kind, strings, count) for i in self._hidden]
        if len(columns) == 1:
            numbers, values = columns[0]
            return [(value,) for value in values], numbers
        stacked = np.stack([numbers for numbers, _ in columns])
        few, place = np.unique(stacked, axis=1, return_inverse=True)
        keys = [
            tuple(values[number] for (_, values), number in zip(columns, combination, strict=True))
            for combination in few.T.tolist()
        ]
        return keys, np.ascontiguousarray(place.reshape(-1), np.int64)

    def _limited(self, chunks: list[MatchChunk]) -> list[MatchChunk]:
        """The first ones of each stretch."""
        found = self._longest.joined(chunks)
        if found is None or not len(found):
            return []
        if not rises(found.detected):
            found = found.take(np.argsort(found.detected, kind="stable"))
        stretch = found.detected // self.rule.stretch_us
        known, before = self._stretch
        rank = np.arange(len(stretch)) - np.searchsorted(stretch, stretch, side="left")
        rank += np.where(stretch == known, before, 0)
        self._stretch = (int(stretch[-1]), int(rank[-1]) + 1)
        kept = rank < self.rule.most
        if kept.all():
            return [found]
        # Of the times at which the last one is left, more than the time decides which it is.
        torn = found.detected[np.flatnonzero(kept[:-1] & ~kept[1:])]
        starts, ends = (np.searchsorted(found.detected, torn, side=side) for side in ("left", "right"))
        rows = spread(starts, ends - starts, np.append(0, np.cumsum(ends - starts)))
        order = np.arange(len(found))
        order[rows] = rows[in_order(found.take(rows), text_ids=self.text_ids)]
        return [found.take(order[kept])]

    # ---- state ---------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "meaning": self.meaning,
            "dropped": self.dropped,
            "marks": [[list(key), mark] for key, mark in self._marks.items()],
            "stretch": list(self._stretch),
            "held": self._longest.to_text(),
        }

    def restore(self, state: Mapping[str, Any], strings: Strings) -> None:
        """Go on from what `state` gave."""
        self.dropped = int(state["dropped"])
        self._marks = {tuple(map(_hashable, key)): int(mark) for key, mark in state["marks"]}
        self._stretch = (int(state["stretch"][0]), int(state["stretch"][1]))
        self._longest.from_text(state["held"], strings)


class Thinners:
    """The thinners of a plan's queries. Those of queries that stay the same go on when the plan is another one."""

    def __init__(self) -> None:
        self.thinners: dict[str, Thinner] = {}

    def switch(self, plan: Plan) -> None:
        """Be for another plan."""
        sides = [] if plan.front is None else [side.plan for side in plan.front.sides]
        ops = [
            op for one in (plan, *sides) for op in one.ops if isinstance(op, Emit) and op.thinning is not None
        ]
        before = self.thinners
        self.thinners = {op.query: Thinner(op, text_ids=plan.text_ids) for op in ops}
        for query, thinner in self.thinners.items():
            old = before.get(query)
            if old is not None and old.meaning == thinner.meaning:
                thinner.restore(old.state(), Strings())

    def take(self, query: str, chunks: list[MatchChunk], until: int, reach: int) -> list[MatchChunk]:
        """What is reported of a query's matches."""
        thinner = self.thinners.get(query)
        return chunks if thinner is None else thinner.take(chunks, until, reach)

    @property
    def waiting(self) -> list[str]:
        """The queries with matches that become certain by time alone."""
        return [query for query, thinner in self.thinners.items() if thinner.due_us is not None]

    @property
    def due_us(self) -> int | None:
        dues = (thinner.due_us for thinner in self.thinners.values())
        return min((due for due in dues if due is not None), default=None)

    @property
    def held(self) -> int:
        return sum(thinner.held for thinner in self.thinners.values())

    @property
    def dropped(self) -> dict[str, int]:
        """How many matches of each query were found and not reported."""
        return {query: thinner.dropped for query, thinner in self.thinners.items()}

    def to_text(self) -> str:
        """All of it as a text; an empty one where nothing is thinned out."""
        states = {query: thinner.state() for query, thinner in self.thinners.items()}
        return json.dumps(states) if states else ""

    def from_text(self, text: str) -> None:
        """Go on from what `to_text` gave; queries that it does not know begin afresh."""
        strings = Strings()
        states = json.loads(text) if text else {}
        for query, thinner in self.thinners.items():
            fresh = self.thinners[query] = Thinner(thinner.op, text_ids=thinner.text_ids)
            if query in states and states[query]["meaning"] == fresh.meaning:
                fresh.restore(states[query], strings)


# ---- values that tell matches apart --------------------------------------------------------------------------


def _numbers(vector: Vector, kind: Kind, strings: Strings, n: int) -> tuple[I64, list[Any]]:
    """Numbers that are equal where values are alike, and the value of each number; nulls are alike, and so are NaNs."""
    given = vector.over(n)
    data = given.data
    if kind is Kind.FLOAT:
        data = np.where(data == 0, 0.0, np.where(np.isnan(data), np.nan, data))
    bits = np.ascontiguousarray(data).view(np.int64) if data.dtype.itemsize == 8 else data.astype(np.int64)
    low = int(bits.min())
    width = int(bits.max()) - low + 1
    if kind is not Kind.FLOAT and width <= min(MANY, n):
        distinct, place = low + np.arange(width), bits - low + 1
    else:
        coded = pa.array(bits).dictionary_encode()  # by hash: there are few different ones among many
        distinct = coded.dictionary.to_numpy()
        place = coded.indices.to_numpy().astype(np.int64) + 1
    if given.valid is not None:
        place = np.where(given.valid, place, 0)
    values: list[Any]
    if kind is Kind.STRING or kind in LISTS:
        # Under a null there may be a number that is no code.
        values = [strings.text(code) if 0 <= code < len(strings) else None for code in distinct.tolist()]
    elif kind is Kind.FLOAT:
        values = [_hashable(value) for value in distinct.view(np.float64).tolist()]
    else:
        values = distinct.tolist()
    return place, [None, *values]


def _hashable(value: Any) -> Any:
    """A NaN equals nothing, so a text stands for it: no double has one."""
    return "NaN" if isinstance(value, float) and value != value else value  # noqa: PLR0124 - only NaN differs from itself
