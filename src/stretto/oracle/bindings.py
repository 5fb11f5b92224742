"""Every way to bind events to a pattern, by brute force, for the oracle.

Only the window and the order of SEQ cut the search. A binding keeps its brackets: each event knows the
repetition of each group that took it, so that the scope of a term can be read off.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from stretto.oracle.values import Event, evaluate
from stretto.pattern.nodes import Atom, Combine, Not, Pattern, Query, Repeat, Stream
from stretto.pattern.predicates import Which
from stretto.records import dataclass

Path = tuple[tuple[int, int], ...]  # the repetitions around a variable: (group, number of the repetition)


@dataclass(frozen=True, slots=True)
class Taken:
    """The event at `position`, bound to a variable within one repetition of each group around it."""

    variable: int
    path: Path
    position: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A NOT in force: what it forbids is later than `after` and earlier than `before`, if set."""

    atom: Atom
    after: int | None
    before: int | None

    @property
    def waits(self) -> bool:
        return self.before is None


@dataclass(frozen=True, slots=True)
class Binding:
    taken: tuple[Taken, ...] = ()
    gaps: tuple[Gap, ...] = ()


class Search:
    """One query over one stream, sorted by time; an event is named by its position."""

    def __init__(self, query: Query, events: Sequence[Event]) -> None:
        self.query = query
        self.events = events
        self.ts = [event.ts for event in events]
        self.of_type: dict[str, list[int]] = {}
        for position, event in enumerate(events):
            self.of_type.setdefault(event.type, []).append(position)

    def bindings(self) -> Iterator[Binding]:
        yield from self.extend(self.query.pattern, Binding(), None, ())

    def extend(self, node: Pattern, so_far: Binding, after: int | None, path: Path) -> Iterator[Binding]:
        """`so_far` with every binding of `node` to events later than `after` added."""
        match node:
            case Atom(variable, stream):
                for position in self.of_type.get(stream.type, ()):
                    if self.may_take(so_far, position, after) and self.is_of(stream, position):
                        yield Binding((*so_far.taken, Taken(variable, path, position)), so_far.gaps)
            case Combine("SEQ", parts):
                yield from self.sequence(parts, so_far, after, path)
            case Combine("AND", parts):
                yield from self.conjunction(parts, so_far, after, path)
            case Combine("OR", parts):
                for part in parts:
                    yield from self.extend(part, so_far, after, path)
            case Combine("ANY", parts):
                for size in range(1, len(parts) + 1):
                    for chosen in combinations(parts, size):
                        yield from self.conjunction(chosen, so_far, after, path)
            case Repeat():
                yield from self.repetitions(node, 0, so_far, after, path)
            case _:
                raise AssertionError(node)

    def sequence(
        self, parts: Sequence[Pattern], so_far: Binding, after: int | None, path: Path
    ) -> Iterator[Binding]:
        def rest(at: Binding, times: tuple[list[int], ...], after: int | None) -> Iterator[Binding]:
            if len(times) == len(parts):
                yield Binding(at.taken, at.gaps + tuple(gaps_of(parts, times)))
                return
            part = parts[len(times)]
            if isinstance(part, Not):
                yield from rest(at, (*times, []), after)
                return
            for longer in self.extend(part, at, after, path):
                new = [self.ts[taken.position] for taken in longer.taken[len(at.taken) :]]
                yield from rest(longer, (*times, new), max(new, default=after))

        yield from rest(so_far, (), after)

    def conjunction(
        self, parts: Sequence[Pattern], so_far: Binding, after: int | None, path: Path
    ) -> Iterator[Binding]:
        if not parts:
            yield so_far
        elif isinstance(parts[0], Not):
            here = Binding(so_far.taken, (*so_far.gaps, Gap(parts[0].part, None, None)))
            yield from self.conjunction(parts[1:], here, after, path)
        else:
            for longer in self.extend(parts[0], so_far, after, path):
                yield from self.conjunction(parts[1:], longer, after, path)

    def repetitions(
        self, node: Repeat, count: int, so_far: Binding, after: int | None, path: Path
    ) -> Iterator[Binding]:
        """A repetition that binds nothing is none; the repetitions of a group are numbered in the paths."""
        if count >= node.low or _may_be_empty(node.part):
            yield so_far
        if count == node.high:
            return
        inside = path if isinstance(node.part, Atom) else (*path, (id(node), count))
        for longer in self.extend(node.part, so_far, after, inside):
            new = [self.ts[taken.position] for taken in longer.taken[len(so_far.taken) :]]
            if new:
                yield from self.repetitions(node, count + 1, longer, max(new), path)

    def may_take(self, so_far: Binding, position: int, after: int | None) -> bool:
        """Whether the event is later than `after`, not yet bound, and inside the window of what is bound."""
        if after is not None and self.ts[position] <= after:
            return False
        bound = [taken.position for taken in so_far.taken]
        if position in bound:
            return False
        first, last = min([*bound, position]), max([*bound, position])
        if self.query.window.unit == "events":
            return last - first < self.query.window.size
        return self.ts[last] - self.ts[first] <= self.query.window.size

    def is_of(self, stream: Stream, position: int) -> bool:
        return is_of(self.events[position], stream)


def is_of(event: Event, stream: Stream) -> bool:
    """Whether an event is of the stream's type and passes its terms."""
    return event.type == stream.type and all(
        evaluate(term, {0: [event]}, {(0, Which.EACH): event}) is True for term in stream.where
    )


def _may_be_empty(node: Pattern) -> bool:
    match node:
        case Repeat(part, low, _):
            return low == 0 or _may_be_empty(part)
        case Combine("SEQ" | "AND", parts):
            return all(_may_be_empty(part) for part in parts if not isinstance(part, Not))
        case Combine(_, parts):
            return any(_may_be_empty(part) for part in parts)
    return False


def gaps_of(parts: Sequence[Pattern], times: Sequence[Sequence[int]]) -> Iterator[Gap]:
    """The NOTs of a SEQ between the parts that bind something; `times` are those of each part's events."""
    for number, part in enumerate(parts):
        if isinstance(part, Not) and any(times):
            before = max((ts for bound in times[:number] for ts in bound), default=None)
            after = min((ts for bound in times[number:] for ts in bound), default=None)
            yield Gap(part.part, before, after)
