"""All cases of tests/cases as one workload over one stream of events, and what it finds as matches of each case.

A case has types and query names of its own, and a stretch of time that no window reaches out of, so that its events
stand at consecutive positions: windows in EVENTS and STRICT count the same as in the case alone. One thing differs: a
negation that waits for positions past the end of the case is decided by what follows, where in the case alone the end
of the stream decides it, at its last event. So such a match is said to be detected there.

A stream has one lateness, cases have their own: a case's unit of time is made as long as its lateness needs.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tests.support.cases import Case
from tests.support.random_events import drop_late

from stretto.oracle.detections import Event, Match

LATENESS_US = 30_000
STRETCH_US = 60 * 10**6
START_US = 1_700_000_000 * 10**6
IDS = 100  # of a case, the least is -9
SPACE = 9
END_TYPE = "End"
ENDS = 20  # more than the longest window in EVENTS


@dataclass(frozen=True, slots=True)
class Placed:
    """A case in its place among the others."""

    case: Case
    number: int

    @property
    def start(self) -> int:
        """The microsecond that is the case's time zero."""
        return START_US + self.number * STRETCH_US

    @property
    def unit(self) -> int:
        """Microseconds of a case's microsecond: what is late by its own lateness is late by LATENESS_US."""
        late = self.case.lateness
        return 1 if late is None else LATENESS_US // late if late else 2 * LATENESS_US

    @property
    def text(self) -> str:
        """The queries and selections under names of their own, over types of their own, in units of this length."""
        own = re.sub(r"\bQUERY (?=\w)", f"QUERY {self.prefix}", self.case.text)
        own = re.sub(r"\b(?=(?:Big|Huge)\b)", self.prefix, own)
        own = re.sub(r"(\d+) us\b", lambda found: f"{int(found[1]) * self.unit} us", own)
        return re.sub(r"\b(?=[A-D]\b)", self._type_prefix, own)

    @property
    def prefix(self) -> str:
        return f"c{self.number}_"

    @property
    def _type_prefix(self) -> str:
        """Where variables are left out they are called as their types are, which therefore stay as they are."""
        return "" if re.search(r"\b[A-D][,)]", self.case.text) else self.prefix

    def events(self) -> list[Event]:
        """In the order of arrival, late ones too."""
        return [
            replace(
                event,
                id=event.id + self._first_id,
                ts=self.start + event.ts * self.unit,
                type=f"{self._type_prefix}{event.type}",
            )
            for event in self.case.events
        ]

    def own(self, match: Match) -> Match:
        """A match as the case says it."""
        counted = re.search(r"WITHIN \d+ EVENTS", self.case.text) is not None
        last = max(event.ts for event in self.case.events)
        start, end, detected = (
            (ts - self.start) // self.unit for ts in (match.start, match.end, match.detected)
        )
        events = {name: tuple(i - self._first_id for i in ids) for name, ids in match.events.items()}
        return Match(start, end, min(detected, last) if counted else detected, events, match.returned)

    @property
    def _first_id(self) -> int:
        return self.number * IDS + SPACE


def placed(cases: Sequence[Case]) -> list[Placed]:
    """Those with a lateness are the last ones."""
    return [
        Placed(case, i) for i, case in enumerate(sorted(cases, key=lambda case: case.lateness is not None))
    ]


def workload_text(cases: Iterable[Placed]) -> str:
    return "\n".join(one.text for one in cases)


def in_time(cases: Iterable[Placed]) -> list[Event]:
    """The events of all cases without those that are late, and an end."""
    kept = (
        event
        for one in cases
        for event in (one.events() if one.case.lateness is None else drop_late(one.events(), LATENESS_US))
    )
    return [*kept, *ending()]


def in_arrivals(cases: Iterable[Placed]) -> list[list[Event]]:
    """The events of all cases, cut before each one that is late by those before it, and an end."""
    arrived: list[list[Event]] = [[]]
    for one in cases:
        latest = -math.inf
        for event in one.events():
            late = one.case.lateness is not None and event.ts < latest - LATENESS_US
            arrived += [[]] * late
            arrived[-1] = [*arrived[-1], event]
            latest = max(latest, event.ts)
    return [*arrived, ending()]


def ending() -> list[Event]:
    """Events after all others that no query reads: everything is decided once they are seen."""
    end = START_US + 10**6 * STRETCH_US
    return [Event(10**9 + i, end + i * 10**6, END_TYPE, {}) for i in range(ENDS)]


def by_case(
    cases: Iterable[Placed], found: Mapping[str, Sequence[Match]]
) -> dict[str, dict[str, list[Match]]]:
    """Per title and query of a case, what the joined workload found."""
    return {
        one.case.title: {
            name: [one.own(match) for match in found.get(f"{one.prefix}{name}", ())]
            for name in one.case.matches
        }
        for one in cases
    }
