"""A piece seen through some of its slots: again a piece, which every match of the whole contains a match of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from stretto.pattern.canonical.pieces import parted_terms
from stretto.pattern.canonical.terms import equality_terms
from stretto.pattern.nodes import Policy
from stretto.pattern.order import mask_of
from stretto.pattern.piece import Branch, Group, Negation, Piece, Place, Slot
from stretto.pattern.predicates import Expr, Ref, columns_of, numbered


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

    @cached_property
    def slot_of_column(self) -> list[int]:
        return self.piece.slot_of_column

    @cached_property
    def _terms(self) -> tuple[list[tuple[Expr, int]], tuple[tuple[Ref, ...], ...], list[list[int]]]:
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
            for kind in slot.types:
                of_type.setdefault(kind, []).append(number)
        found = []
        for negation in piece.negations:
            read = {column for term in negation.terms for column in columns_of(term)} - {piece.width}
            needed = mask_of(
                (*negation.after, *negation.before, *(self.slot_of_column[column] for column in read))
            )
            alike = of_type.get(negation.stream.type, ())
            inside = mask_of(slot for slot in alike if not negation.spares(slot, piece.order))
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
        to_column = numbered(piece.columns_of(slots))
        terms: Iterable[Expr] = piece.terms
        if terms and len(slots) < len(piece.slots):
            terms = self._kept(to_column)
        return Piece(
            tuple([piece.slots[slot] for slot in slots]),
            piece.order.part(slots),
            tuple(dict.fromkeys([term.moved(to_column) for term in terms])),
            piece.same,
            tuple(self._negations(slots, to_column)) if piece.negations else (),
            piece.window,
        )

    def _negations(self, slots: Sequence[int], to_column: dict[int, int]) -> Iterator[Negation]:
        to_slot = numbered(slots)
        to_column = {
            **to_column,
            self.piece.width: len(to_column),
        }  # the forbidden event stays behind the last
        for number in sorted(self.settled(slots)):
            yield self.piece.negations[number].moved(to_slot, to_column)


def slots_inside(negation: Negation, piece: Piece, among: Iterable[int] | None = None) -> list[int]:
    """The slots (of those `among`) that could bind an event of the forbidden type inside the interval."""
    return [
        slot
        for slot in (range(len(piece.slots)) if among is None else among)
        if negation.stream.type in piece.slots[slot].types and not negation.spares(slot, piece.order)
    ]


def rearrange(piece: Piece, columns: Sequence[int]) -> Piece:
    """The projection of a piece on these columns, which are whole slots: column i is the piece's `columns[i]`.

    The columns of one slot stand together, those of a group in any order: its branches are renumbered.
    """
    slots = piece.slots_of(columns)
    found = piece if slots == tuple(range(len(piece.slots))) else project(piece, slots)
    wanted = piece.columns_of(slots)
    if list(columns) == wanted:
        return found
    at = numbered(columns)
    to = [*(at[column] for column in wanted), len(wanted)]  # the forbidden event stays behind the last
    return replace(
        found,
        slots=tuple(
            _renumbered(slot, [to[c] for c in found.columns(i)]) for i, slot in enumerate(found.slots)
        ),
        terms=tuple(term.moved(to) for term in found.terms),
        negations=tuple(negation.moved(range(len(slots)), to) for negation in found.negations),
    )


def _renumbered(slot: Slot, places: list[int]) -> Slot:
    """A slot whose column i comes to the i-th of these places."""
    if not isinstance(slot.source, Group):
        return slot
    start = min(places)
    branches = (
        Branch(branch.piece, tuple(places[column] - start for column in branch.columns))
        for branch in slot.source.branches
    )
    return replace(slot, source=Group(slot.source.width, tuple(branches)))
