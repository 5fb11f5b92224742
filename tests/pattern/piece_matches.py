"""The matches of a piece by brute force, from what its docstrings say: the judge of normal and canonical forms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from stretto.oracle.detections import _choices
from stretto.oracle.values import Event, evaluate
from stretto.pattern.nodes import Policy, Stream, Window
from stretto.pattern.piece import Branch, Detection, Negation, Piece, Place, Slot
from stretto.pattern.predicates import Expr, Which, columns_of

Columns = tuple[tuple[int, ...], ...]  # positions per column, in time order; empty where unbound


@dataclass(frozen=True, slots=True)
class Filled:
    """A slot with its events: columns over all repetitions, and each repetition of a group alone."""

    columns: Columns
    repetitions: tuple[Columns, ...]


class Matcher:
    def __init__(self, events: Sequence[Event], same: Sequence[str]) -> None:
        self.events = with_positions(sorted(events, key=lambda event: event.ts), tuple(sorted(same)))
        self.ts = [event.ts for event in self.events]

    def matches(self, piece: Piece) -> Iterator[Columns]:
        """Every match, as often as there are ways to find it."""
        assert piece.policy is Policy.ANY
        for chosen in product(*(list(self.fillings(slot, piece.window)) for slot in piece.slots)):
            columns = tuple(column for filled in chosen for column in filled.columns)
            bound = [position for column in columns for position in column]
            if (
                len(set(bound)) == len(bound)
                and self.fits(bound, piece.window)
                and self.accepts(piece, chosen)
            ):
                yield columns

    def fillings(self, slot: Slot, window: Window) -> Iterator[Filled]:
        if isinstance(slot.source, Stream):
            found = [i for i in range(len(self.events)) if self.is_of(slot.source, i)]
            most = len(found) if slot.high is None else min(slot.high, len(found))
            for size in range(slot.low, most + 1):
                for chosen in combinations(found, size):
                    if self.fits(chosen, window) and len({self.ts[i] for i in chosen}) == size:
                        yield Filled((chosen,), ((chosen,),))
            return
        turns: list[Columns] = []
        for branch in slot.source.branches:
            turns += [spread(columns, branch, slot.source.width) for columns in self.matches(branch.piece)]
        for chain in self.chains(turns, slot, window):
            merged = (tuple(i for turn in chain for i in turn[c]) for c in range(slot.source.width))
            yield Filled(tuple(merged), chain)

    def chains(self, turns: Sequence[Columns], slot: Slot, window: Window) -> Iterator[tuple[Columns, ...]]:
        open_chains: list[tuple[Columns, ...]] = [()]
        count = 0
        while open_chains:
            if count >= slot.low:
                yield from open_chains
            if count == slot.high:
                return
            longer = ((*chain, turn) for chain in open_chains for turn in turns)
            open_chains = [chain for chain in longer if self.is_chain(chain, window)]
            count += 1

    def is_chain(self, chain: tuple[Columns, ...], window: Window) -> bool:
        if len(chain) > 1 and not self.before(flat(chain[-2]), flat(chain[-1])):
            return False
        return self.fits([i for turn in chain for i in flat(turn)], window)

    def before(self, left: Sequence[int], right: Sequence[int]) -> bool:
        return max(self.ts[i] for i in left) < min(self.ts[i] for i in right)

    def fits(self, bound: Sequence[int], window: Window) -> bool:
        first, last = min(bound), max(bound)
        span = last - first + 1 if window.unit == "events" else self.ts[last] - self.ts[first]
        return span <= window.size

    def is_of(self, stream: Stream, position: int) -> bool:
        event = self.events[position]
        chosen = {(0, Which.EACH): event}
        return event.type == stream.type and all(
            evaluate(term, {0: [event]}, chosen) is True for term in stream.where
        )

    def accepts(self, piece: Piece, chosen: Sequence[Filled]) -> bool:
        bound = [i for filled in chosen for i in flat(filled.columns)]
        return (
            all(self.before(flat(chosen[i].columns), flat(chosen[j].columns)) for i, j in piece.order)
            and self.agree(piece, bound)
            and all(self.holds(term, piece, chosen, None) for term in piece.terms)
            and not any(self.is_broken(negation, piece, chosen, bound) for negation in piece.negations)
        )

    def agree(self, piece: Piece, bound: Sequence[int]) -> bool:
        for name in piece.same:
            values = [self.events[i].attributes.get(name) for i in bound]
            if any(value is None or value != values[0] for value in values):
                return False
        return True

    def holds(self, term: Expr, piece: Piece, chosen: Sequence[Filled], forbidden: int | None) -> bool:
        """True for every joint choice of repetitions in which all columns are bound."""
        used = columns_of(term)
        slots = [s for s in range(len(piece.slots)) if used & set(piece.columns(s))]
        for turns in product(*(chosen[s].repetitions for s in slots)):
            sets: dict[int, list[Event]] = {}
            for s, turn in zip(slots, turns, strict=True):
                for column, positions in zip(piece.columns(s), turn, strict=True):
                    if column in used:
                        sets[column] = [self.events[i] for i in positions]
            if forbidden is not None and piece.width in used:
                sets[piece.width] = [self.events[forbidden]]
            if all(sets.values()) and not all(
                evaluate(term, sets, choice) is True for choice in _choices(term, sets)
            ):
                return False
        return True

    def is_broken(
        self, negation: Negation, piece: Piece, chosen: Sequence[Filled], bound: Sequence[int]
    ) -> bool:
        return any(
            position not in bound
            and self.is_of(negation.stream, position)
            and self.is_inside(negation, piece.window, chosen, bound, position)
            and self.agree(piece, [*bound, position])
            and all(self.holds(term, piece, chosen, position) for term in negation.terms)
            for position in range(len(self.events))
        )

    def is_inside(
        self,
        negation: Negation,
        window: Window,
        chosen: Sequence[Filled],
        bound: Sequence[int],
        position: int,
    ) -> bool:
        ts, first, last = self.ts[position], min(bound), max(bound)
        by_count = window.unit == "events"
        after = [self.ts[i] for s in negation.after for i in flat(chosen[s].columns)]
        before = [self.ts[i] for s in negation.before for i in flat(chosen[s].columns)]
        match negation.place:
            case Place.BETWEEN:
                return max(after) < ts < min(before)
            case Place.FIRST:
                reached = position > last - window.size if by_count else ts >= self.ts[last] - window.size
                return reached and ts < min(before)
            case Place.LAST:
                start = ts > max(after)
            case Place.ANYWHERE:
                start = ts >= self.ts[first]
        return start and (position < first + window.size if by_count else ts <= self.ts[first] + window.size)


def flat(columns: Columns) -> tuple[int, ...]:
    return tuple(i for column in columns for i in column)


def spread(columns: Columns, branch: Branch, width: int) -> Columns:
    found: list[tuple[int, ...]] = [()] * width
    for column, positions in zip(branch.columns, columns, strict=True):
        found[column] = positions
    return tuple(found)


def with_positions(events: Sequence[Event], same: tuple[str, ...]) -> list[Event]:
    """The events with the two attributes that only the normal form reads."""
    counts: dict[tuple[object, ...], int] = {}
    found = []
    for position, event in enumerate(events):
        values = tuple(event.attributes.get(name) for name in same)
        rank = counts[values] = counts.get(values, -1) + 1
        extra = {"@position": position, f"@position({','.join(same)})": rank}
        found.append(replace(event, attributes={**event.attributes, **extra}))
    return found


def detected(detection: Detection, events: Sequence[Event]) -> list[Mapping[str, tuple[int, ...]]]:
    """The matches of a normal form, each as often as it is found: names of bound variables to ids."""
    found = []
    for branch in detection.branches:
        matcher = Matcher(events, branch.piece.same)
        for columns in matcher.matches(branch.piece):
            named = spread(columns, branch, len(detection.variables))
            found.append(
                {
                    name: tuple(matcher.events[i].id for i in positions)
                    for name, positions in zip(detection.variables, named, strict=True)
                    if positions
                }
            )
    return found
