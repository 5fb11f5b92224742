"""A piece over the columns of the rows that compute it: the same meaning, its columns in another order."""

from collections.abc import Sequence
from dataclasses import replace

from stretto.pattern.columns import moved
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Branch, Group, Negation, Piece, Slot
from stretto.pattern.project import project


def slots_of(piece: Piece, columns: Sequence[int]) -> tuple[int, ...]:
    """The slots that these columns belong to, in the order of their first column; a slot's columns stand together."""
    owner = [slot for slot in range(len(piece.slots)) for _ in piece.columns(slot)]
    return tuple(dict.fromkeys(owner[column] for column in columns))


def rearrange(piece: Piece, columns: Sequence[int]) -> Piece:
    """The projection of a piece on these columns, which are whole slots: column i is the piece's `columns[i]`."""
    slots = slots_of(piece, columns)
    found = piece if slots == tuple(range(len(piece.slots))) else project(piece, slots)
    wanted = [column for slot in slots for column in piece.columns(slot)]
    if list(columns) == wanted:
        return found
    at = {column: new for new, column in enumerate(columns)}
    to = {old: at[column] for old, column in enumerate(wanted)}
    to[len(wanted)] = len(wanted)  # the forbidden event of a negation
    return replace(
        found,
        slots=tuple(_slot(slot, [to[c] for c in found.columns(i)]) for i, slot in enumerate(found.slots)),
        terms=tuple(moved(term, to) for term in found.terms),
        negations=tuple(_negation(negation, to) for negation in found.negations),
    )


def _slot(slot: Slot, places: list[int]) -> Slot:
    """A slot whose column i comes to the i-th of these places."""
    if isinstance(slot.source, Stream):
        return slot
    start = min(places)
    branches = (
        Branch(branch.piece, tuple(places[column] - start for column in branch.columns))
        for branch in slot.source.branches
    )
    return replace(slot, source=Group(slot.source.width, tuple(branches)))


def _negation(negation: Negation, to: dict[int, int]) -> Negation:
    return replace(negation, terms=tuple(moved(term, to) for term in negation.terms))
