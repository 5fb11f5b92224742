"""The cases of tests/cases: query, events and matches as data, run by everything that can run a query.

An event is `Type@ts` with its attributes, as in `A@1(x=3,k=1)`; those not written are null. Its id is its number of
arrival, or what is written, as in `A@1#7`. A match names its events by time, `a@1 d@2,3`, or, where times are shared,
by their ids, `a#0`. `detected=` is written where it is not the end of the match, returned values as `name=value`.
Matches are parted by `|`; `none` says that there are none. A match with the word `undecided` behind it waits for a time
after the last event. With several queries, each line of matches starts with the query's name.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.random_events import ATTRIBUTES

from stretto.oracle.detections import Event, Match
from stretto.schema import Kind, Schema

CASES = Path(__file__).parents[1] / "cases"
UNDECIDED = " undecided"
SCHEMA = Schema(ATTRIBUTES, frozenset("ABCD"))
VALUES: dict[Kind, Callable[[str], object]] = {
    Kind.INT: int,
    Kind.FLOAT: float,
    Kind.STRING: lambda text: text.strip("'"),
    Kind.BOOL: lambda text: {"true": True, "false": False}[text],
}


@dataclass(frozen=True, slots=True)
class Case:
    title: str
    text: str
    events: tuple[Event, ...]
    matches: Mapping[str, list[Match]]
    lateness: int | None = None
    undecided: Mapping[str, list[Match]] = field(default_factory=dict)

    def decided(self, query: str) -> list[Match]:
        """The matches of a query that the last event decides."""
        return [match for match in self.matches[query] if match not in self.undecided[query]]


def load_cases() -> list[Case]:
    """Every case of every file, in order."""
    files = sorted(CASES.glob("*.cep"))
    return [case for file in files for case in _cases_of(file.stem, file.read_text(encoding="utf-8"))]


def _cases_of(stem: str, text: str) -> Iterator[Case]:
    for part in re.split(r"^-- query: ", text, flags=re.MULTILINE)[1:]:
        title, _, rest = part.partition("\n")
        head, _, rest = rest.partition("-- events\n")
        written, _, expected = rest.partition("-- matches\n")
        query, *late = re.split(r"^-- lateness: (\d+)\n", head, flags=re.MULTILINE)
        text = query if re.match(r"\s*(QUERY|CREATE)\b", query) else f"QUERY q {query};"
        events = tuple(_event(i, word) for i, word in enumerate(written.split()))
        matches: dict[str, list[Match]] = {}
        undecided: dict[str, list[Match]] = {}
        named = re.split(r"^(\w+): ", expected, flags=re.MULTILINE)
        for name, listed in (
            zip(named[1::2], named[2::2], strict=True) if len(named) > 1 else [("q", expected)]
        ):
            words = [] if listed.strip() == "none" else listed.split("|")
            matches[name] = [_match(word.replace(UNDECIDED, ""), events) for word in words]
            undecided[name] = [
                match for match, word in zip(matches[name], words, strict=True) if UNDECIDED in word
            ]
        yield Case(f"{stem}: {title}", text, events, matches, int(late[0]) if late else None, undecided)


def _event(number: int, word: str) -> Event:
    found = re.fullmatch(r"(\w+)@(-?\d+)(?:#(-?\d+))?(?:\((.*)\))?", word)
    assert found, word
    pairs = [pair.split("=") for pair in (found[4] or "").split(",") if pair]
    attributes = {name: _value(ATTRIBUTES[name], text) for name, text in pairs}
    return Event(int(found[3] or number), int(found[2]), found[1], attributes)


def _value(kind: Kind, text: str) -> object:
    return None if text == "null" else VALUES[kind](text)


def _match(text: str, events: tuple[Event, ...]) -> Match:
    bound: dict[str, tuple[int, ...]] = {}
    returned: dict[str, object] = {}
    for word in text.split():
        name, sign, value = re.split(r"([@#=])", word, maxsplit=1)
        if sign == "=":
            returned[name] = _returned(value)
        else:
            numbers = [int(number) for number in value.split(",")]
            bound[name] = tuple(numbers if sign == "#" else [_at(ts, events) for ts in numbers])
    known = {event.id: event.ts for event in events}
    times = [known[number] for numbers in bound.values() for number in numbers]
    detected = returned.pop("detected", max(times))
    return Match(min(times), max(times), detected, bound, returned)


def _at(ts: int, events: tuple[Event, ...]) -> int:
    (number,) = (event.id for event in events if event.ts == ts)
    return number


def _returned(text: str) -> object:
    """A returned value: what has a point is a double, what stands in quotes is text."""
    words = {"null": None, "true": True, "false": False, "nan": float("nan")}
    if text in words:
        return words[text]
    return text.strip("'") if text.startswith("'") else float(text) if "." in text else int(text)
