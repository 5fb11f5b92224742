"""The core of a piece: every repeated slot by its last repetition, and what can be checked of it so.

A match of a piece contains exactly one match of its core, so cores are what joins compute and queries share; the
earlier repetitions and the negations that depend on them or on the end of the window come afterwards.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from stretto.pattern.canonical.terms import canonical_negation
from stretto.pattern.nodes import Stream
from stretto.pattern.order import mask_of
from stretto.pattern.piece import FORBIDDEN, Group, Negation, Piece, Place, Slot
from stretto.pattern.predicates import Expr, columns_of
from stretto.pattern.project import slots_inside
from stretto.pattern.repetition_terms import Duty, Use, duty, fit


def core_of(piece: Piece) -> Piece:
    """The core, over the same columns; the piece itself if nothing repeats and nothing waits."""
    if piece.follows:
        return piece
    growing = piece.growing
    early = [n for n in piece.negations if is_early(n, piece, growing)]
    if not growing and len(early) == len(piece.negations):
        return piece
    return by_last_repetition(piece, growing, early)


def by_last_repetition(piece: Piece, slots: frozenset[int], negations: Sequence[Negation]) -> Piece:
    """The piece with these slots by their last repetition, what can be checked of it so, and these negations."""
    sets = _sets(piece, slots)
    duties = [duty(term, piece, slots) for term in piece.terms]
    easy = [d for d in duties if not d.hard]
    alone: dict[int, list[Expr]] = {}
    terms: list[Expr] = []
    for found in easy:
        for term in fit([found.term], sets):
            slot = _stream_alone(found, piece)
            if slot is None or (piece.slots[slot].repeats and slot not in slots):
                terms.append(term)
            else:
                alone.setdefault(slot, []).append(term.moved({piece.columns(slot).start: 0}))
    return replace(
        piece,
        slots=tuple(
            _once(slot, alone.get(i, ())) if i in slots or not slot.repeats else slot
            for i, slot in enumerate(piece.slots)
        ),
        terms=tuple(terms),
        negations=tuple(_on_rows(n, sets) for n in negations),
    )


def _sets(piece: Piece, slots: frozenset[int]) -> list[bool]:
    """Which columns hold sets in rows that bind these slots by their last repetition."""
    return [
        held or (slot.high != 1 and i not in slots)
        for i, slot in enumerate(piece.slots)
        for held in repetition_sets(slot)
    ]


def repetition_sets(slot: Slot) -> tuple[bool, ...]:
    """Which columns of one repetition of a slot hold sets."""
    if isinstance(slot.source, Stream):
        return (False,)
    held = [False] * slot.source.width
    for branch in slot.source.branches:
        inner = (own for part in branch.piece.slots for own in _slot_sets(part))
        for column, own in zip(branch.columns, inner, strict=True):
            held[column] |= own
    return tuple(held)


def _slot_sets(slot: Slot) -> tuple[bool, ...]:
    return tuple(held or slot.high != 1 for held in repetition_sets(slot))


def is_early(negation: Negation, piece: Piece, growing: frozenset[int]) -> bool:
    """Whether a negation is one of the core: judged by no repetition but the last, and by no end of a window."""
    return negation.place is Place.BETWEEN and judged_by_last(negation, piece, growing)


def judged_by_last(negation: Negation, piece: Piece, slots: frozenset[int]) -> bool:
    """Whether a negation judges a match as it judges the row with these slots by their last repetition.

    Earlier repetitions could begin what its interval ends before, bind one of its events, be read by its terms, or, as
    an interval that waits ends one window after the match begins, come before all other events of the match.
    """
    if not slots:
        return True
    needed = {*negation.before, *slots_inside(negation, piece, slots)}
    for term in negation.terms:
        found = duty(term, piece, slots)
        needed |= {slot for slot, use in found.uses.items() if use is not Use.LAST}
    if negation.place.waits:
        behind = mask_of(frozenset(range(len(piece.slots))) - slots)
        before = piece.order.before(len(piece.slots))
        needed |= {slot for slot in slots if not before[slot] & behind}
    return not needed & slots


def unjudged(piece: Piece, slots: frozenset[int], judged: Collection[Negation]) -> list[Negation]:
    """The negations still to be judged on rows that bind these slots by their last repetition.

    `judged` are those that the rows were judged by, as `comparable` gives them in the numbers of the piece.
    """
    sets = _sets(piece, slots)
    return [
        negation
        for negation in piece.negations
        if comparable(negation, piece) not in judged
        and not (
            judged_by_last(negation, piece, slots) and comparable(_on_rows(negation, sets), piece) in judged
        )
    ]


def comparable(negation: Negation, piece: Piece) -> Negation:
    """The one form of a piece's negation, whatever the width of the piece."""
    slots, to = range(len(piece.slots)), [*range(piece.width), FORBIDDEN]
    return canonical_negation(negation.moved(slots, to))


def _on_rows(negation: Negation, sets: Sequence[bool]) -> Negation:
    """A negation as rows whose columns hold such sets are judged by it."""
    return replace(negation, terms=fit(negation.terms, (*sets, False)))


def _once(slot: Slot, terms: Sequence[Expr]) -> Slot:
    source: Stream | Group = slot.source
    if isinstance(source, Stream) and terms:
        source = replace(source, where=(*source.where, *terms))
    return Slot(source)


def _stream_alone(found: Duty, piece: Piece) -> int | None:
    """The slot of a term over one event alone: such terms stand in the stream."""
    if len(found.slots) != 1:
        return None
    (slot,) = found.slots
    is_stream = isinstance(piece.slots[slot].source, Stream)
    return slot if is_stream and columns_of(found.term) == {piece.columns(slot).start} else None
