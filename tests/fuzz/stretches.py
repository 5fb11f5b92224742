"""The oracle over long streams: run on overlapping stretches, of which each gives what begins in its part.

A match depends on no event more than a window before or after its first one, so with that much of the stream on both
sides of its own part a stretch decides exactly. It shares nothing with the engine.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from stretto import oracle
from stretto.oracle.bindings import Search
from stretto.oracle.detections import Event, Match
from stretto.oracle.keeping import thinned
from stretto.oracle.values import Sets
from stretto.pattern.nodes import Query
from stretto.values.times import START_OF_TIME

OWN = 16
"""Events that a stretch judges."""
STEPS_AT_FIRST, STEPS_EACH = 20_000, 2_500
"""Events that the oracle may look at, at once and for every stretch: a bound on its time that no machine changes."""
MOST_MATCHES = 8_000
MOST_LONGEST = 1_500
"""Matches of which each is compared with each other one."""


class TooHeavy(Exception):  # noqa: N818 - no mistake
    """The query would keep the oracle busy for too long."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Matches that begin at positions `begin`..`end` - 1, by the events at `low`..`high` - 1."""

    begin: int
    end: int
    low: int
    high: int


def stretches(query: Query, ts: Sequence[int]) -> Iterator[Stretch]:
    """Stretches of a stream of these times, in order; together they judge every position once."""
    size, by_count = query.window.size, query.window.unit == "events"
    negated = any(variable.negated for variable in query.variables)
    for begin in range(0, len(ts), OWN):
        end = min(begin + OWN, len(ts))
        if by_count:
            low, high = max(begin - size + 1, 0), min(end + size - 1, len(ts))
        else:
            low, high = bisect_left(ts, ts[begin] - size), bisect_right(ts, ts[end - 1] + size)
        # Only a NOT looks back, and that at all events of a time.
        yield Stretch(begin, end, bisect_left(ts, ts[low]) if negated else begin, high)


class Judge:
    """The matches of a query over a stream in time order, or over what is left of it from some position on.

    Raises TooHeavy where that takes too long.
    """

    def __init__(self, query: Query, events: Sequence[Event]) -> None:
        self.query = query
        self._plain = replace(query, thinning=None)
        self._events = events
        self._by_id = {event.id: event for event in events}
        self._stretches = list(stretches(query, [event.ts for event in events]))
        self._position = {event.id: position for position, event in enumerate(events)}
        self._judged: dict[Stretch, list[Match]] = {}
        self._left = STEPS_AT_FIRST
        self.whole = self.since(0)

    def since(self, base: int, since: int = START_OF_TIME) -> list[Match]:
        """The matches over the events from position `base` on that are detected at `since` or later.

        KEEP and LIMIT look at no other matches.
        """
        found = [match for match in self._all_since(base) if match.detected >= since]
        if self.query.thinning is None:
            return found
        if self.query.thinning.word == "LONGEST" and len(found) > MOST_LONGEST:
            raise TooHeavy
        return thinned(self.query, [(match, self._sets(match)) for match in found])

    def _sets(self, match: Match) -> Sets:
        return {
            number: tuple(self._by_id[event] for event in match.events[variable.name])
            for number, variable in enumerate(self.query.variables)
            if variable.name in match.events
        }

    def _all_since(self, base: int) -> list[Match]:
        found: list[Match] = []
        for stretch in self._stretches:
            if stretch.end > base:
                seen = replace(stretch, begin=max(stretch.begin, base), low=max(stretch.low, base))
                if seen not in self._judged:
                    self._judged[seen] = self._judge(seen)
                found += self._judged[seen]
                if len(found) > MOST_MATCHES:
                    raise TooHeavy
        return found

    def _judge(self, stretch: Stretch) -> list[Match]:
        self._left += STEPS_EACH
        with _steps_counted(self._left) as steps:
            matches = oracle.matches(self._plain, self._events[stretch.low : stretch.high])
        self._left -= steps[0]
        return [match for match in matches if stretch.begin <= self._first(match) < stretch.end]

    def _first(self, match: Match) -> int:
        return min(self._position[event] for bound in match.events.values() for event in bound)


@contextmanager
def _steps_counted(most: int) -> Iterator[list[int]]:
    """Counts the events that the oracle looks at; TooHeavy past `most`."""
    steps, may_take = [0], Search.may_take

    def counted(self: Search, *arguments: Any) -> bool:
        steps[0] += 1
        if steps[0] > most:
            raise TooHeavy
        return may_take(self, *arguments)

    with mock.patch.object(Search, "may_take", counted):
        yield steps
