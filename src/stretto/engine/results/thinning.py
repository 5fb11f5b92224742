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
from stretto.engine.results.key_marks import KeyMarks, Numbers
from stretto.engine.results.match_chunks import MatchChunk, joined_chunks
from stretto.engine.results.match_order import first_of_each, in_order, in_runs
from stretto.engine.results.routed import Routed
from stretto.engine.results.walked import in_turn, picked
from stretto.engine.rows.row_blocks import rises
from stretto.engine.rows.sieve import Keys, Sieve, Sieving, first_sieve, limit_sieve
from stretto.engine.snapshot import number_in
from stretto.engine.stream.arena import Arena
from stretto.errors import EngineError
from stretto.plan.dag import Plan
from stretto.plan.families.members import Route
from stretto.plan.ops import Emit
from stretto.values.rows import Bool, spread
from stretto.values.strings import Strings

NO_KEYS: Final = np.zeros(0, np.int64)
"""Where all matches are alike."""


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
        self._marks = KeyMarks([op.returns[i].kind for i in self._hidden])
        self._stretch: tuple[int, int] = (0, 0)  # the last stretch of LIMIT, and how many of it were kept
        self._longest = HeldMatches(op, text_ids=text_ids)
        self._by_name = op.by_name

    @property
    def meaning(self) -> str:
        """What must be the same for its state to go on."""
        return f"{self.rule!r} {self.op.returns!r} {self.op.listed!r}"

    @property
    def held(self) -> int:
        """Bytes."""
        return self._longest.nbytes + self._marks.nbytes

    @property
    def due_us(self) -> int | None:
        """The earliest time that a match of LONGEST waits for."""
        return self._longest.due_us

    def take(
        self, chunks: Sequence[MatchChunk], until: int, reach: int, sieve: Sieve | None = None
    ) -> list[MatchChunk]:
        """What is reported of the matches of a step that ends before `until`.

        `reach`: no match that comes later has an event before it. `sieve`: what these have passed; those that it left
        out are counted as well.
        """
        self.dropped += 0 if sieve is None else sieve.left_out
        # A query that is thinned out is for one member of its family at most: whose its matches are is known.
        chunks = [
            chunk if chunk.routed is None else replace(chunk, routed=None) for chunk in chunks if len(chunk)
        ]
        count = sum(map(len, chunks))
        if self.rule.word == "LONGEST":
            count += self._longest.undecided
            found = self._longest.take(chunks, until)
            count -= self._longest.undecided
        else:
            # Marks that nothing which comes later is close to are forgotten.
            oldest = reach if self.rule.word == "APART" else until - self.rule.lasting_us + 1
            if sieve is not None and sieve.exact:
                found = chunks
                self._marks.put_last(sieve.marks[0], oldest)
            else:
                kept = self._kept(chunks, count, oldest) if chunks else None
                found = [] if kept is None else [kept]
        found = self._limited(found) if self.rule.most else found
        self.dropped += count - sum(map(len, found))
        if self.op.route is None:
            return found
        return [replace(chunk, routed=_routed(self.op.route, len(chunk))) for chunk in found]

    def sieve(self, sieving: Sieving, arena: Arena) -> Sieve | None:
        """What a join that finds all matches of the next step need not write."""
        rule, marks, keys, key = self.rule, self._marks, None, sieving.key
        if rule.word == "ALL":
            return limit_sieve(*self._stretch, rule.stretch_us, rule.most)
        if key is None:
            last = marks.of(marks.numbers([], arena.strings))
        else:
            borrowed = arena.borrowed_bits(key[1])
            known = None if borrowed is None else marks.known(borrowed, arena.strings)
            if borrowed is None or known is None:
                return None
            low, last = known
            keys = Keys(key[0], borrowed, low)
        apart = rule.word == "APART"
        gap, order = 1 if apart else rule.lasting_us, () if self.text_ids else sieving.order
        return first_sieve(last, gap, arena.base, keys, order, arena.borrowed_ids, apart=apart)

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
        numbers = self._numbers(chunks)
        own = numbers.parts if order is None or not numbers.parts else [np.concatenate(numbers.parts)[order]]
        state, gap = begun(self._marks.of(numbers)), 1 if apart else self.rule.lasting_us
        looking = numbers.low, numbers.look, numbers.base
        walk = first_ones if is_due(first_ones, count) else first_ones_reference
        found, counts, at = np.empty((2, count), np.int64), np.zeros(2, np.int64), 0
        for (detected, rank, since), key in zip(parts, own or [NO_KEYS] * len(parts), strict=True):
            walk(detected, rank, since, key, *looking, state, gap, apart, at, found, counts)
            at += len(detected)
        self._marks.put(state[0], oldest)
        rows, shared = found[:, : counts[0]]
        if order is not None:
            place = np.argsort(order[rows])
            rows, shared = order[rows][place], shared[place]
        kept = picked(chunks, rows, self._shown)
        if kept is None or counts[0] == counts[1]:
            return kept
        return kept.take(first_of_each(self._ordered(kept), shared, text_ids=self.text_ids))

    def _numbers(self, chunks: list[MatchChunk]) -> Numbers:
        """Which of the values that tell them apart matches have."""
        columns = [[chunk.returned[i] for chunk in chunks] for i in self._hidden]
        return self._marks.numbers(columns, chunks[0].strings, chunks[0].unread)

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
        return picked(chunks, rows if order is None else np.sort(order[rows]), self._shown)

    def _apart(self, chunks: list[MatchChunk], oldest: int) -> MatchChunk | None:
        """What APART keeps where a match ends before it is detected."""
        found = joined_chunks([chunk.wide() for chunk in chunks])
        assert found is not None
        found = found.take(in_order(self._ordered(found), text_ids=self.text_ids))
        numbers = self._numbers([found])
        last = self._marks.of(numbers).copy()
        walk = keep_apart if is_due(keep_apart, len(found)) else keep_apart_reference
        key = numbers.parts[0] - numbers.low if numbers.parts else NO_KEYS
        kept: Bool = walk(found.start, found.end, key, last, 1)
        self._marks.put(last, oldest)
        shown = replace(found, returned=tuple(found.returned[i] for i in self._shown))
        return shown.take(np.flatnonzero(kept))

    def _limited(self, chunks: list[MatchChunk]) -> list[MatchChunk]:
        """The first ones of each stretch."""
        found = self._longest.joined(chunks)
        if found is None or not len(found):
            return []
        if not rises(found.detected):
            found = found.take(np.argsort(found.detected, kind="stable"))
        stretch = found.detected // self.rule.stretch_us
        known, before = self._stretch
        begins = np.append(0, np.flatnonzero(stretch[1:] != stretch[:-1]) + 1)
        rank = np.arange(len(stretch)) - np.repeat(begins, np.diff(begins, append=len(stretch)))
        if stretch[0] == known:  # no other is: later matches have later times
            rank[: begins[1] if len(begins) > 1 else None] += before
        self._stretch = (int(stretch[-1]), int(rank[-1]) + 1)
        kept = rank < self.rule.most
        if kept.all():
            return [found]
        # Of the times at which the last one is left, more than the time decides which it is.
        torn = found.detected[np.flatnonzero(kept[:-1] & ~kept[1:])]
        starts, ends = (np.searchsorted(found.detected, torn, side=side) for side in ("left", "right"))
        offsets = np.append(0, np.cumsum(ends - starts))
        rows = spread(starts, ends - starts, offsets)
        order = np.arange(len(found))
        order[rows] = rows[in_runs(self._ordered(found.take(rows)), offsets[1:], text_ids=self.text_ids)]
        return [found.take(order[kept])]

    def _ordered(self, chunk: MatchChunk) -> MatchChunk:
        """Return the matches with their ids in the order in which these break ties."""
        return replace(chunk, ids=tuple(chunk.ids[number] for number in self._by_name))

    # ---- state ---------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {
            "meaning": self.meaning,
            "dropped": self.dropped,
            "marks": [[list(key), mark] for key, mark in self._marks.items().items()],
            "stretch": list(self._stretch),
            "held": self._longest.to_text(),
        }

    def restore(self, state: Mapping[str, Any], strings: Strings) -> None:
        """Go on from what `state` gave."""
        self.dropped = number_in(state["dropped"])
        self._marks.restore((key, number_in(mark)) for key, mark in state["marks"])
        self._stretch = (number_in(state["stretch"][0]), number_in(state["stretch"][1]))
        self._longest.from_text(state["held"], strings)


def _routed(route: Route, count: int) -> Routed:
    """So many matches of the one member that there is."""
    first = np.zeros(count, np.int64)
    return Routed(route.members, first, first + 1, route.members.order)


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

    def take(
        self, query: str, chunks: list[MatchChunk], until: int, reach: int, sieve: Sieve | None = None
    ) -> list[MatchChunk]:
        """What is reported of a query's matches, which have passed this sieve."""
        thinner = self.thinners.get(query)
        return chunks if thinner is None else thinner.take(chunks, until, reach, sieve)

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

    def count_again(self, dropped: Mapping[str, int]) -> None:
        """Go back to an earlier number of matches that were not reported, for each query."""
        for query, count in dropped.items():
            self.thinners[query].dropped = count

    def to_text(self) -> str:
        """All of it as a text; an empty one where nothing is thinned out."""
        states = {query: thinner.state() for query, thinner in self.thinners.items()}
        return json.dumps(states) if states else ""

    def from_text(self, text: str) -> None:
        """Go on from what `to_text` gave; queries that it does not know begin afresh. EngineError for damaged text."""
        strings = Strings()
        try:
            states = json.loads(text) if text else {}
            for query, thinner in self.thinners.items():
                fresh = self.thinners[query] = Thinner(thinner.op, text_ids=thinner.text_ids)
                if query in states and states[query]["meaning"] == fresh.meaning:
                    fresh.restore(states[query], strings)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise EngineError(
                "what KEEP and LIMIT remember is damaged (restore an older snapshot, or start afresh)"
            ) from error
