"""Pieces over the same types, side by side: which of them claim less than others.

The facts of such pieces are bits, so that pieces are compared by the thousand. Slots of one type can be matched in
several ways; of the weaker piece all are tried.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from stretto.memo.containment import (
    Fact,
    Lacks,
    arrangements,
    claims,
    columns_between,
    consequences,
    slot_type,
)
from stretto.memo.memo import Memo
from stretto.memo.ways import Input
from stretto.pattern.piece import Piece
from stretto.records import dataclass

Key = tuple[tuple[str, ...], tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Held:
    """A piece of the memo with its slots sorted by type, in every way that does so, and its facts in each."""

    number: int
    key: Key
    window: int
    slots: tuple[tuple[int, ...], ...]
    facts: tuple[frozenset[Fact], ...]

    @classmethod
    def of(cls, number: int, piece: Piece) -> "Held | None":
        """None if too many of its slots are of one type and in no order."""
        found = arrangements(piece)
        if not found:
            return None
        types = tuple(slot_type(piece.slots[slot]) for slot in found[0])
        once: dict[frozenset[Fact], tuple[int, ...]] = {}
        for slots in found:
            once.setdefault(claims(piece, slots), slots)
        key = types, piece.same, piece.window.unit
        return cls(number, key, piece.window.size, tuple(once.values()), tuple(once))


@dataclass(frozen=True, slots=True)
class Weaker:
    """`source` claims no more than `reader`, whose slots in the first arrangement are `source.slots[arrangement]`."""

    source: Held
    arrangement: int
    reader: Held
    missing: int

    def input(self, memo: Memo) -> Input:
        pieces = memo.pieces[self.source.number], memo.pieces[self.reader.number]
        slots, to = self.source.slots[self.arrangement], self.reader.slots[0]
        return Input(self.source.number, columns_between(pieces[0], slots, pieces[1], to))


class Alike:
    """Pieces with the same types of slots, the same `same` and windows of one unit."""

    def __init__(self, held: Iterable[Held]) -> None:
        self.held = list(held)
        self._bits: dict[Fact, int] = {}
        for one in self.held:
            for facts in one.facts:
                for fact in facts:
                    self._bits.setdefault(fact, 1 << len(self._bits))
        self._implied = {fact: self._mask(weaker) for fact, weaker in consequences(self._bits).items()}
        self.absences = self._mask(fact for fact in self._bits if isinstance(fact, Lacks))
        self.own = [[self._mask(facts) for facts in one.facts] for one in self.held]
        self.known = [[self.consequences(facts) for facts in one.facts] for one in self.held]

    def _mask(self, facts: Iterable[Fact]) -> int:
        found = 0
        for fact in facts:
            found |= self._bits[fact]
        return found

    def consequences(self, facts: Iterable[Fact]) -> int:
        """Facts and what follows from them, as bits."""
        found = 0
        for fact in facts:
            found |= self._implied[fact]
        return found

    def facts(self, mask: int) -> list[Fact]:
        return [fact for fact, bit in self._bits.items() if mask & bit]

    def serves(self, source: int, mask: int, window: int) -> int | None:
        """An arrangement in which a piece claims nothing but these facts, within no less than this window."""
        if self.held[source].window < window:
            return None
        for arrangement, own in enumerate(self.own[source]):
            if not own & ~mask:
                return arrangement
        return None

    def weaker_than(self, reader: int) -> Iterator[tuple[int, Weaker]]:
        """The pieces that claim less than the `reader`-th, with their places; of two that say the same, the older."""
        mine, known = self.held[reader], self.known[reader][0]
        for place, other in enumerate(self.held):
            if place == reader:
                continue
            arrangement = self.serves(place, known, mine.window)
            if arrangement is None:
                continue
            equivalent = (
                mine.window == other.window
                and self.serves(reader, self.known[place][0], other.window) is not None
            )
            if equivalent and other.number > mine.number:
                continue
            missing = known & ~self.own[place][arrangement]
            yield place, Weaker(other, arrangement, mine, missing)


def alike(memo: Memo) -> list[Alike]:
    """The cores of a memo, those with the same types together; only where there are several.

    When the time is up only those that were looked at before are among them.
    """
    found: list[Alike] = []
    for key, held in memo.analysis("held by types", len(memo), lambda: _by_types(memo)).items():
        if len(held) > 1 and not memo.ends():
            found.append(memo.analysis(("alike", key), len(held), partial(Alike, held)))
    return found


def _by_types(memo: Memo) -> dict[Key, list[Held]]:
    found: dict[Key, list[Held]] = {}
    for number, piece in enumerate(memo.pieces):
        if memo.ends():
            break
        if memo.is_core(number) and not memo.is_wide(number):
            held = memo.analysis(("held", number), None, partial(Held.of, number, piece))
            if held is not None:
                found.setdefault(held.key, []).append(held)
    return found
