"""The core of a piece: every repeated slot by its last repetition, and what can be checked of it so.

A match of a piece contains exactly one match of its core, so cores are what joins compute and queries share; the
earlier repetitions and the negations that depend on them or on the end of the window come afterwards.
"""

from collections.abc import Sequence
from dataclasses import replace

from stretto.pattern.nodes import Policy, Stream
from stretto.pattern.piece import Group, Negation, Piece, Place, Slot
from stretto.pattern.predicates import Expr, columns_of
from stretto.pattern.project import slots_inside
from stretto.pattern.repetition_terms import Duty, Use, duty, fit


def core_of(piece: Piece) -> Piece:
    """The core, over the same columns; the piece itself if nothing repeats and nothing waits."""
    if piece.policy is Policy.NEXT:
        return piece
    growing = piece.growing
    early = [n for n in piece.negations if is_early(n, piece, growing)]
    if not growing and len(early) == len(piece.negations):
        return piece
    return by_last_repetition(piece, growing, early)


def by_last_repetition(piece: Piece, slots: frozenset[int], negations: Sequence[Negation]) -> Piece:
    """The piece with these slots by their last repetition, what can be checked of it so, and these negations."""
    sets = [
        held or (slot.high != 1 and i not in slots)
        for i, slot in enumerate(piece.slots)
        for held in repetition_sets(slot)
    ]
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
        negations=tuple(replace(n, terms=fit(n.terms, (*sets, False))) for n in negations),
    )


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
    """Whether a negation can be judged on the core: by no repetition but the last, and without waiting."""
    if negation.place is not Place.BETWEEN:
        return False
    if not growing:
        return True
    needed = {*negation.before, *slots_inside(negation, piece, growing)}
    for term in negation.terms:
        found = duty(term, piece, growing)
        needed |= {slot for slot, use in found.uses.items() if use is not Use.LAST}
    return not needed & growing


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
