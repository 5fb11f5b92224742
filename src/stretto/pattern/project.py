"""A piece seen through some of its slots: again a piece, which every match of the whole contains a match of."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from stretto.pattern.canonical import parted_terms
from stretto.pattern.canonical_terms import equality_terms
from stretto.pattern.columns import moved
from stretto.pattern.nodes import Policy, Stream
from stretto.pattern.order import mask_of
from stretto.pattern.piece import Negation, Piece, Place, Slot
from stretto.pattern.predicates import Expr, Ref, columns_of


def project(piece: Piece, slots: Sequence[int]) -> Piece:
    """The piece over the chosen slots, in the order given: their order, terms and `same`.

    Equalities that follow from the piece's own are kept too. A negation is kept only if it stands between chosen slots,
    names nothing else, and no other slot could bind one of its events inside its interval.
    """
    return Projector(piece).project(slots)


class Projector:
    """Projections of one piece: what they all need is found once."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.columns = [piece.columns(slot) for slot in range(len(piece.slots))]

    @cached_property
    def slot_of(self) -> list[int]:
        """The slot of each column."""
        return [slot for slot, own in enumerate(self.columns) for _ in own]

    @cached_property
    def _terms(self) -> tuple[list[tuple[Expr, int]], list[list[Ref]], list[list[int]]]:
        """Terms with their columns as bits, classes of what is equal, and for each column the terms that read it."""
        terms, classes = parted_terms(self.piece)
        read = [columns_of(term) for term in terms]
        of_column: list[list[int]] = [[] for _ in range(self.piece.width)]
        for number, columns in enumerate(read):
            for column in columns:
                of_column[column].append(number)
        return (
            [(term, mask_of(columns)) for term, columns in zip(terms, read, strict=True)],
            classes,
            of_column,
        )

    def _kept(self, to_column: dict[int, int]) -> Iterator[Expr]:
        """The terms over some columns; of what is equal, as many as tell it."""
        terms, classes, of_column = self._terms
        outside = ~mask_of(to_column)
        for number in sorted({number for column in to_column for number in of_column[column]}):
            term, columns = terms[number]
            if not columns & outside:
                yield term
        for refs in classes:
            inside = [ref for ref in refs if ref.column in to_column]
            if len({ref.column for ref in inside}) > 1:
                yield from equality_terms(inside)

    @cached_property
    def needs(self) -> list[int]:
        """For each negation the slots, as bits, without which it is not kept."""
        piece = self.piece
        of_type: dict[str, list[int]] = {}
        for number, slot in enumerate(piece.slots):
            for kind in types(slot):
                of_type.setdefault(kind, []).append(number)
        found = []
        for negation in piece.negations:
            read = {column for term in negation.terms for column in columns_of(term)} - {piece.width}
            needed = mask_of((*negation.after, *negation.before, *(self.slot_of[column] for column in read)))
            alike = of_type.get(negation.stream.type, ())
            inside = mask_of(slot for slot in alike if not is_beside(slot, negation, piece))
            whole = (1 << len(piece.slots)) - 1
            found.append(needed | (inside if negation.place is Place.BETWEEN else whole))
        return found

    def settled(self, slots: Sequence[int]) -> frozenset[int]:
        """The negations that the projection on some slots keeps."""
        chosen = mask_of(slots)
        return frozenset(i for i, needed in enumerate(self.needs) if not needed & ~chosen)

    def project(self, slots: Sequence[int]) -> Piece:
        piece = self.piece
        assert piece.policy is Policy.ANY, "a sequence under NEXT has no parts"
        to_column = {
            old: new for new, old in enumerate(column for slot in slots for column in self.columns[slot])
        }
        to_slot = {old: new for new, old in enumerate(slots)}
        terms: Iterable[Expr] = piece.terms
        if terms and len(slots) < len(piece.slots):
            terms = self._kept(to_column)
        return Piece(
            tuple(piece.slots[slot] for slot in slots),
            piece.order.part(slots),
            tuple(_all_moved(terms, to_column)),
            piece.same,
            tuple(self._negations(to_slot, to_column)) if piece.negations else (),
            piece.window,
        )

    def _negations(self, to_slot: dict[int, int], to_column: dict[int, int]) -> Iterator[Negation]:
        known = {**to_column, self.piece.width: len(to_column)}
        for number in sorted(self.settled(list(to_slot))):
            negation = self.piece.negations[number]
            yield Negation(
                negation.stream,
                negation.place,
                tuple(to_slot[i] for i in negation.after),
                tuple(to_slot[i] for i in negation.before),
                tuple(_all_moved(negation.terms, known)),
            )


def _all_moved(terms: Iterable[Expr], to_column: dict[int, int]) -> list[Expr]:
    return list(dict.fromkeys(moved(term, to_column) for term in terms))


def is_beside(slot: int, negation: Negation, piece: Piece) -> bool:
    """Whether a slot's events are always outside of the interval."""
    return any((slot, i) in piece.order or slot == i for i in negation.after) or any(
        (i, slot) in piece.order or slot == i for i in negation.before
    )


def types(slot: Slot) -> frozenset[str]:
    """The event types a slot can bind."""
    if isinstance(slot.source, Stream):
        return frozenset({slot.source.type})
    inner = (types(part) for branch in slot.source.branches for part in branch.piece.slots)
    return frozenset().union(*inner)
