"""A piece as MOTTO reads a query: an operator over a list of operands, divided where operators are nested.

The order of a piece tells its nesting: slots that fall into parts without order between them are an AND, slots that
can be cut into parts one after another are a SEQ. An operand is a slot or an inner level; the keys of equal operands
are equal.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal as OneOf

from stretto.memo.containment import Before, Fact, claims
from stretto.memo.memo import Memo
from stretto.pattern.canonical.pieces import slot_key
from stretto.pattern.nodes import Window
from stretto.pattern.order import Order
from stretto.pattern.piece import Piece
from stretto.pattern.project import project
from stretto.records import dataclass

Word = OneOf["SEQ", "AND", "MIXED"]


@dataclass(frozen=True, slots=True)
class Operands:
    """One level of the piece `owner`: the keys of its operands, and the slots of each.

    A SEQ has its operands in order, an AND sorted by key. `relaxed`: a SEQ read as an AND, without the order between
    its operands (MOTTO, Table I).
    """

    owner: int
    word: Word
    keys: tuple[str, ...]
    slots: tuple[tuple[int, ...], ...]
    relaxed: bool = False

    def slots_at(self, places: Sequence[int]) -> tuple[int, ...]:
        """The slots of some operands, one after another."""
        return tuple(slot for place in places for slot in self.slots[place])

    def as_and(self) -> "Operands":
        """A SEQ read as an AND."""
        pairs = sorted(zip(self.keys, self.slots, strict=True))
        return Operands(
            self.owner,
            "AND",
            tuple(key for key, _ in pairs),
            tuple(slots for _, slots in pairs),
            relaxed=True,
        )

    def part(self, piece: Piece, places: Sequence[int], window: Window) -> Piece:
        """The sub-query over some operands, its slots in the order of `slots_at`, within a window."""
        found = replace(project(piece, self.slots_at(places)), window=window)
        if not self.relaxed:
            return found
        operand = [place for place in places for _ in self.slots[place]]
        inside = ((i, j) for i, j in found.order if operand[i] == operand[j])
        return replace(found, order=Order.of(inside), negations=())

    def claims(self, piece: Piece, places: Sequence[int]) -> frozenset[Fact]:
        """What `part` claims, whatever its window."""
        if piece.negations:
            part = self.part(piece, places, piece.window)
            return claims(part, range(len(part.slots)))
        found = claims(piece, self.slots_at(places))
        if not self.relaxed:
            return found
        operand = [place for place in places for _ in self.slots[place]]
        return frozenset(
            fact
            for fact in found
            if not isinstance(fact, Before) or operand[fact.first] == operand[fact.second]
        )


def divide(number: int, piece: Piece) -> tuple[Operands, ...]:
    """The levels of a piece, inner ones before those around them; the outermost is the last."""
    found: list[Operands] = []
    _divide(number, piece, piece.order, tuple(range(len(piece.slots))), found)
    return tuple(found)


def _divide(
    number: int,
    piece: Piece,
    order: Order,
    slots: tuple[int, ...],
    found: list[Operands],
) -> tuple[str, tuple[int, ...]]:
    """Add the levels of some slots; their key and themselves in the order that the key tells come back."""
    if len(slots) == 1:
        return slot_key(piece.slots[slots[0]]), slots
    word: Word = "AND"
    parts = order.unrelated(slots)
    if len(parts) == 1:
        word, parts = "SEQ", order.in_series(slots)
    if len(parts) == 1:
        word, parts = "MIXED", [[slot] for slot in slots]
    operands = [_divide(number, piece, order, tuple(sorted(part)), found) for part in parts]
    if word == "AND":
        operands.sort()
    keys, held = zip(*operands, strict=True)
    found.append(Operands(number, word, keys, held))
    return f"{word}({', '.join(keys)})", tuple(slot for part in held for slot in part)


def levels(memo: Memo, number: int) -> tuple[Operands, ...]:
    """The levels of a core, the outermost last."""
    return memo.analysis(("levels", number), None, lambda: divide(number, memo.pieces[number]))
