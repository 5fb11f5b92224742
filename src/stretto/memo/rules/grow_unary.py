"""Repetitions taken from the rows of the core itself: those that agree in all other slots."""

from collections.abc import Iterator
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Ref, Which, walk
from stretto.pattern.repetition_terms import Use, duty

MOST_SLOTS: Final = 8
"""Pieces with more slots are not looked at."""


def grow_unary(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  grow[s](core of P)  with the earlier repetitions of s from rows of the core that agree in all but s

    A term between s and other slots is decided once, where the core is made, and not again for every repetition.

    Law: L8. Requires: skip-till-any; a window of time; s alone repeats, all slots are events, the core has no
    negations, and no term reads the last repetition apart from the others or relates neighbours. Source: DecoPa,
    sec. 4.2 (unary splits).
    """
    piece, given = memo.pieces[number], memo.ways[number][0]
    if len(piece.growing) != 1 or not 1 < len(piece.slots) <= MOST_SLOTS or piece.window.unit != "us":
        return
    (slot,) = piece.growing
    core = given.inputs[0]
    if memo.pieces[core.piece].negations or not all(isinstance(one.source, Stream) for one in piece.slots):
        return
    if _relates(piece, slot):
        yield Way(WayKind.GROW, (core, core), "grow_unary")


def _relates(piece: Piece, slot: int) -> bool:
    """Whether terms relate single repetitions to other slots, and none needs what the core's rows do not tell."""
    related = False
    columns = piece.columns(slot)
    for term in piece.terms:
        found = duty(term, piece, piece.growing)
        use = found.uses.get(slot)
        last = (
            isinstance(node, Ref) and node.column in columns and node.which is Which.LAST
            for node in walk(term)
        )
        if use in (Use.LAST, Use.ADJACENT) or (use is Use.EACH and any(last)):
            return False
        related |= use is Use.EACH and len(found.slots) > 1
    return related
